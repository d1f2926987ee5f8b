"""Where MuJoCo keeps what moves: the rows and contacts of a step lie in an arena, and anew in every step.

Compiled code follows the pointers of MjData itself. Their offsets come from MuJoCo's own description of its structs,
and are compared with the arrays that it hands out for a small model. Where anything differs, `layout` is None, and
steps read and write through the arrays, more slowly.
"""

from __future__ import annotations

import ctypes
import functools
import logging
from typing import Any, Final

import numpy as np

from pliant.inputs import Ints
from pliant.systems.mujoco_door import mujoco, without_callbacks

_log = logging.getLogger("pliant")

NUMBERS: Final = ("ncon", "nefc", "narena", "maxuse_arena", "flg_energypos", "flg_rnepost")
KINDS: Final[tuple[Any, ...]] = (
    ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_bool, ctypes.c_bool,
)  # fmt: skip
POINTERS: Final = (
    "contact", "efc_type", "efc_id", "efc_J", "efc_J_rownnz", "efc_J_rowadr", "efc_J_colind", "efc_pos", "efc_margin",
    "efc_frictionloss", "efc_state", "efc_force",
)  # fmt: skip
CONTACT: Final = (
    "dist",
    "pos",
    "frame",
    "includemargin",
    "friction",
    "adhesion",
    "dim",
    "geom",
    "exclude",
    "efc_address",
)

# Places in the array that `layout` gives: offsets in MjData, the size of a contact, offsets in it.
(
    NCON, NEFC, ARENA, USED, ENERGY_DONE, POST_DONE, CONTACTS, TYPE, ID, JACOBIAN, ROWNNZ, ROWADR, COLIND, POS, MARGIN,
    LOSS, STATE, FORCE, SIZE, DIST, PLACE, FRAME, INCLUDE, FRICTION, ADHESION, DIM, GEOM, EXCLUDE, HEAD,
) = range(29)  # fmt: skip

PROBE: Final = """
<mujoco>
  <option jacobian="sparse"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .11"/></body>
  </worldbody>
</mujoco>
"""


@functools.cache
def layout() -> Ints | None:
    """Offsets in bytes, in the order of the names above; None: they are not known."""
    found, problem = compare()
    if problem:
        _log.warning("MuJoCo %s keeps its rows elsewhere (%s): steps are slower", mujoco().__version__, problem)
        return None
    return found


def compare() -> tuple[Ints, str]:
    """The offsets that MuJoCo describes, and what of them is not so; empty: all is."""
    try:
        data, contact = struct("mjData"), struct("mjContact")
        offsets = [getattr(data, name).offset for name in NUMBERS + POINTERS]
        found = np.array([*offsets, ctypes.sizeof(contact), *(getattr(contact, name).offset for name in CONTACT)])
        with without_callbacks():
            return found, _difference(found)
    except (AttributeError, KeyError, TypeError) as error:
        return np.zeros(0, np.int64), repr(error)


def _difference(found: Ints) -> str:
    """The name of what lies elsewhere than expected in the data of a small model; empty: nothing does."""
    mj = mujoco()
    model = mj.MjModel.from_xml_string(PROBE)
    data = mj.MjData(model)
    mj._functions.mj_forward(model, data)  # its own, also while mujoco.mj_forward is ours
    base = data._address
    mj.mj_energyPos(model, data)
    mj.mj_rnePostConstraint(model, data)
    for name, kind, offset in zip(NUMBERS, KINDS, found, strict=False):
        if kind.from_address(base + int(offset)).value != getattr(data, name) or not getattr(data, name):
            return name
    there = {name: _address(getattr(data, name)) for name in POINTERS[1:]}
    there["contact"] = _address(data.contact.dist)
    for name, offset in zip(POINTERS, found[len(NUMBERS) :], strict=False):
        if ctypes.c_int64.from_address(base + int(offset)).value != there[name]:
            return name
    for name, offset in zip(CONTACT, found[SIZE + 1 :], strict=True):
        view = getattr(data.contact, name)
        if _address(view) != there["contact"] + offset or view.strides[0] != found[SIZE]:
            return f"contact.{name}"
    return ""


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


_NUMBERS: Final = {
    "int": ctypes.c_int, "mjtNum": ctypes.c_double, "double": ctypes.c_double, "float": ctypes.c_float,
    "mjtByte": ctypes.c_uint8, "mjtBool": ctypes.c_uint8, "char": ctypes.c_char, "mjtSize": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "uintptr_t": ctypes.c_size_t,
}  # fmt: skip


def struct(name: str) -> Any:
    """One of MuJoCo's structs as a ctypes.Structure."""
    from mujoco.introspect import structs

    return _fields(structs.STRUCTS[name].fields)


def _fields(fields: Any) -> Any:
    return type("Struct", (ctypes.Structure,), {"_fields_": [(f.name, _type(f.type)) for f in fields]})


def _type(kind: Any) -> Any:
    """The C type of a field as MuJoCo describes it: an array, a pointer, a struct, an enum, a number."""
    from mujoco.introspect import enums, structs

    if hasattr(kind, "extents"):
        made = _type(kind.inner_type)
        for extent in reversed(kind.extents):
            made = made * extent
        return made
    if hasattr(kind, "inner_type"):
        return ctypes.c_void_p
    if hasattr(kind, "fields"):
        return _fields(kind.fields)
    if kind.name in structs.STRUCTS:
        return struct(kind.name)
    return ctypes.c_int if kind.name in enums.ENUMS else _NUMBERS[kind.name]
