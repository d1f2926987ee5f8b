"""The power law of one row, for floats and for extended numbers alike.

    g(d) = k d^p (1 + alpha (d - d0)/h) + b (d - d0)/h,      d = max(0, -phi1), d0 = max(0, -phi0)

before its max(0, .). Where g >= 0 it is increasing and convex in d, so Newton from the right is monotone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Number = Any  # float, or flint.arb, which has no types

POLISH = 5  # Newton steps from 53 bits to 400: 3 double them, 2 more for ill-conditioned roots


class PowerLaw(NamedTuple):
    """k [N/m^p], p, alpha [s/m], b [N s/m], d0 [m], h [s]; all floats or all extended."""

    k: Number
    p: Number
    alpha: Number
    b: Number
    d0: Number
    h: Number

    def force(self, d: Number) -> Number:
        """g(d) [N]."""
        rate = (d - self.d0) / self.h
        return self.k * d**self.p * (1 + self.alpha * rate) + self.b * rate

    def slope(self, d: Number) -> Number:
        """dg/dd [N/m]."""
        rate = (d - self.d0) / self.h
        bend = self.k * self.p * d ** (self.p - 1) * (1 + self.alpha * rate)
        return bend + (self.k * d**self.p * self.alpha + self.b) / self.h


def penetration(law: PowerLaw, force: float) -> float:
    """The largest d with g(d) = force, for floats; 0 where there is none (force < 0, or no law at all)."""
    k, p, _, b, d0, h = law
    if force < 0.0 or (k == 0.0 and b == 0.0):
        return 0.0
    # Both bounds have g >= force: without the dashpots and beyond d0; without the spring.
    d = max(d0, (force / k) ** (1.0 / p)) if k > 0.0 else d0 + h * force / b
    if b > 0.0:
        d = min(d, d0 + h * force / b)
    for _ in range(200):
        slope = law.slope(d) if d > 0.0 else 0.0
        if slope <= 0.0:
            break
        shorter = d - (law.force(d) - force) / slope
        if not shorter < d:
            break
        d = max(shorter, 0.0)
    return float(d)


def polished(law: PowerLaw, force: Number, start: Number) -> Number:
    """The root of g(d) = force near `start`, extended."""
    d = start
    for _ in range(POLISH):
        d = (d - (law.force(d) - force) / law.slope(d)).mid()
    return d
