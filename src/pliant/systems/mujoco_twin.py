"""A copy of the user's model that may be changed, and never falls behind.

The user's model is left alone: what a step needs otherwise is set on a copy of it, which has the same sizes, so that
MuJoCo's functions take it together with the user's data. Before every step the memory of the two is compared; whatever
the user has written since is copied over. Meshes and height fields can be megabytes: the copy reads the user's.
"""

from __future__ import annotations

import copy
import ctypes
from typing import Any, Final, NamedTuple

import numpy as np

from pliant.errors import PliantError
from pliant.inputs import Ints
from pliant.systems._compile import kernel
from pliant.systems._intrinsics import longs
from pliant.systems.mujoco_door import mujoco
from pliant.systems.mujoco_layout import struct

# What no step reads: looks, names, key frames, and patterns that follow from the joints. A third of a model.
LOOKS: Final = (
    "tex_", "skin_", "mat_", "mesh_texcoord", "mesh_normal", "mesh_facetexcoord", "flex_texcoord", "name", "paths",
    "key_", "text_", "numeric_", "tuple_", "B_", "M_", "D_", "map",
)  # fmt: skip
SHAPES: Final = ("mesh_", "bvh_", "oct_", "hfield_data")  # which MuJoCo's functions only read
PADDING: Final = 256  # bytes between arrays over which a stretch goes on; small looks are compared as well


class Span(NamedTuple):
    """The same stretch of memory in the two models, as bytes."""

    theirs: np.ndarray
    ours: np.ndarray


class Twin:
    """model: the copy. It holds no reference to the user's model, only the addresses of its arrays: it is not for use
    when that is gone."""

    def __init__(self, model: Any) -> None:
        self.model = copy.copy(model)
        shared = _share_shapes(model, self.model)
        self._spans = [*_arrays(model, self.model, (*LOOKS, *shared)), _options(model, self.model)]
        self._kept = [span.theirs.copy() for span in self._spans]
        pairs = zip(self._spans, self._kept, strict=True)
        self.pairs = np.array([(_address(s.theirs), _address(kept), kept.size) for s, kept in pairs])
        self._dress()

    @property
    def cone_address(self) -> int:
        layout = struct("mjOption")
        return _option_address(self.model.opt, layout) + int(layout.cone.offset)

    def follow(self) -> bool:
        """Take over what the user has changed since the last time; whether there was anything."""
        if are_same(self.pairs):
            return False
        for span, kept in zip(self._spans, self._kept, strict=True):
            kept[:] = span.ours[:] = span.theirs
        self._dress()
        return True

    def _dress(self) -> None:
        """Elliptic cones for the rows; Euler without its implicit damping for the advance, since our forces have it;
        no limits on the forces of actuators, which are rows with bounds; nothing that we do ourselves."""
        mj, s = mujoco(), self.model
        off, on = mj.mjtDisableBit, mj.mjtEnableBit
        s.opt.cone = mj.mjtCone.mjCONE_ELLIPTIC
        s.opt.integrator = mj.mjtIntegrator.mjINT_EULER
        s.opt.solver = mj.mjtSolver.mjSOL_NEWTON
        s.opt.noslip_iterations = 0
        s.opt.disableflags |= off.mjDSBL_EULERDAMP | off.mjDSBL_ISLAND
        s.opt.enableflags &= ~(on.mjENBL_FWDINV | getattr(on, "mjENBL_SPECULATIVE", 0))
        s.actuator_forcelimited[:] = 0
        s.jnt_actfrclimited[:] = 0
        s.tendon_actfrclimited[:] = 0


@kernel
def are_same(pairs: Ints) -> bool:
    """Whether two stretches of memory hold the same, for every (address, address, bytes), (n, 3)."""
    different = 0
    for k in range(pairs.shape[0]):
        words, rest = pairs[k, 2] // 8, pairs[k, 2] % 8
        one, two = longs(pairs[k, 0], words), longs(pairs[k, 1], words)
        for i in range(words):
            different |= one[i] ^ two[i]
        if rest:  # bytes, the last of which end the stretch
            one, two = longs(pairs[k, 0] + rest - 8 + 8 * words, 1), longs(pairs[k, 1] + rest - 8 + 8 * words, 1)
            different |= one[0] ^ two[0]
    return different == 0


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _share_shapes(model: Any, twin: Any) -> list[str]:
    """Let the copy read the shapes of the user's model; the names of these arrays. None if the two lie otherwise than
    MuJoCo says."""
    names = [name for name in _array_names() if name.startswith(SHAPES) and getattr(model, name).size]
    layout = struct("mjModel")
    theirs, ours = (layout.from_address(m._address) for m in (model, twin))
    for there, m in ((theirs, model), (ours, twin)):
        if any(getattr(there, name) != _address(getattr(m, name)) for name in names):
            return []
    for name in names:
        setattr(ours, name, getattr(theirs, name))
    return names


def _arrays(model: Any, twin: Any, without: tuple[str, ...]) -> list[Span]:
    """The arrays of the model in as few stretches as they lie in; without: how names begin that are left out."""
    pieces = []
    for name in _array_names():
        a, b = getattr(model, name, None), getattr(twin, name, None)
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.size and not name.startswith(without):
            start = a.__array_interface__["data"][0]
            pieces.append((start, start + a.nbytes, b.__array_interface__["data"][0] - start))
    merged: list[tuple[int, int, int]] = []
    for start, end, shift in sorted(pieces):
        if merged and start - merged[-1][1] <= PADDING and shift == merged[-1][2]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]), shift)
        else:
            merged.append((start, end, shift))
    return [Span(_memory(a, b - a), _memory(a + shift, b - a)) for a, b, shift in merged]


def _array_names() -> list[str]:
    from mujoco.introspect import structs

    return [field.name for field in structs.STRUCTS["mjModel"].fields if hasattr(field.type, "inner_type")]


def _options(model: Any, twin: Any) -> Span:
    """The options, which lie in the model itself, from its first number to its last."""
    layout = struct("mjOption")
    for option in (model.opt, twin.opt):
        there = layout.from_address(_option_address(option, layout))
        if there.timestep != option.timestep or there.disableflags != option.disableflags:
            raise PliantError("the options of this MuJoCo lie elsewhere than it says; install mujoco 4.0")
    size = ctypes.sizeof(layout)
    return Span(*(_memory(_option_address(m.opt, layout), size) for m in (model, twin)))


def _option_address(option: Any, layout: Any) -> int:
    return int(option.gravity.__array_interface__["data"][0]) - int(layout.gravity.offset)


def _memory(address: int, size: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
