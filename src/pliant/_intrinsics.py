"""What compiled code can do and Python cannot, or only slowly: each a plain function, with its compiled twin.

Kernels call the function; Numba takes the twin. Without compilation (NUMBA_DISABLE_JIT=1) the function itself runs.
"""

import ctypes
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, lower_builtin, overload, type_callable
from numba.np.arrayobj import make_array, populate_array

SPLITTER: Final = 134217729.0  # 2^27 + 1
HUGE: Final = 1e290  # SPLITTER times more would overflow
SHRINK: Final = 2.0**-30
EIGHT: Final = ir.VectorType(ir.DoubleType(), 8)


def product_error(a: float, b: float, p: float) -> float:
    """a b - p for p = fl(a b), exactly (T. Dekker); compiled, in one instruction."""
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _split(a: float) -> tuple[float, float]:
    """(high, low): a in two parts of 26 bits each."""
    scale = 1.0
    if abs(a) > HUGE:
        a *= SHRINK
        scale = 1.0 / SHRINK
    c = SPLITTER * a
    high = c - (c - a)
    return high * scale, (a - high) * scale


@intrinsic  # type: ignore[untyped-decorator]
def _fma(_: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once."""
    return types.float64(a, b, c), lambda context, builder, signature, arguments: builder.fma(*arguments)


@overload(product_error)  # type: ignore[untyped-decorator]
def _product_error(a: Any, b: Any, p: Any) -> Any:
    def exact(a: Any, b: Any, p: Any) -> Any:
        return _fma(a, b, -p)

    return exact


def floats(address: int, count: int) -> np.ndarray:
    """The doubles at an address, (count,): a view, as long as the memory lives."""
    return _at(ctypes.c_double, address, count)


def ints(address: int, count: int) -> np.ndarray:
    """The 32-bit integers at an address, (count,): a view."""
    return _at(ctypes.c_int32, address, count)


def longs(address: int, count: int) -> np.ndarray:
    """The 64-bit integers at an address, (count,): a view."""
    return _at(ctypes.c_int64, address, count)


def octets(address: int, count: int) -> np.ndarray:
    """The bytes at an address, (count,): a view."""
    return _at(ctypes.c_uint8, address, count)


def _at(number: Any, address: int, count: int) -> np.ndarray:
    if count == 0:
        return np.zeros(0, number)
    return np.ctypeslib.as_array((number * int(count)).from_address(int(address)))


def address(array: np.ndarray) -> int:
    """Where a contiguous array lies."""
    return int(array.__array_interface__["data"][0])


def flattened(array: np.ndarray) -> np.ndarray:
    """All of a contiguous array, (size,): a view, as long as the array lives. Only of arguments: compiled code does not
    keep the array alive for its sake."""
    return array.reshape(-1)


def folded(array: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The first of a contiguous array, (rows, columns): a view, likewise."""
    return array.reshape(-1)[: rows * columns].reshape(rows, columns)


def cubes(array: np.ndarray) -> np.ndarray:
    """All of a contiguous array, (n, 3, 3): a view, likewise."""
    return array.reshape(-1, 3, 3)


def few() -> np.ndarray:
    """Eight doubles to work with, of any value; gone when the kernel returns."""
    return np.empty(8)


def room(count: int) -> np.ndarray:
    """So many doubles, likewise; on the stack, so not by the million, and never in a loop."""
    return np.empty(count)


def long_room(count: int) -> np.ndarray:
    """The same of 64-bit integers."""
    return np.empty(count, np.int64)


def subtract_eight(array: np.ndarray, to: int, of: int, factor: float) -> None:
    """array[to + j] -= factor array[of + j] for eight j; compiled, in vector registers. A loop would ask each time
    it begins whether the two overlap."""
    array[to : to + 8] -= factor * array[of : of + 8]


def subtract_two(
    array: np.ndarray, to: int, of: int, then: int, a: float, b: float
) -> None:
    """array[to + j] -= a array[of + j], then b array[then + j], for eight j; likewise."""
    array[to : to + 8] = (array[to : to + 8] - a * array[of : of + 8]) - b * array[then : then + 8]


def add_eight(
    target: np.ndarray, to: int, source: np.ndarray, of: int, apart: int,
    a: float, b: float, c: float, d: float,
) -> None:  # fmt: skip
    """target[to + j] += factor source[of + k apart + j] for eight j, k = 0 to 3 and their factors a to d; likewise."""
    total = target[to : to + 8].copy()
    for k, factor in enumerate((a, b, c, d)):
        total += factor * source[of + k * apart : of + k * apart + 8]
    target[to : to + 8] = total


def _array(context: Any, builder: Any, kind: Any, data: Any, shape: list[Any]) -> Any:
    """An array of that kind where data points, to which nobody counts references."""
    array = make_array(kind)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [context.get_constant(types.intp, size)]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.bitcast(data, array.data.type)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=strides[-1], meminfo=None)
    return array._getvalue()


def _give_twin(plain: Any, typer: Any, generate: Any, *arguments: Any) -> None:
    """Typed and generated by hand, not by `overload`: where no references are counted, Numba lets no function return an
    array but one of its arguments."""
    type_callable(plain)(lambda context: typer)
    lower_builtin(plain, *arguments)(generate)


