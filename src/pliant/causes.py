"""What in a step is likely to be at fault: each question a function, each finding with what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from pliant.conditioning import inertia, jacobian, mobility, pressed, slopes
from pliant.energy import energy_of
from pliant.flat import CLIPPED, NORMAL, UNILATERAL, Flat
from pliant.inputs import Array
from pliant.problem import StepProblem
from pliant.solution import Solution, Status

LIGHT: Final = 1e5  # a mass so many times smaller than its neighbours is very light
LEVER: Final = 0.1  # entries of a row that are so much smaller than its largest are levers, not bodies
PARTING: Final = 1.0  # [m/s] rows that part faster than this, and than anything moved, began too deep
GAIN: Final = 1e-6  # of the energy
CANCELLATION: Final = 1e5  # forces so many times larger than what they do are those of rows that contradict each other
ANSWERS: Final = 1e-6  # of the speed: answers that differ by more are two


@dataclass(frozen=True, slots=True)
class Cause:
    """A finding: its name, what was found, and what to do about it."""

    name: str
    text: str
    remedy: str


class Case(NamedTuple):
    """A step and its answers."""

    problem: StepProblem
    flat: Flat
    whitened: Any  # rows in coordinates in which the inertia is the identity, (m, nv) sparse
    answer: Solution  # of Coulomb()
    others: Sequence[Solution]  # of Coulomb() from other starts

    @property
    def force(self) -> Array:
        """(m,) [N]."""
        return np.concatenate([np.zeros(0), *(part.ravel() for part in self.answer.forces)])

    def named(self, row: int) -> str:
        """A row as people know it."""
        i = int(self.flat.constraint[row])
        return f"constraints[{i}] ({self.problem.constraints[i].label}), id {int(self.flat.ids[row])}"


@np.errstate(all="ignore")
def find_causes(case: Case) -> list[Cause]:
    """The findings, the most telling first; none: nothing stands out."""
    if case.answer.status is Status.NON_FINITE:
        return [_not_finite(case)]
    asked = (_contradiction, _depth, _several, _jam, _light, _gain)
    found = [cause for ask in asked if (cause := ask(case)) is not None]
    if not found and case.answer.status is not Status.SOLVED:
        text = f"the laws hold only to {case.answer.law_residual:.1e}, and none of the usual causes is there"
        found.append(Cause("unknown", text, "take a smaller step, warm-start, and report the step: send this file"))
    return found


def _not_finite(case: Case) -> Cause:
    flat = case.flat
    sizes: dict[str, Array] = {
        "mass": flat.mass_val, "velocity": flat.velocity, "force": flat.force, "jacobian": flat.jac_val,
        "value": flat.value, "rate_offset": flat.offset, "damping": flat.damping,
        "stiffness": flat.stiffness[np.isfinite(flat.stiffness)],
    }  # fmt: skip
    largest = {name: float(np.abs(part).max(initial=0.0)) for name, part in sizes.items()}
    worst = sorted(largest, key=lambda name: -largest[name])[:3]
    text = "the answer is beyond double precision; the largest data: " + ", ".join(
        f"{name} {largest[name]:.1e}" for name in worst
    )
    return Cause("non-finite", text, "bring them to what a machine has: an overflow before this step, or a wrong unit")


def _contradiction(case: Case) -> Cause | None:
    """Forces that cancel: max |G|'|lambda| far above all that the same island is pushed by or does."""
    flat, force, G = case.flat, case.force, jacobian(case.flat)
    applied = np.where((flat.kind == CLIPPED) & ((force == flat.lower) | (force == flat.upper)), np.abs(force), 0.0)
    gross, net = abs(G).T @ np.abs(force), np.maximum(np.abs(G.T @ force), np.abs(flat.force))
    net = np.maximum(net, abs(G).T @ applied)
    for island in range(len(case.answer.islands.status)):
        mine = case.answer.islands.row_island == island
        moved = np.unique(G[np.flatnonzero(mine)].indices)
        if not moved.size or not gross[moved].max() > CANCELLATION * max(float(net[moved].max()), 1e-300):
            continue
        j = int(moved[np.argmax(gross[moved])])
        share = (G[:, [j]].toarray().ravel() * force) * mine
        one, two = int(np.argmax(share)), int(np.argmin(share))
        text = (
            f"rows push against each other with {gross[j] / 2:.3g} N, of which {net[moved].max():.3g} N are left over: "
            f"{case.named(one)}, against {case.named(two)}"
        )
        return Cause("contradicting rows", text, _remedy(flat, one, two))
    return None


def _remedy(flat: Flat, one: int, two: int) -> str:
    if all(flat.kind[i] in (UNILATERAL, NORMAL) for i in (one, two)):
        return "a body is pressed in on both sides: make room for it, or soften what holds it"
    return "they cannot hold at once: leave out one, give both the same value, or soften them"


def _depth(case: Case) -> Cause | None:
    """Contacts that begin deep part at d / (h + B/K), less where their inertia does not let them."""
    flat, a, S = case.flat, mobility(case.whitened), slopes(case.flat)
    deep, push = pressed(flat), flat.step * a * S
    spring = np.where(np.isfinite(flat.stiffness), S - flat.damping, 0.0)
    parting = np.where(deep > 0.0, deep / flat.step * spring / np.maximum(S, 1e-300) * push / (1.0 + push), 0.0)
    G = jacobian(flat)
    free = np.abs(G @ flat.velocity + flat.offset) + flat.step * np.sqrt(a) * _pull(flat)
    late = np.flatnonzero(parting > np.maximum(PARTING, 2.0 * free))
    if not late.size:
        return None
    i = int(late[np.argmax(parting[late])])
    text = (
        f"rows that begin so deep that they are thrown apart within the step: {late.size}; the worst, at "
        f"{parting[i]:.3g} m/s: {case.named(i)}, {deep[i]:.3g} m deep"
    )
    return Cause("deep penetration", text, "move them apart at the start, exclude the pair, or give the law a damper")


