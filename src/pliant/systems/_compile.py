"""The one door of compiled code: every kernel of the package is made by `@kernel`.

Numba's own disk cache watches only the file of the outermost function: edit a callee in another file and
the old answer comes back. Here the code of a module is kept in a folder named after a digest of all that its
kernels can see (see `_cache`), so a folder is never stale, only unused. Numba writes its files under a
temporary name and renames them, so processes may share the folders.

Kernels that hold ctypes pointers are refused: an address means nothing in the next process.
"""

import ctypes
import dis
import functools
import inspect
import logging
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator

from pliant.systems._cache import cache_folder, module_folder, open_folder
from pliant.systems._indexing import count_from_the_start

__all__ = ["cache_folder", "cache_misses", "kernel", "kernel_folders", "kernels"]

F = TypeVar("F", bound=Callable[..., Any])

_log = logging.getLogger(__name__)
if not count_from_the_start():
    _log.info("numba %s asks of every index whether it is negative: kernels are slower", numba.__version__)
_kernels: list[Any] = []
# Lines of a kernel up to which LLVM copies it into its callers: to hand over arrays, of seven words each, takes longer.
SMALL = 45
_MAKERS = {"empty", "zeros", "ones", "full", "array", "arange", "copy", "empty_like", "zeros_like", "reshape", "append"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_POINTERS = (
    ctypes._CFuncPtr,  # type: ignore[attr-defined]
    ctypes._Pointer,
    ctypes._SimpleCData,
    ctypes.CDLL,
)


@overload
def kernel(function: F, /) -> F: ...
@overload
def kernel(*, inline: bool = False) -> Callable[[F], F]: ...
def kernel(function: F | None = None, /, *, inline: bool = False) -> F | Callable[[F], F]:
    """Compile a function at its first call and keep the code on disk.

    Use it bare, or as `@kernel(inline=True)` for small laws, which are then copied into their callers. No
    fastmath and no threads (bits must not depend on the machine's mood), the GIL is released, a division by
    zero gives inf or nan as in NumPy, indices count from the start (`_indexing`). With NUMBA_DISABLE_JIT=1 the plain
    function comes back.
    """
    if function is None:
        return lambda f: _make(f, inline)
    return _make(function, inline)


def kernels() -> tuple[Any, ...]:
    """Every Numba dispatcher made so far in this process."""
    return tuple(_kernels)


def kernel_folders() -> set[str]:
    """Names of the folders that hold, or will hold, the code of these."""
    return {made._cache._folder for made in _kernels if made._cache._folder}


def cache_misses() -> int:
    """How many signatures this process compiled because the disk had no code for them."""
    return sum(sum(made.stats.cache_misses.values()) for made in _kernels)


def _make(function: F, inline: bool) -> F:
    _refuse_pointers(function)
    if numba.config.DISABLE_JIT:
        return function
    dispatcher: Any = numba.njit(
        nogil=True,
        fastmath=False,
        error_model="numpy",
        inline="always" if inline else "never",
        forceinline=len(inspect.getsourcelines(function)[0]) <= SMALL,
    )(function)
    dispatcher._cache = _Cache(function, dispatcher)
    _kernels.append(dispatcher)
    return cast(F, dispatcher)


def is_lean(function: Callable[..., Any]) -> bool:
    """Whether a kernel only works on arrays that its callers hold: it makes none, and gets none from what it calls.
    Then no references need be counted, which is an atomic operation each time, a fifth of a small step."""
    return _gives_numbers(function) and _only_borrows(function)


def _only_borrows(function: Callable[..., Any]) -> bool:
    steps = list(dis.get_instructions(function))
    if function.__closure__ or any(step.opname in _ATTRIBUTES and step.argval in _MAKERS for step in steps):
        return False
    called = {step.argval for step in steps if step.opname == "LOAD_GLOBAL"}
    found: list[Any] = [function.__globals__.get(name) for name in called]
    kernels = [made for made in found if hasattr(made, "py_func")]
    inlined = [made for made in kernels if made.targetoptions.get("inline") == "always"]
    return all(_only_borrows(made.py_func) for made in inlined) and all(
        _gives_numbers(made.py_func) for made in kernels if made not in inlined
    )


def _gives_numbers(function: Callable[..., Any]) -> bool:
    words = re.findall(r"\w+", str(function.__annotations__.get("return", "anything")))
    return {"class", "tuple", "bool", "int", "float", "None"}.issuperset(words)


@functools.cache
def _say_so() -> None:
    """Once in a process: who waits wants to know for what."""
    kept = f"kept in {cache_folder()}" if cache_folder() else "not kept: no folder can be written (PLIANT_CACHE_DIR)"
    _log.warning("compiling for this machine, which can take minutes; the code is %s", kept)


def _refuse_pointers(function: Callable[..., Any]) -> None:
    captured = inspect.getclosurevars(function)
    for name, value in {**captured.globals, **captured.nonlocals}.items():
        if isinstance(value, _POINTERS):
            raise TypeError(
                f"{function.__qualname__} uses the ctypes object '{name}': its address would be frozen "
                "into cached code and be wrong in the next process; pass what it computes as an argument"
            )


class _Cache(NullCache):
    """The disk cache of one kernel, opened at its first call, so that importing pliant writes nothing.

    The digest of the sources is taken at once: what the files say later is not what this process runs.
    A cache may never fail a computation: what cannot be read is compiled, what cannot be written is dropped.
    """

    def __init__(self, function: Callable[..., Any], dispatcher: Any) -> None:
        self._function = function
        self._options = dispatcher.targetoptions
        self._folder = module_folder(_sources(function))

    @functools.cached_property
    def _disk(self) -> NullCache:
        _refuse_pointers(self._function)  # again: a global may have been bound after the decorator ran
        root = cache_folder() if self._folder else None
        if root is None or self._folder is None:
            return NullCache()
        open_folder(root, self._folder)
        return _DiskCache(self._function, root / self._folder)

    @property
    def cache_path(self) -> str | None:
        return cast(str | None, self._disk.cache_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        self._options["_nrt"] = not is_lean(self._function)
        disk = self._disk
        try:
            found = disk.load_overload(sig, target_context)
        except Exception as error:  # a damaged pickle raises anything at all
            _log.info("compiled code in %s is unreadable (%r): compiling again", disk.cache_path, error)
            found = None
        if found is None and self._function.__module__.startswith("pliant."):
            _say_so()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        disk = self._disk
        try:
            disk.save_overload(sig, data)
        except Exception as error:  # a full disk, or a damaged index, which is read before it is written
            _log.info("compiled code cannot be kept in %s: %r", disk.cache_path, error)


def _sources(function: Callable[..., Any]) -> tuple[tuple[str, str], ...]:
    """(module, file) of the kernel and of the kernels in its closure, which no import statement shows."""
    inner = (cell.cell_contents for cell in function.__closure__ or ())
    functions = [function, *(made.py_func for made in inner if hasattr(made, "py_func"))]
    return tuple((_module_name(f), f.__code__.co_filename) for f in functions)


def _module_name(function: Callable[..., Any]) -> str:
    main = sys.modules["__main__"].__spec__ if function.__module__ == "__main__" else None
    return main.name if main else function.__module__  # `python -m package.module` has a name of its own


class _DiskCache(FunctionCache):
    """Numba's function cache with our answer to where its files are."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._impl_class = functools.partial(_Impl, folder)
        super().__init__(function)


class _Impl(CompileResultCacheImpl):
    def __init__(self, folder: Path, function: Callable[..., Any]) -> None:
        # not super().__init__, which looks for a folder of Numba's own
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function, folder)
        self._filename_base = self.get_filename_base(function.__qualname__, getattr(sys, "abiflags", ""))


class _Locator(_CacheLocator):
    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._py_file = function.__code__.co_filename  # named in Numba's warnings
        self._line = function.__code__.co_firstlineno
        self._folder = folder

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name  # the sources are in the name

    def get_disambiguator(self) -> str:
        return str(self._line)
