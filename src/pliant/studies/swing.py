"""The pendulum's exact swing between two passages of its lowest point, in elliptic functions.

angle'' = -rate^2 sin(angle);   with speed at the bottom and k = speed/(2 rate) < 1:
angle(t) = 2 asin(k sn(rate t, k^2)),   angle'(t)^2 = speed^2 - 4 rate^2 sin(angle/2)^2,   back after 2 K(k^2)/rate
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ellipj, ellipk

from pliant.inputs import Array


@dataclass(frozen=True)
class Swing:
    """speed: at the lowest point [rad/s], 0 < speed < 2 rate. rate: of small oscillations [rad/s]."""

    speed: float
    rate: float

    @classmethod
    def released(cls, amplitude: float, rate: float) -> Swing:
        """From rest at this angle [rad]."""
        return cls(2.0 * rate * float(np.sin(0.5 * amplitude)), rate)

    @property
    def half(self) -> float:
        """From one passage of the lowest point to the next [s]."""
        return float(2.0 * ellipk((0.5 * self.speed / self.rate) ** 2) / self.rate)

    def angle(self, time: Any) -> Array:
        """Angle [rad] this long [s] after a passage, on the side where it is positive first."""
        k = 0.5 * self.speed / self.rate
        return np.asarray(2.0 * np.arcsin(k * ellipj(self.rate * np.asarray(time), k * k)[0]))

    def speed_at(self, angle: float) -> float:
        """[rad/s], either way."""
        return float(np.sqrt(self.speed**2 - (2.0 * self.rate * np.sin(0.5 * angle)) ** 2))
