"""Tables of contacts: who, where, with what force on whom."""

from __future__ import annotations

import sys
from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from tests.support.models import WEIGHT, body, build

BOX = 'name="box" type="box" size=".1 .1 .1" mass="2" condim="3"'
COLUMNS = ["time", "geom1", "geom2", "element", "x", "y", "z", "nx", "ny", "nz", "fx", "fy", "fz", "penetration",
           "state"]  # fmt: skip


def names_of(table: Any) -> list[str]:
    return list(table.dtype.names) if isinstance(table, np.ndarray) else list(table.columns)


@pytest.fixture(params=["as it is", "without pandas"])
def tables(request, monkeypatch):
    """Tables as pandas has them, if it is installed, and without it."""
    if request.param == "without pandas":
        monkeypatch.setitem(sys.modules, "pandas", None)
    return request.param


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_a_box_that_is_pushed(cone, tables):
    model = build(body(BOX, "0 0 .1"), floor=True, option=f'timestep=".01" cone="{cone}"')
    model.geom_friction[:, 0] = 0.5
    data = mujoco.MjData(model)
    data.qfrc_applied[0] = 3.0
    pliant.mj_step(model, data, 200)
    table = pliant.contacts(model, data)
    assert names_of(table) == COLUMNS and len(table) == 4
    assert set(table["geom1"]) == {"floor"} and set(table["geom2"]) == {"box"} and set(table["state"]) == {"STICK"}
    total = [float(np.sum(table[name])) for name in ("fx", "fy", "fz")]
    np.testing.assert_allclose(total, [-3.0, 0.0, 2.0 * WEIGHT], atol=1e-9)
    np.testing.assert_allclose(np.asarray(table["penetration"]) * 1e8, np.asarray(table["fz"]), rtol=1e-6)
    assert (np.asarray(table["nz"]) == 1.0).all() and (np.asarray(table["element"]) == -1).all()
    data.qfrc_applied[0] = 12.0
    pliant.mj_step(model, data, 5)
    assert set(pliant.contacts(model, data)["state"]) == {"SLIP"}


def test_what_has_no_friction_slips():
    model = build(body(BOX, "0 0 .1"), floor=True, option='timestep=".01" gravity="1 0 -9.81"')
    model.geom_friction[:, 0], model.geom_condim[:] = 0.0, 3
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 20)
    table = pliant.contacts(model, data)
    assert set(table["state"]) == {"SLIP"} and not np.any(table["fx"])


def test_the_force_is_what_the_first_does_to_the_second():
    """A box on a box, and its mirror image: newtons on each body add up to its weight, whichever is first."""
    world = body(BOX, "0 0 .3") + body(BOX.replace("box", "low", 1), "0 0 .1")
    model = build(world, floor=True, option='timestep=".01"')
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 300)
    table = pliant.contacts(model, data)
    for name in ("box", "low"):
        on = np.sum(np.where(table["geom2"] == name, table["fz"], 0.0))
        by = np.sum(np.where(table["geom1"] == name, table["fz"], 0.0))
        assert float(on - by) == pytest.approx(2.0 * WEIGHT, rel=1e-9)


def test_a_run_has_the_contacts_of_its_steps(tables, tmp_path):
    model = build(body(BOX, "0 0 .15"), floor=True, option='timestep=".01"')
    system = pliant.MujocoSystem(model)
    run = pliant.simulate(system, system.q, system.v, duration=1.0, step=0.01)
    table = run.contacts
    assert names_of(table) == COLUMNS
    time = np.asarray(table["time"])
    assert time.min() > 0.05  # it falls first
    last = time == run.time[-1]
    assert np.sum(np.asarray(table["fz"])[last]) == pytest.approx(2.0 * WEIGHT, rel=1e-9)
    run.save(tmp_path / "a.run")
    again = pliant.Trajectory.load(tmp_path / "a.run").contacts
    assert all((np.asarray(table[name]) == np.asarray(again[name])).all() for name in COLUMNS)
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 100)
    one = pliant.contacts(model, data)
    np.testing.assert_allclose(np.asarray(one["fz"]), np.asarray(table["fz"])[last], rtol=1e-6)


def test_runs_on_disk_keep_them_too(tmp_path):
    model = build(body(BOX, "0 0 .1"), floor=True, option='timestep=".01"')
    system = pliant.MujocoSystem(model)
    options: dict[str, Any] = {"duration": 0.5, "step": 0.01, "record_every": 7}
    kept = pliant.simulate(system, system.q, system.v, **options).contacts
    for part in (0.2, 0.5):
        options["duration"] = part
        stored = pliant.simulate(system, system.q, system.v, checkpoint=tmp_path / "b.run", **options).contacts
    assert all((np.asarray(kept[name]) == np.asarray(stored[name])).all() for name in COLUMNS)


def test_one_step_of_a_system():
    model = build(body(BOX, "0 0 .1"), floor=True, option='timestep=".01"')
    system = pliant.MujocoSystem(model)
    solution = pliant.solve(system.problem(0.0, system.q, system.v, 0.01))
    assert float(np.sum(system.contacts(solution)["fz"])) == pytest.approx(solution.forces[0][:, 0].sum(), rel=1e-12)


def test_geoms_without_names_are_numbered_and_nothing_is_no_error(tables):
    model = build('<geom type="plane" size="1 1 1"/>' + body('size=".1" mass="1"', "0 0 .1"))
    data = mujoco.MjData(model)
    assert len(pliant.contacts(model, data)) == 0
    pliant.mj_step(model, data)
    table = pliant.contacts(model, data)
    assert list(table["geom1"]) == ["#0"] and list(table["geom2"]) == ["#1"]


def test_what_has_no_table_says_so():
    class Free:
        def problem(self, time, q, v, step):
            return pliant.StepProblem([1.0], v, [0.0], step)

        def advance(self, q, v, step):
            return q + step * v

    run = pliant.simulate(Free(), [0.0], [0.0], duration=0.1, step=0.1)
    with pytest.raises(pliant.PliantError, match=r"no `readout`; Trajectory\.forces"):
        _ = run.contacts
    with pytest.raises(pliant.InputError, match=r"expected a mujoco\.MjModel"):
        pliant.contacts(None, None)
    one, two = (build(body(BOX, "0 0 .1"), floor=floor) for floor in (True, False))
    with pytest.raises(pliant.InputError, match="data belongs to another model"):
        pliant.contacts(one, mujoco.MjData(two))


def test_flight_has_no_residual():
    """Nothing of the steps before stays in the count."""
    model = build(body('type="box" size=".1 .15 .2" mass="1" condim="3"', "0 0 .5"), floor=True)
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 300)
    counted = pliant.stats(data)
    before = counted.iterations, counted.steps
    data.qpos[2] = 5.0
    pliant.mj_step(model, data, 10)
    assert (counted.iterations, counted.steps) == (before[0], before[1] + 10)
    flying = mujoco.MjData(model)
    flying.qpos[2] = 5.0
    pliant.mj_step(model, flying, 10)
    assert pliant.stats(flying).iterations == 0 and pliant.stats(flying).worst_residual == 0.0