def _pull(flat: Flat) -> float:
    """sqrt(f' inv(M) f), but for couplings: how fast the applied forces accelerate anything."""
    return float(np.sqrt(np.sum(flat.force**2 / inertia(flat).diagonal())))


def _several(case: Case) -> Cause | None:
    """Other starts, other answers."""
    if case.answer.status is not Status.SOLVED:
        return None
    solved = [other for other in case.others if other.status is Status.SOLVED]
    apart = max((apart_by(case.flat, case.answer, other) for other in solved), default=0.0)
    if apart <= ANSWERS:
        return None
    text = f"the step has more than one answer: from other starts velocities differ by {apart:.1e} of the speed"
    return Cause("several answers", text, "jammed contacts: less friction, a compliant tangent_law, or Convex()")


def apart_by(flat: Flat, one: Solution, two: Solution) -> float:
    """|v_1 - v_2| over the largest speed in the step, in the norm of the kinetic energy."""
    M = inertia(flat)
    size = max(_norm(M, v) for v in (flat.velocity, one.velocity, two.velocity))
    return _norm(M, one.velocity - two.velocity) / max(size, flat.step * _pull(flat), 1e-300)


def _norm(M: Any, v: Array) -> float:
    return float(np.sqrt(max(v @ (M @ v), 0.0)))


def _jam(case: Case) -> Cause | None:
    """Contacts with mu |A_nt| > A_nn + 1/(h S) that carry a force: what friction does drives them further in."""
    flat, force, Z, S = case.flat, case.force, case.whitened, slopes(case.flat)
    worst, where, count = 0.0, -1, 0
    for start in np.flatnonzero((flat.kind == NORMAL) & (force > 0.0)):
        end = int(flat.block_ptr[np.searchsorted(flat.block_ptr, start) + 1])
        A = (Z[start:end] @ Z[[start]].T).toarray().ravel()
        drives = A[1:] @ force[start + 1 : end] < 0.0
        ratio = np.linalg.norm(flat.friction[start + 1 : end] * A[1:]) / (A[0] + 1.0 / (flat.step * S[start]))
        ratio = ratio if drives else 0.0
        count += ratio > 1.0
        if ratio > max(worst, 1.0):
            worst, where = float(ratio), int(start)
    if where < 0:
        return None
    text = (
        f"contacts that friction can jam: {count}; it drives the worst together {worst:.3g} times as fast as the "
        f"normal force parts it: {case.named(where)}; there may be several answers, or none"
    )
    return Cause("jammed contacts", text, "less friction there, another shape, a softer law, or Convex()")


def _light(case: Case) -> Cause | None:
    """A body that rows tie to two others, the world among them, at least one of which is far heavier."""
    flat, diagonal = case.flat, inertia(case.flat).diagonal()
    _, body = connected_components(inertia(flat), directed=False)
    partners: dict[int, dict[int, tuple[float, int]]] = {}
    for i in np.flatnonzero(case.force != 0.0):
        part = slice(flat.jac_ptr[i], flat.jac_ptr[i + 1])
        G, v = np.abs(flat.jac_val[part]), flat.jac_idx[part]
        main = G > LEVER * G.max(initial=0.0)
        whose, which = np.unique(body[v[main]], return_inverse=True)
        ease = np.bincount(which, weights=G[main] ** 2 / diagonal[v[main]], minlength=len(whose))
        light = int(np.argmax(ease)) if ease.size else -1
        if light >= 0:
            ratio = ease[light] / ease.min() if len(whose) > 1 else np.inf
            heavy = int(whose[np.argmin(ease)]) if len(whose) > 1 else -1
            partners.setdefault(int(whose[light]), {})[heavy] = (float(ratio), int(i))
    worst = [_between(ties) for ties in partners.values()]
    ratio, row = max(worst, default=(0.0, -1))
    if ratio <= LIGHT:
        return None
    text = f"a very light body carries a heavy one, {ratio:.1e} times as heavy, at {case.named(row)}"
    return Cause("mass ratio", text, "weld it to a neighbour, give it more mass or more inertia, or leave it out")


def _between(ties: dict[int, tuple[float, int]]) -> tuple[float, int]:
    """The largest mass ratio to a heavy body, of one that has two partners; the world is infinitely heavy."""
    heavy = [tie for tie in ties.values() if tie[0] > LIGHT]
    return max((tie for tie in heavy if np.isfinite(tie[0])), default=(0.0, -1)) if len(heavy) > 1 else (0.0, -1)


def _gain(case: Case) -> Cause | None:
    """Laws that hold take energy or store it."""
    energy = energy_of(case.problem, case.answer)
    if not energy.gained > GAIN:
        return None
    text = f"the answer has {energy.gained:.1e} of the energy from nowhere: the laws do not hold"
    return Cause("energy gained", text, "raise max_iterations, warm-start, or take a smaller step")
