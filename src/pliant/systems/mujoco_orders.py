"""What a rollout is asked for, checked: the same arguments and the same meaning as of mujoco.rollout.rollout."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array
from pliant.systems.mujoco_door import CALLBACKS, mujoco


class Orders(NamedTuple):
    """n simulations of so many steps; arrays with one row where all have the same."""

    models: list[Any]  # n, or one
    datas: list[Any]  # one of each thread
    simulations: int  # n
    steps: int
    spec: int  # the mjtState that `control` sets
    initial: Array  # (n or 1, nstate)
    warm: Array | None  # (n or 1, nv)
    control: Array | None  # (n or 1, steps or 1, ncontrol)
    state: Array | None  # (n, steps, nstate)
    sensordata: Array | None  # (n, steps, nsensordata)
    chunk: int  # simulations that a thread takes at a time

    def model(self, k: int) -> Any:
        return self.models[k if len(self.models) > 1 else 0]

    def control_of(self, k: int) -> Array | None:
        """Of one simulation, (steps, ncontrol)."""
        if self.control is None:
            return None
        rows = self.control[k if len(self.control) > 1 else 0]
        return np.ascontiguousarray(np.broadcast_to(rows, (self.steps, rows.shape[1])))


def check_callbacks() -> None:
    """Raise InputError for a callback in Python, which would be called from many threads, for no data of its own."""
    for name in CALLBACKS:
        callback = getattr(mujoco(), f"get_mjcb_{name}")()
        if callback is not None and not isinstance(callback, ctypes._CFuncPtr):  # type: ignore[attr-defined]
            raise InputError(
                f"mjcb_{name} is a Python function, which many simulations at once cannot call: take it away with "
                f"mujoco.set_mjcb_{name}(None), or step with pliant.mj_step"
            )


def as_given(
    models: Any, datas: Any, initial: Any, control: Any, spec: int, nstep: Any, warm: Any, state: Any, sensordata: Any,
    chunk: Any,
) -> Orders:  # fmt: skip
    """Orders as they stand, of full shape; only the sizes are checked, since memory is written by them."""
    models, datas = _models(models), _datas(datas)
    n, steps = len(initial), whole("nstep", nstep, 0)
    sizes = _sizes(models, spec)
    _check_models(models, datas, n, sizes, spec)
    shapes = {
        "initial_state": (initial, (n, sizes[0])),
        "initial_warmstart": (warm, (n, sizes[2])),
        "control": (control, (n, steps, sizes[1])),
        "state": (state, (n, steps, sizes[0])),
        "sensordata": (sensordata, (n, steps, sizes[3])),
    }
    found = [_sized(name, array, shape) for name, (array, shape) in shapes.items()]
    first, warm, control, state, sensordata = found
    if first is None:
        raise InputError("initial_state must be an array, got None")
    return Orders(models, datas, n, steps, spec, first, warm, control, state, sensordata, _chunk(chunk, n, datas))


def inferred(
    models: Any, datas: Any, initial: Any, control: Any, spec: int, nstep: Any, warm: Any, state: Any, sensordata: Any,
    chunk: Any,
) -> Orders:  # fmt: skip
    """Orders with what was left out: how many simulations and steps, and arrays for the answers."""
    models, datas = _models(models), _datas(datas)
    if spec & ~int(mujoco().mjtState.mjSTATE_USER):
        raise InputError(f"control_spec must have bits of mujoco.mjtState.mjSTATE_USER only, got {spec}")
    flat, deep = (
        {name: _array(name, value, dimensions) for name, value in arrays.items()}
        for dimensions, arrays in (
            (2, {"initial_state": initial, "initial_warmstart": warm}),
            (3, {"control": control, "state": state, "sensordata": sensordata}),
        )
    )
    n = _common(0, 1, {**flat, **deep})
    n = len(models) if n == 1 else n
    if len(models) not in (1, n):
        raise InputError(f"model must be one, or one of each of the {n} simulations, got {len(models)}")
    steps = _common(1, 1 if nstep is None else whole("nstep", nstep, 0), deep)
    sizes = _sizes(models, spec)
    _check_models(models, datas, n, sizes, spec)
    widths = {"initial_state": sizes[0], "initial_warmstart": sizes[2], "control": sizes[1]}
    for name, width in (*widths.items(), ("state", sizes[0]), ("sensordata", sizes[3])):
        array = {**flat, **deep}[name]
        if array is not None and array.shape[-1] != width:
            raise InputError(f"the last dimension of {name} must be {width}, got {array.shape[-1]}")
    state, sensordata = (
        np.empty((n, steps, size)) if deep[name] is None else _sized(name, deep[name], (n, steps, size))
        for name, size in (("state", sizes[0]), ("sensordata", sizes[3]))
    )
    return Orders(
        models, datas, n, steps, spec, flat["initial_state"], flat["initial_warmstart"], deep["control"], state,
        sensordata, _chunk(chunk, n, datas),
    )  # fmt: skip


def whole(name: str, value: Any, least: int) -> int:
    """A whole number that is at least so much."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number >= {least}, got {value!r}")
    return int(value)


