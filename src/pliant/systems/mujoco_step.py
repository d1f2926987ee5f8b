"""One step of a model: evaluate with MuJoCo, solve, write the forces back, let MuJoCo advance.

The usual step goes through the compiled calls of `mujoco_direct`; the others, and models with more than joints and
contacts, through the arrays that MuJoCo hands out.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.formulation import Formulation
from pliant.inputs import Array
from pliant.solution import Status
from pliant.systems.mujoco_answer import OTHERWISE
from pliant.systems.mujoco_aside import Aside
from pliant.systems.mujoco_assembled import Assembled
from pliant.systems.mujoco_bounce import bounce
from pliant.systems.mujoco_contacts import patches
from pliant.systems.mujoco_direct import LOOKS
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_flat import Mass
from pliant.systems.mujoco_follow import centre, follow_open
from pliant.systems.mujoco_foundation import WITHOUT_ROWS, Layers, total_force
from pliant.systems.mujoco_kept import Kept
from pliant.systems.mujoco_laws import Laws, Substance, checked
from pliant.systems.mujoco_layout import layout
from pliant.systems.mujoco_memory import Marks, marks_of, memory_of
from pliant.systems.mujoco_native import library
from pliant.systems.mujoco_reach import Reach
from pliant.systems.mujoco_roll import Course, roll_at, step_once
from pliant.systems.mujoco_rows import mass_pattern, read_rows
from pliant.systems.mujoco_site import Fixed, Site
from pliant.systems.mujoco_smooth import Passive, smooth
from pliant.systems.mujoco_solve import NO_START, Answer, Step
from pliant.systems.mujoco_sound import check_finite
from pliant.systems.mujoco_spin import Bodies, free_bodies, inertial, spin
from pliant.systems.mujoco_stats import CLOCKED, stats
from pliant.systems.mujoco_support import check, say_ignored
from pliant.systems.mujoco_swing import Swing
from pliant.systems.mujoco_twin import Twin
from pliant.systems.mujoco_write import write_rows, write_smooth


def check_belongs(model: Any, data: Any) -> None:
    """Raise InputError for data that are none of the model's."""
    if not isinstance(data, mujoco().MjData):
        raise InputError(f"data must be a mujoco.MjData, got {type(data).__name__}")
    if data.signature != model.signature or len(data.qpos) != model.nq:
        raise InputError(
            "data belongs to another model: make it with mujoco.MjData(model) from the model that you step"
        )


def _make_room(site: Site, data: Any) -> None:
    """For twice the rows that there are."""
    site.make_room(2 * max(data.nefc, data.ncon), 2 * data.nJ)


