"""The method in plain NumPy, dense and slow: the page to read after the paper, and an oracle of the tests.

    M (v1 - v0) = h (f + G' lambda)      momentum
    p           = G v1 + e               rates at the end of the step
    lambda_i    = Law_i(p_i)             the laws, row by row

`solve` looks for the forces by Newton's method on the natural map of the laws and, where that does not end, along an
interior path. `law_residual` and `momentum_residual` say how far any answer is from the three lines above. Letters: h
step, S = h K + B slope of a linear law, c its force at rate 0, R = 1/S, A = G inv(M) G', a its diagonal, mu friction.
"""

import contextlib
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from pliant.flat import NORMAL, TANGENT, UNILATERAL, Flat
from pliant.inputs import Array
from pliant.problem import StepProblem, read_flat, read_problem

TOLERANCE = 1e-8  # of the law residual: an error of 1e-16 of the kinetic energy
CANCELLING = 1e-5  # share of the largest force, in the energy norm, that counts as motion: what its rounding leaves


class Reference(NamedTuple):
    """An answer of `solve`."""

    velocity: Array  # (nv,) v1 [m/s]
    forces: tuple[Array, ...]  # per constraint: (n,), or (n, d) for a Contact [N]
    law_residual: float  # the largest of all islands
    momentum_residual: float
    iterations: int  # linear systems solved
    converged: bool  # law_residual below 1e-8


def solve(problem: StepProblem) -> Reference:
    """Newton's method from zero forces; where it does not end, the interior path, and Newton's method from its end."""
    flat = read_problem(problem).flat()
    with np.errstate(all="ignore"):
        step = Step(flat)
        found = [best(step, newton(step, np.zeros(step.m)), 20)]
        if not found[0][1] < TOLERANCE:
            found += [path := best(step, interior(step), 150), best(step, newton(step, path[0]), 20)]
        force, law, _ = min(found, key=lambda end: end[1])
        v1, count = flat.velocity + step.gain(force), sum(end[2] for end in found)
    return Reference(v1, problem.split(force), law, momentum_residual(flat, v1, force), count, law < TOLERANCE)


def best(step: "Step", iterates: Iterator[Array], most: int) -> tuple[Array, float, int]:
    """The best forces, up to those that are right to rounding or no better than the ones before; residual, number."""
    least, residual, found, count = math.inf, math.inf, np.zeros(step.m), -1
    with contextlib.suppress(np.linalg.LinAlgError):
        for force in itertools.islice(iterates, most):
            last, residual, count = residual, float(law_residual(step, force).max(initial=0.0)), count + 1
            least, found = (residual, force) if residual < least else (least, found)
            if not math.isfinite(residual) or residual < 1e-15 or (residual < TOLERANCE and residual > 0.3 * last):
                break
    return found, least, count


