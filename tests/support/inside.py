"""Whether forces keep their bounds and cones."""

from __future__ import annotations

import numpy as np

from pliant.flat import NORMAL, Flat


def outside(flat: Flat, force: np.ndarray) -> float:
    """How far the worst of the forces (m,) lies outside, relative to the largest of them.

    Tangents without friction count in full.
    """
    worst = np.max(np.maximum(flat.lower - force, force - flat.upper), initial=0.0)
    for start, end in zip(flat.block_ptr[:-1], flat.block_ptr[1:], strict=True):
        if start < end and flat.kind[start] == NORMAL:
            mu, pull = flat.friction[start + 1 : end], force[start + 1 : end]
            idle = mu == 0.0
            rim = np.linalg.norm(pull[~idle] / mu[~idle]) - force[start]
            worst = max(worst, rim, np.abs(pull[idle]).max(initial=0.0))
    return float(worst / max(np.abs(force).max(initial=0.0), 1e-300))
