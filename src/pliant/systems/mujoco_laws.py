"""Where the law of each of MuJoCo's rows comes from.

contact          the laws named for its two geoms, in series; one if only one is named; else `CONTACT`, damped
limit, equality  named; or a direct-format `solref` (-k, -b), times the row's effective inertia; else `RIGID`, damped
dry friction     a damper of `RIGID` N s/m within the range of the friction
any              with compliance="model": the spring of its `solref` and `solimp`, (k d r + b v) / R

Damped, with B / K = `SETTLING`: what starts inside a contact, beyond a limit or off an equality comes back with this
time constant. A spring alone would throw it back within one step, at the depth over h.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pliant._compile import kernel
from pliant.errors import InputError
from pliant.inputs import Array
from pliant.laws import Law
from pliant.solvers.island import copy
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

CONTACT: Final = 1e8  # [N/m] of contacts for which nothing is named
SETTLING: Final = 0.02  # [s] B / K of rows for which nothing is named
RIGID: Final = 1e8  # [N/m, N m/rad, N s/m] of limits, equalities and dry friction
KINDS: Final = {"geom": "GEOM", "body": "BODY", "joint": "JOINT", "equality": "EQUALITY", "tendon": "TENDON"}
COMPLIANCES: Final = ("materials", "model")


class Laws:
    """Rows of (stiffness, damping, exponent, dissipation) per geom, joint, tendon and equality.

    nan: not named. A negative stiffness, and the damping beside it, are per effective inertia of the row.
    """

    def __init__(self, model: Any, materials: Mapping[str, Law] | None, compliance: str) -> None:
        if compliance not in COMPLIANCES:
            raise InputError(f"compliance must be one of {', '.join(COMPLIANCES)}, got {compliance!r}")
        self.by_reference = compliance == "model"
        self.geom = np.full((model.ngeom, 4), np.nan)
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
        for key, law in (materials or {}).items():
            self._name(model, key, law)

    @property
    def is_plain(self) -> bool:
        """Whether no row needs its effective inertia, or MuJoCo's references."""
        tables = (self.joint, self.tendon, self.equality)
        return not self.by_reference and not any((table[:, STIFFNESS] < 0.0).any() for table in tables)

    def _name(self, model: Any, key: str, law: Law) -> None:
        row = [np.asarray(x) for x in (law.stiffness, law.damping, law.exponent, law.dissipation)]
        if any(x.ndim for x in row):
            raise InputError(f"materials[{key!r}] must be a Law of numbers, got arrays: {law}")
        kind, found = find(model, key)
        if kind == "body":
            self.geom[np.isin(model.geom_bodyid, found)] = row
            return
        if kind != "geom" and not law.is_linear:
            raise InputError(f"materials[{key!r}]: limits and equalities take linear laws, exponent 1, dissipation 0")
        limited = {"joint": model.jnt_limited, "tendon": model.tendon_limited}.get(kind)
        if limited is not None and not limited[found].any():
            raise InputError(f"materials[{key!r}]: none of these {kind}s has a limit, whose law it would be")
        getattr(self, kind)[found] = row


def checked(materials: Any) -> dict[str, Law]:
    """A copy of {name: Law}; keys are checked where they are looked for."""
    if not isinstance(materials, Mapping | None):
        raise InputError(f"materials must be a mapping of names to pliant.Law, got {type(materials).__name__}")
    for key, law in (materials or {}).items():
        if not isinstance(law, Law):
            raise InputError(f"materials[{key!r}] must be a pliant.Law, got {type(law).__name__}")
    return dict(materials or {})


def names(model: Any, kind: str) -> list[str]:
    """The names of all geoms, joints, ...; '' where there is none."""
    mj = mujoco()
    count = {"geom": model.ngeom, "body": model.nbody, "joint": model.njnt, "equality": model.neq,
             "tendon": model.ntendon}[kind]  # fmt: skip
    obj = getattr(mj.mjtObj, f"mjOBJ_{KINDS[kind]}")
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
    type: np.ndarray, id: np.ndarray, pair: np.ndarray, geom: Array, joint: Array, tendon: Array, equality: Array,
    joint_margin: Array, tendon_margin: Array, margin: Array, law: Array,
) -> int:  # fmt: skip
    """Fill law, (m, 4), and the user's margin of limits; returns how many rows have a law per effective inertia."""
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
            _pair_law(geom, pair[k, 0], pair[k, 1], law[i])
        else:
            law[i, DAMPING] = RIGID
        if law[i, STIFFNESS] < 0.0:
            left += 1
    return left


@kernel
def _pair_law(geom: Array, a: int, b: int, law: Array) -> None:
    """Two springs in series give way by the sum: k^(-1/p) = k1^(-1/p) + k2^(-1/p)."""
    one = a >= 0 and not np.isnan(geom[a, 0])
    two = b >= 0 and not np.isnan(geom[b, 0])
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
        law[0], law[1], law[2], law[3] = CONTACT, CONTACT * SETTLING, 1.0, 0.0
