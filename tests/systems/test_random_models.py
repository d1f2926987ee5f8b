"""Random models: a step survives whatever a model holds, or says why not."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.random_models import random_model
from tests.support.trial import made, trial

STEPS = 20
TOLD = ("fine", "refused", "raised")  # what blows up says so
KINDS = {"plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"}


def test_the_models_cover_the_recipe():
    texts = [random_model(np.random.default_rng(seed)) for seed in range(200)]
    tags = ("freejoint", "connect", "weld", "spatial", "fixed", "pulley", "pair", "exclude", "muscle", "intvelocity",
            "damper", "general", "position", "adhesion", "key", "touch")  # fmt: skip
    missing = [tag for tag in tags if not any(f"<{tag} " in text for text in texts)]
    marks = [f'type="{kind}"' for kind in KINDS | {"ball", "hinge", "slide"}] + ['mocap="true"', "gravcomp", "wind"]
    missing += [mark for mark in marks if not any(mark in text for text in texts)]
    assert not missing
    models = [mujoco.MjModel.from_xml_string(text) for text in texts]
    steps = np.array([model.opt.timestep for model in models])
    assert steps.min() < 0.001 and steps.max() > 0.04
    masses = np.concatenate([model.body_mass[1:] for model in models])
    assert masses.max() > 1e5 * masses.min()


def test_the_seed_decides():
    (_, first, _), (_, again, _) = made(7), made(7)
    np.testing.assert_array_equal(first.qpos, again.qpos)
    np.testing.assert_array_equal(first.ctrl, again.ctrl)


@pytest.mark.parametrize("seed", range(30))
def test_a_random_model_is_stepped(seed):
    outcome = trial(seed, STEPS)
    assert outcome.kind in TOLD, outcome


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_any_random_model_is_stepped(seed):
    outcome = trial(seed, STEPS)
    assert outcome.kind in TOLD, outcome


@pytest.mark.parametrize("seed", [0, 8, 20])
def test_reported_residuals_are_true(seed):
    """Of the step after the last, at 50 digits."""
    outcome = trial(seed, STEPS, certify=True)
    assert outcome.verdict is not None and outcome.verdict.honest, outcome
