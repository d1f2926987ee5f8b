"""Small MuJoCo models, one for each thing a model can hold; ZOO holds by name those that have rows of every kind."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

FLOOR = '<geom name="floor" type="plane" size="0 0 1" condim="1"/>'
WEIGHT = 9.81  # [N] of 1 kg
CONTACT = 1e8  # [N/m] of two geoms of DEFAULT_MATERIAL: 2 E* a, nu = 0


def build(world: str, *, option: str = "", rest: str = "", floor: bool = False, flags: str = "", size: str = "") -> Any:
    """A mujoco.MjModel of what stands in the world and what stands after it; option: attributes of <option>."""
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><compiler angle='radian' autolimits='true'/><size {size}/><option {option}><flag {flags}/></option>"
        f"<worldbody>{FLOOR if floor else ''}{world}</worldbody>{rest}</mujoco>"
    )


def body(geom: str, pos: str = "0 0 0", *, joint: str = "<freejoint/>", more: str = "", name: str = "") -> str:
    """One body with one geom; more: what else it holds."""
    named = f'name="{name}"' if name else ""
    return f'<body {named} pos="{pos}">{joint}<geom {geom}/>{more}</body>'


def slider(name: str = "x", axis: str = "1 0 0", more: str = "") -> str:
    return f'<joint name="{name}" type="slide" axis="{axis}" {more}/>'


def hinge(name: str = "a", axis: str = "0 1 0", more: str = "") -> str:
    return f'<joint name="{name}" type="hinge" axis="{axis}" {more}/>'


def start(model: Any, qvel: Any = None, qpos: Any = None) -> Any:
    """A mujoco.MjData at the first keyframe, if there is one; with the velocity and position given."""
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    if qvel is not None:
        data.qvel[:] = qvel
    if qpos is not None:
        data.qpos[:] = qpos
    return data


def dropped(**option: Any) -> Any:
    """Six shapes just above, on and in the floor, and two that touch each other: contacts of every number of rows."""
    shapes = [
        ('type="sphere" size=".1" condim="1"', "0 0 .0999"),
        ('type="box" size=".1 .1 .1" condim="3" friction=".7"', "1 0 .09995"),
        ('type="capsule" size=".1 .2" condim="4" euler="0 1.57 0"', "2 0 .0999"),
        ('type="cylinder" size=".1 .1" condim="6" friction=".7 .01 .002"', "3 0 .0998"),
        ('type="ellipsoid" size=".1 .2 .1" condim="3"', "4 0 .1"),
        ('type="box" size=".1 .1 .1" condim="6"', "1.05 0 .2999"),
        ('type="sphere" size=".1" condim="3"', "1 .1 .4998"),
    ]
    return build("".join(body(f'{g} mass="1"', p) for g, p in shapes), floor=True, **option)


def limited(**option: Any) -> Any:
    """Joints and tendons at their limits."""
    arm = """<body><joint name="a" axis="0 1 0" range="-.5 .0005"/>
      <geom type="capsule" size=".03" fromto="0 0 0 .4 0 0"/>
      <site name="s1" pos=".2 0 .05"/><body pos=".4 0 0"><joint name="b" type="slide" axis="1 0 0" range="-.1 .0002"/>
      <geom type="box" size=".05 .05 .05"/><site name="s2" pos="0 0 .1"/>
      <body pos="0 .3 0"><joint name="c" type="ball" range="0 .3"/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 .3 0"/>
      </body></body></body><site name="s0" pos="-.1 0 .3"/>"""
    strings = """<tendon><spatial name="rope" range="0 .5967">
      <site site="s0"/><site site="s1"/><site site="s2"/></spatial>
      <fixed name="sum" range="-.3 .0006"><joint joint="a" coef="1"/><joint joint="b" coef="2"/></fixed></tendon>
      <keyframe><key qpos="0 0 .98877 .14944 0 0"/></keyframe>"""
    return build(arm, rest=strings, **option)


def tied(**option: Any) -> Any:
    """Equalities of every kind, not quite fulfilled."""
    bodies = f"""{body('type="box" size=".1 .1 .1"', "0 0 1", name="one")}{body('size=".1"', ".3 0 1", name="two")}
      {body('type="box" size=".1 .1 .1"', "0 1 1", name="three")}{body('size=".1"', "0 1.5 1", name="four")}
      <body pos="0 -1 1">{hinge("a")}<geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body>
      <body pos="0 -2 1">{hinge("b")}<geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body>
      <body pos="0 -3 1">{slider("c")}<geom size=".1"/></body>
      <body pos="0 -4 1">{slider("d")}<geom size=".1"/></body>"""
    rest = """<tendon><fixed name="t"><joint joint="c" coef="1"/></fixed>
      <fixed name="u"><joint joint="d" coef="2"/></fixed>
      </tendon><equality><connect name="pin" body1="one" body2="two" anchor=".15 0 .02"/>
      <weld name="glue" body1="three" body2="four"/><joint name="gear" joint1="a" joint2="b" polycoef="0 2 .1 0 0"/>
      <joint name="held" joint1="c" polycoef=".01 0 0 0 0"/><tendon name="cord" tendon1="t" tendon2="u"/></equality>"""
    return build(bodies, rest=rest, **option)


def rubbing(**option: Any) -> Any:
    """Dry friction of a hinge, a ball and a tendon."""
    bodies = f"""<body>{hinge("a", more='frictionloss=".3"')}<geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/>
      <body pos=".5 0 0"><joint name="b" type="ball" frictionloss=".1"/>
      <geom type="capsule" size=".05" fromto="0 0 0 0 .4 0"/>
      </body></body><body pos="0 3 0">{slider("c")}<geom size=".1"/></body>"""
    rest = """<tendon><fixed name="t" frictionloss=".2"><joint joint="a" coef="1"/><joint joint="c" coef="3"/></fixed>
      </tendon>"""
    return build(bodies, rest=rest, **option)


def everything(**option: Any) -> Any:
    """A little of all: a legged thing with servos, a tendon, a loop, dry friction, on the floor, beside a pile."""
    leg = "".join(
        f"""<body name="leg{i}" pos="{x} {y} 0">
        <joint name="hip{i}" axis="0 1 0" range="-.6 .6" damping="1" armature=".01"/>
        <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.25" condim="{c}"/><body pos="0 0 -.25">
        <joint name="knee{i}" axis="0 1 0" range="-1 .01" frictionloss=".1" stiffness="2"/>
        <geom name="foot{i}" type="capsule" size=".03" fromto="0 0 0 0 0 -.2" condim="{c}"/>
        <site name="sole{i}" pos="0 0 -.2" size=".05"/></body></body>"""
        for i, (x, y, c) in enumerate([(0.2, 0.2, 1), (0.2, -0.2, 3), (-0.2, 0.2, 4), (-0.2, -0.2, 6)])
    )
    trunk = f"""<body name="trunk" pos="0 0 .478"><freejoint/><geom type="box" size=".25 .2 .05"/>
      <site name="imu"/>{leg}</body>{body('type="box" size=".1 .1 .1"', "1 0 .0999")}{body('size=".1"', "1 0 .2998")}"""
    rest = """<tendon><fixed name="brace" stiffness="5" damping=".2" frictionloss=".05"><joint joint="hip0" coef="1"/>
      <joint joint="hip1" coef="-1"/></fixed></tendon>
      <equality><joint name="gear" joint1="hip2" joint2="hip3"/></equality>
      <actuator><position name="servo" joint="hip0" kp="20" kv="1" forcerange="-5 5"/><motor joint="knee0" gear="2"/>
      <velocity joint="knee1" kv="3"/><position joint="knee2" kp="30" kv="1"/></actuator>
      <sensor><touch site="sole0"/><touch site="sole3"/><force site="sole1"/><torque site="sole2"/>
      <accelerometer site="imu"/>
      <gyro site="imu"/><actuatorfrc actuator="servo"/><jointlimitfrc joint="knee0"/>
      <framelinacc objtype="xbody" objname="leg0"/>
      </sensor>"""
    return build(trunk, rest=rest, floor=True, **option)


ZOO = {"dropped": dropped, "limited": limited, "tied": tied, "rubbing": rubbing, "everything": everything}


SHAKES = {
    "dropped": 1e-2,
    "limited": 1e-3,
    "tied": 0.1,
    "rubbing": 0.3,
    "everything": 2e-2,
}  # [m, rad] to shake them by


def shake(model: Any, data: Any, seed: int, *, size: float = 0.01, speed: float = 0.1) -> None:
    """Another state nearby, within `size` [m, rad]: other contacts, other limits."""
    rng = np.random.default_rng(seed)
    mujoco.mj_integratePos(model, data.qpos, rng.uniform(-size, size, model.nv), 1.0)
    data.qvel[:] = rng.uniform(-speed, speed, model.nv)
    data.ctrl[:] = rng.uniform(-1.0, 1.0, model.nu)


STATE = mujoco.mjtState.mjSTATE_INTEGRATION


def shaken(name: str, seed: int = 5, **option: str) -> tuple[Any, Any]:
    """A model of the zoo, and a data in a state nearby."""
    model = ZOO[name](**option)
    data = start(model)
    shake(model, data, seed, size=SHAKES[name])
    return model, data


def state(model: Any, data: Any) -> np.ndarray:
    """All that the next step depends on."""
    found = np.zeros(mujoco.mj_stateSize(model, STATE))
    mujoco.mj_getState(model, data, found, STATE)
    return found
