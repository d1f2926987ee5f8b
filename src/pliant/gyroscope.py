"""The gyroscopic torque of a free body over a step, in momentum form."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pliant.errors import InputError
from pliant.inputs import Array, floats

ROUNDS = 50
DIFFERENCE = 1e-7  # of a turn, for the slope of Newton's method
ENOUGH = 1e-14  # of the momentum


def gyroscopic_torque(inertia: Any, rotation: Any, omega: Any, step: float) -> Array:
    """The torque [N m], (3,), in the world frame, that carries the angular momentum of a free body over a step.

    inertia: (3, 3) about the centre of mass, or (3,) principal, in the frame of the body [kg m^2]. rotation: R0,
    (3, 3), from the body to the world. omega: w0, (3,), in the world [rad/s]. step: h [s].

        I(exp(h w*) R0) w* = I(R0) w0,    torque = I(R0) (w* - w0) / h,    I(R) = R I R'

    Add it to the forces of the step, whose mass is I(R0). Taken at the start of the step, -w0 x I w0, it gains energy
    without bound; in this form it only loses some.
    """
    body = _inertia(inertia)
    R0, w0 = _array("rotation", rotation, (3, 3)), _array("omega", omega, (3,))
    if not (np.isfinite(step) and step > 0.0):
        raise InputError(f"gyroscopic_torque: step must be one number > 0 [s], got {step!r}")
    if np.abs(R0 @ R0.T - np.eye(3)).max() > 1e-6:
        raise InputError("gyroscopic_torque: rotation must be orthogonal: R R' = 1")
    momentum = R0 @ body @ R0.T @ w0

    def miss(w: Array) -> Array:
        R = Rotation.from_rotvec(step * w).as_matrix() @ R0
        return np.asarray(R @ body @ R.T @ w - momentum)

    w = _root(miss, w0, DIFFERENCE / step, float(np.linalg.norm(momentum)))
    return np.asarray(R0 @ body @ R0.T @ (w - w0) / step)


def _root(miss: Any, start: Array, difference: float, size: float) -> Array:
    """Newton with halved steps; the best point if it does not get to rounding."""
    w, r = start, miss(start)
    for _ in range(ROUNDS):
        if np.linalg.norm(r) <= ENOUGH * size:
            break
        slope = np.stack([(miss(w + d) - miss(w - d)) / (2.0 * difference) for d in difference * np.eye(3)], axis=1)
        change = np.linalg.lstsq(slope, -r, rcond=None)[0]
        for _ in range(30):
            ahead = miss(w + change)
            if np.linalg.norm(ahead) < np.linalg.norm(r):
                break
            change = 0.5 * change
        else:
            break
        w, r = w + change, ahead
    return w


def _inertia(data: Any) -> Array:
    array = floats("gyroscopic_torque: inertia", data)
    body = np.diag(array) if array.shape == (3,) else _array("inertia", data, (3, 3))
    if not (np.allclose(body, body.T) and np.linalg.eigvalsh(body)[0] > 0.0):
        raise InputError("gyroscopic_torque: inertia must be symmetric and positive definite [kg m^2]")
    return body


def _array(name: str, data: Any, shape: tuple[int, ...]) -> Array:
    array = floats(f"gyroscopic_torque: {name}", data)
    if array.shape != shape:
        raise InputError(f"gyroscopic_torque: {name} must be finite numbers of shape {shape}, got shape {array.shape}")
    return array
