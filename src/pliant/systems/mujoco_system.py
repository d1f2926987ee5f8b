"""A MuJoCo model as a System: for `pliant.step`, `pliant.simulate`, and whoever wants the step as a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse

from pliant.constraints import Bilateral, Clipped, Constraint, Contact, Unilateral
from pliant.errors import InputError
from pliant.flat import BILATERAL, CLIPPED, UNILATERAL, Flat
from pliant.inputs import Array, Ints
from pliant.laws import Law
from pliant.problem import StepProblem
from pliant.readout import contact_table
from pliant.scene import Scene
from pliant.solution import STATUSES, Solution
from pliant.systems.mujoco_calls import DEFAULT
from pliant.systems.mujoco_contacts import contact_rows
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_energy import coordinates, driven, energies
from pliant.systems.mujoco_friction import sliding
from pliant.systems.mujoco_kinds import EQUALITY
from pliant.systems.mujoco_laws import Substance, model_materials, names
from pliant.systems.mujoco_load import compile_spec, read_spec
from pliant.systems.mujoco_source import source_of
from pliant.systems.mujoco_stepper import Made, made_of, stepper_of
from pliant.systems.mujoco_weights import weights

INPUTS = ("ctrl", "act", "qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat", "userdata")
SCALARS = {BILATERAL: "bilateral", UNILATERAL: "unilateral", CLIPPED: "clipped"}
CONTACTS = 100  # and the size of its block stand for a contact


class MujocoSystem:
    """q is qpos, v is qvel; a simulation starts from those of `data`, whose controls, applied forces, mocap poses and
    activations hold during every step, and may be set between them.

    model: a mujoco.MjModel. materials, compliance: as of `mj_step`. The step's problem has up to one constraint of each
    kind: "bilateral" (equalities, tendons, servos), "unilateral" (limits, frictionless contacts), "clipped" (dry
    friction, servos with a force range), and "contacts3", "contacts4", "contacts6" by the number of their rows.
    """

    def __init__(
        self, model: Any, *, materials: Mapping[str, Substance] | None = None, compliance: str = "materials"
    ) -> None:
        if not isinstance(model, mujoco().MjModel):
            raise InputError(f"model must be a mujoco.MjModel, got {type(model).__name__}; pliant.load reads files")
        self.model = model
        self.data = mujoco().MjData(model)
        self._room = mujoco().MjData(model)  # in which the step is that was asked for last
        self._aside = mujoco().MjData(model)  # to look at other states
        self._kinds: list[str] = []
        self._step: _Rows | None = None  # of the problem that was asked for last
        self.materials, self.compliance = materials, compliance
        made_of(model, materials, compliance)  # refuses what cannot be stepped
        self._last: Array | None = None  # where bodies turned

    @property
    def q(self) -> Array:
        """(nq,) qpos of `data`, a copy."""
        return np.array(self.data.qpos)

    @property
    def v(self) -> Array:
        """(nv,) qvel of `data`, a copy."""
        return np.array(self.data.qvel)

    @property
    def made(self) -> Made:
        """The model with its materials, as the engine has it."""
        return made_of(self.model, self.materials, self.compliance)

    def problem(self, time: float, q: Array, v: Array, step: float) -> StepProblem:
        """The step from (q, v); `step` must be the model's timestep."""
        if step != self.model.opt.timestep:
            raise InputError(
                f"step is {step!r}, the model's timestep {self.model.opt.timestep!r}: set model.opt.timestep"
            )
        self._begin(time, q, v)
        stepper = stepper_of(self._room)
        stepper.solve(False, float(DEFAULT.tolerance), DEFAULT.max_iterations)  # to know which contacts the step needs
        stepper.end()
        flat = Flat(*stepper.record().arrays())
        self._last = np.array(q) if stepper.flows() else None
        self._step = _Rows(flat, int(np.count_nonzero(stepper.rows()[0] == EQUALITY)))
        self._kinds = list(_groups(self._step))
        mass = sparse.csr_array((flat.mass_val, flat.mass_idx, flat.mass_ptr), shape=(len(v), len(v)))
        return StepProblem(mass, v, flat.force, step, _constraints(self._step))

    def advance(self, q: Array, v: Array, step: float) -> Array:
        """q (+) h v; what turns goes where its average velocity leads."""
        q1, rate = np.array(q, dtype=float), np.array(v, dtype=float)
        if self._last is not None and np.array_equal(self._last, q):
            rate = stepper_of(self._room).mean(rate)
        mujoco().mj_integratePos(self.model, q1, rate, step)
        return q1

    def values(self, time: float, q: Array) -> Sequence[Array | None]:
        """phi of equalities, which `lookahead` keeps closed; the others go by their rates."""
        mj, d = mujoco(), self._aside
        d.qpos[:] = q
        mj.mj_fwdPosition(self.model, d)
        rows = d.efc_pos[d.efc_type == EQUALITY].copy()
        return [rows if kind == "equality" else None for kind in self._kinds]

    def energy(self, time: float, q: Array, v: Array) -> dict[str, float]:
        """ "kinetic", "gravitational" and "spring" [J]: of joints, tendons and contacts by their laws, of
        limits and equalities where `materials` make them softer than they are by themselves."""
        d = self._aside
        for name in INPUTS:
            getattr(d, name)[:] = getattr(self.data, name)
        d.time, d.qpos[:], d.qvel[:] = time, q, v
        return energies(self.made, self.model, d)

    @property
    def driven(self) -> bool:
        """Whether actuators, applied forces, mocap bodies or wind may do work, which `energy` does not tell."""
        return driven(self.model, self.data)

    @property
    def coordinates(self) -> dict[str, list[list[str]]]:
        """{"q": [[name, unit], ...], "v": [[name, unit], ...]}."""
        return coordinates(self.model)

    def draw(self) -> Scene:
        """What a run keeps of the model, so that it can be drawn, and its energy told; models from `pliant.load` are
        kept whole."""
        scene, named = source_of(self.model, self.data), {**model_materials(self.model), **(self.materials or {})}
        made = {"materials": {key: repr(what) for key, what in named.items()}, "compliance": self.compliance}
        return Scene(scene.kind, {**scene.header, **made}, {**scene.arrays, **weights(self.model)})

    def readout(self, solution: Solution) -> Array:
        """Contacts of the step whose problem was asked for last, as rows of `pliant.readout`."""
        if self._step is None or len(solution.velocity) != self.model.nv:
            raise InputError("readout: ask for the problem first whose solution this is")
        flat = self._step.flat
        force, groups = np.zeros(len(flat.kind)), _groups(self._step)
        for blocks, part in zip(groups.values(), solution.forces, strict=True):
            heads = flat.block_ptr[blocks]
            size = flat.block_ptr[blocks[0] + 1] - heads[0]
            force[(heads[:, None] + np.arange(size)).ravel()] = part.ravel()
        stepper = stepper_of(self._room)
        status = STATUSES.index(solution.status)
        stepper.take(solution.velocity, force, status, solution.residual, solution.iterations, solution.factorizations)
        stepper.finish(False)
        return contact_rows(self.model, self._room, solution.velocity)

    @property
    def geoms(self) -> list[str]:
        """Names of all geoms, '' for those without."""
        return names(self.model, "geom")

    @property
    def friction(self) -> list[float]:
        """Coefficients of sliding of all geoms, before those of two are mixed."""
        return sliding(self.model, self.made.laws.friction).tolist()

    def contacts(self, solution: Solution) -> Any:
        """Contacts of one step of `pliant.step` or `solve`, as the table `Trajectory.contacts`, without the time."""
        rows = self.readout(solution)
        return contact_table(np.full(len(rows), self._room.time), rows, self.geoms)

    def _begin(self, time: float, q: Array, v: Array) -> None:
        d = self._room
        if np.shape(q) != d.qpos.shape or np.shape(v) != d.qvel.shape:
            raise InputError(
                f"q and v must have shapes {d.qpos.shape} and {d.qvel.shape} of the model, "
                f"got {np.shape(q)} and {np.shape(v)}"
            )
        for name in INPUTS:
            getattr(d, name)[:] = getattr(self.data, name)
        d.time, d.qpos[:], d.qvel[:] = time, q, v
        stepper_of(d).begin(self.model._address, d._address, self.made.materials, True)