class Step:
    """The step as dense arrays, and all that does not depend on the answer."""

    def __init__(self, flat: Flat) -> None:
        self.flat, self.h, nv, self.m = flat, flat.step, len(flat.velocity), len(flat.kind)
        self.M = csr_array((flat.mass_val, flat.mass_idx, flat.mass_ptr), shape=(nv, nv)).toarray()
        self.G = csr_array((flat.jac_val, flat.jac_idx, flat.jac_ptr), shape=(self.m, nv)).toarray()
        L = np.linalg.cholesky(self.M)  # M = L L',  x = L' v,  Z = G inv(L'),  A = Z Z'
        Z = np.linalg.solve(L, self.G.T).T
        self.A = Z @ Z.T
        self.a = np.where(self.h * np.diag(self.A) > 0.0, np.diag(self.A), 0.0)
        self.weight = self.h * np.sqrt(self.a)  # h sqrt(a) |lambda|: a force in the energy norm
        self.free = self.rate(np.zeros(self.m))  # p without constraint forces
        self.motion = L.T @ flat.velocity + np.outer([0.0, self.h], np.linalg.solve(L, flat.force))  # L' v0 and L' v*
        # S = h K + B,  c = -K phi0 - (B/h) max(phi0, 0), the last term for one-sided rows; of a power law c = K d0^q
        rigid, one_sided = np.isinf(flat.stiffness), np.isin(flat.kind, (UNILATERAL, NORMAL))
        K, opening = np.where(rigid, 0.0, flat.stiffness), np.where(one_sided, np.maximum(flat.value, 0.0), 0.0)
        self.S = np.where(rigid, np.inf, self.h * K + flat.damping)
        self.R, self.c = 1.0 / self.S, -K * flat.value - flat.damping / self.h * opening
        self.power = one_sided & (K > 0.0) & ((flat.exponent != 1.0) | (flat.dissipation != 0.0))
        self.spring = np.stack([K, flat.damping, flat.exponent, flat.dissipation, np.maximum(0.0, -flat.value)], axis=1)
        self.c = np.where(self.power, K * self.spring[:, 4] ** flat.exponent, self.c)
        # Blocks: a scalar row, with the tangents that can carry a force. Islands: what M, G and the blocks connect.
        live = (flat.kind == TANGENT) & (flat.friction > 0.0) & (self.S > 0.0)
        self.blocks = [
            (int(b[0]), b[live[b]]) for b in map(np.arange, flat.block_ptr[:-1], flat.block_ptr[1:]) if len(b)
        ]
        own = np.searchsorted(flat.block_ptr, np.arange(self.m), side="right")
        joined = csr_array(np.block([[self.M, self.G.T], [self.G, np.equal.outer(own, own)]]) != 0.0)
        island = connected_components(joined, directed=False)[1]
        self.islands = [(island[:nv] == k, island[nv:] == k) for k in np.unique(island[nv:])]  # velocities, rows
        self.E = 1e-14 * self.h * np.array([self.a[own == k].max() for k in own])

    def gain(self, force: Array) -> Array:
        """v1 - v0 = h inv(M) (f + G' lambda), the solve refined once."""
        push = exact_dot(self.G.T, force, self.flat.force)
        change = np.linalg.solve(self.M, push)
        return self.h * (change + np.linalg.solve(self.M, exact_dot(-self.M, change, push)))

    def rate(self, force: Array) -> Array:
        """p = G v0 + G gain + e; v0 + gain need not be representable."""
        return exact_dot(np.hstack([self.G, self.G]), np.append(self.flat.velocity, self.gain(force)), self.flat.offset)


def exact_dot(matrix: Array, vector: Array, start: Array) -> Array:
    """start + matrix @ vector, rounded once: factors are split in halves, whose products are exact."""
    A, x = (134217729.0 * part - (134217729.0 * part - part) for part in (matrix, vector))
    terms = np.hstack([A * x, A * (vector - x), (matrix - A) * x, (matrix - A) * (vector - x), start[:, None]])
    return np.array([math.fsum(row[row != 0.0]) if np.isfinite(row).all() else np.nan for row in terms])


def power_law(step: Step, i: int, d: float) -> tuple[float, float]:
    """g = K d^q (1 + alpha rate) + B rate,  rate = (d - d0) / h, before its max(0, .); and S = h dg/dd."""
    K, B, q, alpha, d0 = step.spring[i]
    rate, spring = (d - d0) / step.h, K * d**q
    S = step.h * q * K * d ** (q - 1.0) * (1.0 + alpha * rate) + spring * alpha + B
    return spring * (1.0 + alpha * rate) + B * rate, S


def penetration(step: Step, i: int, force: float) -> float:
    """The depth d at which g(d) = force: g is convex where it is positive, so Newton falls onto it from above."""
    K, B, q, _, d0 = step.spring[i]
    d = min(max(d0, (force / K) ** (1.0 / q)), d0 + step.h * force / B if B > 0.0 else math.inf)
    for _ in range(100):
        g, S = power_law(step, i, d)
        if not (S > 0.0 and g > force) or (lower := max(0.0, d - step.h * (g - force) / S)) >= d:
            break
        d = lower
    return float(d)


