"""The demonstration: two steps small enough to check by hand, as problems and as numbers.

beam     a rigid beam on three springs, the middle one pressed in: the law pushes there and nowhere else
block    1 kg on a ramp of 15 degrees: slides while mu < tan 15 degrees, sticks above
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pliant.constraints import Contact, Unilateral
from pliant.formulation import Convex, Coulomb, Formulation
from pliant.inputs import Array
from pliant.laws import Law
from pliant.printed import Printed
from pliant.problem import StepProblem
from pliant.solution import ContactState, Solution
from pliant.solve import solve

STEP = 0.01  # h [s]
SOLVERS: tuple[Formulation, ...] = (Coulomb(), Convex())
FRICTIONS = (0.125, 0.375)  # one that slides, one that sticks

# The beam: supports at these places [m], mass 1 kg, inertia 1/3 kg m^2, h^2 K = 1 kg.
SUPPORTS = (-1.0, 0.0, 1.0)
BEAM_STIFFNESS = 1e4  # K [N/m]
PRESSED = 1e-3  # [m], the middle spring

# The block: mass 1 kg.
SLOPE = math.radians(15.0)
GRAVITY = 9.81  # [m/s^2]
LOAD = GRAVITY * math.cos(SLOPE)  # its weight across the slope [N]
PULL = GRAVITY * math.sin(SLOPE)  # and along it
BLOCK_STIFFNESS = 1e10  # K [N/m]
STATIC_GAP = -LOAD / BLOCK_STIFFNESS  # [m]


def beam() -> StepProblem:
    """A rigid beam at rest on three springs; velocities: up [m/s], and turning [rad/s]."""
    jacobian = [[1.0, x] for x in SUPPORTS]
    springs = Unilateral(jacobian, [0.0, -PRESSED, 0.0], Law(BEAM_STIFFNESS), name="supports")
    return StepProblem([1.0, 1.0 / 3.0], np.zeros(2), np.zeros(2), STEP, [springs])


def block(friction: float, velocity: Sequence[float] | Array = (0.0, 0.0), gap: float = STATIC_GAP) -> StepProblem:
    """A block on the ramp, at rest unless told otherwise; velocities [m/s]: off the ramp, and down it."""
    contact = Contact(np.eye(2)[np.newaxis], [gap], Law(BLOCK_STIFFNESS, 1.0), friction, name="ramp")
    return StepProblem([1.0, 1.0], velocity, [-LOAD, PULL], STEP, [contact])


@dataclass(frozen=True, slots=True)
class Slide:
    """Where a block that started at rest has come to."""

    friction: float  # mu
    speed: float  # down the ramp [m/s]
    distance: float  # down the ramp [m]
    gap: float  # to the ramp [m], negative when pressed in
    normal_force: float  # of the last step [N]
    friction_force: float  # of the last step, up the ramp [N]
    state: ContactState
    worst_law: float  # largest law residual of all steps
    worst_momentum: float


def slide(friction: float, solver: Formulation, steps: int = 100) -> Slide:
    """Release the block at rest and take `steps` steps: solve, advance."""
    velocity, gap, distance = np.zeros(2), STATIC_GAP, 0.0
    last: Solution | None = None
    law = momentum = 0.0
    for _ in range(steps):
        last = solve(block(friction, velocity, gap), solver, warm_start=last)
        velocity = last.velocity
        gap += STEP * velocity[0]
        distance += STEP * velocity[1]
        law, momentum = max(law, last.law_residual), max(momentum, last.momentum_residual)
    if last is None:
        raise ValueError("slide: steps must be at least 1")
    normal, tangent = last.forces[0][0]
    return Slide(friction, velocity[1], distance, gap, normal, -tangent, _state(last), law, momentum)


def sweep(solver: Formulation, frictions: Sequence[float]) -> list[Slide]:
    """One second of sliding for each coefficient of friction."""
    return [slide(mu, solver) for mu in frictions]


def exact_speed(friction: float, time: float) -> float:
    """Coulomb's law in closed form: g (sin a - mu cos a) t while it slides, 0 when it sticks [m/s]."""
    return max(0.0, PULL - friction * LOAD) * time


