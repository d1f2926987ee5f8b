"""The memory of a step: where the arrays lie that it reads and writes, in one table for compiled code.

Fifty arrays as arguments would cost more than what is done with them. An address holds as long as its array: those of
MjModel and MjData as long as these, those of a Stepper until the model changes.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from pliant.inputs import Array, Ints
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import address, cubes, floats, folded, ints, longs
from pliant.systems.mujoco_aside import Aside
from pliant.systems.mujoco_engine import TALLY as TALLY_WORDS
from pliant.systems.mujoco_engine import engine_room
from pliant.systems.mujoco_flat import EXTRA_COLUMNS, SPOT_WORDS, TOUCH_WORDS, Mass, flat_room
from pliant.systems.mujoco_memory import Memory
from pliant.systems.mujoco_reach import Limits, Tree
from pliant.systems.mujoco_spin import Bodies
from pliant.systems.mujoco_stats import stats
from pliant.systems.mujoco_surfaces import COLUMNS, Surfaces

# Groups of entries, in this order: of the stepper, the user's model, the twin, the data, the one aside; what a step
# leaves.
TREE, LIMITS, PATTERN, BODIES, LAWS, REACH, JOINTS, SERVOS, SWING = 0, 8, 13, 17, 23, 28, 38, 41, 49
MODEL, TWIN, DATA, ASIDE, STEP = 54, 58, 64, 98, 102
GEOM_LAW, JOINT_LAW, TENDON_LAW, EQUALITY_LAW, MATERIAL = range(LAWS, REACH)
MOVING, USER_GAP, USER_PAIR, USER_JOINT, USER_TENDON, RADIUS, SPEED, WAY, BODY_RATE, GEOM_RATE = range(REACH, JOINTS)
MORE, STIFFNESS, DAMPING = range(JOINTS, SERVOS)
FEELS, LOWER, UPPER, LIMITED, FORCE_RANGE, WEIGHS, SPRINGS, DAMPERS = range(SERVOS, SWING)
DOFS, HEAVY, DOF_BODY, ROOT, GRAVITY = range(SWING, MODEL)
GEOM_MARGIN, GEOM_TYPE, GEOM_SIZE, DOF_TREE = range(MODEL, TWIN)
GEOM_GAP, PAIR_GAP, BODY_MARGIN, JOINT_MARGIN, TENDON_MARGIN, WEIGHT = range(TWIN, DATA)
(
    QPOS, QVEL, CTRL, APPLIED, PUSHED, CDOF, COM, XPOS, GEOM_XMAT, XMAT, INERTIA, WARM, QACC, QACC_SMOOTH, SMOOTH, BIAS,
    PASSIVE, SPRING, DAMPER, CONSTRAINT, ENERGY, ACT_FORCE, ACT_LENGTH, ACT_VELOCITY, ACT_DOT, ACT_TOTAL, GRAVCOMP,
    ROWNNZ, ROWADR, COLIND, MOMENT, CVEL, MOCAP_POS, MOCAP_QUAT,
) = range(DATA, ASIDE)  # fmt: skip
THERE, RATE, MOCAP_POS_THERE, MOCAP_QUAT_THERE = range(ASIDE, STEP)
(
    OLD_TYPE, OLD_ID, OLD_POS, OLD_MARGIN, OLD_FORCE, OPEN, NUMBER, VELOCITY, PUSH, SHIFT, TALLY, WHERE, CALLBACKS,
    PAIRS, REALS, TOTALS, TIMES, PLACES, BEFORE, AVERAGE, SWING_PUSH, SWING_SHIFT, WORK, SERVO, SERVO_FORCE, TAKEN,
    DESK, MEMORY,
) = range(STEP, STEP + 28)  # fmt: skip
# Single numbers, which follow after the addresses and sizes of the entries.
ENTRIES: Final = STEP + 28
BASE, ROOM, STIFF_GAPS, SPARSE, IMPLICIT, ACTS, SENSORS, CONE, CONE_AT, USER, OWN, BESIDE, JACOBIAN_ROOM = range(
    2 * ENTRIES, 2 * ENTRIES + 13
)
WORDS: Final = 2 * ENTRIES + 13  # of the table

PER_GEOM, MANY = 6, 3000  # rows that there is room for at first: of as many geoms falling onto each other; at most
WORKED: Final = 7  # vectors of velocities to work with, after one of positions
PER_ROW: Final = 24  # entries of a sparse row that there is room for at first

DATA_NAMES: Final = (
    "qpos", "qvel", "ctrl", "qfrc_applied", "xfrc_applied", "cdof", "subtree_com", "geom_xpos", "geom_xmat", "xmat",
    "M", "qacc_warmstart", "qacc", "qacc_smooth", "qfrc_smooth", "qfrc_bias", "qfrc_passive", "qfrc_spring",
    "qfrc_damper", "qfrc_constraint", "energy", "actuator_force", "actuator_length", "actuator_velocity", "act_dot",
    "qfrc_actuator", "qfrc_gravcomp", "moment_rownnz", "moment_rowadr", "moment_colind", "actuator_moment", "cvel",
    "mocap_pos", "mocap_quat",
)  # fmt: skip
ASIDE_NAMES: Final = ("qpos", "qvel", "mocap_pos", "mocap_quat")
MODEL_NAMES: Final = ("geom_margin", "geom_type", "geom_size", "dof_treeid")
TWIN_NAMES: Final = ("geom_gap", "pair_gap", "body_margin", "jnt_margin", "tendon_margin")


class Fixed(NamedTuple):
    """What does not change from step to step, but with the model."""

    step: float  # h
    fall: float  # what a body gains by its weight [m/s]
    stiff_gaps: bool  # gaps do not follow the speeds
    sparse: bool  # Jacobians are
    implicit: bool  # joints have springs or dampers
    servos: bool  # forces of actuators depend on the motion
    sensors: bool
    cone: int  # the user's
    cone_at: int  # where the twin's is
    user: int  # address of the user's model
    own: int  # of its twin
    where: Ints  # see mujoco_layout
    callbacks: Ints  # see mujoco_native
    pairs: Ints  # see mujoco_twin


class Site:
    """table: addresses and sizes of arrays, then single numbers. place: where it lies."""

    def __init__(
        self, fixed: Fixed, stepper: tuple[np.ndarray, ...], model: Any, aside: Aside, data: Any, memory: Memory
    ) -> None:
        """stepper: the arrays of the groups from TREE to SWING."""
        self.table = np.zeros(WORDS, np.int64)
        self.place = address(self.table)
        self.table[BASE], self.table[STIFF_GAPS : OWN + 1] = data._address, fixed[2:11]
        self.table[BESIDE] = aside.data._address
        velocity, push, shift, average, swing_push, swing_shift = (np.zeros(model.nv) for _ in range(6))
        tally, reals, before = np.zeros(TALLY_WORDS), np.array(fixed[:2]), np.zeros(model.nq)
        places = model.jnt_qposadr[model.dof_jntid[stepper[BODIES + 1]]].astype(np.int64)  # of bodies that turn
        entries = [*stepper, *(getattr(model, name) for name in MODEL_NAMES)]
        entries += [*(getattr(aside.twin, name) for name in TWIN_NAMES), aside.twin.opt.gravity]
        entries += [getattr(data, name) for name in DATA_NAMES]
        entries += [getattr(aside.data, name) for name in ASIDE_NAMES]
        for k, array in enumerate(entries):
            self._enter(k, array)
        counted = stats(data)
        last: list[Any] = [velocity, push, shift, tally, *fixed[11:], reals, counted.totals, counted.times]
        last += [places, before, average, swing_push, swing_shift, np.zeros(model.nq + WORKED * model.nv)]
        last += [np.zeros(len(data.actuator_force) + 1, np.int64)]
        last += [np.zeros(len(data.actuator_force)) for _ in range(2)]
        self._kept = (aside, *stepper, *last)
        for k, array in enumerate(last):
            self._enter(VELOCITY + k, array)
        self._memory = memory
        self._enter(MEMORY, memory.place)
        self._dense, self._nv, self._outputs = not fixed.sparse, model.nv, len(data.actuator_force)
        self._sizes = len(stepper[PATTERN + 1]), len(data.actuator_moment)
        self.make_room(max(64, min(PER_GEOM * model.ngeom, MANY)))

    def make_room(self, size: int, entries: int = 0) -> None:
        """For so many rows, and so many contacts, at least, and for entries of their Jacobian."""
        if size <= self.table[ROOM] and entries <= self.table[JACOBIAN_ROOM]:
            return
        size = max(size, int(self.table[ROOM]))
        entries = size * self._nv if self._dense else max(entries, size * min(self._nv, PER_ROW))
        self.table[ROOM], self.table[JACOBIAN_ROOM] = size, entries
        kinds = (np.int32,) * 2 + (np.float64,) * 3 + (np.int64,) * 2
        self._rows = [np.zeros(size, kind) for kind in kinds]
        for k, array in enumerate(self._rows):
            self._enter(OLD_TYPE + k, array)
        mass, moments = self._sizes
        words = desk_room(self._nv, size, self._outputs, moments)
        rows = size + self._outputs
        self._memory.make_room(rows)
        words += flat_room(mass, rows, entries + moments + 1) + engine_room(self._nv, rows)
        self._desk = np.zeros(words, np.int64)
        self._enter(DESK, self._desk)

    def _enter(self, k: int, array: np.ndarray) -> None:
        if not array.flags.c_contiguous:
            raise TypeError(f"entry {k} of the table is not contiguous")
        self.table[2 * k], self.table[2 * k + 1] = address(array), array.size


@kernel(inline=True)
def desk_room(nv: int, rows: int, outputs: int, moments: int) -> int:
    """Words of memory that a step takes for its contacts, as many as rows at most, for these and for its servos, before
    the record of its rows; see `solve_at`."""
    return 3 * nv + (TOUCH_WORDS + SPOT_WORDS + 9) * rows + (4 + EXTRA_COLUMNS) * outputs + 2 * moments + 2


@kernel(inline=True)
def numbers(table: Ints, k: int) -> Array:
    """Entry k, of doubles."""
    return floats(table[2 * k], table[2 * k + 1])


@kernel(inline=True)
def indices(table: Ints, k: int) -> np.ndarray:
    """Entry k, of 32-bit integers."""
    return ints(table[2 * k], table[2 * k + 1])


@kernel(inline=True)
def wholes(table: Ints, k: int) -> Ints:
    """Entry k, of 64-bit integers."""
    return longs(table[2 * k], table[2 * k + 1])


@kernel(inline=True)
def vectors(table: Ints, k: int, width: int) -> Array:
    """Entry k, of doubles, (n, width)."""
    return folded(numbers(table, k), table[2 * k + 1] // width, width)


@kernel(inline=True)
def memory_at(table: Ints) -> Array:
    """See mujoco_memory."""
    place = wholes(table, MEMORY)
    return floats(place[0], place[1])


@kernel(inline=True)
def tree_at(table: Ints) -> Tree:
    return Tree(
        indices(table, TREE), indices(table, TREE + 1), indices(table, TREE + 2), indices(table, TREE + 3),
        indices(table, TREE + 4), numbers(table, TREE + 5), indices(table, TREE + 6), indices(table, TREE + 7),
    )  # fmt: skip


@kernel(inline=True)
def limits_at(table: Ints) -> Limits:
    return Limits(
        wholes(table, LIMITS), indices(table, LIMITS + 1), indices(table, LIMITS + 2), indices(table, LIMITS + 3),
        vectors(table, LIMITS + 4, 2),
    )  # fmt: skip


@kernel(inline=True)
def mass_at(table: Ints) -> Mass:
    return Mass(
        numbers(table, INERTIA), wholes(table, PATTERN), wholes(table, PATTERN + 1), wholes(table, PATTERN + 2),
        wholes(table, PATTERN + 3), numbers(table, MORE),
    )  # fmt: skip


@kernel(inline=True)
def bodies_at(table: Ints) -> Bodies:
    return Bodies(
        wholes(table, BODIES), wholes(table, BODIES + 1), numbers(table, BODIES + 2),
        cubes(numbers(table, BODIES + 3)), cubes(numbers(table, BODIES + 4)),
        vectors(table, BODIES + 5, 3),
    )  # fmt: skip


@kernel(inline=True)
def surfaces_at(table: Ints) -> Surfaces:
    return Surfaces(
        indices(table, GEOM_TYPE), vectors(table, GEOM_SIZE, 3), vectors(table, MATERIAL, COLUMNS),
        vectors(table, XPOS, 3), vectors(table, GEOM_XMAT, 9),
    )  # fmt: skip


@kernel(inline=True)
def fixed_at(table: Ints) -> Fixed:
    reals = numbers(table, REALS)
    return Fixed(
        reals[0], reals[1], table[STIFF_GAPS] != 0, table[SPARSE] != 0, table[IMPLICIT] != 0, table[ACTS] != 0,
        table[SENSORS] != 0, table[CONE], table[CONE_AT], table[USER], table[OWN], wholes(table, WHERE),
        folded(wholes(table, CALLBACKS), 2, table[2 * CALLBACKS + 1] // 2),
        folded(wholes(table, PAIRS), table[2 * PAIRS + 1] // 3, 3),
    )  # fmt: skip
