"""64 humanoids as one environment of Gymnasium, stepped by pliant.Batch on all cores, under a random policy.

    python examples/vector_humanoid.py

Who falls starts again at the next step, as AutoresetMode.NEXT_STEP says. It prints how many steps a second are taken.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

import pliant

MODEL = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / "humanoid.xml"
FRAME = 5  # steps of the simulation that an action holds
UPRIGHT = 1.0, 2.0  # [m] heights of the torso between which a humanoid has not fallen
NOISE = 0.01  # of the positions and velocities at the start


class Humanoids(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Observation: height, orientation and joints, then velocities, (n, nq - 2 + nv). Action: (n, nu)."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 as in gymnasium

    def __init__(self, n: int, threads: int = 0) -> None:
        model = mujoco.MjModel.from_xml_path(str(MODEL))
        self.batch, self.num_envs = pliant.Batch(model, n, threads), n
        self.qpos, self.qvel, self.ctrl = (self.batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
        low, high = model.actuator_ctrlrange.T.astype(np.float32)
        self.single_action_space = Box(low, high)
        self.single_observation_space = Box(-np.inf, np.inf, (model.nq - 2 + model.nv,), np.float64)
        self.action_space = batch_space(self.single_action_space, n)
        self.observation_space = batch_space(self.single_observation_space, n)
        self._ended = np.zeros(n, bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed if isinstance(seed, int) else None)
        self._start(np.ones(self.num_envs, bool))
        return self._seen(), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        again, before = self._ended, self.qpos[:, 0].copy()
        self._start(again)
        self.ctrl[:] = actions
        self.batch.step(~again, nstep=FRAME)
        speed = (self.qpos[:, 0] - before) / (FRAME * self.batch.model.opt.timestep)
        reward = np.where(again, 0.0, 5.0 + 1.25 * speed - 0.1 * (actions**2).sum(1))
        height = self.qpos[:, 2]
        self._ended = ~((height > UPRIGHT[0]) & (height < UPRIGHT[1]))
        return self._seen(), reward, self._ended.copy(), np.zeros(self.num_envs, bool), {}

    def _start(self, which: np.ndarray) -> None:
        if which.any():
            self.batch.reset(which, stage=mujoco.mjtStage.mjSTAGE_NONE)
            for state in (self.qpos, self.qvel):
                state[which] += self.np_random.uniform(-NOISE, NOISE, state[which].shape)

    def _seen(self) -> np.ndarray:
        return np.concatenate([self.qpos[:, 2:], self.qvel], 1)


def main(n: int = 64, steps: int = 40) -> None:
    env = Humanoids(n)
    env.reset(seed=0)
    env.action_space.seed(0)
    env.step(env.action_space.sample())  # what is made once
    begin, falls, total = perf_counter(), 0, 0.0
    for _ in range(steps):
        _, reward, ended, _, _ = env.step(env.action_space.sample())
        falls, total = falls + int(ended.sum()), total + float(reward.mean())
    seconds = perf_counter() - begin
    print(f"{n} humanoids, {steps} actions of {FRAME} steps: {falls} falls, mean reward {total / steps:.2f}")
    print(f"{n * steps * FRAME / seconds:.0f} steps per second on {env.batch.nthread} threads")


if __name__ == "__main__":
    main()
