"""What is known of the moment that is shown, whoever computed it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from pliant.inputs import Array, Ints
from pliant.readout import COLUMNS
from pliant.solution import Status
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_pulls import Pulls

GEOM1, GEOM2, ELEMENT, AREA = (COLUMNS.index(name) for name in ("geom1", "geom2", "element", "area"))
PLACE: Final = slice(COLUMNS.index("x"), COLUMNS.index("x") + 3)
NORMAL: Final = slice(COLUMNS.index("nx"), COLUMNS.index("nx") + 3)
FORCE: Final = slice(COLUMNS.index("fx"), COLUMNS.index("fx") + 3)
DEPTH, STATE = COLUMNS.index("penetration"), COLUMNS.index("state")


class Moment(NamedTuple):
    """Contacts and pulls are of the step that led here; status and residual the worst since the moment before."""

    time: float  # [s]
    rows: Array  # contacts, (n, len(COLUMNS)), see pliant.readout
    friction: Array  # (n,) coefficients
    pulls: Pulls | None  # of limits and equalities; None: not known
    status: Status | None  # None: before the first step
    residual: float
    iterations: float  # per step
    energy: dict[str, float]  # [J]; empty: not known

    @property
    def deepest(self) -> float:
        """[m]"""
        return float(self.rows[:, DEPTH].max(initial=0.0))

    def pair_force(self, pair: tuple[int, int]) -> float:
        """The size of what one geom does to another [N], all contacts of the two together."""
        between = (self.rows[:, GEOM1] == pair[0]) & (self.rows[:, GEOM2] == pair[1])
        return float(np.linalg.norm(self.rows[between, FORCE].sum(axis=0)))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Who touches whom."""
        return [(int(a), int(b)) for a, b in np.unique(self.rows[:, [GEOM1, GEOM2]], axis=0)]


def pairs_of(rows: Array) -> Ints:
    """(n, 2)"""
    return rows[:, [GEOM1, GEOM2]].astype(np.int64)


def place_bodies(model: Any, data: Any) -> None:
    """Everything that is drawn, from qpos and mocap poses."""
    mj = mujoco()
    mj.mj_kinematics(model, data)
    mj.mj_comPos(model, data)
    mj.mj_camlight(model, data)
    mj.mj_tendon(model, data)


def energy_of(model: Any, data: Any) -> dict[str, float]:
    """[J], of a data whose bodies are placed."""
    mj = mujoco()
    mj.mj_makeM(model, data)
    mj.mj_energyPos(model, data)
    mj.mj_energyVel(model, data)
    return {"kinetic": float(data.energy[1]), "potential": float(data.energy[0])}
