"""Spheres dropped one onto the other: the aligned column stands, the jittered one falls at the physical rate.

Aligned, every number across is exactly 0.0, and the column comes to rest at the indentations of Hertz. It is an
unstable equilibrium: `stack_modes` has the rate at which it leaves it. Beside it, peers at h = 10 ms.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from pliant.hertz import hertz_stiffness
from pliant.studies.measure import claim
from pliant.studies.peers import Peer, drake_peers, mujoco_peers, ours, watch
from pliant.studies.scenes import GRAVITY, HARD, PAIR_MODULUS, RADIUS, stack
from pliant.studies.stack_modes import growth, mode
from pliant.studies.stack_page import PAGE
from pliant.studies.stack_pictures import draw
from pliant.studies.study import Progress, Results, Study

STEP = 0.01  # [s]
COUNTS, FEW = (25, 50, 100, 200, 400), (25, 100)
DURATION, BRIEF = 60.0, 5.0  # [s]
RIVALS, QUICK = (10, 25, 50, 100), (10, 25, 50)
SHORT = 5.0  # [s] that peers are watched
PATIENCE = 20.0  # [s] of our time for each
JITTERED, JITTER = (10, 25, 100), 1e-9  # [m]
STIFFNESS, SOFT = 1e10, 1e6  # [N/m] for peers
NO_DRAKE = 'Drake is not installed and did not run: pip install "pliant[peers]"'
WHERE, FIGURE = "Example: stack of spheres", "Figure 10"  # the paper's section, its figure


def indentations(count: int) -> np.ndarray:
    """Closed form, from the floor up [m]: each contact carries what is above it."""
    load = GRAVITY * np.arange(count, 0, -1)
    K = np.full(count, hertz_stiffness(PAIR_MODULUS, 2.0 / RADIUS, 2.0 / RADIUS))
    K[0] = hertz_stiffness(PAIR_MODULUS, 1.0 / RADIUS, 1.0 / RADIUS)
    return np.asarray((load / K) ** (2.0 / 3.0))


def spacing(position: np.ndarray) -> np.ndarray:
    """From the floor to the first, from each to the next, less what there is when they just touch [m]."""
    return np.diff(np.concatenate([[-RADIUS], position[:, 2]])) - 2.0 * RADIUS


def aligned(count: int, duration: float, progress: Progress) -> Results:
    runner: Any = ours().start(stack(count, STEP))
    begin, closest, sideways = perf_counter(), 0.0, 0.0
    for done, position, _ in watch(runner, round(duration / STEP), 100, np.inf):
        progress(f"stack: {count} spheres, {done * STEP:g} of {duration:g} s")
        closest = min(closest, float(spacing(position).min()))
        sideways = max(sideways, float(np.abs(position[:, :2]).max()))
    expected, found = indentations(count), -spacing(runner.position)
    return {
        "count": count,
        "duration": duration,
        "lateral": sideways,
        "speed": runner.speed,
        "closest": closest,
        "bottom": float(found[0]),
        "bottom_error": float(abs(found[0] / expected[0] - 1.0)),
        "worst_error": float(np.abs(found / expected - 1.0).max()),
        "indentations": found.tolist(),
        "closed_form": expected.tolist(),
        "ms_per_step": 1e3 * (perf_counter() - begin) / round(duration / STEP),
    }


def jittered(count: int) -> Results:
    """A column at rest, its spheres moved by 1e-9 m: the part of the fastest mode, until somebody is r/100 away."""
    rng = np.random.default_rng(0)
    runner: Any = ours().start(stack(count, STEP, apart=0.0))
    runner.step(200)
    places = runner.data.qpos.reshape(count, 7)
    places[:, 0] = JITTER * rng.standard_normal(count)
    rate, shape = mode(count)
    time, part, furthest = [0.0], [float(shape @ places[:, 0])], 0.0
    while furthest < RADIUS / 100.0 and len(time) < 1000:
        runner.step(1)
        time.append(time[-1] + STEP)
        part.append(float(abs(shape @ _across(runner, count))))
        furthest = float(np.abs(places[:, 0]).max())
    return {"count": count, "rate": rate, "measured": growth(np.array(time), np.abs(part)), "time": time,
            "part": np.abs(part).tolist()}  # fmt: skip


def _across(runner: Any, count: int) -> np.ndarray:
    return np.asarray(runner.data.qpos.reshape(count, 7)[:, 0])


def rival(peer: Peer, count: int) -> Results:
    """5 s of a peer: what becomes of the column."""
    begin, outcome = perf_counter(), "too slow"
    try:
        runner = peer.start(stack(count, STEP))
        for done, position, speed in watch(runner, round(SHORT / STEP), 25, PATIENCE):
            if fate := _fate(position, speed):
                outcome = fate
                break
            if done * STEP >= SHORT:
                outcome = end(position, speed)
    except Exception as error:  # whatever a stranger's solver raises is its result
        outcome = f"fails: {type(error).__name__}"
    return {"peer": peer.name, "settings": peer.settings, "count": count, "outcome": outcome,
            "seconds": perf_counter() - begin}  # fmt: skip


def _fate(position: np.ndarray, speed: float) -> str:
    if not np.isfinite(position).all() or speed > 1e3:
        return "explodes"
    if np.abs(position[:, :2]).max() > RADIUS:
        return "topples"
    return "tunnels" if spacing(position).min() < -RADIUS else ""


def end(position: np.ndarray, speed: float) -> str:
    """What has become of the column, in a word."""
    if fate := _fate(position, speed):
        return fate
    if speed > 1e-2:
        return "moves"
    return "sinks" if spacing(position).min() < -0.01 else "stands"  # by a centimetre and more


def run(quick: bool, progress: Progress) -> Results:
    progress("stack: warming up")
    for count in (2, 100):  # few rows and many: that is nobody's time
        ours().start(stack(count, STEP, apart=0.0)).step(2)
    columns = [aligned(n, BRIEF if quick else DURATION, progress) for n in (FEW if quick else COUNTS)]
    falls = []
    for n in JITTERED[:2] if quick else JITTERED:
        progress(f"stack: {n} spheres, jittered")
        falls.append(jittered(n))
    rivals = []
    soft = [peer._replace(name=f"{peer.name}, {SOFT:g} N/m") for peer in drake_peers(SOFT) if "CENIC" in peer.name]
    for peer in (ours(), *mujoco_peers(STIFFNESS), *drake_peers(STIFFNESS), *soft):
        for n in QUICK if quick else RIVALS:
            progress(f"stack: {peer.name}, {n} spheres")
            rivals.append(rival(peer, n))
    return {
        "radius": RADIUS,
        "step": STEP,
        "material": repr(HARD),
        "columns": columns,
        "jittered": falls,
        "peers": rivals,
        "claims": claims(columns, falls, rivals),
    }


def claims(columns: list[Results], falls: list[Results], rivals: list[Results]) -> list[Results]:
    most = columns[-1]
    grown = [np.log(most[name] / columns[0][name]) for name in ("ms_per_step", "count")]
    power = float(grown[0] / grown[1])
    worst = max(abs(case["measured"] / case["rate"] - 1.0) for case in falls)
    stands = all(
        case["lateral"] == 0.0 and case["speed"] < 1e-9 and case["closest"] > -1e-3 and case["bottom_error"] < 1e-3
        for case in columns
    )
    return [
        claim(
            WHERE,
            "the aligned stack stands without walls",
            f"{most['count']} spheres after {most['duration']:g} s: {most['lateral']:g} m aside, "
            f"{most['speed']:.0e} m/s, the contact with the floor pressed in by {most['bottom']:.4g} m, off its "
            f"closed form by {most['bottom_error']:.0e} of it; the worst contact, number {_worst(most)} of "
            f"{most['count']} from the floor up, by {most['worst_error']:.0e}",
            "yes" if stands else "no",
        ),
        claim(
            WHERE,
            "the cost grows with the spheres as sparse algebra does",
            f"{columns[0]['ms_per_step']:.2f} ms a step for {columns[0]['count']}, {most['ms_per_step']:.2f} ms for "
            f"{most['count']}: as their number to the {power:.2f}",
            "yes" if power < 1.5 else "no",
            beside=FIGURE,
        ),
        _elsewhere(rivals),
        claim(
            WHERE,
            "a column that is not aligned falls",
            f"1e-9 m of jitter grows at the rate of the fastest mode to {100.0 * worst:.1f} %",
            "yes" if worst < 0.05 else "no",
            ours=True,
        ),
    ]


def _worst(case: Results) -> int:
    """The contact that is furthest off the closed form; 1 is that with the floor."""
    return int(np.abs(np.divide(case["indentations"], case["closed_form"]) - 1.0).argmax()) + 1


def _elsewhere(rivals: list[Results]) -> Results:
    """What the paper says of others, beside those that ran."""
    tallest = max(case["count"] for case in rivals)
    fates = {
        case["peer"]: case["outcome"]
        for case in rivals
        if case["count"] == tallest and case["peer"] != "pliant" and f"{SOFT:g}" not in case["peer"]
    }
    stand = any(fate == "stands" for fate in fates.values())
    drake = any(name.startswith("Drake") for name in fates)
    told = "; ".join(f"{name}: {fate}" for name, fate in fates.items())
    return claim(
        WHERE,
        "no other approach simulates such stiff stacks robustly",
        f"{tallest} spheres at {STIFFNESS:g} N/m: {told}{'' if drake else f'; {NO_DRAKE}'}",
        "no" if stand else "yes" if drake else "in part: of those that ran",
        why="some stand at this height" if stand else NO_DRAKE,
    )


STUDY = Study(
    "Spheres in a column: it stands if it is aligned, and falls as physics says if it is not", run, draw, PAGE
)
