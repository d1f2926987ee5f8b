"""Where the law of each of MuJoCo's rows comes from.

contact          by the materials of its two geoms (`mujoco_surfaces`), `DEFAULT_MATERIAL` where none is named; where a
                 law is named for a geom, that one, or the two laws in series
limit, equality  named; or a direct-format `solref` (-k, -b), times the row's effective inertia; else `RIGID`, damped
dry friction     a damper of `RIGID` N s/m within the range of the friction
any              with compliance="model": the spring of its `solref` and `solimp`, (k d r + b v) / R

Damped, with B / K = `SETTLING`: what starts beyond a limit or off an equality comes back with this time constant. A
spring alone would throw it back within one step, at the depth over h.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array
from pliant.laws import Law
from pliant.materials import DEFAULT_MATERIAL, Foundation, Material
from pliant.materials_file import parse_materials
from pliant.systems._compile import kernel
from pliant.systems.mujoco_arrays import copy
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_kinds import (
    DAMPING,
    ELLIPTIC,
    EQUALITY,
    EXPONENT,
    FRICTIONLESS,
    LIMIT_JOINT,
    LIMIT_TENDON,
    STIFFNESS,
)
from pliant.systems.mujoco_surfaces import BOUNCE, FLAT, Spots, Surfaces, flat_radii, material_law

SETTLING: Final = 0.02  # [s] B / K of limits and equalities for which nothing is named
RIGID: Final = 1e8  # [N/m, N m/rad, N s/m] of limits, equalities and dry friction
KINDS: Final = ("geom", "body", "joint", "equality", "tendon")
CUSTOM: Final = "pliant"  # the <text> of a model that holds its materials
COMPLIANCES: Final = ("materials", "model")
Substance = Law | Material | Foundation


class Laws:
    """Rows of (stiffness, damping, exponent, dissipation) per geom, joint, tendon and equality; what geoms are made of.

    nan: no law is named. A negative stiffness, and the damping beside it, are per effective inertia of the row.
    """

    def __init__(self, model: Any, materials: Mapping[str, Substance] | None, compliance: str) -> None:
        if compliance not in COMPLIANCES:
            raise InputError(f"compliance must be one of {', '.join(COMPLIANCES)}, got {compliance!r}")
        self.by_reference = compliance == "model"
        self.geom = np.full((model.ngeom, 4), np.nan)
        self.material = np.tile(_columns(DEFAULT_MATERIAL), (model.ngeom, 1))
        self.friction: dict[int, float] = {}  # of geoms whose material has its own
        self.foundation: dict[int, Foundation] = {}
        self.joint, self.tendon, self.equality = (
            np.tile([RIGID, 0.0, 1.0, 0.0], (n, 1)) for n in (model.njnt, model.ntendon, model.neq)
        )
        for table in (self.joint, self.tendon, self.equality):
            table[:, DAMPING] = RIGID * SETTLING
        for table, solref in (
            (self.joint, model.jnt_solref),
            (self.tendon, model.tendon_solref_lim),
            (self.equality, model.eq_solref),
        ):
            direct = solref[:, 0] < 0.0
            table[direct, STIFFNESS], table[direct, DAMPING] = solref[direct, 0], -solref[direct, 1]
        for key, substance in {**model_materials(model), **(materials or {})}.items():
            self._name(model, key, substance)
        self.material[:, FLAT] = flat_radii(model)

    @property
    def bounces(self) -> bool:
        return bool((self.material[:, BOUNCE] > 0.0).any())

    @property
    def special(self) -> list[str]:
        """What compiled steps are not for: rows that need their effective inertia, or MuJoCo's references; elements."""
        tables = (self.joint, self.tendon, self.equality)
        direct = any((table[:, STIFFNESS] < 0.0).any() for table in tables)
        found = {'compliance="model"': self.by_reference, "foundations": self.foundation, "direct solref": direct}
        return [name for name, there in found.items() if there]

    def _name(self, model: Any, key: str, substance: Substance) -> None:
        kind, found = find(model, key)
        if kind == "body":
            kind, found = "geom", np.flatnonzero(np.isin(model.geom_bodyid, found)).tolist()
        if kind == "geom":  # the later key holds alone
            self.geom[found], self.material[found] = np.nan, _columns(DEFAULT_MATERIAL)
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


def _columns(material: Material) -> list[float]:
    """A row of `mujoco_surfaces.Surfaces.material`, but for the shape of the geom."""
    m, radius = material, material.contact_radius
    given = np.nan if radius is None else radius
    return [m.compliance, m.damping, m.dissipation, given, np.nan, m.restitution, m.restitution_speed]


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


@kernel
def row_laws(
    type: np.ndarray, id: np.ndarray, geoms: Surfaces, spots: Spots, geom: Array, joint: Array, tendon: Array,
    equality: Array, joint_margin: Array, tendon_margin: Array, margin: Array, law: Array,
) -> int:  # fmt: skip
    """Fill law, (m, 4), and the user's margin of limits; returns how many rows have a law per effective inertia.

    geoms, spots: what contacts are between, and where. Of a contact only the first row has a law.
    """
    left = 0
    for i in range(type.size):
        t, k = type[i], id[i]
        law[i, EXPONENT] = 1.0
        if t == EQUALITY:
            copy(equality[k], law[i])
        elif t == LIMIT_JOINT:
            copy(joint[k], law[i])
            margin[i] = joint_margin[k]
        elif t == LIMIT_TENDON:
            copy(tendon[k], law[i])
            margin[i] = tendon_margin[k]
        elif t in (FRICTIONLESS, ELLIPTIC):
            if i == 0 or t == FRICTIONLESS or type[i - 1] != t or id[i - 1] != k:
                _pair_law(geoms, geom, spots.pair[k, 0], spots.pair[k, 1], spots.pos[k], spots.frame[k], law[i])
        else:
            law[i, DAMPING] = RIGID
        if law[i, STIFFNESS] < 0.0:
            left += 1
    return left


@kernel
def _pair_law(geoms: Surfaces, geom: Array, a: int, b: int, spot: Array, frame: Array, law: Array) -> None:
    """Two springs in series give way by the sum: k^(-1/p) = k1^(-1/p) + k2^(-1/p)."""
    one, two = not np.isnan(geom[a, 0]), not np.isnan(geom[b, 0])
    if one and two:
        softer = a if geom[a, 0] <= geom[b, 0] else b
        p = geom[softer, 2]
        copy(geom[softer], law)
        if geom[a, 2] == geom[b, 2] and min(geom[a, 0], geom[b, 0]) > 0.0:
            law[0] = (geom[a, 0] ** (-1.0 / p) + geom[b, 0] ** (-1.0 / p)) ** -p
            total = geom[a, 1] + geom[b, 1]
            law[1] = geom[a, 1] * geom[b, 1] / total if total > 0.0 else 0.0
    elif one or two:
        copy(geom[a if one else b], law)
    else:
        material_law(geoms, a, b, spot, frame, law)
