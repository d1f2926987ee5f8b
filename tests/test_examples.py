"""The scripts of examples/ run, and print what they are there to show."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def printed(capsys):
    def run(name: str) -> str:
        if not EXAMPLES.exists():
            pytest.skip("an installed package has no examples")
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_the_gripper_holds_without_slipping(printed):
    theirs, ours = printed("mujoco_drop_in.py").split("pliant.mj_step:")
    assert float(re.findall(r"slips ([\d.]+) mm", theirs)[0]) > 1.0
    assert float(re.findall(r"slips (-?[\d.]+) mm", ours)[0]) == 0.0
    assert re.findall(r"presses (\S+) N, holds (\S+) N", ours) == [("20.000", "4.905")] * 2


def test_humanoids_go_together(printed):
    pytest.importorskip("gymnasium")
    said = printed("vector_humanoid.py")
    assert int(re.findall(r"(\d+) falls", said)[0]) > 0
    assert int(re.findall(r"(\d+) steps per second", said)[0]) > 100


def test_the_pad_carries_what_presses_it(printed, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", ["pressure_map.py", str(tmp_path / "map.png")])
    said = printed("pressure_map.py")
    assert "they carry 60.000 N" in said and (tmp_path / "map.png").stat().st_size > 5000
