"""A box on four spherical feet on a slope of 15 degrees: slips, sticks, and what the feet carry, beside peers.

While it slides the closed form is 1/2 a t^2, a = g (sin - mu cos), and the scheme, v1 = v0 + h a, x1 = x0 + h v1, is
ahead of it by its own 1/2 a h t. At rest the feet carry m g cos, the downhill ones more, since friction acts below the
centre.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.hertz import hertz_stiffness
from pliant.studies.incline_page import PAGE
from pliant.studies.incline_pictures import draw
from pliant.studies.measure import claim
from pliant.studies.peers import Peer, Stepped, drake_peers, mujoco_peers, ours
from pliant.studies.scenes import FEET, FOOT, GRAVITY, HARD, MASS, PAIR_MODULUS, SIZE, SLOPE, incline
from pliant.studies.study import Progress, Results, Study
from pliant.systems.mujoco_contacts import contacts

FRICTIONS = (0.0, 0.125, 0.25, 0.375)
STEPS = (0.01, 0.001)  # [s]
DURATION = 1.0  # [s]
REST, BRIEF = 1000.0, 5.0  # [s] at rest
SAMPLES = 50
WHERE, FIGURE = "Example: box on an inclined plane", "Figure 9"  # the paper's section, its figure
STIFFNESS = 7.5e6  # [N/m] of a foot under its load, for peers whose springs are linear


def acceleration(friction: float) -> float:
    """a [m/s^2]; 0 where it sticks."""
    return float(max(0.0, GRAVITY * (np.sin(SLOPE) - friction * np.cos(SLOPE))))


def loads() -> tuple[float, float]:
    """Normal force of an uphill and of a downhill foot at rest [N]."""
    mean = 0.25 * MASS * GRAVITY * np.cos(SLOPE)
    moved = MASS * GRAVITY * np.sin(SLOPE) * (0.5 * SIZE[2] + FOOT) / (2.0 * SIZE[0])
    return float(mean - moved), float(mean + moved)


def slide(friction: float, step: float, peer: Peer) -> Results:
    """1 s from rest, and another one: how far it goes."""
    runner, each = peer.start(incline(friction, step)), round(DURATION / SAMPLES / step)
    distance = [0.0]
    for _ in range(SAMPLES):
        runner.step(each)
        distance.append(float(runner.position[0, 0]))
    rubbing = _rubbing(runner) if isinstance(runner, Stepped) and peer.name == "pliant" else {}
    runner.step(each * SAMPLES)
    t, a = DURATION, acceleration(friction)
    ahead = distance[-1] - 0.5 * a * t**2
    return {
        "peer": peer.name,
        "friction": friction,
        "step": step,
        "time": np.linspace(0.0, t, SAMPLES + 1).tolist(),
        "distance": distance,
        "closed_form": 0.5 * a * t**2,
        "ahead": ahead,
        "ahead_by_scheme": ahead / (0.5 * a * step * t) if a > 0.0 else None,
        "second_second": float(runner.position[0, 0]) - distance[-1],
        **rubbing,
    }


def _rubbing(runner: Stepped) -> Results:
    """Friction of the last step [N], and whether it is uphill everywhere."""
    table = contacts(runner.model, runner.data)
    across = np.hypot(table["fx"], table["fy"])
    return {"largest_friction": float(across.max()), "opposes": bool(np.all(np.asarray(table["fx"]) < 0.0))}


def rest(step: float, duration: float, progress: Progress) -> Results:
    """At mu = 0.375, from 1 s on: what it creeps, and what each foot carries and gives way."""
    runner: Any = ours().start(incline(FRICTIONS[-1], step))
    runner.step(round(DURATION / step))
    start, furthest = float(runner.position[0, 0]), 0.0
    for k in range(20):
        progress(f"incline: at rest, h = {step:g} s, {k * duration / 20:g} of {duration:g} s")
        runner.step(round(duration / 20 / step))
        furthest = max(furthest, abs(float(runner.position[0, 0]) - start))
    table = contacts(runner.model, runner.data)
    force = {name: float(np.sum(np.where(table["geom2"] == name, table["fz"], 0.0))) for name in FEET}
    depth = {name: float(np.sum(np.where(table["geom2"] == name, table["penetration"], 0.0))) for name in FEET}
    total = MASS * GRAVITY * np.cos(SLOPE)
    return {
        "step": step,
        "duration": duration,
        "drift": furthest,
        "force": force,
        "indentation": depth,
        "mean_indentation": float(np.mean(list(depth.values()))),
        "sum_error": abs(sum(force.values()) / total - 1.0),
        "sticks": bool(np.all(table["state"] == "STICK")),
    }


def run(quick: bool, progress: Progress) -> Results:
    """Slides and rests of ours at two steps, and slides of the peers at 10 ms."""
    slides = []
    for h in STEPS:
        for mu in FRICTIONS:
            progress(f"incline: h = {h:g} s, mu = {mu:g}")
            slides.append(slide(mu, h, ours()))
    rests = [rest(h, BRIEF if quick else REST, progress) for h in STEPS]
    peers = []
    for peer in (ours(), *mujoco_peers(STIFFNESS), *drake_peers(STIFFNESS)):
        progress(f"incline: {peer.name}")
        peers += [{**slide(mu, STEPS[0], peer), "settings": peer.settings} for mu in FRICTIONS]
    uphill, downhill = loads()
    stiffness = hertz_stiffness(PAIR_MODULUS, 1.0 / FOOT, 1.0 / FOOT)
    return {
        "slope": float(SLOPE),
        "material": repr(HARD),
        "loads": {"uphill": uphill, "downhill": downhill},
        "hertz_indentation": [float((load / stiffness) ** (2.0 / 3.0)) for load in (uphill, downhill)],
        "slides": slides,
        "rests": rests,
        "peers": peers,
        "claims": claims(slides, rests),
    }


def claims(slides: list[Results], rests: list[Results]) -> list[Results]:
    """The paper's sentences on this experiment."""
    coarse = {case["friction"]: case for case in slides if case["step"] == STEPS[0]}
    ratios = [case["ahead_by_scheme"] for case in slides if case["ahead_by_scheme"] is not None]
    slipping = [case for case in slides if 0.0 < case["friction"] < FRICTIONS[-1]]
    drift, error = max(case["drift"] for case in rests), max(case["sum_error"] for case in rests)
    distances = ", ".join(f"{case['distance'][-1]:.4f} m at {mu:g}" for mu, case in coarse.items())
    far = [case["distance"][-1] for case in coarse.values()]
    force, depth = rests[0]["force"], rests[0]["mean_indentation"]
    inverse = FRICTIONS[1] * far[1] / (FRICTIONS[2] * far[2])  # 1 if they go as 1/mu
    none = max(case["largest_friction"] for case in slides if case["friction"] == 0.0)
    against = all(case["opposes"] for case in slipping)
    return [
        claim(WHERE, "no friction at mu = 0", f"{none:g} N; after {DURATION:g} s it is {coarse[0.0]['ahead']:.4g} m "
              f"further than 1/2 a t^2, {coarse[0.0]['ahead_by_scheme']:.6f} times the error 1/2 a h t that steps of "
              f"h = {STEPS[0]:g} s have by themselves", "yes" if none == 0.0 else "no", beside=FIGURE),
        claim(WHERE, "it stays at mu = 0.375", f"{abs(far[-1]):.1e} m in the first second, at most {drift:.1e} m in "
              f"{rests[0]['duration']:g} s more", "yes" if drift < 1e-8 and rests[0]["sticks"] else "no",
              beside=FIGURE),
        claim(WHERE, "lower mu, longer way", distances, "yes" if sorted(far, reverse=True) == far else "no",
              beside=FIGURE),
        claim(WHERE, "distances go as 1/mu", "they go as sin - mu cos: further than 1/2 a t^2 by "
              f"{min(ratios):.4f} to {max(ratios):.4f} times the error 1/2 a h t of the steps themselves",
              "yes" if 0.9 < inverse < 1.1 else "no", beside=FIGURE,
              why="the box is uniformly accelerated, at g (sin - mu cos)"),
        claim(WHERE, "friction is against the motion", "in every contact that slides", "yes" if against else "no"),
        claim(WHERE, "normal forces of about 2.5 N", f"{force[FEET[0]]:.3f} N uphill, {force[FEET[2]]:.3f} N downhill; "
              f"their sum is off by {error:.0e} of it", "yes" if error < 1e-9 else "no"),
        claim(WHERE, "indentations of about 1e-8 m", f"{depth:.3g} m on average, as Hertz says",
              "yes" if 3e-9 < depth < 3e-8 else "no",
              why="by the paper's own law, E* sqrt(r d^3), 2.5 N press in 4e-7 m; 1e-8 m would carry 0.01 N"),
    ]  # fmt: skip


STUDY = Study("A box on an inclined plane: it slides, it sticks, and the feet carry newtons", run, draw, PAGE)
