"""What users pass in becomes arrays here: copied, read-only, checked with a message that helps.

Every function takes first the `label` of the argument as the user wrote it: "Contact 'floor': friction".
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pliant._engine import finite_reals
from pliant.errors import InputError

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T", bound=NDArray[Any])
Matrix = Any  # a read-only dense Array, or a canonical scipy.sparse.csr_array (SciPy ships no types)


def floats(label: str, data: Any, *, infinite: bool = False) -> Array:
    """A read-only, contiguous float64 copy of `data`, without NaN, finite unless `infinite`."""
    found: Array | None = finite_reals(data)
    return _examined(label, data, infinite) if found is None else found


def _examined(label: str, data: Any, infinite: bool) -> Array:
    """The same for numbers that are not finite, and for what are none: a message."""
    if is_sparse(data):
        raise InputError(f"{label} must be dense, got {type(data).__name__}; pass its toarray()")
    try:
        given = np.asarray(data)
        if given.dtype.kind not in "biuf":
            raise TypeError(f"an array of type {given.dtype}")
        array = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{label} must be real numbers, got {_brief(data)} ({error})") from error
    check_finite(label, array, infinite=infinite)
    array.setflags(write=False)
    return array


def is_sparse(data: Any) -> bool:
    """Whether it is a matrix of scipy.sparse, without importing it: who has one has done so."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(data))


def check_finite(label: str, array: Array, *, infinite: bool = False) -> None:
    """Raise at the first NaN (and at the first infinity unless `infinite`)."""
    bad = np.isnan(array) if infinite else ~np.isfinite(array)
    if bad.any():
        expected = "not NaN" if infinite else "finite"
        raise InputError(f"{label} must be {expected}, got {_first(array, bad)}; check how it was computed")


def check_at_least(label: str, array: Array, bound: float) -> None:
    """Raise where an entry lies below `bound`."""
    bad = array < bound
    if bad.any():
        raise InputError(f"{label} must be >= {bound:g}, got {_first(array, bad)}")


def vector(label: str, data: Any, n: int, meaning: str) -> Array:
    """Shape (n,), nothing else: `meaning` says what the n entries are."""
    array = floats(label, data)
    if array.shape != (n,):
        check_shape(label, array, [(n,)], meaning)
    return array


def over_rows(label: str, data: Any, n: int, *, infinite: bool = False) -> Array:
    """Scalar or (n,) -> (n,)."""
    if type(data) is float and (math.isfinite(data) or (infinite and data == data)):
        return _uniform(data, n)
    array = floats(label, data, infinite=infinite)
    check_over_rows(label, array, n)
    return array if array.shape == (n,) else frozen(np.broadcast_to(array, (n,)))


@lru_cache(maxsize=64)
def _uniform(number: float, n: int) -> Array:
    """(n,) of the same number, read-only for good: many constraints share it."""
    return frozen(np.full(n, number))[:]


@lru_cache(maxsize=64)
def _uniform_tangents(number: float, n: int, tangents: int) -> Array:
    """(n, tangents) likewise."""
    return frozen(np.full((n, tangents), number))[:]


@lru_cache(maxsize=64)
def _numbers(n: int) -> Ints:
    """0..n-1, likewise."""
    return frozen(np.arange(n, dtype=np.int64))[:]


def check_over_rows(label: str, array: Array, n: int) -> None:
    """Raise unless a scalar or (n,)."""
    check_shape(label, array, [(), (1,), (n,)], f"a scalar, or one per row ({n},)")


def over_tangents(label: str, data: Any, n: int, tangents: int) -> Array:
    """Scalar, (n,) one per contact, or (n, d-1) -> (n, d-1)."""
    if type(data) is float and math.isfinite(data):
        return _uniform_tangents(data, n, tangents)
    array = floats(label, data)
    check_over_tangents(label, array, n, tangents)
    if array.ndim == 2:
        return array
    return frozen(np.broadcast_to(array[:, None] if array.ndim == 1 else array, (n, tangents)))


def check_over_tangents(label: str, array: Array, n: int, tangents: int) -> None:
    """Raise unless a scalar, (n,) or (n, d-1)."""
    meaning = f"a scalar, one per contact ({n},), or one per contact and tangent ({n}, {tangents})"
    check_shape(label, array, [(), (1,), (n,), (n, tangents)], meaning)


