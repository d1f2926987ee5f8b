"""What `pliant doctor` looks at where MuJoCo is concerned. Nothing is imported before it is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pliant.checkup import Check, timed
from pliant.errors import PliantError
from pliant.systems.mujoco_door import mujoco

REINSTALL: Final = 'pip install --force-reinstall "mujoco>=3.17,<5"'


def version() -> Check:
    try:
        return Check("mujoco", True, mujoco().__version__)
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
    """The same, but where there is no MuJoCo: `version` has said so."""

    def looked() -> Check:
        return look() if version().ok else Check(name, False, "not looked at: it needs MuJoCo")

    return looked


CHECKS: Final = {
    name: _if_there(name, look) for name, look in (("layout", memory), ("library", opened), ("step", first_step))
}