class _Rows(NamedTuple):
    """A step as it was assembled, and how many of its rows, the first, are of equalities."""

    flat: Flat
    equalities: int


def load(
    path_or_xml: Any,
    *,
    materials: Mapping[str, Substance] | None = None,
    compliance: str = "materials",
    floating: bool = False,
    floor: bool = False,
) -> MujocoSystem:
    """A model from an MJCF or URDF file, from its text, or from a mujoco.MjSpec.

    floating: free the first body, as the base of a walking robot that URDF holds fixed. floor: add a plane at height 0.
    """
    return MujocoSystem(
        compile_spec(read_spec(path_or_xml, floating=floating, floor=floor)), materials=materials, compliance=compliance
    )


def _groups(step: _Rows) -> dict[str, Ints]:
    """Blocks of the flat record by what they become; equalities by themselves, since phi is known for them."""
    flat = step.flat
    head, size = flat.block_ptr[:-1], np.diff(flat.block_ptr)
    known = {-1: "equality", **SCALARS}
    code = np.where(np.isin(flat.kind[head], list(SCALARS)), flat.kind[head], CONTACTS + size)
    code[head < step.equalities] = -1
    found, first = np.unique(code, return_index=True)
    return {known.get(k, f"contacts{k - CONTACTS}"): np.flatnonzero(code == k) for k in found[np.argsort(first)]}


def _constraints(step: _Rows) -> list[Constraint]:
    flat = step.flat
    G = sparse.csr_array((flat.jac_val, flat.jac_idx, flat.jac_ptr), shape=(len(flat.kind), len(flat.velocity)))
    made: list[Constraint] = []
    for name, blocks in _groups(step).items():
        heads = flat.block_ptr[blocks]
        size = int(flat.block_ptr[blocks[0] + 1] - heads[0])
        rows = (heads[:, None] + np.arange(size)).ravel()
        law = Law(flat.stiffness[heads], flat.damping[heads])
        if name.startswith("contacts"):
            law = Law(
                flat.stiffness[heads],
                flat.damping[heads],
                exponent=flat.exponent[heads],
                dissipation=flat.dissipation[heads],
            )
            friction = flat.friction[rows].reshape(-1, size)[:, 1:]
            offset = flat.offset[rows].reshape(-1, size)
            made.append(Contact(G[rows], flat.value[heads], law, friction, rate_offset=offset, name=name))
        elif name == "clipped":
            made.append(
                Clipped(G[rows], flat.value[rows], law, flat.lower[rows], flat.upper[rows],
                        rate_offset=flat.offset[rows], name=name)
            )  # fmt: skip
        else:
            kind = Unilateral if name == "unilateral" else Bilateral
            made.append(kind(G[rows], flat.value[rows], law, rate_offset=flat.offset[rows], name=name))
    return made
