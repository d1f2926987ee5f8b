"""What the report says that is not a result."""

from __future__ import annotations

from typing import Final, NamedTuple

PAPER: Final = "E. M. Drumwright, An Unconditionally Stable First-Order Constraint Solver for Multibody Systems"
ADDRESS: Final = "https://arxiv.org/abs/1905.10828"
METHOD: Final = (
    "Every constraint of a multibody system, a joint, a limit, a contact, is a spring and a damper of stiffness K and "
    "damping B, whose force is taken at the end of the step, while inertia M, other forces f and directions G are "
    "those of its start. One step of length h from velocity v0 finds v1 and forces λ from the three equations below. "
    "Because the springs are implicit, no stiffness makes the step unstable; because only they are, the step is one "
    "linear system for joints and one small convex or nearly convex problem where constraints push only one way or "
    "rub. pliant solves the laws as they are, Coulomb's among them, where the paper's printed programs minimise norms "
    "of forces; where that makes a difference the text says so."
)
EQUATIONS: Final = (
    "M (v1 \N{MINUS SIGN} v0) = h (f + Gᵀ λ)",
    "φ1 = φ0 + h G v1",
    "λ = \N{MINUS SIGN}K φ1 \N{MINUS SIGN} B G v1, at least 0 where a constraint only pushes, friction within its cone",
)


class Shown(NamedTuple):
    """A figure or table of the paper. study, picture: where it is reproduced; none where it holds no result."""

    name: str
    what: str
    study: str = ""
    picture: str = ""


SHOWN: Final = (
    Shown("Figure 1", "a mass on a spring by explicit Euler, three dampers", "spring", "spring"),
    Shown("Figure 2", "the same by semi-implicit Euler, two stiffnesses", "spring", "spring"),
    Shown("Figure 3", "the same by implicit Euler, two steps", "spring", "spring"),
    Shown("Figure 4", "how far the joint of a pendulum opens, two steps", "pendulum", "pendulum-deviation"),
    Shown("Figure 5", "a drawing of a spring that only pushes"),
    Shown("Figure 6", "a pendulum on its limit, four steps", "limit", "limit"),
    Shown("Table 1", "times for a cube on an elastic foundation", "foundation", "foundation-work"),
    Shown("Figure 7", "the pressure under that cube", "foundation", "foundation-pressure"),
    Shown("Table 2", "errors for that cube", "foundation", "foundation-error"),
    Shown("Figure 8", "a drawing of springs along and across a contact"),
    Shown("Figure 9", "how far a box slides in a second, four coefficients of friction", "incline", "incline"),
    Shown("Figure 10", "times for stacks of spheres", "stack", "stack"),
)
