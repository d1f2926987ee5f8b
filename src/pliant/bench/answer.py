"""The cost of a right answer: where everything is after 1 s, how far that is from right, and what it took.

Right is what the same engine finds with a tiny step and stiff contacts: its own physics, converged. Ours is simulated
with the default material. MuJoCo's is a grid of settings, of which the best counts, as if its user knew it. A step
lands if it and all smaller ones end near enough, so that luck is no answer.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pliant.bench.answer_engines import DRAKE, MUJOCO, Engine, engines
from pliant.bench.answer_scenes import SCENES, Scene
from pliant.bench.entrant import NO_DRAKE, OURS, Entrant
from pliant.bench.metric import RATIO, Metric
from pliant.bench.race import Timing, race
from pliant.bench.suite import Measured, Suite
from pliant.errors import PliantError
from pliant.inputs import Array
from pliant.studies.study import Progress, Results

STEPS, FEW = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05), (0.002, 0.01)  # h [s]
TINY, SMALL = 1e-4, 2e-4  # h of the references [s], of quick ones
DURATION: Final = 1.0  # [s]
NEAR, ALIGNED = 0.01, 1.0  # [m], [deg]: near enough
ROUNDS, ENOUGH = 5, 10.0  # [s] after which no round of a step begins
PATIENCE, LONG = 20.0, 300.0  # [s] for a lap, for a reference
GOAL: Final = 5.0  # times as fast as MuJoCo at its best
TOLERANCE: Final = 0.5  # of the ratios: the next step size is twice as large
Pose = tuple[Array, Array]


def run(quick: bool, progress: Progress) -> Measured:
    measured = Measured(details={"duration": DURATION, "near": NEAR, "aligned": ALIGNED, "scenes": {}})
    for name, scene in SCENES.items():
        if quick and not scene.quick:
            continue
        case = f"{name}, at 2 and 10 ms" if quick else name  # not the same number
        try:
            found = measure(name, scene, quick, progress)
        except ImportError as error:
            measured.skipped.append(f"{name}: {error}")
            continue
        measured.details["scenes"][name] = found
        measured.metrics += metrics(case, found["entries"])
        landed = {entry["family"] for entry in landing(found["entries"]).values()}
        measured.skipped += [f"{name}: {family}: no step lands" for family in found["doubt"] if family not in landed]
        measured.skipped += [
            f"{name}: {family}: its reference is good to {metres:.2g} m and {degrees:.2g} degrees only"
            for family, (metres, degrees) in found["doubt"].items()
            if metres > NEAR or degrees > ALIGNED
        ]
        measured.skipped += [f"{name}: no reference of {family}: {why}" for family, why in found["missing"].items()]
    return measured


def measure(name: str, scene: Scene, quick: bool, progress: Progress) -> Results:
    """Every engine at every step, on one scene."""
    field, tiny = engines(scene), SMALL if quick else TINY
    poses: dict[str, Pose] = {}
    doubt, missing = {}, {} if any(engine.family == DRAKE for engine in field) or not scene.free else {DRAKE: NO_DRAKE}
    for family, peer in {engine.family: engine.reference for engine in field}.items():
        progress(f"answer: {name}: the reference of {family}")
        try:
            poses[family], coarse = (
                _final(Entrant(peer, scene.model(h), _count(h), patience=LONG, each=100, start=scene.start))
                for h in (tiny, 2.0 * tiny)
            )
        except PliantError as error:
            missing[family] = str(error)
            continue
        doubt[family] = wrong_by(scene, coarse, poses[family])
    entries = []
    for h in FEW if quick else STEPS:
        progress(f"answer: {name}: h = {1e3 * h:g} ms")
        entries += _race([engine for engine in field if engine.family in poses], scene, h, poses)
    return {"entries": entries, "reference_step": tiny, "doubt": doubt, "missing": missing}


def _count(h: float) -> int:
    return round(DURATION / h)


def _final(entrant: Entrant) -> Pose:
    entrant.lap()
    if entrant.cut_short:
        raise PliantError(f"{entrant.peer.name} is too slow")
    if not np.isfinite(entrant.runner.pose[0]).all():
        raise PliantError(f"{entrant.peer.name} explodes")
    return entrant.runner.pose


def apart(pose: Pose, other: Pose) -> tuple[float, float]:
    """The furthest that a body is away [m], and turned [deg]; infinite where a pose is not finite."""
    far = np.linalg.norm(pose[0] - other[0], axis=1)
    turned = np.degrees(2.0 * np.arccos(np.clip(np.abs(np.sum(pose[1] * other[1], axis=1)), 0.0, 1.0)))
    return tuple(float(np.nan_to_num(each.max(), nan=np.inf)) for each in (far, turned))  # type: ignore[return-value]


def wrong_by(scene: Scene, pose: Pose, reference: Pose) -> tuple[float, float]:
    """[m], [deg]; of the centre of all bodies, without an angle, where single ones mean nothing."""
    if scene.chaotic:
        return float(np.nan_to_num(np.linalg.norm(np.mean(pose[0] - reference[0], axis=0)), nan=np.inf)), 0.0
    return apart(pose, reference)


def _race(field: list[Engine], scene: Scene, h: float, poses: dict[str, Pose]) -> list[Results]:
    xml = scene.model(h)
    entrants = {
        engine.peer.name: Entrant(engine.peer, xml, _count(h), patience=PATIENCE, each=10, start=scene.start)
        for engine in field
    }
    timings = race({name: entrant.lap for name, entrant in entrants.items()}, ROUNDS, seconds=ENOUGH)
    return [
        {"engine": engine.peer.name, "family": engine.family, "step": h}
        | _entry(scene, entrants[engine.peer.name], timings[engine.peer.name], poses[engine.family])
        for engine in field
    ]


def _entry(scene: Scene, entrant: Entrant, timing: Timing, reference: Pose) -> Results:
    if timing.why or entrant.cut_short:
        return {"lands": False, "why": timing.why or "too slow"}
    metres, degrees = wrong_by(scene, entrant.runner.pose, reference)
    if not np.isfinite([metres, degrees]).all():
        return {"lands": False, "why": "explodes"}
    seconds = timing.document(entrant.steps / DURATION)  # per simulated second
    return {"lands": metres <= NEAR and degrees <= ALIGNED, "position": metres, "angle": degrees, "seconds": seconds}


def landing(entries: list[Results]) -> dict[str, Results]:
    """Of each engine the entry of the largest step that lands, as all smaller ones do."""
    found: dict[str, Results] = {}
    lost: set[str] = set()
    for entry in sorted(entries, key=lambda each: each["step"]):
        if not entry["lands"]:
            lost.add(entry["engine"])
        elif entry["engine"] not in lost:
            found[entry["engine"]] = entry
    return found


def metrics(scene: str, entries: list[Results]) -> list[Metric]:
    """Simulated seconds per second of the best of each family, and ours over MuJoCo's."""
    best: dict[str, Results] = {}
    for entry in landing(entries).values():
        family = entry["family"]
        if family not in best or entry["seconds"]["median"] < best[family]["seconds"]["median"]:
            best[family] = entry
    speed = {family: 1.0 / entry["seconds"]["median"] for family, entry in best.items()}
    found = [Metric(f"{scene}: {family}", value, "s/s", better="more") for family, value in speed.items()]
    found += [Metric(f"{scene}: step, {key}", 1e3 * entry["step"], "ms", better="more") for key, entry in best.items()]
    if OURS in speed and MUJOCO in speed:
        ratio = speed[OURS] / speed[MUJOCO]
        found.append(Metric(f"{scene}: over MuJoCo's best", ratio, RATIO, "more", TOLERANCE, GOAL))
    return found


def draw(details: Results) -> dict[str, object]:
    from pliant.bench.answer_draw import figure

    return {"answer": figure(details)}


SUITE = Suite("error after a second against its cost: the largest steps that give a right answer", run, draw)
