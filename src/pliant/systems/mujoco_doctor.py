"""What `pliant doctor` looks at where MuJoCo is concerned. Nothing is imported before it is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pliant import _engine
from pliant.checkup import Check, timed
from pliant.errors import PliantError
from pliant.systems.mujoco_door import WANTED, mujoco

REINSTALL: Final = f'pip install --force-reinstall "{WANTED}"'


def version() -> Check:
    """Of MuJoCo here, and of the one that the engine was built with: a minor version may lay out its structs anew."""
    built = _engine.build_info()["mujoco"]
    minor = ".".join(built.split(".")[:2])
    try:
        found = mujoco().__version__
        same = found.split(".")[:2] == minor.split(".")
        remedy = f'pip install "mujoco=={minor}.*", or build pliant anew, in a clone: pip install --force-reinstall .'
        return Check("mujoco", same, f"{found}, built with {built}", "" if same else remedy)
    except (ImportError, PliantError) as error:
        text, _, remedy = str(error).rpartition(": ")  # they end in it
        return Check("mujoco", False, text, remedy)
    except Exception as error:  # a broken installation may raise anything
        return Check("mujoco", False, f"{type(error).__name__}: {error}", REINSTALL)


def memory() -> Check:
    """Whether compiled steps know where MuJoCo keeps things."""
    from pliant.systems.mujoco_layout import compare, struct

    problem = compare()[1]
    if problem:
        remedy = f"steps go through arrays, more slowly; install a MuJoCo that is known: {REINSTALL}, or a newer pliant"
        return Check("layout", False, f"MuJoCo's memory is not as it says: {problem}", remedy)
    fields = len(struct("mjData")._fields_)
    return Check("layout", True, f"compiled steps follow MuJoCo's memory, {fields} fields of mjData")


def opened() -> Check:
    """MuJoCo's library, for compiled code, and the callbacks in it."""
    from numba import config

    from pliant.systems.mujoco_native import callbacks_set, library, library_files

    found = library()
    if found is None:
        remedy = "" if config.DISABLE_JIT else REINSTALL
        return Check("library", False, "MuJoCo's library is not open to compiled code", remedy)
    called = ", ".join(callbacks_set(found)) or "none"
    return Check("library", True, f"{library_files()[0].name}, {found.shape[1]} callbacks found, set: {called}")


def first_step() -> Check:
    from pliant.systems.mujoco_calls import mj_step
    from pliant.systems.mujoco_stats import stats
    from pliant.systems.mujoco_warm import MODEL

    model = mujoco().MjModel.from_xml_string(MODEL.format(""))
    data = mujoco().MjData(model)
    _, how = timed(lambda: mj_step(model, data))
    counted = stats(data)
    ok = all(status.solved or not count for status, count in counted.statuses.items())
    way = "one compiled call" if counted.compiled else f"through arrays: {', '.join(counted.through_arrays)}"
    remedy = "" if ok else "the answer is wrong: run the tests, and report what fails"
    return Check("step", ok, f"residual {counted.worst_residual:.1e}, {how}, {way}", remedy)


def _if_there(name: str, look: Callable[[], Check]) -> Callable[[], Check]:
    """The same, but where there is no MuJoCo that fits: `version` has said so."""

    def looked() -> Check:
        return look() if version().ok else Check(name, False, "not looked at: it needs MuJoCo")

    return looked


NUMBA_CHECKS: Final = {"layout": _if_there("layout", memory), "library": _if_there("library", opened)}
STEP: Final = _if_there("step", first_step)
