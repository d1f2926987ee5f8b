"""Which of many curves are drawn: those that are asked for, or those that do most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, TypeVar

from pliant.errors import InputError
from pliant.plot.style import COLOURS

T = TypeVar("T")
MOST: Final = len(COLOURS)  # curves that a reader can tell apart


def named(what: str, known: Mapping[str, T], which: str | Sequence[str] | None) -> dict[str, T]:
    """Those whose name is, or matches, one of `which` (all, if None); an error lists the names that exist."""
    if which is None:
        return dict(known)
    wanted = [which] if isinstance(which, str) else list(which)
    for glob in wanted:
        if not isinstance(glob, str):
            raise InputError(f"which: expected names or globs, got {glob!r}")
        if not any(glob == name or fnmatchcase(name, glob) for name in known):
            raise InputError(f"which: there is no {what} {glob!r} in this run; there are: {', '.join(known) or 'none'}")
    return {name: one for name, one in known.items() if any(name == g or fnmatchcase(name, g) for g in wanted)}


def busiest(curves: Mapping[str, T], size: Mapping[str, float]) -> tuple[dict[str, T], str]:
    """At most MOST of them, the largest by `size`, in their order; and what to say of the others."""
    if len(curves) <= MOST:
        return dict(curves), ""
    kept = set(sorted(curves, key=lambda name: -size[name])[:MOST])
    return {name: one for name, one in curves.items() if name in kept}, f"{MOST} of {len(curves)}, which=... chooses"
