"""Sky, light and floor for models that bring none: MuJoCo draws them before a black sky, dark."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pliant.systems.mujoco_door import mujoco

SKY: Final = {"rgb1": [0.98, 0.99, 1.0], "rgb2": [0.72, 0.81, 0.91]}
TILES: Final = {"rgb1": [0.90, 0.91, 0.92], "rgb2": [0.81, 0.83, 0.85]}
FLOOR: Final = "pliant tiles"  # a material
PLAIN: Final = (0.5, 0.5, 0.5, 1.0)  # of geoms whose colour nobody chose


def dress(spec: Any) -> Any:
    """The mujoco.MjSpec, with a sky if it has none, light if it has none, and tiles on planes that nobody coloured."""
    mj = mujoco()
    if all(texture.type != mj.mjtTexture.mjTEXTURE_SKYBOX for texture in spec.textures):
        gradient = {"builtin": mj.mjtBuiltin.mjBUILTIN_GRADIENT, **SKY}
        spec.add_texture(name="pliant sky", type=mj.mjtTexture.mjTEXTURE_SKYBOX, width=64, height=384, **gradient)
    if not spec.lights:
        light(spec)
    planes = [geom for geom in spec.geoms if geom.type == mj.mjtGeom.mjGEOM_PLANE]
    bare = [geom for geom in planes if not geom.material and np.allclose(geom.rgba, PLAIN)]
    if bare:
        tiles(spec)
        for geom in bare:
            geom.material = FLOOR
    return spec


def light(spec: Any) -> None:
    """From the camera, and from above with shadows."""
    head = spec.visual.headlight
    head.ambient, head.diffuse, head.specular = [0.42] * 3, [0.35] * 3, [0.05] * 3
    kind = {"type": mujoco().mjtLightType.mjLIGHT_DIRECTIONAL, "castshadow": True}
    spec.worldbody.add_light(
        dir=[-0.35, 0.45, -1.0], pos=[0.0, 0.0, 10.0], diffuse=[0.4] * 3, specular=[0.1] * 3, **kind
    )


def tiles(spec: Any) -> None:
    """The material FLOOR: squares of half a metre."""
    mj = mujoco()
    checker = {"builtin": mj.mjtBuiltin.mjBUILTIN_CHECKER, **TILES}
    spec.add_texture(name=FLOOR, type=mj.mjtTexture.mjTEXTURE_2D, width=300, height=300, **checker)
    material = spec.add_material(name=FLOOR, texrepeat=[1.0, 1.0], texuniform=True)
    material.textures[mj.mjtTextureRole.mjTEXROLE_RGB] = FLOOR
