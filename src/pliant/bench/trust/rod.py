"""Painleve's rod: 2 m, 1 kg, one end on a rough floor, in the plane. What is known of it in closed form, and its step.

q = (x, y, theta): the centre, and the angle of the rod from the end on the floor. That end is at r = -(cos, sin)
from the centre, and slides along +x. With I = 1/3,

    A = a_nn - mu a_nt = 1 + 3 cos^2 + 3 mu sin cos      what a normal force accelerates the end by, while it slides
    b = -g + omega^2 sin                                 without any force

A > 0, b < 0: it slides on. A > 0, b > 0: it lifts off. A < 0, b < 0: no finite force lets it slide on, it jams at once.
A < 0, b > 0: it may lift off, slide on, or jam. A < 0 takes mu > 4/3, at tan(theta) = -2 first. P. Painleve, 1895; F.
Genot and B. Brogliato, New results on Painleve paradoxes, European Journal of Mechanics A 18, 1999.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from pliant.constraints import Contact
from pliant.inputs import Array
from pliant.laws import Law
from pliant.problem import StepProblem
from pliant.solution import Solution
from pliant.studies.scenes import GRAVITY

INERTIA: Final = 1.0 / 3.0
MASS: Final = np.array([1.0, 1.0, INERTIA])
SLIDING: Final = 1.0  # [m/s]
STIFFNESS, DAMPING = 1e12, 1e3  # [N/m], [N s/m]
RADIUS: Final = 0.01  # [m], of the capsule that stands for the rod
PRESSED: Final = 1e-9  # [m], into the floor, so that every engine finds the contact


def mobility(angle: float, friction: float) -> float:
    """A [1/kg]."""
    c, s = np.cos(angle), np.sin(angle)
    return float(1.0 + 3.0 * c * c + 3.0 * friction * s * c)


def regime(angle: float, friction: float, turning: float) -> str:
    """What can be. turning: [rad/s]."""
    b = -GRAVITY + turning**2 * np.sin(angle)
    if mobility(angle, friction) > 0.0:
        return "lifts off" if b > 0.0 else "slides on"
    return "several" if b > 0.0 else "jams"


def sliding_force(angle: float, friction: float, turning: float) -> float:
    """-b / A [N], normal, while it slides on."""
    return (GRAVITY - turning**2 * float(np.sin(angle))) / mobility(angle, friction)


@cache
def slide(angle: float, friction: float, duration: float, *, parts: int = 200) -> float:
    """The angle [rad] after a time [s] in which it slides on throughout, rigid; nan where it stops, jams or lifts off.

    I omega' = -lambda (cos + mu sin), the end's speed u' = omega^2 cos - lambda (mu a_tt - a_nt), lambda = -b / A
    """

    def rates(state: Array) -> Array:
        theta, turning, _ = state
        c, s, force = np.cos(theta), np.sin(theta), sliding_force(theta, friction, turning)
        slower = friction * (1.0 + 3.0 * s * s) + 3.0 * s * c
        return np.array([turning, -force * (c + friction * s) / INERTIA, turning**2 * c - force * slower])

    state, h = np.array([angle, 0.0, SLIDING]), duration / parts
    for _ in range(parts):
        if state[2] <= 0.0 or regime(state[0], friction, state[1]) != "slides on" or not 0.0 < state[0] < np.pi:
            return float("nan")
        state = state + h * rates(state + 0.5 * h * rates(state))
    return float(state[0])


def rod_step(angle: float, friction: float, turning: float, step: float) -> StepProblem:
    """The end touches, and slides at 1 m/s. Its path bends by h Gdot v, which is known."""
    r = -np.array([np.cos(angle), np.sin(angle)])
    G = np.array([[[0.0, 1.0, r[0]], [1.0, 0.0, -r[1]]]])
    velocity = np.array([SLIDING + turning * r[1], -turning * r[0], turning])
    bend = -step * turning**2 * np.array([[r[1], r[0]]])
    contact = Contact(G, [0.0], Law(STIFFNESS, DAMPING), friction, rate_offset=bend)
    return StepProblem(MASS, velocity, [0.0, -GRAVITY, 0.0], step, [contact])


def miss(problem: StepProblem, solution: Solution, *, lifted: bool = False) -> float:
    """How far momentum and Coulomb's law are missed, in parts of the largest force; computed here, from the answer.

    lifted: the law of the convex program, where sliding adds mu |v_t| to the gap's rate.
    """
    contact: Any = problem.constraints[0]
    h = problem.step
    G, force = np.asarray(contact.jacobian)[0], solution.forces[0][0]
    mu, S = float(np.ravel(contact.friction)[0]), h * STIFFNESS + DAMPING
    v = problem.velocity + h * (problem.force + G.T @ force) / MASS
    normal, tangent = G @ v + contact.rate_offset[0]
    a = np.einsum("ij,j,ij->i", G, 1.0 / MASS, G)
    rate = normal - mu * abs(tangent) if lifted else normal
    y = (S * rate + force[0]) / (1.0 + h * a[0] * S)
    r_n = force[0] - max(0.0, force[0] - y)
    r_t = force[1] - np.clip(force[1] - tangent / (h * a[1]), -mu * force[0], mu * force[0])
    size = max(float(np.abs(force).max()), GRAVITY)
    return float(max(abs(r_n), abs(r_t), np.abs(MASS * (v - solution.velocity)).max() / h)) / size


def gain(problem: StepProblem, velocity: Array) -> float:
    """Of kinetic and potential energy over the step, in parts of the kinetic and m g l."""
    before, after = (0.5 * float(MASS @ v**2) for v in (problem.velocity, velocity))
    return (after - before + GRAVITY * problem.step * float(velocity[1])) / (before + GRAVITY)


def rod(angle: float, friction: float, step: float) -> str:
    """A thin capsule that moves in x and z and turns about y."""
    half = (1.0 - RADIUS) * np.array([np.cos(angle), np.sin(angle)])
    ends = f"{-half[0]:.17g} 0 {-half[1]:.17g} {half[0]:.17g} 0 {half[1]:.17g}"
    return f"""
<mujoco>
  <option timestep="{step}" gravity="0 0 -{GRAVITY}"/>
  <default><geom friction="{friction} 0 0" condim="3"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="50 50 1"/>
    <body pos="0 0 {half[1] + RADIUS - PRESSED:.17g}">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 -1 0"/>
      <geom name="rod" type="capsule" fromto="{ends}" size="{RADIUS}" mass="1"/>
    </body>
  </worldbody>
</mujoco>"""
