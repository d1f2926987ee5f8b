"""What a step of a MuJoCo model costs beside MuJoCo's own, in one run.

    python -m benchmarks.mujoco_step

Gymnasium's walkers in contact, MuJoCo's Euler and Newton, the same time step, random controls or none; ours and theirs
take turns from the same state. Medians of the time per step, and their ratio.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np

import pliant
from benchmarks.report import Metric, write

MODELS = ("humanoid", "ant", "half_cheetah", "hopper", "walker2d")
STATE = mujoco.mjtState.mjSTATE_INTEGRATION
SETTLE, STEPS, ROUNDS = 500, 200, 15


def load(name: str) -> Any:
    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    model = mujoco.MjModel.from_xml_path(str(assets / f"{name}.xml"))
    model.opt.integrator, model.opt.solver = mujoco.mjtIntegrator.mjINT_EULER, mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.iterations = 100
    return model


def fallen(model: Any, controls: np.ndarray) -> np.ndarray:
    """The state after a fall onto the ground."""
    data = mujoco.MjData(model)
    for control in controls:
        data.ctrl[:] = control
        mujoco.mj_step(model, data)
    state = np.zeros(mujoco.mj_stateSize(model, STATE))
    mujoco.mj_getState(model, data, state, STATE)
    return state


def seconds(step: Callable[..., Any], model: Any, data: Any, state: np.ndarray, controls: np.ndarray) -> float:
    """Per step, over a run from the state."""
    mujoco.mj_setState(model, data, state, STATE)
    begin = time.perf_counter()
    for control in controls:
        data.ctrl[:] = control
        step(model, data)
    return (time.perf_counter() - begin) / len(controls)


def race(name: str, push: float) -> dict[str, Any]:
    model, rng = load(name), np.random.default_rng(0)
    state = fallen(model, rng.uniform(-0.4, 0.4, (SETTLE, model.nu)))
    controls = push * rng.uniform(-0.4, 0.4, (STEPS, model.nu))
    ours, theirs = mujoco.MjData(model), mujoco.MjData(model)
    seconds(pliant.mj_step, model, ours, state, controls)  # compiled code and caches
    times = []
    for _ in range(ROUNDS):
        times.append(
            (
                seconds(pliant.mj_step, model, ours, state, controls),
                seconds(mujoco.mj_step, model, theirs, state, controls),
            )
        )
    mine, peer = np.median(times, axis=0)
    counted = pliant.stats(ours)
    return {
        "model": name,
        "controls": "random" if push else "none",
        "step": model.opt.timestep,
        "contacts": ours.ncon,
        "pliant_us": 1e6 * mine,
        "mujoco_us": 1e6 * peer,
        "ratio": mine / peer,
        "factorizations": counted.factorizations / counted.steps,
        "solved": counted.statuses[pliant.Status.SOLVED] / counted.steps,
    }


def main() -> None:
    records = [race(name, push) for name in MODELS for push in (0.0, 1.0)]
    for record in records:
        print({key: round(value, 2) if isinstance(value, float) else value for key, value in record.items()})
    metrics = [
        Metric(f"{r['model']}, controls {r['controls']}: times mujoco.mj_step", r["ratio"],
               at_most=3.0 if r["model"] == "humanoid" else None)
        for r in records
    ]  # fmt: skip
    write("mujoco_step", "python -m benchmarks.mujoco_step", metrics, records)


if __name__ == "__main__":
    main()
