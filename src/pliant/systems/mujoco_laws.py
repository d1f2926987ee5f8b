"""What is named for the parts of a model, by their names: the law of each of MuJoCo's rows comes from there.

contact          by the materials of its two geoms and their curvatures, `DEFAULT_MATERIAL` where none is named; where a
                 law is named for a geom, that one, or the two laws in series
limit, equality  named; or a direct-format `solref` (-k, -b), times the row's effective inertia; else `RIGID`, damped
dry friction     a damper of 1e8 N s/m within the range of the friction
any              with compliance="model": the spring of its `solref` and `solimp`, (k d r + b v) / R

Damped, with B / K = `SETTLING`: what starts beyond a limit or off an equality comes back with this time constant. A
spring alone would throw it back within one step, at the depth over h. The defaults are for bodies up to a tonne, and
grow with the mass of heavier ones. The engine does the rest (src/engine/mujoco/materials.cc).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pliant import _engine
from pliant.errors import InputError
from pliant.laws import Law
from pliant.materials import DEFAULT_MATERIAL, Foundation, Material
from pliant.materials_file import parse_materials
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_foundation import sample

SETTLING: Final = 0.02  # [s] B / K of limits and equalities for which nothing is named
RIGID: Final = 1e8  # [N/m, N m/rad] of limits and equalities
KINDS: Final = ("geom", "body", "joint", "equality", "tendon")
CUSTOM: Final = "pliant"  # the <text> of a model that holds its materials
COMPLIANCES: Final = ("materials", "model")
UNNAMED: Final = (np.nan, 0.0, 1.0, 0.0)  # a law
Substance = Law | Material | Foundation


class Laws:
    """Rows of (stiffness, damping, exponent, dissipation) per geom, joint, tendon and equality, nan where no law is
    named; what geoms are made of."""

    def __init__(self, model: Any, materials: Mapping[str, Substance] | None, compliance: str) -> None:
        if compliance not in COMPLIANCES:
            raise InputError(f"compliance must be one of {', '.join(COMPLIANCES)}, got {compliance!r}")
        self.by_reference = compliance == "model"
        self.geom, self.joint, self.tendon, self.equality = (
            np.tile(UNNAMED, (n, 1)) for n in (model.ngeom, model.njnt, model.ntendon, model.neq)
        )
        self.material = np.tile(_columns(DEFAULT_MATERIAL, named=False), (model.ngeom, 1))
        self.friction: dict[int, float] = {}  # of geoms whose material has its own
        self.foundation: dict[int, Foundation] = {}
        for key, substance in {**model_materials(model), **(materials or {})}.items():
            self._name(model, key, substance)

    def made(self, model: Any) -> _engine.Materials:
        """All of it as the engine reads it; elements of foundations are sampled from the geoms as they are now."""
        friction = np.full(model.ngeom, np.nan)
        for g, value in self.friction.items():
            friction[g] = value
        layers = []
        for g, layer in self.foundation.items():
            found = sample(model, g, layer)
            layers.append((g, layer.depth / layer.youngs_modulus, layer.damping, found.point.ravel(), found.area))
        geom, joint, tendon, equality = (t.ravel() for t in (self.geom, self.joint, self.tendon, self.equality))
        return _engine.Materials(
            self.material.ravel(), geom, joint, tendon, equality, friction, layers, self.by_reference
        )

    def _name(self, model: Any, key: str, substance: Substance) -> None:
        kind, found = find(model, key)
        if kind == "body":
            kind, found = "geom", np.flatnonzero(np.isin(model.geom_bodyid, found)).tolist()
        if kind == "geom":  # the later key holds alone
            self.geom[found], self.material[found] = UNNAMED, _columns(DEFAULT_MATERIAL, named=False)
            for g in found:
                self.friction.pop(g, None)
                self.foundation.pop(g, None)
        if isinstance(substance, Law):
            self._name_law(model, key, substance, kind, found)
            return
        if kind != "geom":
            raise InputError(f"materials[{key!r}]: a {kind} takes a pliant.Law, not a {type(substance).__name__}")
        if substance.friction is not None:
            self.friction.update(dict.fromkeys(found, substance.friction))
        if isinstance(substance, Foundation):
            self.foundation.update(dict.fromkeys(found, substance))
        else:
            self.material[found] = _columns(substance)

    def _name_law(self, model: Any, key: str, law: Law, kind: str, found: list[int]) -> None:
        row = [np.asarray(x) for x in (law.stiffness, law.damping, law.exponent, law.dissipation)]
        if any(x.ndim for x in row):
            raise InputError(f"materials[{key!r}] must be a Law of numbers, got arrays: {law}")
        if kind != "geom" and not law.is_linear:
            raise InputError(f"materials[{key!r}]: limits and equalities take linear laws, exponent 1, dissipation 0")
        limited = {"joint": model.jnt_limited, "tendon": model.tendon_limited}.get(kind)
        if limited is not None and not limited[found].any():
            raise InputError(f"materials[{key!r}]: none of these {kind}s has a limit, whose law it would be")
        getattr(self, kind)[found] = row


def _columns(material: Material, *, named: bool = True) -> list[float]:
    """As the engine reads a material."""
    m, radius = material, material.contact_radius
    given = np.nan if radius is None else radius
    return [m.compliance, m.damping, m.dissipation, given, m.restitution, m.restitution_speed, float(named)]


def checked(materials: Any) -> dict[str, Substance]:
    """A copy of {name: Material, Foundation or Law}; keys are checked where they are looked for."""
    if not isinstance(materials, Mapping | None):
        raise InputError(f"materials must be a mapping of names to pliant.Material, got {type(materials).__name__}")
    for key, substance in (materials or {}).items():
        if not isinstance(substance, Substance):
            hint = f"; pliant.Material.of({substance!r}) is one" if isinstance(substance, str) else ""
            raise InputError(
                f"materials[{key!r}] must be a pliant.Material, Foundation or Law, got {type(substance).__name__}{hint}"
            )
    return dict(materials or {})


def model_materials(model: Any) -> dict[str, Any]:
    """Those that the model itself names: <custom><text name="pliant" data="{floor: steel}"/></custom>."""
    texts = names(model, "text")
    if CUSTOM not in texts:
        return {}
    i = texts.index(CUSTOM)
    start, size = int(model.text_adr[i]), int(model.text_size[i])
    text = bytes(model.text_data)[start : start + size].rstrip(b"\0").decode()
    return parse_materials(text, f'<text name="{CUSTOM}"> of the model')


def names(model: Any, kind: str) -> list[str]:
    """The names of all geoms, joints, ...; '' where there is none."""
    mj = mujoco()
    count = {"geom": model.ngeom, "body": model.nbody, "joint": model.njnt, "equality": model.neq,
             "tendon": model.ntendon, "text": model.ntext, "key": model.nkey}[kind]  # fmt: skip
    obj = getattr(mj.mjtObj, f"mjOBJ_{kind.upper()}")
    return [mj.mj_id2name(model, obj, i) or "" for i in range(count)]


def find(model: Any, key: str) -> tuple[str, list[int]]:
    """The kind and the numbers of what a name or glob stands for."""
    if not isinstance(key, str):
        raise InputError(f"materials: keys must be names such as 'geom:foot*' or 'joint:knee', got {key!r}")
    prefix, _, rest = key.partition(":")
    kinds, pattern = ([prefix], rest) if prefix in KINDS else (list(KINDS), key)
    hits = {kind: [i for i, name in enumerate(names(model, kind)) if fnmatch.fnmatchcase(name, pattern)]
            for kind in kinds}  # fmt: skip
    there = [kind for kind in kinds if hits[kind]]
    if not there and ":" in key and prefix not in KINDS:
        raise InputError(f"materials: {key!r} has no prefix of ours, which are {', '.join(f'{k}:' for k in KINDS)}")
    if not there:
        known = "; ".join(f"{kind}: {', '.join(n for n in names(model, kind) if n) or 'no names'}" for kind in kinds)
        raise InputError(f"materials: {key!r} matches nothing; there are {known}")
    if any(sign in pattern for sign in "*?["):
        there = there[:1]  # a glob without a prefix means geoms, and what else there is only where no geom matches
    elif len(there) > 1:
        raise InputError(
            f"materials: {key!r} is the name of several things; write {there[0]}:{key} or {there[1]}:{key}"
        )
    return there[0], hits[there[0]]
