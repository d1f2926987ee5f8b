"""What a deformation costs: the force law of a constraint's rows."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array, check_at_least, floats


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Law:
    """A spring and a damper, taken at the end of the step.

    With `S = h K + B` a linear row carries `lambda = -K phi0 - S phidot1`; with `d = max(0, -phi)` and
    `rate = (d1 - d0) / h` a power spring carries `lambda = max(0, K d1^p (1 + alpha rate) + B rate)`.

    stiffness    K [N/m^exponent], >= 0
    damping      B [N s/m], >= 0
    exponent     p [-], >= 1; 1.5 is Hertz
    dissipation  alpha [s/m], >= 0; Hunt and Crossley

    Each is a scalar or an array that broadcasts over the rows of the constraint it is given to: (n,), one
    per row or contact; for a `tangent_law` also (n, d-1). An exponent other than 1 or a dissipation other
    than 0 is for Unilateral rows and for the normals of Contact.
    """

    stiffness: float | Array
    damping: float | Array
    _: KW_ONLY
    exponent: float | Array
    dissipation: float | Array
    _uniform: bool = field(init=False)
    _linear: bool = field(init=False)

    def __init__(
        self, stiffness: Any = 0.0, damping: Any = 0.0, *, exponent: Any = 1.0, dissipation: Any = 0.0
    ) -> None:
        K, B = _parameter("stiffness", stiffness, 0.0), _parameter("damping", damping, 0.0)
        p, alpha = _parameter("exponent", exponent, 1.0), _parameter("dissipation", dissipation, 0.0)
        uniform = type(K) is float and type(B) is float and type(p) is float and type(alpha) is float
        # found once: laws are looked at in every step
        linear = p == 1.0 and alpha == 0.0 if uniform else bool(np.all(p == 1.0) and not np.any(alpha))
        self.__dict__.update(stiffness=K, damping=B, exponent=p, dissipation=alpha, _uniform=uniform, _linear=linear)

    @property
    def is_linear(self) -> bool:
        """Whether every row is a linear spring and damper (exponent 1, dissipation 0)."""
        return self._linear

    @property
    def is_uniform(self) -> bool:
        """Whether every parameter is a scalar, the same for all rows."""
        return self._uniform

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Law):
            return NotImplemented
        if self._uniform and other._uniform:
            return self._parts() == other._parts()
        return all(np.array_equal(a, b) for a, b in zip(self._parts(), other._parts(), strict=True))

    def __hash__(self) -> int:
        return hash(tuple(np.asarray(part).tobytes() for part in self._parts()))

    def __repr__(self) -> str:
        shown = [f"stiffness={spread(self.stiffness)}", f"damping={spread(self.damping)}"]
        if not self.is_linear:
            shown += [f"exponent={spread(self.exponent)}", f"dissipation={spread(self.dissipation)}"]
        return f"Law({', '.join(shown)})"

    def _parts(self) -> tuple[float | Array, ...]:
        return self.stiffness, self.damping, self.exponent, self.dissipation


def spread(values: float | Array) -> str:
    """A parameter in few characters: `1000`, or `1..1e+15` for an array that varies."""
    array = np.asarray(values)
    if array.size == 0:
        return "[]"
    low, high = float(array.min()), float(array.max())
    return f"{low:g}" if low == high else f"{low:g}..{high:g}"


def _parameter(argument: str, value: Any, bound: float) -> float | Array:
    """A finite parameter >= bound: a float, or a read-only array of one or two axes."""
    if type(value) is float and bound <= value < math.inf:
        return value + 0.0
    array = floats(f"Law: {argument}", value)
    check_at_least(f"Law: {argument}", array, bound)
    if array.ndim > 2:
        raise InputError(
            f"Law: {argument} must be a scalar, one per row (n,), or for a tangent_law (n, d-1), "
            f"got shape {array.shape}"
        )
    # -0.0 becomes 0.0, so that equal laws have equal bits.
    return float(array) + 0.0 if array.ndim == 0 else _without_negative_zero(array)


def _without_negative_zero(array: Array) -> Array:
    clean = array + 0.0
    clean.setflags(write=False)
    return clean
