"""Kernels count from the start."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import pliant
from pliant.systems import (
    _compile,  # tells Numba
    mujoco_arrays,
)

SOURCES = sorted(Path(pliant.__file__).parent.rglob("*.py"))
X = np.arange(5.0)


def at(module: str, **options: Any) -> Any:
    """x[i], compiled as the code of a module."""

    def entry(x: Any, i: Any) -> Any:
        return x[i]

    entry.__module__ = module
    return numba.njit(**options)(entry)


def kernels(tree: ast.Module) -> list[ast.FunctionDef]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [f for f in functions if any(ast.unparse(d).startswith("kernel") for d in f.decorator_list)]


def is_negative(index: ast.expr) -> bool:
    return isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)


def test_no_kernel_counts_from_the_end():
    seen = 0
    for file in SOURCES:
        for made in kernels(ast.parse(file.read_text())):
            seen += 1
            for node in ast.walk(made):
                if isinstance(node, ast.Subscript):
                    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                    assert not any(map(is_negative, indices)), f"{file.name}:{node.lineno} {ast.unparse(node)}"
    assert seen > 100


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiled code is looked at")
def test_ours_is_not_asked_whether_an_index_is_negative():
    for module, asks in (("pliant.toy", False), ("toy", True)):
        made = at(module)
        assert made(X, 3) == 3.0
        code = made.inspect_llvm(made.signatures[0])
        body = code[code.index("define") : code.index("}")]
        assert ("select" in body or "lshr" in body or "ashr" in body) == asks, body


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiled code is looked at")
def test_the_code_of_others_counts_from_the_end():
    assert at("toy")(X, -1) == 4.0
    assert mujoco_arrays.copy in _compile.kernels()


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiled code is looked at")
def test_bounds_that_are_checked_show_a_negative_index():
    made = at("pliant.toy", boundscheck=True)
    assert made(X, 4) == 4.0
    with pytest.raises(IndexError):
        made(X, -1)
