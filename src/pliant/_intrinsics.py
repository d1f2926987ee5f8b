"""What compiled code can do and Python cannot, or only slowly: each a plain function, with its compiled twin.

Kernels call the function; Numba takes the twin. Without compilation (NUMBA_DISABLE_JIT=1) the function itself runs.
"""

import ctypes
from typing import Any, Final

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload

SPLITTER: Final = 134217729.0  # 2^27 + 1
HUGE: Final = 1e290  # SPLITTER times more would overflow
SHRINK: Final = 2.0**-30


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
    return _view(ctypes.c_double, address, count)


def ints(address: int, count: int) -> np.ndarray:
    """The 32-bit integers at an address, (count,): a view."""
    return _view(ctypes.c_int32, address, count)


def longs(address: int, count: int) -> np.ndarray:
    """The 64-bit integers at an address, (count,): a view."""
    return _view(ctypes.c_int64, address, count)


def octets(address: int, count: int) -> np.ndarray:
    """The bytes at an address, (count,): a view."""
    return _view(ctypes.c_uint8, address, count)


def _view(number: Any, address: int, count: int) -> np.ndarray:
    if count == 0:
        return np.zeros(0, number)
    return np.ctypeslib.as_array((number * int(count)).from_address(int(address)))


def _pointer_to(number: Any) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def pointer(_: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(number)(types.int64), generate  # type: ignore[attr-defined]

    return pointer


def _give_twin(plain: Any, number: Any) -> None:
    pointer = _pointer_to(number)

    @overload(plain)  # type: ignore[untyped-decorator]
    def twin(address: Any, count: Any) -> Any:
        def view(address: Any, count: Any) -> Any:
            return numba.carray(pointer(address), count)

        return view


_give_twin(floats, types.float64)
_give_twin(ints, types.int32)
_give_twin(longs, types.int64)
_give_twin(octets, types.uint8)
