"""The one door: names, types of errors, import time, one version."""

import importlib.metadata
import os
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pliant
from pliant.errors import InputError, PliantError, SolveError, missing_extra

SOURCE = Path(pliant.__file__).parents[1]
ROOT = SOURCE.parent


def python(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("name", pliant.__all__)
def test_every_public_name_is_there(name):
    assert getattr(pliant, name) is not None
    assert name in dir(pliant)


def test_all_lists_every_lazy_name():
    assert {*pliant._HOME, "__version__"} == set(pliant.__all__)


def test_the_type_checker_sees_the_same_names():
    text = Path(pliant.__file__).read_text()
    block = re.search(r"if TYPE_CHECKING:\n((?:    .*\n)+)", text)
    assert block
    typed = re.findall(r"from pliant\.([\w.]+) import (.*)", block[1])
    seen = {name.strip(): module for module, names in typed for name in names.split(",")}
    assert seen == pliant._HOME


def test_importing_a_module_does_not_hide_the_function_of_its_name():
    code = "import pliant.step, pliant.simulate; from pliant.step import step; import pliant; "
    code += "assert pliant.step is step and callable(pliant.simulate)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = pliant.nonsense


def test_import_loads_nothing_heavy():
    heavy = ("scipy", "clarabel", "matplotlib", "mujoco", "tqdm")
    loaded = python(f"import sys, pliant; print([m for m in {heavy!r} if m in sys.modules])")
    assert loaded == "[]"


def test_a_first_solve_loads_nothing_heavy():
    heavy = ("scipy", "clarabel", "mujoco")
    step = (
        "import sys, pliant; floor = pliant.Contact([[[0, 0, 1], [1, 0, 0], [0, 1, 0]]], [0.0], pliant.Law(1e8), 0.5)\n"
        "step = pliant.StepProblem([2, 2, 2], [0, 0, 0], [8.0, 0.0, -19.62], 0.01, [floor])\n"
        "found = pliant.solve(step); found.forces, found.states, repr(found)\n"
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    assert python(step) == "[]"


def test_mujoco_is_imported_only_for_its_models():
    """A core dependency, but one that takes a quarter of a second to import: a hand-written step has no use for it."""
    step = (
        "import sys, pliant; floor = pliant.Contact([[[0, 0, 1], [1, 0, 0], [0, 1, 0]]], [0.0], pliant.Law(1e8), 0.5)\n"
        "pliant.solve(pliant.StepProblem([2, 2, 2], [0, 0, 0], [8.0, 0.0, -19.62], 0.01, [floor]))\n"
        "[getattr(pliant, name) for name in pliant.__all__]\n"
        "print('mujoco' in sys.modules)\n"
    )
    model = "pliant.load('<mujoco><worldbody/></mujoco>'); print('mujoco' in sys.modules)"
    assert python(step + model).split() == ["False", "True"]


def test_import_is_quick():
    """Under 0.5 s more than NumPy and SciPy; the best of three, as machines are noisy."""
    code = (
        "import time; import numpy, scipy.sparse, scipy.linalg; start = time.perf_counter()\n"
        "import pliant; middle = time.perf_counter()\n"
        "[getattr(pliant, name) for name in pliant.__all__]\n"
        "print(middle - start, time.perf_counter() - middle)"
    )
    times = [[float(t) for t in python(code).split()] for _ in range(3)]
    assert min(t[0] for t in times) < 0.5
    assert min(t[1] for t in times) < 1.0  # every public name loaded


def test_one_version():
    file = ROOT / "pyproject.toml"
    if file.exists():  # a clone, not an installed wheel
        assert "version" not in tomllib.loads(file.read_text())["project"]
    try:
        installed = importlib.metadata.version("pliant")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("pliant is run from its source folder, not installed")
    assert installed == pliant.__version__


def test_a_missing_extra_names_its_remedy():
    with pytest.raises(ImportError, match=r'matplotlib.*pip install "pliant\[plot\]"') as caught:
        missing_extra("matplotlib", "plot")
    assert caught.value.name == "matplotlib"


def test_errors_have_one_root():
    assert issubclass(InputError, PliantError)
    assert issubclass(InputError, ValueError)
    error = SolveError("did not converge")
    assert isinstance(error, PliantError)
    assert (error.problem, error.solution) == (None, None)
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.problem) == ("did not converge", None)


def test_nothing_is_compiled_at_run_time():
    """The engine comes compiled."""
    compiler = re.compile(r"^\s*(?:from|import) (?:numba|llvmlite)\b", re.MULTILINE)
    package = Path(pliant.__file__).parent
    assert not [path for path in package.rglob("*.py") if compiler.search(path.read_text())]