def over_contact_rows(label: str, data: Any, n: int, d: int) -> Array:
    """Scalar or (n,) on the normal with zeros on the tangents, or (n, d) -> (n, d)."""
    if type(data) is float and data == 0.0:
        return _uniform_tangents(0.0, n, d)
    array = floats(label, data)
    meaning = f"a scalar or one per contact ({n},) on the normal, or one per row ({n}, {d})"
    check_shape(label, array, [(), (1,), (n,), (n, d)], meaning)
    if array.ndim == 2:
        return array
    full = np.zeros((n, d))
    full[:, 0] = array
    return frozen(full)


def check_shape(label: str, array: Array, shapes: list[tuple[int, ...]], meaning: str) -> None:
    """Raise unless the shape of `array` is one of `shapes`."""
    if array.shape not in shapes:
        raise InputError(f"{label} must be {meaning}, got shape {array.shape}")


def row_ids(label: str, data: Any, n: int) -> Ints:
    """(n,) distinct integers; None means 0..n-1."""
    if data is None:
        return _numbers(n)
    try:
        given = np.asarray(data)
    except ValueError as error:
        raise InputError(f"{label} must be {n} integers, got {_brief(data)} ({error})") from error
    whole = given.dtype.kind in "iu" or given.size == 0
    if not whole or given.shape != (n,) or (given.size and given.max() > np.iinfo(np.int64).max):
        raise InputError(
            f"{label} must be {n} integers, one per row (per contact), got {_brief(data)} "
            f"of type {given.dtype}, shape {given.shape}; leave it out to number them 0..{max(n - 1, 0)}"
        )
    ids = np.array(given, dtype=np.int64)
    ordered = np.sort(ids)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if repeated.size:
        raise InputError(f"{label} must be distinct, got {repeated[0]} more than once; an id names one row")
    return frozen(ids)


def matrix(label: str, data: Any, ndim: int, meaning: str) -> Matrix:
    """Dense of `ndim` axes, or sparse of two: a read-only Array or canonical csr_array."""
    if type(data) is not np.ndarray and is_sparse(data):
        if data.ndim != 2:
            raise InputError(f"{label} must have two axes when it is sparse (rows stacked), got shape {data.shape}")
        return canonical(label, data)
    array = floats(label, data)
    if array.ndim != ndim:
        hint = "; wrap a single one in a list" if array.ndim == ndim - 1 else ""
        raise InputError(f"{label} must have shape {meaning}, got shape {array.shape}{hint}")
    return array


def canonical(label: str, data: Any) -> Matrix:
    """A read-only csr_array copy: finite, sorted columns, no duplicates, no explicit zeros."""
    if data.dtype.kind not in "biuf":
        raise InputError(f"{label} must hold real numbers, got a sparse matrix of type {data.dtype}")
    csr = compressed(data)
    check_finite(f"{label} (its stored entries)", csr.data)
    return csr


def compressed(data: Any) -> Matrix:
    """The same of any numbers."""
    from scipy.sparse import csr_array

    csr = csr_array(data, dtype=np.float64, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    for part in (csr.data, csr.indices, csr.indptr):
        part.setflags(write=False)
    return csr


def number(data: Any) -> float:
    """One real number, of whatever type; NaN of what is none. True and False are none."""
    if isinstance(data, bool) or not isinstance(data, Real):
        return math.nan
    try:
        return float(data)
    except OverflowError:  # of a whole number
        return math.inf


def text(label: str, data: Any) -> str:
    """A str."""
    if not isinstance(data, str):
        raise InputError(f"{label} must be a string, got {_brief(data)}")
    return data


def frozen(array: T) -> T:
    """`array` as a contiguous copy of its own, read-only."""
    copy = np.array(array, order="C")
    copy.setflags(write=False)
    return copy  # type: ignore[return-value]


def _first(array: Array, bad: NDArray[np.bool_]) -> str:
    """The first offending entry and where it is."""
    if array.ndim == 0:
        return f"{float(array)}"
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{float(array[where])} at index {where[0] if len(where) == 1 else where}"


def _brief(data: Any) -> str:
    """`data` for an error message, shortened."""
    printed = repr(data)
    return printed if len(printed) <= 60 else f"{printed[:57]}..."
