"""What `pliant doctor` looks at where MuJoCo is concerned. Nothing is imported before it is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pliant import _engine
from pliant.checkup import Check, timed
from pliant.errors import PliantError
from pliant.systems.mujoco_door import WANTED, mujoco

MODEL: Final = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body pos="0 0 .3">
      <freejoint/>
      <geom type="box" size=".1 .2 .3"/>
    </body>
  </worldbody>
</mujoco>
"""
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


def opened() -> Check:
    """MuJoCo's library, whose functions the engine calls."""
    from pliant.systems.mujoco_stepper import library, open_library

    open_library()
    return Check("library", True, f"{library().name}, its functions found")


def first_step() -> Check:
    from pliant.systems.mujoco_calls import mj_step
    from pliant.systems.mujoco_stats import stats

    model = mujoco().MjModel.from_xml_string(MODEL)
    data = mujoco().MjData(model)
    _, how = timed(lambda: mj_step(model, data))
    counted = stats(data)
    ok = all(status.solved or not count for status, count in counted.statuses.items())
    remedy = "" if ok else "the answer is wrong: run the tests, and report what fails"
    return Check("step", ok, f"residual {counted.worst_residual:.1e}, {how}", remedy)


def _if_there(name: str, look: Callable[[], Check]) -> Callable[[], Check]:
    """The same, but where there is no MuJoCo that fits: `version` has said so."""

    def looked() -> Check:
        return look() if version().ok else Check(name, False, "not looked at: it needs MuJoCo")

    return looked


LIBRARY: Final = _if_there("library", opened)
STEP: Final = _if_there("step", first_step)
