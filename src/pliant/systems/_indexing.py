"""Kernels count from the start: their indices are never negative.

Python counts `x[-1]` from the end, so Numba asks of every signed index whether it is negative, at each access: of our
kernels that was a tenth to a quarter of the time. None of them has such an index (a test reads them all, and with
NUMBA_BOUNDSCHECK=1 one raises IndexError); slices may have. The code of others is compiled as ever.
"""

import inspect
from typing import Any

import numba.np.arrayobj as arrays
from numba.core import types

OURS = "_ZN6pliant"  # how the names of our functions begin in compiled code


def count_from_the_start() -> bool:
    """From now on, in this process; whether this Numba can be told."""
    theirs: Any = getattr(arrays, "fix_integer_index", None)
    if theirs is None or list(inspect.signature(theirs).parameters) != ["context", "builder", "idxty", "idx", "size"]:
        return False

    def fix_integer_index(context: Any, builder: Any, idxty: Any, idx: Any, size: Any) -> Any:
        if idxty.signed and builder.function.name.startswith(OURS):
            return context.cast(builder, idx, idxty, types.intp)
        return theirs(context, builder, idxty, idx, size)

    arrays.fix_integer_index = fix_integer_index
    return True
