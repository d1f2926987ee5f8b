"""What the studies of joints keep of a run: how far the joints opened, and what became of the energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from pliant.inputs import Array
from pliant.studies.study import Results, simulate_all
from pliant.systems import System

FAR = 1e6  # |q| beyond which a run has diverged [m], [rad]
SHOWN = 500  # points of a curve
TREATMENTS = ("paper", "tangent", "lookahead")  # of drift


class Jointed(System, Protocol):
    """A system with joints that ought to stay closed."""

    def values(self, time: float, q: Array) -> list[Array]:
        """phi of the joints, two entries each [m]."""
        ...

    def energy(self, time: float, q: Array, v: Array) -> dict[str, float]:
        """By kind [J]."""
        ...


def follow(system: Jointed, q: Any, v: Any, *, drift: str, step: float, duration: float) -> Results:
    """Simulate, up to the point where it diverges.

    deviation: the widest |phi| of a joint [m]. energy: kinetic and gravitational [J]; a joint of 1e15 N/m stores
    lambda^2/(2 K), 1e-12 J and less. given_up: steps in which `lookahead` did not contract and `tangent` was taken;
    deviation_else: the widest |phi| at the end of all other steps.
    """
    run = simulate_all(system, q, v, duration=duration, step=step, drift=drift, throw=False)
    far = np.flatnonzero(~(np.abs(run.q).max(axis=1) < FAR))
    stays = int(far[0]) if len(far) else len(run)
    time, states = run.time[:stays], list(zip(run.q[:stays], run.v[:stays], strict=True))
    gaps = np.array([widest(system, q) for q, _ in states])
    energy = np.array([sum(system.energy(0.0, q, v).values()) for q, v in states])
    kept = np.append(True, run.stats["gave_up"] == 0)[:stays]
    every = -(-len(time) // SHOWN)
    return {
        "drift": drift,
        "step": step,
        "duration": duration,
        "diverged": bool(len(far)) or not run.complete,
        "reached": float(time[-1]),
        "deviation": float(gaps.max()),
        "deviation_else": float(gaps[kept].max()),
        "given_up": int(run.stats["gave_up"].sum()),
        "residual": float(run.stats["residual"][: max(stays - 1, 1)].max()),
        "energy_start": float(energy[0]),
        "energy_end": float(energy[-1]),
        "energy_lowest": float(energy.min()),
        "energy_highest": float(energy.max()),
        "last_q": [float(x) for x in states[-1][0]],
        "time": _thinned(time, every),
        "gap": np.maximum.reduceat(gaps, np.arange(0, len(gaps), every)).tolist(),  # the widest since then
        "energy": _thinned(energy, every),
    }


def widest(system: Jointed, q: Array) -> float:
    """The largest |phi| of a joint [m]."""
    return float(np.linalg.norm(np.concatenate(system.values(0.0, q)).reshape(-1, 2), axis=1).max())


def _thinned(curve: Array, every: int) -> list[float]:
    return [float(x) for x in curve[::every]]


def pick(cases: Sequence[Results], **wanted: Any) -> list[Results]:
    """The cases with these entries."""
    return [case for case in cases if all(case[name] == value for name, value in wanted.items())]


def claim(
    where: str, says: str, measured: str, holds: str, *, beside: str = "", why: str = "", ours: bool = False
) -> Results:
    """One claim of the paper beside what came out. holds: yes, no, or in part. beside: the figure or table of the paper
    that shows it. why: it does not hold; said only then. ours: the paper does not say it, we do."""
    reason = "" if holds == "yes" else why
    found: Results = {"where": where, "beside": beside, "paper": says, "measured": measured, "holds": holds}
    return {**found, "why": reason, "ours": ours}