def exact_friction_force(friction: float) -> float:
    """Coulomb's law in closed form: mu m g cos a while it slides, m g sin a when it sticks [N]."""
    return min(friction * LOAD, PULL)


def report() -> str:
    """The demonstration as text."""
    return "\n".join([*_beam_table(), "", *_step_table(), "", *_slide_table(), "", *_LEGEND])


_LEGEND = (
    "residual: distance from what the solver set out to solve; laws: from Coulomb's law and the spring laws;",
    "momentum: from M (v1 - v0) = h (f + G' lambda). All are relative, recomputed from problem and answer.",
    "Convex solves one convex program in place of Coulomb's law: a body that slides at v floats h mu v high.",
)


def _beam_table() -> list[str]:
    lines = [
        "A beam on three springs: 1 kg, 1/3 kg m^2, K = 1e4 N/m, h = 10 ms, the middle one pressed in 1 mm",
        f"  {'forces [N]':19s}{'left':>8s}{'middle':>8s}{'right':>8s}    {_CERTIFICATE}",
    ]
    for solver in SOLVERS:
        solution = solve(beam(), solver)
        lines.append(f"  {_name(solver):19s}{_forces(solution.forces[0])}    {_certificate(solution)}")
    printed = solve(beam(), Printed()).forces[0]
    lines.append(f"  {'paper, as printed':19s}{_forces(printed)}    pushes on springs that nothing presses")
    return lines


def _step_table() -> list[str]:
    lines = [
        "A block on a ramp: 1 kg, 15 degrees, K = 1e10 N/m, h = 10 ms; the first step from rest",
        f"  mu     solver   state  normal [N]  friction [N]  speed [m/s]   {_CERTIFICATE}",
    ]
    for mu in FRICTIONS:
        for solver in SOLVERS:
            solution = solve(block(mu), solver)
            normal, tangent = solution.forces[0][0]
            speed = _rounded(solution.velocity[1])
            lines.append(
                f"  {mu:<6g} {_name(solver):8s} {_state(solution).name:5s}"
                f"  {normal:10.4f}  {-tangent:12.4f}  {speed:11.6f}   {_certificate(solution)}"
            )
    return lines


def _slide_table() -> list[str]:
    lines = [
        "The same block after 1 s, 100 steps; the speed by Coulomb's law in closed form; the worst residuals",
        "  mu     solver   state  speed [m/s]  closed form    gap [mm]   laws     momentum",
    ]
    for mu in FRICTIONS:
        for solver in SOLVERS:
            end = slide(mu, solver)
            lines.append(
                f"  {mu:<6g} {_name(solver):8s} {end.state.name:5s}"
                f"  {_rounded(end.speed):11.6f}  {exact_speed(mu, 1.0):11.6f}"
                f"  {_rounded(1e3 * end.gap):10.6f}   {end.worst_law:7.1e}  {end.worst_momentum:7.1e}"
            )
    return lines


_CERTIFICATE = "residual laws     momentum  status"


def _certificate(solution: Solution) -> str:
    residuals = (solution.residual, solution.law_residual, solution.momentum_residual)
    return "  ".join(f"{r:7.1e}" for r in residuals) + f"   {solution.status.name}"


def _state(solution: Solution) -> ContactState:
    """Of the one contact."""
    states = solution.states[0]
    return ContactState.OPEN if states is None else ContactState(int(states[0]))


def _name(solver: Formulation) -> str:
    return type(solver).__name__


def _forces(values: Sequence[float] | Array) -> str:
    return "".join(f"{_rounded(value):8.4f}" for value in values)


def _rounded(value: float) -> float:
    """Without a sign on what prints as zero."""
    return round(float(value), 6) + 0.0
