"""What must hold between the arguments of a constraint: laws that fit its rows, bounds in order, shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array, Matrix, check_over_rows, check_over_tangents
from pliant.laws import Law, spread

CONTACT_DIMENSIONS = (2, 3, 4, 6)  # planar, spatial, with torsion, with rolling
LAW_FIELDS = ("stiffness", "damping", "exponent", "dissipation")


def label_of(kind: str, name: str) -> str:
    """How messages call a constraint."""
    return f"{kind} {name!r}" if name else kind


def check_law(label: str, law: Any, n: int, *, allows_power: bool) -> None:
    """A Law whose parameters broadcast over n rows; linear unless `allows_power`."""
    if not isinstance(law, Law):
        raise InputError(f"{label} must be a pliant.Law, got {law!r}; write pliant.Law(stiffness, damping)")
    if not law.is_uniform:
        for field in LAW_FIELDS:
            check_over_rows(f"{label}.{field}", np.asarray(getattr(law, field)), n)
    if not allows_power:
        _check_linear(label, law)


def _check_linear(label: str, law: Law) -> None:
    if not law.is_linear:
        raise InputError(
            f"{label} must be linear (exponent 1, dissipation 0), got {law!r}; "
            "power laws are for Unilateral rows and for the normals of Contact"
        )


def check_tangents(label: str, law: Any, stretch: Array) -> None:
    """tangent_law: None or linear, over (n, d-1); a stretch means something only beside a stiffness."""
    if law is None and not stretch.any():
        return
    stiff = False
    if law is not None:
        if not isinstance(law, Law):
            raise InputError(f"{label}: tangent_law must be None or a pliant.Law, got {law!r}")
        n, tangents = stretch.shape
        for field in LAW_FIELDS:
            check_over_tangents(f"{label}: tangent_law.{field}", np.asarray(getattr(law, field)), n, tangents)
        _check_linear(f"{label}: tangent_law", law)
        stiff = bool(np.any(law.stiffness))
    if not stiff and stretch.any():
        raise InputError(
            f"{label}: stretch must be 0 without a tangent_law that has stiffness, got {spread(stretch)}; "
            "pass tangent_law=pliant.Law(stiffness, damping), or leave stretch out"
        )


def check_bounds(label: str, lower: Array, upper: Array) -> None:
    """lower <= upper, and some finite force allowed."""
    for argument, array, barred in (("lower", lower, np.inf), ("upper", upper, -np.inf)):
        if np.any(array == barred):
            raise InputError(f"{label}: {argument} must not be {barred}: it would allow no finite force")
    bad = lower > upper
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(f"{label}: lower must be <= upper, got lower {lower[i]} > upper {upper[i]} in row {i}")


def contact_shape(label: str, G: Matrix, gap: Any, friction: Any, stretch: Any) -> tuple[int, int]:
    """n contacts and d rows each; a sparse jacobian tells them only together with gap."""
    if isinstance(G, np.ndarray):
        n, d = G.shape[0], G.shape[1]
        _check_dimension(label, d, f"jacobian of shape {G.shape}")
        return n, d
    rows, n = G.shape[0], int(np.size(gap))
    if rows == 0 and n == 0:
        told = [np.shape(given)[1] + 1 for given in (friction, stretch) if np.ndim(given) == 2]
        d = told[0] if told else 3
    elif n == 0 or rows % n:
        raise InputError(
            f"{label}: jacobian must have d rows for each of the {n} gaps (d one of {CONTACT_DIMENSIONS}), "
            f"got {rows} rows; stack the d rows of contact 0, then those of contact 1, ..."
        )
    else:
        d = rows // n
    _check_dimension(label, d, f"{rows} stacked rows for {n} gaps")
    return n, d


def _check_dimension(label: str, d: int, got: str) -> None:
    if d not in CONTACT_DIMENSIONS:
        raise InputError(
            f"{label}: jacobian must have d rows per contact, normal first, d one of 2 (planar), "
            f"3 (spatial), 4 (torsion), 6 (rolling), got d = {d} ({got}); "
            "a contact without tangents is a Unilateral row"
        )
