"""The law of a contact between two geoms, from what they are made of and their curvatures where they touch.

sphere, ellipsoid    their own
capsule, cylinder    of the cap or of the side, whichever is touched; an end or a rim of a cylinder is flat
plane, box, mesh     flat; also edges and corners, which have no curvature of their own

Two curved surfaces, or a curved and a flat one, touch as Hertz says. Two flat ones touch as a punch, of a radius that
makes the four corners of a cube together as stiff as a punch of its face: sqrt(area / pi) / 4, with the mean area of
the faces of a box, that of the end of a cylinder, or of the box around a mesh. Of two the smaller radius holds.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from pliant.hertz import elliptic_integrals, flattening, hertz_stiffness, punch_stiffness
from pliant.inputs import Array
from pliant.systems._compile import kernel
from pliant.systems.mujoco_kinds import DAMPING, DISSIPATION, EXPONENT, STIFFNESS

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX = range(7)  # mjtGeom
# Columns of a geom's material: c [1/Pa], B, alpha, the radius of its punch if it is given, and by its shape; e and the
# least speed for it.
COMPLIANCE, LOSS, ALPHA, GIVEN, FLAT, BOUNCE, FAST = range(7)
COLUMNS = 7
TIP = 1e-6  # of the radius, within which the end of a capsule is a cap
RIM = 0.05  # sine of the angle to its axis, up to which the normal is one of the side of a cylinder
HERTZ = 1.5

for law in (elliptic_integrals, flattening, hertz_stiffness, punch_stiffness):
    register_jitable(law)  # kernels may call it


class Surfaces(NamedTuple):
    """The geoms of a model, and where they are."""

    type: np.ndarray  # (ngeom,)
    size: Array  # (ngeom, 3)
    material: Array  # (ngeom, COLUMNS)
    xpos: Array  # (ngeom, 3)
    xmat: Array  # (ngeom, 9)


class Spots(NamedTuple):
    """Where contacts are: their geoms, points and frames, the normal first."""

    pair: np.ndarray  # (ncon, 2)
    pos: Array  # (ncon, 3)
    frame: Array  # (ncon, 9)


def flat_radii(model: Any) -> Array:
    """Radius of the punch by the shape of every geom, (ngeom,) [m]; of planes infinite."""
    half = np.where(model.geom_type[:, None] == BOX, model.geom_size, model.geom_aabb[:, 3:])
    face = 4.0 / 3.0 * (half[:, 0] * half[:, 1] + half[:, 1] * half[:, 2] + half[:, 2] * half[:, 0])
    ends = model.geom_type == CYLINDER
    face[ends] = np.pi * model.geom_size[ends, 0] ** 2
    face[model.geom_type <= HFIELD] = np.inf
    return np.asarray(np.sqrt(face / np.pi) / 4.0)


@kernel
def has_shapes(material: Array) -> bool:
    """Whether the shape of any geom counts in its contacts."""
    unknown = 0.0
    for g in range(material.shape[0]):
        unknown += material[g, GIVEN]
    return np.isnan(unknown)


@kernel
def material_law(geoms: Surfaces, a: int, b: int, spot: Array, frame: Array, law: Array) -> None:
    """K, B, p, alpha of the contact of geoms a and b. Each counts with its share of what gives way."""
    one, two = geoms.material[a], geoms.material[b]
    total = one[COMPLIANCE] + two[COMPLIANCE]
    share = one[COMPLIANCE] / total
    law[DAMPING] = share * one[LOSS] + (1.0 - share) * two[LOSS]
    law[DISSIPATION] = share * one[ALPHA] + (1.0 - share) * two[ALPHA]
    law[EXPONENT] = 1.0
    if not (np.isnan(one[GIVEN]) or np.isnan(two[GIVEN])):
        law[STIFFNESS] = punch_stiffness(1.0 / total, min(one[GIVEN], two[GIVEN]))
        return
    if geoms.type[a] in (PLANE, SPHERE) and geoms.type[b] == SPHERE:  # MuJoCo sorts them
        round = 1.0 / geoms.size[b, 0] + (1.0 / geoms.size[a, 0] if geoms.type[a] == SPHERE else 0.0)
        law[STIFFNESS], law[EXPONENT] = hertz_stiffness(1.0 / total, round, round), HERTZ
        return
    x, y, z = _curvature(geoms, a, spot, frame)
    u, v, w = _curvature(geoms, b, spot, frame)
    mean, half = 0.5 * (x + u + z + w), np.sqrt((0.5 * (x + u - z - w)) ** 2 + (y + v) ** 2)
    if mean > 0.0:
        law[STIFFNESS], law[EXPONENT] = hertz_stiffness(1.0 / total, mean + half, mean - half), HERTZ
        return
    radius = min(
        one[FLAT] if np.isnan(one[GIVEN]) else one[GIVEN],
        two[FLAT] if np.isnan(two[GIVEN]) else two[GIVEN],
    )
    law[STIFFNESS] = punch_stiffness(1.0 / total, radius)


@kernel
def _curvature(geoms: Surfaces, g: int, spot: Array, frame: Array) -> tuple[float, float, float]:
    """The curvature of a geom's surface in the tangents of the frame, [[x, y], [y, z]]."""
    kind = geoms.type[g]
    if kind == SPHERE:
        return 1.0 / geoms.size[g, 0], 0.0, 1.0 / geoms.size[g, 0]
    if kind not in (CAPSULE, ELLIPSOID, CYLINDER):
        return 0.0, 0.0, 0.0
    R = geoms.xmat[g]
    n, s, t = frame[:3], frame[3:6], frame[6:]
    if kind == ELLIPSOID:  # D = diag(1 / a^2): s' D t / |D x|, at the point x that has this normal
        reach = x = y = z = 0.0
        for k in range(3):
            square = geoms.size[g, k] ** 2
            m, p, q = _along(R, k, n), _along(R, k, s), _along(R, k, t)
            reach += square * m * m
            x += p * p / square
            y += p * q / square
            z += q * q / square
        reach = np.sqrt(reach)
        return reach * x, reach * y, reach * z
    radius, lean = geoms.size[g, 0], abs(_along(R, 2, n))
    if kind == CYLINDER and lean > RIM:
        return 0.0, 0.0, 0.0
    side = kind == CYLINDER
    if kind == CAPSULE:
        at = 0.0
        for k in range(3):
            at += R[3 * k + 2] * (spot[k] - geoms.xpos[g, k])
        side = abs(at) < geoms.size[g, 1] - TIP * radius and lean <= RIM
    if not side:
        return 1.0 / radius, 0.0, 1.0 / radius
    p, q = _along(R, 2, s), _along(R, 2, t)
    return (1.0 - p * p) / radius, -p * q / radius, (1.0 - q * q) / radius


@kernel
def _along(R: Array, axis: int, v: Array) -> float:
    """v along an axis of the geom."""
    return R[axis] * v[0] + R[3 + axis] * v[1] + R[6 + axis] * v[2]
