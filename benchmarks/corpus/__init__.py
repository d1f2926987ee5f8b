"""Recorded steps: what real models ask of a solver, one step after the other in a file.

A file is an .npz of all steps end to end. `size` has a row per step: velocities, rows, blocks, entries of M and of G;
`step` [s] and `origin` (model, step size, what drove it, number of the step) an entry. Every other array is a field of
`pliant.flat.Flat`, or `guess`, the velocity of the step before, carried on by its acceleration; the steps' parts of it
lie one behind the other and are as long as `size` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pliant
from pliant import _engine

FOLDER = Path(__file__).parent
FILES = (FOLDER / "robots.npz", FOLDER / "piles.npz")

# Entries of a field, of `size`: (velocities, rows, blocks, entries of M, entries of G).
LENGTHS: dict[str, Callable[[list[int]], int]] = {
    **dict.fromkeys(("velocity", "force", "guess"), lambda size: size[0]),
    "mass_ptr": lambda size: size[0] + 1,
    **dict.fromkeys(("mass_idx", "mass_val"), lambda size: size[3]),
    "jac_ptr": lambda size: size[1] + 1,
    **dict.fromkeys(("jac_idx", "jac_val"), lambda size: size[4]),
    "block_ptr": lambda size: size[2] + 1,
    **dict.fromkeys(
        (
            *("kind", "value", "offset", "stiffness", "damping"),
            *("exponent", "dissipation", "lower", "upper", "friction"),
        ),
        lambda size: size[1],
    ),
}


class Recorded(NamedTuple):
    """One step of a file."""

    problem: pliant.StepProblem
    guess: np.ndarray  # (nv,)
    origin: str


def read(path: Path | str) -> Iterator[Recorded]:
    """The steps of a file, in its order."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    at = dict.fromkeys(LENGTHS, 0)
    for size, step, origin in zip(arrays["size"].tolist(), arrays["step"], arrays["origin"], strict=True):
        fields: dict[str, Any] = {"step": float(step)}
        for name, length in LENGTHS.items():
            part = arrays[name][at[name] : at[name] + length(size)]
            fields[name] = part.astype(np.int64) if part.dtype.kind == "i" else part
            at[name] += length(size)
        guess = fields.pop("guess")
        yield Recorded(pliant.StepProblem.from_flat(fields), guess, str(origin))


def anew(problem: pliant.StepProblem) -> _engine.Record:
    """Its record, made again: of one that it has just solved the engine knows the rows, which no timed solve should."""
    return _engine.from_arrays(*problem.record.arrays())