def scalar_law(step: Step, i: int, force: float, p: float) -> tuple[float, float]:
    """y of lambda = clip(lambda - y, lower, upper), and the slope S that it was made with.

    linear   y = (S p + lambda - c) / (1 + h a S)
    power    y = (lambda - g(p)) / (1 + h a S) where p leads deeper than d', at which g = lambda; else
             y = S (p - p') / (1 + h a S), p' the rate that leads to d'. S is taken at the deeper of the two.
    """
    S, miss = step.S[i], step.S[i] * p + force - step.c[i]
    if step.power[i]:
        phi0 = step.flat.value[i]
        d, held = max(0.0, -(phi0 + step.h * p)), penetration(step, i, max(force, 0.0))
        S = max(0.0, power_law(step, i, max(d, held))[1])
        miss = S * (p + (phi0 + held) / step.h) if held > d and S > 0.0 else force - power_law(step, i, d)[0]
    return miss / (1.0 + step.h * step.a[i] * S), S


def rate_law(step: Step, i: int, force: float) -> tuple[float, float]:
    """The rate q at which the law gives the force, and R = -dq/dlambda."""
    if not step.power[i]:
        return (step.c[i] - force) * step.R[i] if step.R[i] > 0.0 else 0.0, step.R[i]
    d = penetration(step, i, max(force, 0.0))
    return -(step.flat.value[i] + d) / step.h, 1.0 / max(power_law(step, i, d)[1], 1e-100)


def natural_map(step: Step, force: Array, p: Array, convex: bool = False, ahead: bool = False) -> list[Array]:
    """r [N], zero where the laws hold; and B, C of Coulomb's map, dr = B dlambda + C dp.

    scalar     r = lambda - clip(lambda - y, lower, upper) = clip(y, lambda - upper, lambda - lower)
    tangents   r = mu [l - proj(l - w / s)], onto the disc of radius max(0, lambda_n), without friction r = lambda;
               l = lambda / mu,  w = mu (p + (lambda - c) / S),  c = -K phi_t,  s = max mu^2 (h a + 1/S)
    convex: the associated cone, with p_n - |w| in place of p_n, up to what the last digits of lambda_t do to |w|
    ahead: the disc that the present rate calls for, of radius clip(lambda_n - y_n), for Newton's method
    """
    r, B, C = force.copy(), np.eye(step.m), np.zeros((step.m, step.m))
    for n, t in step.blocks:
        mu, R, tt, low, high = step.flat.friction[t], step.R[t], np.ix_(t, t), step.flat.lower[n], step.flat.upper[n]
        w, s = mu * (p[t] + R * (force[t] - step.c[t])), np.max(mu**2 * (step.h * step.a[t] + R), initial=0.0)
        l, speed = force[t] / mu, math.hypot(*w)
        y, S = scalar_law(step, n, force[n], p[n] - speed if convex else p[n])
        share = 1.0 / (1.0 + step.h * step.a[n] * S)
        blur = share * S * 1e-15 * math.hypot(*mu * R * force[t]) if convex else 0.0
        y -= np.clip(y, -blur, blur)
        r[n] = np.clip(y, force[n] - high, force[n] - low)
        if low < force[n] - y < high:
            B[n, n], C[n, n] = share, share * S
        share = mu / s if s > 0.0 else np.zeros(len(t))  # dw / s = share (dp + R dlambda)
        q = l - w / s if s > 0.0 else l if speed == 0.0 else w * (-1e60 * (1.0 + math.hypot(*l)) / speed)
        radius, length = max(0.0, force[n] - r[n] if ahead else force[n]), math.hypot(*q)
        if length > radius:  # slips, or is open: dr = dlambda - mu u dradius - mu radius/|q| (1 - u u') dq
            u = q / length
            turn = radius / length * mu[:, None] * (np.eye(len(t)) - np.outer(u, u))
            r[t], B[tt] = force[t] - mu * u * radius, np.eye(len(t)) - turn * (1.0 / mu - share * R)
            C[tt] = turn * share
            B[t, n], C[t, n] = (-mu * u * (1.0 - B[n, n]), mu * u * C[n, n]) if radius > 0.0 else (0.0, 0.0)
        else:  # sticks: dr = mu dw / s; where nothing is moved any force inside will do
            r[t], C[tt], B[tt] = share * w, np.diag(mu * share), np.diag(mu * share * R if s > 0.0 else np.ones(len(t)))
    return [r, B, C]


