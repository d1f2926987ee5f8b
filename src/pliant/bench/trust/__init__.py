"""`pliant bench trust`: what makes simulators explode, creep, sink or stop, ours and others beside each other."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Final

from pliant.bench.metric import Metric
from pliant.bench.suite import Measured, Suite
from pliant.bench.trust.draw import draw
from pliant.bench.trust.page import markdown
from pliant.bench.trust.scene import COULOMB, Scene, own
from pliant.studies.scenes import HARD, stack
from pliant.studies.study import Progress

SCENES: Final = (
    "grid", "stick", "slip", "rolling", "ratios", "chain", "redundancy", "painleve", "impact", "hour", "piles",
)  # fmt: skip


def scenes(names: Sequence[str] = SCENES) -> list[Scene]:
    """In the order of the page."""
    return [importlib.import_module(f"pliant.bench.trust.{name}").SCENE for name in names]


def compile_first() -> None:
    """What steps of few and of many rows need: that is nobody's time."""
    for peer in own(HARD):
        for spheres in (2, 100):
            peer.start(stack(spheres, 0.01, apart=0.0)).step(2)


def run(quick: bool, progress: Progress, *, names: Sequence[str] = SCENES) -> Measured:
    measured = Measured()
    progress("trust: warming up")
    compile_first()
    for scene in scenes(names):
        progress(f"trust: {scene.name}")
        outcomes = scene.run(quick, progress)
        measured.details[scene.name] = {
            "title": scene.title,
            "right": scene.right,
            "outcomes": [outcome._asdict() for outcome in outcomes],
        }
        for engine in dict.fromkeys(outcome.engine for outcome in outcomes):
            own = [outcome.right for outcome in outcomes if outcome.engine == engine]
            goal = 1.0 if engine == COULOMB else None
            measured.metrics.append(Metric(f"{scene.name}: {engine}", sum(own) / len(own), better="more", goal=goal))
    return measured


def _part(name: str) -> Suite:
    return Suite(f"of the hard scenes {name}", functools.partial(run, names=[name]), page=markdown)


SUITE = Suite(
    "hard scenes, ours and others: what came out, and whether it is right",
    run,
    draw,
    markdown,
    {name: _part(name) for name in SCENES},
)
