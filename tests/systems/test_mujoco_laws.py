"""Laws of a model's rows: seen in what gives way, and by how much, under a known load."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
import pytest

import pliant
from pliant.systems.mujoco_laws import RIGID, SETTLING, find
from tests.support.models import CONTACT, WEIGHT, body, build, hinge, slider, start

SPHERE = 'name="ball" size=".1" mass="1"'


def rest(model: Any, steps: int = 400, **options: Any) -> Any:
    """After `steps` from where the model starts: implicit springs are at rest long before."""
    data = start(model)
    pliant.mj_step(model, data, steps, **options)
    assert np.abs(data.qvel).max() < 1e-12
    return data


def lying(geom: str = SPHERE, pos: str = "0 0 .1", **options: Any) -> Any:
    return build(body(geom, pos, name="thing"), floor=True, **options)


def indentation(materials: Any = None, model: Any = None, **options: Any) -> float:
    data = rest(lying() if model is None else model, materials=materials, **options)
    return 0.1 - float(data.qpos[2])


@pytest.mark.parametrize("step", [1e-3, 1e-2, 5e-2])
@pytest.mark.parametrize("mass", [1.0, 1e3])
def test_a_resting_sphere_gives_way_by_the_default_stiffness(mass, step):
    model = lying(f'size=".1" mass="{mass}"', option=f'timestep="{step}"')
    assert indentation(model=model, steps=1000) == pytest.approx(mass * WEIGHT / CONTACT, rel=1e-6)


MATERIALS = {
    "a geom": ({"ball": pliant.Law(1e5)}, WEIGHT / 1e5),
    "with its prefix": ({"geom:ball": pliant.Law(1e5)}, WEIGHT / 1e5),
    "the other geom": ({"floor": pliant.Law(2e5)}, WEIGHT / 2e5),
    "a glob": ({"geom:b*l?": pliant.Law(1e5)}, WEIGHT / 1e5),
    "a glob without prefix": ({"*all": pliant.Law(1e5)}, WEIGHT / 1e5),
    "all geoms, in series": ({"*": pliant.Law(1e5)}, 2.0 * WEIGHT / 1e5),
    "its body": ({"thing": pliant.Law(1e5)}, WEIGHT / 1e5),
    "its body with its prefix": ({"body:thi*": pliant.Law(1e5)}, WEIGHT / 1e5),
    "two in series": ({"ball": pliant.Law(1e5), "floor": pliant.Law(3e5)}, WEIGHT / 1e5 + WEIGHT / 3e5),
    "the later of two": ({"geom:*": pliant.Law(1e3), "ball": pliant.Law(1e5), "floor": pliant.Law(1e5)},
                         2.0 * WEIGHT / 1e5),
    "Hertz": ({"ball": pliant.Law(1e6, exponent=1.5)}, (WEIGHT / 1e6) ** (2 / 3)),
    "Hertz in series": (
        {"*": pliant.Law(1e6, exponent=1.5, dissipation=1.0)},
        2.0 * (WEIGHT / 1e6) ** (2 / 3),
    ),
    "damped": ({"ball": pliant.Law(1e5, 1e3)}, WEIGHT / 1e5),
}  # fmt: skip


@pytest.mark.parametrize("case", MATERIALS)
def test_materials_are_found_by_name_glob_and_prefix(case):
    materials, expected = MATERIALS[case]
    assert indentation(materials, steps=1000) == pytest.approx(expected, rel=1e-6)


def test_materials_of_one_call_do_not_stay():
    model = lying()
    data = start(model)
    pliant.mj_step(model, data, 400, materials={"ball": pliant.Law(1e5)})
    pliant.mj_step(model, data, 400)
    assert 0.1 - data.qpos[2] == pytest.approx(WEIGHT / CONTACT, rel=1e-6)


ERRORS: dict[str, tuple[Any, list[str]]] = {
    "no match": ({"bal": pliant.Law(1.0)}, ["'bal' matches nothing", "ball", "floor", "thing", "no names"]),
    "no match of a kind": ({"joint:ball": pliant.Law(1.0)}, ["'joint:ball' matches nothing", "joint: no names"]),
    "not a law": ({"ball": 1e5}, ["materials['ball']", "pliant.Material", "Law", "float"]),
    "a word": ({"ball": "steel"}, ["materials['ball']", "pliant.Material.of('steel') is one"]),
    "not a prefix": ({"gem:ball": pliant.Law(1.0)}, ["'gem:ball' has no prefix of ours, which are geom:, body:"]),
    "not a name": ({3: pliant.Law(1.0)}, ["names", "3"]),
    "many numbers": ({"ball": pliant.Law([1e5, 1e6])}, ["materials['ball']"]),
    "not a mapping": ([("ball", pliant.Law(1.0))], ["materials"]),
    "no pliant law": ({"ball": None}, ["materials['ball']", "NoneType"]),
}


@pytest.mark.parametrize("case", ERRORS)
def test_materials_that_cannot_be_meant_are_refused(case):
    materials, texts = ERRORS[case]
    model = lying()
    with pytest.raises(pliant.InputError) as caught:
        pliant.mj_step(model, start(model), materials=materials)
    for text in texts:
        assert text in str(caught.value)


def test_a_name_of_several_things_asks_for_a_prefix():
    model = build(body('name="twin" size=".1"', name="twin"))
    with pytest.raises(pliant.InputError, match=r"several things; write geom:twin or body:twin"):
        pliant.mj_forward(model, start(model), materials={"twin": pliant.Law(1.0)})
    assert find(model, "body:twin") == ("body", [1])
    assert find(model, "tw*") == ("geom", [0])


def test_limits_and_equalities_take_linear_laws_only():
    model = build(body('size=".1"', joint=hinge("knee", more='range="0 1"')))
    with pytest.raises(pliant.InputError, match="exponent 1, dissipation 0"):
        pliant.mj_forward(model, start(model), materials={"knee": pliant.Law(1.0, exponent=1.5)})


def test_compliance_has_two_values():
    model = lying()
    with pytest.raises(pliant.InputError, match="materials, model, got 'soft'"):
        pliant.mj_step(model, start(model), compliance="soft")


def hung(kind: str, how: str = "", mass: float = 2.0) -> Any:
    """A mass that a limit, or an equality, holds up at 0."""
    limit, equality, tendon = "", "", ""
    if kind == "limit":
        limit = f'range="0 1" {how and f"""solreflimit="{how}" """}'
    solref = how and f'solref="{how}"'
    if kind == "joint":
        equality = f'<joint name="held" joint1="z" {solref}/>'
    if kind == "tendon limit":
        limit = how and f'solreflimit="{how}"'
        tendon = f'<fixed name="string" range="0 1" {limit}><joint joint="z" coef="1"/></fixed>'
        limit = ""
    if kind == "tendon":
        tendon = '<fixed name="string"><joint joint="z" coef="1"/></fixed>'
        equality = f'<tendon name="held" tendon1="string" {solref}/>'
    if kind in ("connect", "weld"):
        anchor = 'anchor="0 0 0"' if kind == "connect" else ""
        equality = f'<{kind} name="held" body1="thing" {anchor} {solref}/>'
    joint = "<freejoint/>" if kind == "weld" else slider("z", "0 0 1", limit)
    rest = f"<tendon>{tendon}</tendon><equality>{equality}</equality>"
    return build(body(f'size=".1" mass="{mass}"', joint=joint, name="thing"), rest=rest)


HELD = ["limit", "tendon limit", "joint", "tendon", "connect", "weld"]
NAMES = {"limit": "joint:z", "tendon limit": "tendon:string"}


def sag(model: Any, **options: Any) -> float:
    return -float(rest(model, 1000, **options).qpos[2 if model.nv == 6 else 0])


@pytest.mark.parametrize("kind", HELD)
def test_limits_and_equalities_are_rigid_by_default(kind):
    assert sag(hung(kind)) == pytest.approx(2.0 * WEIGHT / RIGID, rel=1e-6)


@pytest.mark.parametrize("kind", HELD)
def test_limits_and_equalities_give_way_as_named(kind):
    model = hung(kind)
    name = NAMES.get(kind, "equality:held")
    assert sag(model, materials={name: pliant.Law(1e4, 200.0)}) == pytest.approx(2.0 * WEIGHT / 1e4, rel=1e-6)


@pytest.mark.parametrize("mass", [0.1, 2.0, 50.0])
@pytest.mark.parametrize("kind", HELD)
def test_direct_solref_is_a_stiffness_per_effective_inertia(kind, mass):
    """k = 1000 1/s^2 times the mass: g / k whatever the mass, where solimp is at its end, 1 mm."""
    assert sag(hung(kind, "-1000 -50", mass)) == pytest.approx(WEIGHT / 1000.0, rel=1e-6)


def test_direct_solref_damps():
    """Its spring alone: (d/dt)^2 x = -k x - b d/dt x, against the exact solution to the order of the step."""
    model = build(body('size=".1" mass="3"', joint=slider("x")), option='timestep="1e-4" gravity="0 0 0"',
                  rest='<equality><joint joint1="x" solref="-400 -4" solimp=".95 .95"/></equality>')  # fmt: skip
    data = start(model, qpos=[0.1])
    pliant.mj_step(model, data, 5000)
    t, w = data.time, math.sqrt(400.0 - 4.0)
    expected = 0.1 * math.exp(-2.0 * t) * (math.cos(w * t) + 2.0 / w * math.sin(w * t))
    assert data.qpos[0] == pytest.approx(expected, abs=1e-3)


def at_rest_in_mujoco(model: Any, steps: int) -> Any:
    """With the integrator whose springs act at the end of the step."""
    model.opt.integrator, model.opt.cone = mujoco.mjtIntegrator.mjINT_DISCRETE, mujoco.mjtCone.mjCONE_ELLIPTIC
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, steps)
    return data


@pytest.mark.parametrize("mass", [0.1, 10.0])
def test_compliance_of_the_model_gives_way_as_mujoco_does(mass):
    model = lying(f'size=".1" mass="{mass}" solref=".03 1"', option='timestep=".002"')
    theirs = 0.1 - float(at_rest_in_mujoco(model, 3000).qpos[2])
    assert indentation(model=model, compliance="model", steps=3000) == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("kind", HELD)
def test_compliance_of_the_model_reaches_limits_and_equalities(kind):
    model = hung(kind, ".03 1")
    theirs = -float(at_rest_in_mujoco(model, 3000).qpos[2 if model.nv == 6 else 0])
    assert sag(model, compliance="model") == pytest.approx(theirs, rel=1e-6)


def pairs() -> dict[str, Any]:
    ball = 'size=".1" mass="1"'
    near = {"touching": "0 0 .0995", "beyond": "0 0 .103"}
    made: dict[str, Any] = {}
    for where, pos in near.items():
        for what, geom in {
            "margin": f'{ball} margin=".002"',
            "wide margin": f'{ball} margin=".01"',
            "gap": f'{ball} margin=".002" gap=".004"',
            "condim": f'{ball} condim="6" margin=".01"',
            "friction": f'{ball} friction=".3 .02 .001" margin=".01"',
            "friction that yields": f'{ball} friction=".3" priority="-1" margin=".01" condim="4"',
            "friction that wins": f'{ball} friction=".3 .02 .001" priority="2" condim="4" margin=".01"',
            "solmix": f'{ball} solmix="3" solref=".04 1" solimp=".8 .9 .01" margin=".01"',
            "no contact": f'{ball} contype="0" conaffinity="0"',
        }.items():
            made[f"{what}, {where}"] = lying(f'name="ball" {geom}', pos)
        pair = (
            '<contact><pair geom1="ball" geom2="floor" condim="4" friction=".2 .3 .01 .02 .03" margin=".02" gap=".01"/>'
        )
        made[f"pair, {where}"] = lying(pos=pos, rest=f"{pair}</contact>")
        made[f"exclude, {where}"] = lying(pos=pos, rest='<contact><exclude body1="world" body2="thing"/></contact>')
    return made


PAIRS = pairs()
FIELDS = ("geom", "dim", "dist", "includemargin", "friction", "solref", "solreffriction", "solimp", "pos", "frame",
          "exclude", "efc_address")  # fmt: skip


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("case", PAIRS)
def test_contacts_are_the_ones_of_mujoco(case, cone):
    """Every field of every contact, for bodies at rest."""
    model = PAIRS[case]
    model.opt.cone = getattr(mujoco.mjtCone, f"mjCONE_{cone.upper()}")
    ours, theirs = start(model), start(model)
    pliant.mj_forward(model, ours)
    mujoco.mj_forward(model, theirs)
    assert ours.ncon == theirs.ncon
    for name in FIELDS:
        found, expected = getattr(ours.contact, name), getattr(theirs.contact, name)
        np.testing.assert_array_equal(found, expected, err_msg=name)
    np.testing.assert_array_equal(ours.efc_J, theirs.efc_J)


def test_a_margin_is_where_contact_begins():
    """As in MuJoCo: the spring is at rest at the margin."""
    for margin in (0.0, 0.002):
        model = lying(f'{SPHERE} margin="{margin}"')
        assert indentation(model=model) == pytest.approx(WEIGHT / CONTACT - margin, rel=1e-6)


def test_a_gap_counts_but_does_not_push():
    model = lying(f'{SPHERE} margin=".002" gap=".005"', "0 0 .104", option='gravity="0 0 0"')
    data = start(model)
    pliant.mj_step(model, data, 10)
    assert data.ncon == 1 and data.qpos[2] == 0.104 and not data.qvel.any()


FRICTIONS = {
    "the larger": ('friction=".3"', 'friction=".2"', 0.3),
    "by priority": ('friction=".3"', 'friction=".2" priority="1"', 0.2),
    "of the pair": ('friction=".3"', 'friction=".2"', 0.1),
}


@pytest.mark.parametrize("case", FRICTIONS)
def test_friction_is_coulomb_with_the_coefficient_of_the_model(case):
    """A block that cannot turn slides: mu g, to the law's own precision."""
    ground, block, mu = FRICTIONS[case]
    block = body(f'name="ball" type="box" size=".1 .1 .1" mass="1" {block}', "0 0 .1",
                 joint=slider("x") + slider("z", "0 0 1"))  # fmt: skip
    contact = '<contact><pair geom1="ball" geom2="ground" friction=".1 .1 0 0 0"/></contact>'
    model = build(f'<geom name="ground" type="plane" size="0 0 1" {ground}/>{block}',
                  rest=contact if case == "of the pair" else "")  # fmt: skip
    data = start(model, [2.0, 0.0])
    pliant.mj_step(model, data, 50)
    before = data.qvel[0]
    pliant.mj_step(model, data, 100)
    assert before - data.qvel[0] == pytest.approx(mu * WEIGHT * 100 * model.opt.timestep, rel=1e-6)