def law_residual(flat: Flat | StepProblem | Step, force: Array, *, convex: bool = False) -> Array:
    """The distance of forces (m,) from the laws, one number per island; convex: from those of the associated cone.

    E^2 = v0' M v0 + v*' M v* + 1e-10 max_i h^2 a_i lambda_i^2,     v* = v0 + h inv(M) f
    residual = max_i h sqrt(a_i) |r_i| / E;   of E = 0: 0 if every r_i is 0, else 1
    rows with a_i = 0: |r_i| / (|lambda_i| + |c_i|), in the same way
    """
    with np.errstate(all="ignore"):
        step, residuals = flat if isinstance(flat, Step) else Step(read_flat(flat)), []
        r = abs(natural_map(step, force, step.rate(force), convex=convex)[0])
        held = CANCELLING * step.weight * abs(force)
        for moving, rows in step.islands:
            E = math.hypot(*step.motion[:, moving].ravel(), held[rows].max())
            off = np.where(step.a > 0.0, step.weight * r, r)[rows]
            size = np.where(step.a > 0.0, E, abs(force) + abs(step.c))[rows]
            ratio = np.divide(off, size, out=np.where(off > 0.0, 1.0, 0.0), where=size > 0.0)
            residuals.append(float(ratio.max()) if math.isfinite(off.sum() + E) else math.inf)
    return np.array(residuals)


def momentum_residual(flat: Flat | StepProblem, velocity: Array, force: Array) -> float:
    """max_j |M (v1 - v0) - h (f + G' lambda)|_j / (|M| (|v0| + |v1|) + h |f| + h |G|' |lambda|)_j, 0/0 = 0."""
    with np.errstate(all="ignore"):
        flat = read_flat(flat)
        step, h, change = Step(flat), flat.step, velocity - flat.velocity
        off = abs(exact_dot(np.hstack([step.M, -h * step.G.T]), np.concatenate([change, force]), -h * flat.force))
        size = abs(step.M) @ (abs(flat.velocity) + abs(velocity)) + h * (abs(flat.force) + abs(step.G.T) @ abs(force))
        ratio = np.divide(off, size, out=np.zeros(len(off)), where=off > 0.0)
    return float(ratio.max(initial=0.0)) if np.isfinite(off).all() else math.inf


def newton(step: Step, force: Array) -> Iterator[Array]:
    """Full steps on the active pieces of the natural map, (B + C (h A + E)) dlambda = -r; E keeps it regular."""
    while True:
        yield force
        r, B, C = natural_map(step, force, step.rate(force), ahead=True)
        force = force + np.linalg.solve(B + C @ (step.h * step.A + np.diag(step.E)), -r)


