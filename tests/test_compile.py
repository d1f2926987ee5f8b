"""The one door of compiled code, mostly in fresh processes with a small package and a cache of their own."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.systems._compile import is_lean, kernel

SOURCE = Path(pliant.__file__).parents[1]

TOY = {
    "__init__.py": "",
    "constants.py": "FACTOR = 2.0\n",
    "callee.py": """
from pliant.systems._compile import kernel
from .constants import FACTOR

@kernel(inline=True)
def scaled(x: float) -> float:
    return FACTOR * x

@kernel
def triple(x: float) -> float:
    return scaled(x) + 1.0
""",
    "caller.py": """
from pliant.systems._compile import kernel
from toy.callee import (
    triple,
)

@kernel
def total(x):
    s = 0.0
    for i in range(x.size):
        s += triple(x[i])
    return s
""",
}

REPORT = """
import numpy as np
from toy.caller import total
from pliant.systems import _compile
value = total(np.ones(4))
print(value, _compile.cache_misses(), len(_compile.kernels()))
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    for name, text in TOY.items():
        (tmp_path / "toy").mkdir(exist_ok=True)
        (tmp_path / "toy" / name).write_text(text)
    return tmp_path


def surroundings(folder: Path, **changes: str) -> dict[str, str]:
    """Environment of a process that finds the toy package in `folder` and keeps compiled code there."""
    base = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_", "PLIANT_"))}
    base |= {"PYTHONPATH": f"{SOURCE}{os.pathsep}{folder}", "PLIANT_CACHE_DIR": str(folder / "cache")}
    base |= {"PYTHONDONTWRITEBYTECODE": "1"}  # else two edits within a second leave a stale .pyc of Python's own
    return {k: v for k, v in (base | changes).items() if v != "UNSET"}


def run(folder: Path, code: str = REPORT, **changes: str) -> subprocess.CompletedProcess[str]:
    environment = surroundings(folder, **changes)
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def edit(folder: Path, name: str, old: str, new: str) -> None:
    file = folder / "toy" / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_a_fresh_process_compiles_nothing_and_an_edited_callee_counts(toy):
    assert run(toy).stdout.split()[0] == "12.0"
    assert run(toy).stdout.split() == ["12.0", "0", "3"]
    # Numba's own cache would return 12.0 from here on
    edit(toy, "callee.py", "+ 1.0", "+ 2.0")
    assert run(toy).stdout.split()[0] == "16.0"
    edit(toy, "constants.py", "2.0", "3.0")
    assert run(toy).stdout.split()[0] == "20.0"
    # going back finds the first answer again, without compiling
    edit(toy, "callee.py", "+ 2.0", "+ 1.0")
    edit(toy, "constants.py", "3.0", "2.0")
    assert run(toy).stdout.split() == ["12.0", "0", "3"]


def test_an_edit_that_no_kernel_sees_compiles_nothing(toy):
    run(toy)
    (toy / "toy" / "other.py").write_text("x = 1\n")
    edit(toy, "__init__.py", "", "# a word\n")
    assert run(toy).stdout.split()[1] == "0"


def test_settings_that_change_the_code_change_the_key(toy):
    run(toy)
    checked = run(toy, NUMBA_BOUNDSCHECK="1")
    assert checked.stdout.split()[0] == "12.0"
    assert checked.stdout.split()[1] != "0"
    assert run(toy, NUMBA_BOUNDSCHECK="1").stdout.split()[1] == "0"


def test_without_jit_a_kernel_is_the_plain_function(toy):
    code = "from toy.caller import total; import types; assert isinstance(total, types.FunctionType)\n" + REPORT
    assert run(toy, code, NUMBA_DISABLE_JIT="1").stdout.split() == ["12.0", "0", "0"]
    assert not (toy / "cache").exists()


def test_a_damaged_cache_is_compiled_again(toy):
    run(toy)
    for file in (toy / "cache").glob("*/*.nb?"):
        file.write_bytes(file.read_bytes()[:40])
    assert run(toy).stdout.split()[0] == "12.0"


def test_import_touches_no_disk(toy):
    run(toy, "import toy.caller, pliant")
    assert not (toy / "cache").exists()


def test_no_writable_folder_means_one_warning_and_the_right_answer(toy):
    (toy / "file").touch()  # nobody, not even root, can make a folder inside a file
    done = run(toy, PLIANT_CACHE_DIR=str(toy / "file" / "cache"))
    assert done.stdout.split()[0] == "12.0"
    assert done.stderr.count("PLIANT_CACHE_DIR") == 1