class Stepper:
    """What belongs to a model, kept from step to step, and its steps."""

    def __init__(
        self, model: Any, materials: Mapping[str, Substance] | None, compliance: str, *, says: bool = True
    ) -> None:
        """says: log which settings of the model have no effect."""
        check(model)
        self.lock = threading.RLock()  # one step at a time: what belongs to the model is written to in each
        self.ignored = say_ignored(model, compliance) if says else []
        self._materials, self._compliance = checked(materials), compliance
        self._twin = Twin(model)
        self._aside = Aside(self._twin.model)
        self._behind = False
        self._derive(model)

    def _derive(self, model: Any) -> None:
        """All that follows from the model alone."""
        self.laws = Laws(model, self._materials, self._compliance)
        for geom, friction in self.laws.friction.items():
            self._twin.model.geom_friction[geom, 0] = friction
        self._layers = Layers(model, self.laws.foundation)
        self._passive = Passive(model)
        self._bodies: Bodies = free_bodies(model)
        self._swing = Swing(model, self._aside)
        self._reach = Reach(model, self._aside, limits=not self.laws.by_reference)
        self._pattern = mass_pattern(model)
        self._energy = bool(int(model.opt.enableflags) & mujoco().mjtEnableBit.mjENBL_ENERGY)
        self._still = np.zeros(model.nv)
        self._shift: Array | None = None  # of the last forward, for the advance
        self._last: tuple[Marks, Array] | None = None  # and what it is to remember
        self._acts = not int(model.opt.disableflags) & mujoco().mjtDisableBit.mjDSBL_ACTUATION
        self._sites: Kept[Site] = Kept()
        self._fixed = self._usual_step(model)

    def _usual_step(self, model: Any) -> Fixed | None:
        """What compiled steps need to know of the model; None: they are not for it."""
        where, callbacks, twin = layout(), library(), self._twin
        self.special = [*self._passive.special, *self.laws.special, *self._reach.special]
        more = {"energies": self._energy, "moving surfaces": getattr(model, "flg_surfacevel", False)}
        self.special += [name for name, there in more.items() if there]
        if where is None or callbacks is None or self.special:
            return None
        return Fixed(
            float(model.opt.timestep),
            self._reach.fall,
            self._reach.fixed,
            bool(mujoco().mj_isSparse(twin.model)),
            self._passive.implicit,
            self._passive.actuated,
            model.nsensor > 0,
            int(model.opt.cone),
            twin.cone_address,
            int(model._address),
            int(twin.model._address),
            where,
            callbacks,
            twin.pairs,
        )

    def refresh(self, model: Any, data: Any) -> None:
        """Take over what the user has written; refuse what cannot be stepped."""
        if self._twin.follow() or self._behind:
            self._behind, self._sites = True, Kept()  # until nothing is refused
            check(model)
            self._derive(model)
            self._behind = False
        check_belongs(model, data)
        check_finite(data)
        if self._fixed is not None:
            fixed = self._fixed
            memory = memory_of(data)
            site = self._sites.of(data, lambda: Site(fixed, self._arrays(), model, self._aside, data, memory))
            if not data.maxuse_arena:  # how much a step takes, before it is taken where nothing may be missing
                mujoco().mj_fwdPosition(self._twin.model, data)
            _make_room(site, data)

    def _marks(self, data: Any, step: Assembled) -> Marks:
        return marks_of(data, step.rows.efc.type, step.rows.efc.id, len(step.smooth.extra.table))

    def _arrays(self) -> tuple[np.ndarray, ...]:
        """In the order of the groups of `mujoco_site`."""
        laws, passive = self.laws, self._passive
        return (
            *self._reach.tree, *self._reach.limits, *self._pattern, *self._bodies,
            laws.geom, laws.joint, laws.tendon, laws.equality, laws.material, *self._reach.arrays, *passive.arrays,
            *passive.servos, *self._swing.arrays,
        )  # fmt: skip

    def forward(self, model: Any, data: Any, solver: Formulation, *, control: bool = True) -> Answer:
        """Forces and accelerations at the present state; what mujoco.mj_forward does, with our forces."""
        times, timer = stats(data).times, data.timer[mujoco().mjtTimer.mjTIMER_POS_COLLISION]
        laps, collided = [perf_counter()], timer.duration
        open_ = self.evaluate(model, data, control=control)
        laps.append(perf_counter())
        step = self.assemble(model, data, open_)
        laps.append(perf_counter())
        answer, step = self.solve(model, data, solver, step)
        laps.append(perf_counter())
        self._last = None if self._layers else (self._marks(data, step), answer.force)
        self.write(model, data, step, answer)
        self._shift = step.shift
        data.flg_rnepost = 0
        mujoco().mj_sensorAcc(model, data)
        laps.append(perf_counter())
        before, assembly, solved, after = np.diff(laps)
        collided = timer.duration - collided
        times[:CLOCKED] += times[CLOCKED] * np.array([before - collided, collided, assembly + after, solved])
        return answer

    def go_directly(self, data: Any, solver: Formulation, advance: bool = True, course: Course | None = None) -> int:
        """The usual step, or only its forces, or the steps of a course as far as they are usual. OTHERWISE: the next is
        not known to be one, `refresh` may help; UNUSUAL: it is none. Nothing has changed then but what follows from the
        state."""
        site = self._sites.get(data)
        if site is None or not solver.linearizes:
            return OTHERWISE
        options = solver.convex, float(solver.tolerance), solver.max_iterations
        if course is None:
            found: int = step_once(site.place, not advance, *options)
        else:
            found = roll_at(site.table, course.numbers, course.kept, *options)
        if found == OTHERWISE:
            _make_room(site, data)
        return found

    def evaluate(self, model: Any, data: Any, *, control: bool) -> np.ndarray:
        """Everything but the constraint forces; returns which contacts are open, (ncon,) of bool."""
        mj = mujoco()
        self._reach.cover(model, data)
        mj.mj_fwdPosition(self._twin.model, data)
        open_ = self._open_contacts(data)
        mj.mj_sensorPos(model, data)
        if self._energy:
            mj.mj_energyPos(model, data)
        else:
            data.energy[:] = 0.0
        mj.mj_fwdVelocity(model, data)
        mj.mj_sensorVel(model, data)
        if self._energy:
            mj.mj_energyVel(model, data)
        callback = mj.get_mjcb_control() if control and self._acts else None
        if callback is not None:
            callback(model, data)
        mj.mj_fwdActuation(model, data)
        mj.mj_fwdAcceleration(model, data)
        return open_

    def _open_contacts(self, data: Any) -> np.ndarray:
        """Rows also for contacts that are open, none for those of foundations; returns which are open."""
        exclude = data.contact.exclude
        open_ = exclude == 1
        others = open_
        if self._layers:
            layered = self._layers.contacts(data)
            others = open_ | layered
            exclude[layered], data.contact.efc_address[layered] = WITHOUT_ROWS, -1
            exclude[open_ & ~layered] = 0
        elif open_.any():
            exclude[open_] = 0
        if others.any():
            mujoco().mj_makeConstraint(self._twin.model, data)
        return np.asarray(open_)

    def assemble(self, model: Any, data: Any, open_: np.ndarray, before: Assembled | None = None) -> Assembled:
        """The step as a flat record. before: the same step, with the rows of other contacts."""
        if before is None:
            found = smooth(self._passive, model, self._twin.model, data)
            push, shift = self._turning(model, data)
        else:
            found, push, shift = before.smooth, before.push, before.shift
        rows = read_rows(self._twin.model, data, self.laws, self._reach)
        if self._layers:
            rows = self._layers.add(self._twin.model, data, rows, self._reach.way)
        step = Step(
            model.opt.timestep,
            Mass(data.M, *self._pattern, found.more),
            data.qvel.copy(),
            found.force if push is None else found.force + push,
            self._still if shift is None else shift,
            rows.efc,
            rows.touch,
            found.extra,
        )
        return Assembled(step, rows, open_, found, push, shift)

    def advance(self, model: Any, data: Any) -> None:
        """To the end of the step; what turns or swings goes where its average velocity leads."""
        mj, s = mujoco(), self._twin.model
        before = data.qpos.copy() if self._shift is not None else None
        mj.mj_Euler(s, data)
        if before is not None:
            mj.mj_integratePos(s, before, data.qvel + self._shift, model.opt.timestep)
            data.qpos[:] = before
        if self._last is not None:
            memory_of(data).keep(data, *self._last)

    def _turning(self, model: Any, data: Any) -> tuple[Array | None, Array | None]:
        h, push, shift = model.opt.timestep, np.zeros(model.nv), np.zeros(model.nv)
        turns = spin(h, self._bodies, data.xmat, data.qvel, push, shift)
        swings = self._swing.follow(data, h, Mass(data.M, *self._pattern, self._still), push, shift)
        return (push, shift) if turns or swings else (None, None)

    def solve(self, model: Any, data: Any, solver: Formulation, step: Assembled) -> tuple[Answer, Assembled]:
        """Solve; look again for what the step itself brings within reach. Returns the step as it was solved."""
        for again in range(LOOKS + 1):
            guess = data.qvel + model.opt.timestep * data.qacc_warmstart
            answer = step.step.solve(solver, guess, self._start(data, step))
            if answer.status is Status.NON_FINITE:
                return answer, step
            if centre(self._reach, model, data, answer):
                step = self._make_again(model, data, step)
                answer = step.step.solve(solver, data.qvel)
            if step.open.any():
                answer, step = follow_open(self._reach, data, solver, step, answer)
            if again == LOOKS or not self._reach.outrun(data, answer.velocity):
                break
            step = self._look_again(model, data, step, answer.velocity)
        if not self.laws.bounces:
            return answer, step
        turning = step.push
        if turning is not None:
            turning = turning + inertial(self._bodies, data.xmat, data.qvel) - self._swing.taken
        return bounce(self.laws.material, turning, data, solver, step, answer)

    def _start(self, data: Any, step: Assembled) -> Array:
        return NO_START if self._layers else memory_of(data).start(data, self._marks(data, step))

    def _look_again(self, model: Any, data: Any, step: Assembled, v: Array) -> Assembled:
        mj, s = mujoco(), self._twin.model
        self._reach.cover(model, data, v)
        mj.mj_collision(s, data)
        return self._make_again(model, data, step._replace(open=self._open_contacts(data)))

    def _make_again(self, model: Any, data: Any, step: Assembled) -> Assembled:
        """The step with the rows that its contacts have now."""
        mj, s = mujoco(), self._twin.model
        mj.mj_makeConstraint(s, data)
        mj.mj_referenceConstraint(s, data)
        return self.assemble(model, data, step.open, step)

    def write(self, model: Any, data: Any, step: Assembled, answer: Answer) -> None:
        """Forces and accelerations into the user's data."""
        m = len(step.rows.efc.type)
        if step.push is not None:
            data.qfrc_bias -= step.push
            data.qfrc_smooth += step.push
        implicit = write_smooth(data, model.opt.timestep, step.smooth, answer.velocity, answer.force[m:])
        own = step.rows.own
        write_rows(model, self._twin.model, data, step.rows.efc, answer.force[:own], step.open, self._reach)
        if self._layers:
            known = patches.of(data, list)
            known.clear()
            if step.rows.patch is not None:
                data.qfrc_constraint += total_force(step.rows.patch, answer.force[own:m])
                known.append((float(data.time), step.rows.patch, answer.force[own:m]))
        if implicit or step.push is not None:
            mujoco().mj_solveM(model, data, data.qacc_smooth[None], data.qfrc_smooth[None])
        if implicit or step.push is not None or m:
            data.qacc[:] = (answer.velocity - data.qvel) / model.opt.timestep
        else:
            data.qacc[:] = data.qacc_smooth
