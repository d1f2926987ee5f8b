"""The laws at an answer: one linear piece for every row, and how it moves with what the row is made of.

    L (dlambda - dforce) + C (G dv1 + R dlambda + drate) = T dlambda

    inside       lambda = law(p): L = 1, C = S; or, of a stiff row, L = 1 / S, C = 1
    at a bound   lambda fixed: L = 1, C = 0; so are all rows of an open contact
    stick        p + R lambda + bias = 0: L = 0, C = 1
    slip         l = lambda_n t,  l_k = lambda_k / mu_k,  w_k = mu_k (p_k + R_k lambda_k + bias_k), t = -w/|w|
                 t t' dl + (|w| Q dl + lambda_n Q dw) / (|w| + lambda_n h reach) = t dlambda_n,  Q = I - t t'

dforce and drate are what the data change by themselves, at the same motion and the same forces: diagonal in
value, rate offset, stiffness, damping and friction of the rows. In an answer of `Convex` slipping contacts
have p_n - |w| for p_n.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import scipy.sparse as sparse

from pliant._compile import kernel
from pliant.flat import NORMAL, TANGENT, UNILATERAL, Flat
from pliant.inputs import Array, Ints
from pliant.solvers.rows import (
    BIAS,
    COMPLIANCE,
    FRICTION,
    MOBILITY,
    POWER,
    REACH,
    SLOPE,
    START,
    Rows,
    power_rate_at,
)

# What a row is made of, in the order in which users meet it.
ROW_DATA: Final = ("value", "rate_offset", "stiffness", "damping", "friction")
RIM: Final = 1e-9  # a contact slips when the natural map leaves its disc by more than this fraction

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Shifts = dict[str, Array]
Entries = tuple[Ints, Ints, Array, Array, Array]  # i, j, L_ij, C_ij, T_ij


class Pieces(NamedTuple):
    """m rows; L, C, T sparse (m, m), with entries inside the blocks only."""

    hold: Any  # L
    drag: Any  # C
    share: Any  # T
    compliance: Array  # (m,) R
    force_shift: Shifts  # dforce per unit of each of ROW_DATA, (m,)
    rate_shift: Shifts  # drate
    rigid: Ints  # rows that stick without compliance


class _Answer(NamedTuple):
    """Forces and rates of m rows, and the tangents in the coordinates in which their ellipse is a disc."""

    flat: Flat
    law: Array  # (m, .) of Rows
    force: Array
    rate: Array  # p
    size: Array  # |G||v1| + |e|: what p was summed from
    head: Ints  # first row of the block
    l: Array
    w: Array
    z: Array  # l - w / (h reach), to be projected onto the disc
    slip: Array  # |w|, on the head


class _Spring(NamedTuple):
    """Where the laws of one-sided rows give their forces, (m,)."""

    r: Array  # rate of penetration (d1 - d0) / h
    d: Array  # penetration d1


def find_pieces(flat: Flat, rows: Rows, force: Array, rate: Array, size: Array, *, lift: bool) -> Pieces:
    """The piece of each row that the natural map reports at (force, rate), all (m,); lift: of `Convex`."""
    answer = _read(flat, rows, force, rate, size)
    slides = _slides(answer)
    if lift:
        answer = answer._replace(rate=rate - answer.slip)
    spring = _spring_at_force(answer, rows)
    slope = _slope(answer, spring)
    inside = _inside(answer, spring)
    held = inside[answer.head] & (answer.law[:, FRICTION] > 0.0)
    slip, stick = held & slides[answer.head], held & ~slides[answer.head]
    # A stiff row is divided by S, not by 1 + h a S: its Jacobian is left as it is, and rows that are
    # redundant to the last bit stay so.
    stiff = flat.step * answer.law[:, MOBILITY] * slope > 1.0
    unit = np.where(stiff, 1.0 / np.where(stiff, slope, 1.0), 1.0)
    hold = np.where(inside, unit, np.where(stick, 0.0, 1.0))
    drag = np.where(inside, np.where(stiff, 1.0, slope), np.where(stick, 1.0, 0.0))
    entries = [_diagonal(hold, drag, ~slip), *_slip_entries(answer, slip)]
    if lift:
        entries.append(_lift_entries(answer, slip, drag))
    i, j, L, C, T = (np.concatenate(part) for part in zip(*entries, strict=True))
    shape = len(force), len(force)
    return Pieces(
        sparse.csr_array((L, (i, j)), shape=shape),
        sparse.csr_array((C, (i, j)), shape=shape),
        sparse.csr_array((T, (i, j)), shape=shape),
        answer.law[:, COMPLIANCE].copy(),
        _force_shifts(answer, spring, inside, slip),
        _rate_shifts(answer, slip, stick),
        np.flatnonzero(stick & (answer.law[:, COMPLIANCE] == 0.0)),
    )


def _read(flat: Flat, rows: Rows, force: Array, rate: Array, size: Array) -> _Answer:
    law = rows.law
    head = np.repeat(flat.block_ptr[:-1], np.diff(flat.block_ptr))
    mu = law[:, FRICTION]
    l = np.divide(force, mu, out=np.zeros(len(force)), where=mu > 0.0)
    w = mu * (rate + law[:, COMPLIANCE] * force + law[:, BIAS])
    z = l - np.divide(w, flat.step * law[head, REACH], out=np.zeros(len(w)), where=w != 0.0)
    return _Answer(flat, law, force, rate, size, head, l, w, z, _norm(head, w))


def _norm(head: Ints, x: Array) -> Array:
    """|x| over the rows of each block, on its head."""
    return np.sqrt(np.bincount(head, weights=x * x, minlength=len(x)))


def _slides(answer: _Answer) -> Mask:
    """Whether the natural map leaves the disc, on heads."""
    return np.asarray(_norm(answer.head, answer.z) > np.maximum(answer.force, 0.0) * (1.0 + RIM))


def _one_sided(flat: Flat) -> Mask:
    return np.asarray((flat.kind == UNILATERAL) | (flat.kind == NORMAL))


def _spring_at_rate(answer: _Answer) -> _Spring:
    """d1 = max(0, -(phi0 + h p)), d0 = max(0, -phi0)."""
    phi, h = answer.flat.value, answer.flat.step
    r = np.maximum(np.minimum(phi, 0.0) / h, -answer.rate - np.maximum(phi, 0.0) / h)
    return _Spring(r, np.maximum(0.0, np.maximum(0.0, -phi) + h * r))


def _spring_at_force(answer: _Answer, rows: Rows) -> _Spring:
    """Sharper than `_spring_at_rate`: there phi0 + h p is a small difference of large numbers."""
    flat, (r, d) = answer.flat, _spring_at_rate(answer)
    i = np.flatnonzero(_one_sided(flat) & (answer.law[:, SLOPE] > 0.0) & (answer.force > 0.0))
    K, b, force, start = flat.stiffness[i], flat.damping[i] / flat.step, answer.force[i], -flat.value[i]
    start = np.maximum(0.0, start)
    d[i] = (force + b * start) / (K + b)
    r[i] = _sharper(r[i], answer.size[i], force, -K * start, answer.law[i, SLOPE])
    _power_rates(rows, answer.force, r)
    i = np.flatnonzero(answer.law[:, POWER] != 0.0)
    d[i] = np.maximum(0.0, np.maximum(0.0, -flat.value[i]) + flat.step * r[i])
    return _Spring(r, d)


def _sharper(x: Array, size: Array, a: Array, b: Array, divisor: Array) -> Array:
    """x, or (a + b) / divisor, which is the same number, whichever was summed from smaller terms."""
    known = divisor > 0.0
    other = np.divide(a + b, divisor, out=np.zeros(len(x)), where=known)
    bound = np.divide(np.abs(a) + np.abs(b), divisor, out=np.full(len(x), np.inf), where=known)
    return np.where(bound < size, other, x)


@kernel
def _power_rates(rows: Rows, force: Array, r: Array) -> None:
    for i in range(force.size):
        if rows.law[i, POWER] != 0.0:
            r[i] = power_rate_at(rows.law, rows.step, i, max(force[i], 0.0), np.inf)


def _slope(answer: _Answer, spring: _Spring) -> Array:
    """S = -dlaw/dp; 0 on tangents."""
    S = np.where(answer.flat.kind == TANGENT, 0.0, answer.law[:, SLOPE])
    i = np.flatnonzero(answer.law[:, POWER] != 0.0)
    S[i] = answer.flat.step * np.add(*_spring_slopes(answer, spring, i))
    return S


def _spring_slopes(answer: _Answer, spring: _Spring, i: Ints) -> tuple[Array, Array]:
    """(k q d^(q-1) (1 + alpha r), (k d^q alpha + b) / h): how the force grows with d1, and with -d0."""
    flat, r, d = answer.flat, spring.r[i], spring.d[i]
    k, q, alpha = flat.stiffness[i], flat.exponent[i], flat.dissipation[i]
    return k * q * d ** (q - 1.0) * (1.0 + alpha * r), (k * d**q * alpha + flat.damping[i]) / flat.step


def _inside(answer: _Answer, spring: _Spring) -> Mask:
    """Whether lambda - y lies between the bounds: the row follows its law. False on tangents."""
    flat = answer.flat
    deeper = _Spring(*np.maximum(spring, _spring_at_rate(answer)))
    slope = _slope(answer, deeper)
    y = _law_distance(answer, spring, deeper, slope) / (1.0 + flat.step * answer.law[:, MOBILITY] * slope)
    trial = answer.force - y
    return np.asarray((flat.kind != TANGENT) & (flat.lower < trial) & (trial < flat.upper))


def _law_distance(answer: _Answer, spring: _Spring, deeper: _Spring, slope: Array) -> Array:
    """rho of `rows.linearise`: S p + lambda - c; on power laws lambda - g, or where r at the force is the larger,
    S times the difference of the two, which does not vanish with g."""
    flat, out = answer.flat, np.zeros(len(answer.force))
    i = np.flatnonzero((flat.kind != TANGENT) & (answer.law[:, POWER] == 0.0))
    out[i] = answer.law[i, SLOPE] * answer.rate[i] + answer.force[i] - answer.law[i, START]
    i = np.flatnonzero(answer.law[:, POWER] != 0.0)
    r, d, free = deeper.r[i], deeper.d[i], -answer.rate[i] - np.maximum(flat.value[i], 0.0) / flat.step
    g = flat.stiffness[i] * d ** flat.exponent[i] * (1.0 + flat.dissipation[i] * r) + flat.damping[i] * r
    out[i] = np.where(spring.r[i] >= r, slope[i] * (spring.r[i] - free), answer.force[i] - g)
    return out


def _diagonal(hold: Array, drag: Array, where: Mask) -> Entries:
    i = np.flatnonzero(where)
    return i, i, hold[i], drag[i], np.zeros(len(i))


def _slip_entries(answer: _Answer, slip: Mask) -> list[Entries]:
    """The tangents of slipping contacts, for each number of tangents at once; row k is multiplied by mu_k."""
    flat, out = answer.flat, []
    size = np.diff(flat.block_ptr)
    slipping = np.bincount(answer.head, weights=slip, minlength=len(slip)) > 0.0
    for d in np.unique(size[size > 1]):
        head = flat.block_ptr[:-1][size == d]
        head = head[slipping[head]]
        k = head[:, None] + np.arange(1, d)  # (n, d-1)
        rubs = slip[k]  # but for tangents without friction of their own: dlambda_k = 0
        mu = np.where(rubs, answer.law[k, FRICTION], 1.0)
        t = np.where(rubs, answer.z[k], 0.0)
        t /= np.sqrt((t * t).sum(axis=1, keepdims=True))
        along = t[:, :, None] * t[:, None, :]
        across = np.eye(d - 1) * rubs[:, None, :] - along
        radius, speed = (x[head, None, None] for x in (answer.force, answer.slip))
        full = speed + radius * flat.step * answer.law[head, REACH, None, None]
        L = mu[:, :, None] / mu[:, None, :] * (along + speed / full * across) + np.eye(d - 1) * ~rubs[:, None, :]
        C = mu[:, :, None] * mu[:, None, :] * radius / full * across
        i, j = (np.broadcast_to(x, L.shape).ravel() for x in (k[:, :, None], k[:, None, :]))
        out.append((i, j, L.ravel(), C.ravel(), np.zeros(L.size)))
        none = np.zeros(k.size)
        out.append((k.ravel(), answer.head[k].ravel(), none, none, (mu * t).ravel()))
    return out


def _lift_entries(answer: _Answer, slip: Mask, drag: Array) -> Entries:
    """p_n - |w|: the normals of slipping contacts feel their tangents."""
    k = np.flatnonzero(slip)
    head = answer.head[k]
    C = -drag[head] * answer.law[k, FRICTION] * answer.w[k] / answer.slip[head]
    return head, k, np.zeros(len(k)), C, np.zeros(len(k))


def _no_shifts(m: int) -> Shifts:
    return {name: np.zeros(m) for name in ROW_DATA}


def _force_shifts(answer: _Answer, spring: _Spring, inside: Mask, slip: Mask) -> Shifts:
    """dforce: of the law at the same rate on rows that follow it; l dmu on slipping tangents."""
    flat, out = answer.flat, _no_shifts(len(inside))
    h = flat.step
    out["friction"][slip] = answer.l[slip]
    # -K phi0 - (h K + B) p
    i = np.flatnonzero(inside & ~_one_sided(flat))
    K, B, phi, force = flat.stiffness[i], flat.damping[i], flat.value[i], answer.force[i]
    p = _sharper(answer.rate[i], answer.size[i], -force, -K * phi, h * K + B)
    phi1 = _sharper(phi + h * p, np.abs(phi) + h * answer.size[i], -force, B / h * phi, K + B / h)
    out["value"][i], out["stiffness"][i], out["damping"][i] = -K, -phi1, -p
    # k d1^q (1 + alpha r) + b r,  r = (d1 - d0) / h
    i = np.flatnonzero(inside & _one_sided(flat))
    steep, loss = _spring_slopes(answer, spring, i)
    out["value"][i] = -steep - np.where(flat.value[i] < 0.0, 0.0, loss)
    out["stiffness"][i] = spring.d[i] ** flat.exponent[i] * (1.0 + flat.dissipation[i] * spring.r[i])
    out["damping"][i] = spring.r[i]
    return out


def _rate_shifts(answer: _Answer, slip: Mask, stick: Mask) -> Shifts:
    """drate: of p itself; on tangents also of (lambda + K phi0) / S, and of w = mu (...) with mu."""
    flat, out = answer.flat, _no_shifts(len(slip))
    out["rate_offset"][:] = 1.0
    out["friction"][slip] = answer.w[slip] / flat.friction[slip] ** 2
    i = np.flatnonzero((slip | stick) & (answer.law[:, COMPLIANCE] > 0.0))
    K, R, phi = flat.stiffness[i], answer.law[i, COMPLIANCE], flat.value[i]
    u = (answer.force[i] + K * phi) * R
    out["value"][i], out["stiffness"][i], out["damping"][i] = K * R, (phi - flat.step * u) * R, -u * R
    return out