def test_read_only_install_without_a_home(toy):
    """No home, no XDG folder, an install nobody can write to: imports, answers, warns at most once."""
    (toy / "file").touch()
    nowhere = str(toy / "file")
    for path in (toy / "toy", *(toy / "toy").iterdir()):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = sorted((toy / "toy").rglob("*"))
    done = run(toy, PLIANT_CACHE_DIR="UNSET", HOME=nowhere, TMPDIR=str(toy))
    assert done.stdout.split()[0] == "12.0"
    assert not done.stderr
    assert sorted((toy / "toy").rglob("*")) == before  # root may write there all the same, and must not
    private = toy / f"pliant-cache-{os.getuid()}"
    assert private.stat().st_mode & 0o777 == 0o700
    # what lies in a folder that others may write to is not executed
    private.chmod(0o777)
    done = run(toy, PLIANT_CACHE_DIR="UNSET", HOME=nowhere, TMPDIR=str(toy))
    assert done.stdout.split()[0] == "12.0"
    assert done.stdout.split()[1] != "0"
    assert done.stderr.count("PLIANT_CACHE_DIR") == 1


def test_homeless_user_leaves_no_tilde_folder(toy):
    code = """
import os.path, pathlib
os.path.expanduser = lambda path: path  # what it does for a user without a home
from pliant.systems import _compile
print(_compile.cache_folder())
"""
    done = run(toy, code, PLIANT_CACHE_DIR="UNSET", HOME="UNSET", TMPDIR=str(toy))
    assert done.stdout.strip() == str(toy / f"pliant-cache-{os.getuid()}")
    assert not (toy / "~").exists()


def test_processes_share_a_cold_cache(toy):
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{toy}"}
    environment |= {"PLIANT_CACHE_DIR": str(toy / "cache")}
    command = [sys.executable, "-c", REPORT]
    started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [process.communicate()[0].split() for process in started]
    assert [answer[0] for answer in answers] == ["12.0"] * 3
    assert run(toy).stdout.split()[1] == "0"


def test_old_folders_are_pruned(toy):
    from pliant.systems._cache import _KEEP, open_folder

    for i in range(_KEEP + 4):
        (toy / f"toy.caller-{i:02d}").mkdir()
        os.utime(toy / f"toy.caller-{i:02d}", (i, i))
    open_folder(toy, "toy.caller-now")
    kept = sorted(path.name for path in toy.glob("toy.caller-*"))
    assert kept == [*(f"toy.caller-{i:02d}" for i in range(5, _KEEP + 4)), "toy.caller-now"]


libc_function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(abs)


def test_ctypes_pointers_are_refused():
    with pytest.raises(TypeError, match=r"uses_pointer.*ctypes.*'libc_function'"):

        @kernel
        def uses_pointer(x):
            return libc_function(x)

    local = ctypes.c_double(1.0)
    with pytest.raises(TypeError, match=r"'local'"):

        @kernel(inline=True)
        def closes_over(x):
            return x + local.value


def test_a_pointer_bound_after_the_decorator_is_refused_at_the_call(toy):
    (toy / "toy" / "late.py").write_text(
        "import ctypes\nfrom pliant.systems._compile import kernel\n"
        "@kernel\ndef f(x):\n    return g(x)\n"
        "g = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(abs)\n"
    )
    code = """
from toy.late import f
try:
    f(1.0)
except TypeError as error:
    print(error)
"""
    assert "ctypes object 'g'" in run(toy, code).stdout


def test_kernels_divide_like_numpy(toy):
    (toy / "toy" / "division.py").write_text(
        "from pliant.systems._compile import kernel\n@kernel\ndef divide(a, b):\n    return a / b\n"
    )
    assert run(toy, "from toy.division import divide; print(divide(1.0, 0.0))").stdout.strip() == "inf"


@kernel
def borrows(x: np.ndarray, y: np.ndarray) -> float:
    y[0] = x[0]
    return 2.0 * x[0]


@kernel
def makes(x: np.ndarray) -> float:
    return float(np.zeros(x.size)[0])


@kernel
def gives(x: np.ndarray) -> np.ndarray:
    return x[1:]


@kernel(inline=True)
def gives_inlined(x: np.ndarray) -> np.ndarray:
    return x[1:]


@kernel
def takes(x: np.ndarray) -> float:
    return gives(x)[0]


@kernel
def takes_inlined(x: np.ndarray) -> float:
    return gives_inlined(x)[0]


@kernel
def calls(x: np.ndarray) -> float:
    return makes(x)


@pytest.mark.parametrize(("function", "expected"), [
    (borrows, True), (makes, False), (gives, False), (takes, False), (takes_inlined, True), (calls, True),
])  # fmt: skip
def test_who_only_borrows_arrays_counts_no_references(function, expected, tmp_path, monkeypatch):
    if not hasattr(function, "py_func"):
        pytest.skip("nothing is compiled")
    assert is_lean(function.py_func) is expected
    monkeypatch.setattr("pliant.systems._compile.cache_folder", lambda: tmp_path)
    made = kernel(function.py_func)  # compiled here: Numba does not show code that comes from the disk
    x = np.arange(1.0, 4.0)
    for _ in range(100):
        made(x, x.copy()) if function is borrows else made(x)
    code = "" if function is calls else "".join(made.inspect_asm().values())  # whom it calls is part of it
    assert function is calls or ("NRT_incref" in code or "NRT_decref" in code or "NRT_MemInfo" in code) is not expected
    assert sys.getrefcount(x) <= 3