def _give_address(plain: Any, number: Any) -> None:
    kind = types.Array(number, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, count = _words(context, builder, signature.args, arguments)
        data = builder.inttoptr(address, context.get_data_type(number).as_pointer())
        return _array(context, builder, kind, data, [count])

    _give_twin(plain, lambda address, count: kind, generate, types.Integer, types.Integer)


def _give_stack(plain: Any, number: Any) -> None:
    kind = types.Array(number, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (count,) = _words(context, builder, signature.args, arguments)
        data = builder.alloca(context.get_data_type(number), count)
        data.align = 64
        return _array(context, builder, kind, data, [count])

    _give_twin(plain, lambda count: kind, generate, types.Integer)


def _few(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    size = context.get_constant(types.intp, 8)
    data = cgutils.alloca_once(builder, context.get_data_type(types.float64), size=size)
    return _array(context, builder, signature.return_type, data, [size])


def _lies_at(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = make_array(signature.args[0])(context, builder, arguments[0])
    return builder.ptrtoint(array.data, context.get_value_type(types.int64))


def _words(context: Any, builder: Any, kinds: Any, values: Any) -> list[Any]:
    return [context.cast(builder, value, kind, types.int64) for kind, value in zip(kinds, values, strict=True)]


def _folds(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The data of the first argument, in the shape that follows from the others."""
    array = make_array(signature.args[0])(context, builder, arguments[0])
    shape = _words(context, builder, signature.args[1:], arguments[1:])
    if signature.return_type.ndim == 3:
        three = context.get_constant(types.intp, 3)
        shape = [builder.sdiv(array.nitems, context.get_constant(types.intp, 9)), three, three]
    return _array(context, builder, signature.return_type, array.data, shape or [array.nitems])


def _subtracts(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = make_array(signature.args[0])(context, builder, arguments[0]).data
    to, of = _words(context, builder, signature.args[1:3], arguments[1:3])
    product = _product(builder, data, of, arguments[3])
    there = _eight(builder, data, to)
    builder.store(builder.fsub(builder.load(there, align=8), product), there, align=8)
    return context.get_dummy_value()


def _subtracts_two(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = make_array(signature.args[0])(context, builder, arguments[0]).data
    to, of, then = _words(context, builder, signature.args[1:4], arguments[1:4])
    first, second = _product(builder, data, of, arguments[4]), _product(builder, data, then, arguments[5])
    there = _eight(builder, data, to)
    builder.store(builder.fsub(builder.fsub(builder.load(there, align=8), first), second), there, align=8)
    return context.get_dummy_value()


def _adds(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    target, source = (make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 2))
    (to,) = _words(context, builder, signature.args[1:2], arguments[1:2])
    of, apart = _words(context, builder, signature.args[3:5], arguments[3:5])
    there = _eight(builder, target, to)
    total = builder.load(there, align=8)
    for factor in arguments[5:]:
        total = builder.fadd(total, _product(builder, source, of, factor))
        of = builder.add(of, apart)
    builder.store(total, there, align=8)
    return context.get_dummy_value()


def _eight(builder: Any, data: Any, at: Any) -> Any:
    """Where eight numbers are."""
    return builder.bitcast(builder.gep(data, [at]), EIGHT.as_pointer())


def _product(builder: Any, data: Any, at: Any, factor: Any) -> Any:
    """Eight numbers times a factor."""
    first, unset = ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8), ir.Constant(EIGHT, ir.Undefined)
    factor = builder.insert_element(unset, factor, ir.Constant(ir.IntType(32), 0))
    return builder.fmul(builder.shuffle_vector(factor, unset, first), builder.load(_eight(builder, data, at), align=8))


_give_address(floats, types.float64)
_give_address(ints, types.int32)
_give_address(longs, types.int64)
_give_address(octets, types.uint8)
_give_twin(few, lambda: types.Array(types.float64, 1, "C"), _few)
_give_stack(room, types.float64)
_give_stack(long_room, types.int64)
_give_twin(address, lambda array: types.int64, _lies_at, types.Array)
_give_twin(flattened, lambda array: types.Array(array.dtype, 1, "C"), _folds, types.Array)
_give_twin(cubes, lambda array: types.Array(array.dtype, 3, "C"), _folds, types.Array)
_give_twin(
    folded,
    lambda array, rows, columns: types.Array(array.dtype, 2, "C"),
    _folds,
    types.Array,
    types.Integer,
    types.Integer,
)
_give_twin(
    subtract_eight,
    lambda array, to, of, factor: types.none,
    _subtracts,
    types.Array,
    types.Integer,
    types.Integer,
    types.Float,
)
_give_twin(
    subtract_two,
    lambda array, to, of, then, a, b: types.none,
    _subtracts_two,
    types.Array,
    *(types.Integer,) * 3,
    *(types.Float,) * 2,
)
_give_twin(
    add_eight,
    lambda target, to, source, of, apart, a, b, c, d: types.none,
    _adds,
    types.Array,
    types.Integer,
    types.Array,
    *(types.Integer,) * 2,
    *(types.Float,) * 4,
)
