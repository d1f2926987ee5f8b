"""Kernels that are compiled on their own: callers hold a pointer to them, not their code.

Numba copies the code of a callee into every caller and optimises it there again, level by level; of a large kernel
that is most of the time that a first step takes. A `@separate` kernel is compiled, or read from disk, when it is first
entered: who never needs it never waits for it.

Of what an `@alone` kernel calls, as `@separate` ones are, nobody else holds the code: LLVM is told so, and may leave out
arguments that are not used, and copy in what is called once. To hand over an array is to hand over seven words.
"""

import ctypes
import functools
import logging
import typing
from collections.abc import Callable
from typing import Any, TypeVar

import llvmlite.binding
import numba
from llvmlite import ir
from llvmlite.binding import Linkage
from numba.core import cgutils, codegen, types
from numba.extending import intrinsic, overload

from pliant.inputs import Array, Ints

F = TypeVar("F", bound=Callable[..., Any])

_log = logging.getLogger("pliant")
_doors: list["_Door"] = []
_alone: list[str] = []  # how names begin in compiled code


def alone(dispatcher: F) -> F:
    """The kernel, which others only call by a pointer, or not at all."""
    function = getattr(dispatcher, "py_func", None)
    if function is not None:
        parts = f"{function.__module__}.{function.__qualname__}".split(".")
        _alone.append("_ZN" + "".join(f"{len(part)}{part}" for part in parts) + "B")  # B: and what follows is its version
    return dispatcher


def _keep_inside() -> None:
    """Tell Numba."""
    theirs = getattr(codegen.CPUCodeLibrary, "_optimize_final_module", None)
    if theirs is None:
        return

    def _optimize_final_module(self: Any) -> None:
        made = [function for function in self._final_module.functions if not function.is_declaration]
        if any(one.linkage == Linkage.external and one.name.startswith(tuple(_alone)) for one in made):
            for one in made:
                if one.linkage == Linkage.linkonce_odr:
                    one.linkage = Linkage.internal
        theirs(self)

    codegen.CPUCodeLibrary._optimize_final_module = _optimize_final_module


_keep_inside()


def separate(dispatcher: F) -> F:
    """The kernel, callable as before. Its arguments are what its annotations say: numbers, arrays of one dimension,
    named tuples of these; it returns a number."""
    if not hasattr(dispatcher, "py_func"):  # without compilation
        return dispatcher
    door = _Door(alone(dispatcher))
    _doors.append(door)

    def enter(*arguments: Any) -> Any:
        return dispatcher(*arguments)

    @overload(enter)  # type: ignore[untyped-decorator]
    def enter_compiled(*arguments: Any) -> Any:
        def enter(*arguments: Any) -> Any:
            return call(arguments)

        return enter

    call = door.intrinsic()
    return typing.cast(F, functools.update_wrapper(enter, dispatcher))


def open_doors() -> None:
    """Compile every separate kernel of the modules that are imported, ahead of its first call."""
    for door in _doors:
        door.open()


class _Door:
    """Three words at an address that compiled code knows by name: where the kernel is, 0 as long as it is nowhere; whom
    to call then; and whether that was interrupted from the keyboard."""

    def __init__(self, dispatcher: Any) -> None:
        function = dispatcher.py_func
        self._dispatcher = dispatcher
        self._words = (ctypes.c_void_p * 3)()
        self._callback = ctypes.CFUNCTYPE(None)(self._fill)
        self._words[1] = ctypes.cast(self._callback, ctypes.c_void_p)
        self._symbol = f"{function.__module__}.{function.__qualname__}.door"
        llvmlite.binding.add_symbol(self._symbol, ctypes.addressof(self._words))

    def open(self) -> None:
        """Compile the kernel, or read it from disk."""
        arguments, _ = self._types()
        self._dispatcher.compile(arguments)
        made = self._dispatcher.overloads[arguments]
        self._words[0] = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)

    def _fill(self) -> None:
        """`open`, for compiled code, through which no exception passes."""
        self._words[2] = 0
        try:
            self.open()
        except KeyboardInterrupt:
            self._words[2] = 1
        except Exception:
            _log.exception("%s cannot be compiled", self._symbol)

    def _types(self) -> tuple[tuple[Any, ...], Any]:
        hints = typing.get_type_hints(self._dispatcher.py_func)
        result = hints.pop("return")
        return tuple(_type_of(hint) for hint in hints.values()), _type_of(result)

    def intrinsic(self) -> Any:
        @intrinsic  # type: ignore[untyped-decorator]
        def call(_: Any, arguments: Any) -> Any:
            expected, result = self._types()
            if tuple(arguments.types) != expected:
                raise numba.core.errors.TypingError(f"{self._symbol} takes {expected}, got {arguments.types}")
            return result(arguments), self._generate

        return call

    def _generate(self, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, result, word = signature.args[0].types, signature.return_type, cgutils.voidptr_t
        words = builder.module.globals.get(self._symbol)
        if words is None:
            words = ir.GlobalVariable(builder.module, ir.ArrayType(word, 3), self._symbol)
        place = cgutils.gep_inbounds(builder, words, 0, 0)
        closed = cgutils.is_null(builder, builder.load(place))
        with cgutils.if_unlikely(builder, closed):
            fill = builder.load(cgutils.gep_inbounds(builder, words, 0, 1))
            builder.call(builder.bitcast(fill, ir.FunctionType(ir.VoidType(), []).as_pointer()), [])
        pointer = builder.load(place)
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, pointer)):
            stopped = builder.load(cgutils.gep_inbounds(builder, words, 0, 2))
            with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, stopped)):
                context.call_conv.return_user_exc(builder, KeyboardInterrupt, ())
            context.call_conv.return_user_exc(builder, RuntimeError, (f"{self._symbol} could not be compiled",))
        kernel = builder.bitcast(pointer, context.call_conv.get_function_type(result, kinds).as_pointer())
        status, value = context.call_conv.call_function(
            builder, kernel, result, kinds, cgutils.unpack_tuple(builder, arguments[0], len(kinds))
        )
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return value


def _type_of(hint: Any) -> Any:
    """Numba's type of what an annotation of a kernel says."""
    if hint == Array:
        return types.Array(types.float64, 1, "C")
    if hint == Ints:
        return types.Array(types.int64, 1, "C")
    if hint in (bool, int, float):
        return {bool: types.boolean, int: types.int64, float: types.float64}[hint]
    fields = typing.get_type_hints(hint)
    return types.NamedTuple([_type_of(field) for field in fields.values()], hint)  # type: ignore[attr-defined]