def _models(models: Any) -> list[Any]:
    MjModel = mujoco().MjModel
    found = [models] if isinstance(models, MjModel) else list(models) if isinstance(models, list | tuple) else []
    if not found or not all(isinstance(model, MjModel) for model in found):
        raise InputError("model must be a mujoco.MjModel, or a list of them, one of each simulation")
    return found


def _datas(datas: Any) -> list[Any]:
    found = list(datas) if isinstance(datas, list | tuple) else [datas]
    if not found:
        raise InputError("data must be a mujoco.MjData, or a list of them, one of each thread; the list is empty")
    if len({id(data) for data in found}) < len(found):
        raise InputError("data must be a mujoco.MjData of its own for each thread: one of them is there twice")
    return found


def _sizes(models: list[Any], spec: int) -> tuple[int, int, int, int]:
    """Of a state, of the controls of a step, of a velocity, of the sensors."""
    physics = int(mujoco().mjtState.mjSTATE_FULLPHYSICS)
    model = models[0]
    return (
        mujoco().mj_stateSize(model, physics), mujoco().mj_stateSize(model, spec), model.nv, model.nsensordata,
    )  # fmt: skip


def _check_models(models: list[Any], datas: list[Any], n: int, sizes: tuple[int, ...], spec: int) -> None:
    if len(models) not in (1, n):
        raise InputError(f"model must be one, or one of each of the {n} simulations, got {len(models)}")
    for model in models:
        if _sizes([model], spec) != sizes:
            raise InputError("models must have the same sizes of state, controls, velocity and sensors")
    for model in {id(model): model for model in models}.values():
        for data in datas:
            check_belongs(model, data)


def check_belongs(model: Any, data: Any) -> None:
    """Raise InputError for data that are none of the model's."""
    if not isinstance(data, mujoco().MjData):
        raise InputError(f"data must be a mujoco.MjData, got {type(data).__name__}")
    if data.signature != model.signature:
        raise InputError(
            "data belongs to another model: make it with mujoco.MjData(model) from the model that you step"
        )


def _chunk(chunk: Any, n: int, datas: list[Any]) -> int:
    return max(1, n // (10 * len(datas))) if chunk is None else whole("chunk_size", chunk, 1)


def _array(name: str, value: Any, dimensions: int) -> Any:
    """With leading dimensions of 1 that were left out; None stays."""
    if value is None:
        return None
    if not isinstance(value, np.ndarray | float):
        raise InputError(f"{name} must be a numpy array or a float, got {type(value).__name__}")
    if np.ndim(value) > dimensions:
        raise InputError(f"{name} must have at most {dimensions} dimensions, got {np.ndim(value)}")
    array = np.asarray(value, np.float64)
    return np.ascontiguousarray(array.reshape((1,) * (dimensions - array.ndim) + array.shape))


def _common(dimension: int, known: int, arrays: dict[str, Any]) -> int:
    """The size that the arrays have in a dimension, but for those where it is 1. known: 1 if it is not."""
    for name, array in arrays.items():
        size = known if array is None else array.shape[dimension]
        if known == 1:
            known = size
        elif size not in (1, known):
            raise InputError(f"dimension {dimension} of {name} must be 1 or {known} as elsewhere, got {size}")
    return known


def _sized(name: str, array: Any, shape: tuple[int, ...]) -> Any:
    """An array of full shape."""
    if array is None:
        return None
    if not isinstance(array, np.ndarray) or array.size != np.prod(shape):
        raise InputError(f"{name} must be an array of shape {shape}, got shape {np.shape(array)}")
    return np.ascontiguousarray(array, np.float64).reshape(shape)
