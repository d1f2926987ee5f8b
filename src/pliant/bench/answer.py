"""The cost of a right answer: where everything is after 1 s, how far that is from right, and what it took.

Right is what the same engine finds with a tiny step and its stiffest contacts: its own physics, converged. Ours is
simulated with the default material. MuJoCo's is a grid of settings, of which the best counts: its users choose one. A
step size lands if it and all smaller ones do, so that luck is no answer.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant.bench.answer_engines import Engine, engines
from pliant.bench.answer_scenes import SCENES, Scene
from pliant.bench.entrant import Entrant
from pliant.bench.metric import RATIO, Metric
from pliant.bench.race import Timing, race
from pliant.bench.suite import Measured, Suite
from pliant.inputs import Array
from pliant.studies.study import Progress, Results

STEPS, FEW = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05), (0.002, 0.01)  # h [s]
TINY, SMALL = 5e-5, 2e-4  # h of the reference [s], and of a quick one
DURATION: Final = 1.0  # [s]
NEAR, ALIGNED = 0.01, 1.0  # [m], [deg]: a right answer
ROUNDS, ENOUGH, PATIENCE = 5, 20.0, 30.0  # [s] after which no round begins; and for a lap
Pose = tuple[Array, Array]


def run(quick: bool, progress: Progress) -> Measured:
    measured = Measured(details={"duration": DURATION, "within": [NEAR, ALIGNED], "scenes": {}})
    for name, scene in SCENES.items():
        if quick and not scene.quick:
            continue
        progress(f"answer: {name}")
        try:
            found = _scene(name, scene, quick, progress)
        except ImportError as error:
            measured.skipped.append(f"{name}: {error}")
            continue
        measured.details["scenes"][name] = found
        measured.metrics += metrics(name, found["entries"])
        measured.skipped += [f"{name}: {engine}: {why}" for engine, why in found["out"].items()]
    return measured


def _scene(name: str, scene: Scene, quick: bool, progress: Progress) -> Results:
    tiny = SMALL if quick else TINY
    references: dict[str, Results] = {}
    entries: list[Results] = []
    out: dict[str, str] = {}
    field = engines(scene)
    for engine in field:
        if engine.family not in references and engine.family not in out:
            progress(f"answer: {name}: the reference of {engine.family}")
            try:
                references[engine.family] = _reference(engine, scene, tiny)
            except ImportError:
                raise
            except Exception as error:  # a stranger's solver
                out[engine.family] = f"no reference: {error}"
    for h in FEW if quick else STEPS:
        progress(f"answer: {name}: h = {1e3 * h:g} ms")
        entries += _at(h, scene, [engine for engine in field if engine.family in references], references, quick)
    doubt = {family: reference["doubt"] for family, reference in references.items()}
    return {"entries": entries, "reference_step": tiny, "doubt": doubt, "out": out}
