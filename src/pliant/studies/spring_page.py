"""The study `spring` in the report, and what the paper claims of it."""

from __future__ import annotations

from typing import Final

from pliant.studies.measure import claim
from pliant.studies.page import Caption, Page, Results

WHERE: Final = "Stable first-order integration"  # the paper's section
FIGURES: Final = {"explicit": "Figure 1", "semi-implicit": "Figure 2", "implicit": "Figure 3", "pliant": "Figure 3"}
AGREES: Final = {
    ("unstable", "unstable"): "yes",
    ("stable", "stable"): "yes",
    ("stable, damped", "stable"): "yes",
    ("somewhat more stable", "marginal"): "in part",
}
WHY: Final = "b = h k is where growth ends: the largest eigenvalue has length 1 to rounding, and amplitudes are kept"


def claims(cases: list[Results], damped: float) -> list[Results]:
    """What the paper says of each case beside the largest eigenvalue. damped: that of explicit Euler at h = 1e-7 s."""
    found = [_case(case) for case in cases]
    never = "explicit Euler is stable at no step size"
    measured = f"|z| = {damped:.8f} at h = 1e-7 s, k = 1e6 N/m, b = 1 N s/m, and the case of b = 2e5 above"
    why = "true without a damper only: it is stable for h k < b < 2 m/h + h k/2"
    return [*found, claim(WHERE, never, measured, "no" if damped < 1.0 else "yes", beside="Figure 1", why=why)]


def _case(case: Results) -> Results:
    scheme, says = case["scheme"], case["paper"]
    name = "the step of pliant, as implicit Euler" if scheme == "pliant" else f"{scheme} Euler"
    says = f"{name}, h = {case['step']:g} s, k = {case['stiffness']:g} N/m, b = {case['damping']:g} N s/m: {says}"
    holds = AGREES.get((case["paper"], case["found"]), "no")
    measured = f"largest |z| = {case['largest']:.6g}: {case['found']}"
    return claim(WHERE, says, measured, holds, beside=FIGURES[scheme], why=WHY if holds == "in part" else "",
                 ours=scheme == "pliant")  # fmt: skip


PAGE: Final = Page(
    "A mass of 1 kg on a spring k and a damper b, released at 1 m, by three Euler schemes and by a step of pliant. A "
    "scheme is stable where no eigenvalue z of its iteration matrix is longer than 1.",
    "runs of 2000 steps at most, of 100 000; eigenvalues are the same",
    {
        "spring": Caption(
            "Figures 1, 2 and 3",
            "Position over time, a panel a case; |z| is the length of the largest eigenvalue. Curves are cut off at 5 "
            "m; those at rest within ten steps are shown that far. The paper plots explicit Euler at b = 1, 2e5 and "
            "2.1e5, semi-implicit Euler at k = 1e6 and 1e7, implicit Euler at h = 1e-5 and 1e-2 s.",
        )
    },
)