def interior(step: Step) -> Iterator[Array]:
    """Forces inside their bounds and cones, x = F lambda + d, with x o u = kappa e, kappa -> 0, and F' u = p - q + |w|.

    q is the rate at which the law gives lambda, u the duals; F = 1, -1 at bounds and (1, 1/mu) in cones. The slip speed
    |w| on the normals (de Saxce and Feng) makes Coulomb's law of the associated cone; its derivative counts a share of
    itself, less where steps get short. With Nesterov and Todd's scaling Q x = u, in every step
    (h A + R + d|w| + F' Q F) dlambda = kappa F' inv(x) - (p - q + |w|),  du = kappa inv(x) - u - Q dx
    """
    h, mu = step.h, step.flat.friction
    moves = (step.S > 0.0) & (step.flat.lower < step.flat.upper) & (step.a > 0.0) & (step.flat.kind != TANGENT)
    force = -natural_map(step, np.zeros(step.m), step.free)[0]  # what the laws give at the rates of the free motion
    size = 0.1 * max(math.hypot(*step.motion.ravel()), float(np.max(step.weight * abs(force))), 1e-150)
    blocks, cones, x = [block for block in step.blocks if moves[block[0]]], [], []
    for n, t in blocks:  # inside by what makes all products equal
        low, high, least = step.flat.lower[n], step.flat.upper[n], size * math.sqrt(step.a[n])
        rest = min(max(0.0, low), high)
        rate = 0.0 if math.isfinite(high - low) else step.free[n] - rate_law(step, n, rest)[0]
        up, down = (min(0.5 * (high - low), size**2 / h / max(side, least)) for side in (rate, -rate))
        force[n], force[t], moves[t] = min(max(rest, low + up), high - down), 0.0, True
        for sign, end in [(sign, end) for sign, end in ((1.0, low), (-1.0, high)) if math.isfinite(end)]:
            cones.append((np.array([n, *t]), np.array([sign, *1.0 / mu[t]])))
            x.append(np.array([sign * (force[n] - end), *0.0 * mu[t]]))
    u, share, alpha = [size**2 / h * inverse(xi)[0] for xi in x], 1.0, 1.0
    while True:
        yield force
        q, R = np.array([rate_law(step, i, force[i]) if moves[i] else (0.0, 0.0) for i in range(step.m)]).T
        right, matrix = q - step.free - h * step.A @ force, h * step.A + np.diag(R + 1e-14 * h * step.a)
        for n, t in blocks:
            w = -mu[t] * right[t]
            speed = math.hypot(*w)
            right[n] -= speed
            matrix[n] += share * (mu[t] * w / max(speed, 1e-300)) @ matrix[t]
        kappa = max(0.05, (1.0 - alpha) ** 2) * float(sum(map(np.dot, x, u))) / max(len(x), 1)
        scaled = [scaling(*pair) for pair in zip(x, u, strict=True)]
        for (rows, F), Q, xi in zip(cones, scaled, x, strict=True):
            matrix[np.ix_(rows, rows)] += F[:, None] * Q * F
            right[rows] += kappa * F * inverse(xi)[0]
        dforce = np.zeros(step.m)
        dforce[moves] = np.linalg.solve(matrix[np.ix_(moves, moves)], right[moves])
        dx = [F * dforce[rows] for rows, F in cones]
        du = [kappa * inverse(xi)[0] - ui - Q @ dxi for xi, ui, Q, dxi in zip(x, u, scaled, dx, strict=True)]
        alpha = float(min([1.0, *map(longest, x + u, dx + du)]))
        share = min(1.0, 0.51 + 0.5 * share) if alpha >= 0.3 else 0.5 * share
        far = alpha * (0.8 + 0.19 * alpha)
        force = force + far * dforce
        x, u = [a + far * b for a, b in zip(x, dx, strict=True)], [a + far * b for a, b in zip(u, du, strict=True)]


def inverse(x: Array) -> tuple[Array, float]:
    """inv(x) = (x_0, -x_t) / det x, with x o inv(x) = e, and det x = x_0^2 - |x_t|^2."""
    det = max((x[0] - math.hypot(*x[1:])) * (x[0] + math.hypot(*x[1:])), 1e-300)
    return np.append(x[0], -x[1:]) / det, det


def scaling(x: Array, u: Array) -> Array:
    """Q = (2 w w' - J) b/a,  w = (a inv(x) + u/b) / sqrt(2 + 2 x.u/(a b)),  a^2 = det x, b^2 = det u."""
    inv, a, b = inverse(x)[0], math.sqrt(inverse(x)[1]), math.sqrt(inverse(u)[1])
    w = (a * inv + u / b) / math.sqrt(2.0 + 2.0 * max(0.0, float(x @ u)) / (a * b))
    return np.asarray((2.0 * np.outer(w, w) - np.diag([1.0] + [-1.0] * (len(x) - 1))) * (b / a))


def longest(x: Array, dx: Array) -> float:
    """The step s at which x + s dx leaves the cone: c + 2 b s + a s^2 = 0."""
    a, b, c = dx[0] ** 2 - dx[1:] @ dx[1:], x[0] * dx[0] - x[1:] @ dx[1:], inverse(x)[1]
    below = math.sqrt(b * b - a * c) - b if b * b >= a * c else 0.0
    return c / below if below > 0.0 else math.inf