@pytest.mark.parametrize(("slope", "slides"), [(0.29, False), (0.31, True)])
def test_friction_holds_below_its_angle_and_slides_above(slope, slides):
    block = body('type="box" size=".1 .1 .1" mass="1" friction=".3"', "0 0 .1")
    gravity = f"{WEIGHT * math.sin(math.atan(slope))} 0 {-WEIGHT * math.cos(math.atan(slope))}"
    model = build(f'<geom type="plane" size="0 0 1" friction=".3"/>{block}', option=f'gravity="{gravity}"')
    data = start(model)
    pliant.mj_step(model, data, 500)
    assert bool(data.qpos[0] > 1e-3) is slides
    assert slides or abs(data.qpos[0]) < 1e-6


@pytest.mark.parametrize("step", [0.001, 0.01])
def test_what_starts_inside_the_floor_is_not_thrown_out(step):
    """5 mm deep on the default law, whose spring alone would throw it at 5 mm per step."""
    model = lying(pos="0 0 .095", option=f'timestep="{step}"')
    data = mujoco.MjData(model)
    for _ in range(300):
        pliant.mj_step(model, data)
        assert data.qpos[2] < 0.1 + 2e-3 and data.qvel[2] <= 0.005 / (step + SETTLING) * (1.0 + 1e-6)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_belt_carries_what_lies_on_it(cone):
    """A ball that rolls up: friction until it does, f / m t^2 / 2 before."""
    belt = '<geom type="box" size="5 5 .1" pos="0 0 -.1" surfacevel="0 .5 0"/>'
    model = build(belt + body('size=".1" mass="2" friction=".3" condim="3"', "0 0 .1"), option=f'cone="{cone}"')
    model.geom_friction[:, 0] = 0.3
    data = mujoco.MjData(model)
    pliant.mj_step(model, data, 500)
    assert abs(data.qpos[0]) < 1e-9 and data.qpos[2] == pytest.approx(0.1, abs=1e-6)
    # sliding accelerates at mu g and spins up at 5/2 mu g / r: rolls from t = v / (7/2 mu g) on, at 2/7 v
    late = 0.5 / (3.5 * 0.3 * WEIGHT)
    assert data.qpos[1] == pytest.approx(0.5 * 0.3 * WEIGHT * late**2 + 2.0 / 7.0 * 0.5 * (1.0 - late), rel=1e-2)


def test_a_law_for_a_joint_without_limits_is_refused():
    model = build(body("size='.1'", joint='<joint name="free" axis="0 1 0"/>'))
    with pytest.raises(pliant.InputError, match="none of these joints has a limit"):
        pliant.mj_step(model, mujoco.MjData(model), materials={"joint:free": pliant.Law(1e5)})
