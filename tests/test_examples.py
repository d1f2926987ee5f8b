"""The scripts of examples/ run, print the numbers that they are there to show, and draw the pictures of the gallery."""

import re
import runpy
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES, GALLERY = ROOT / "examples", ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "images" / "examples"
Printed = Callable[..., str]


@pytest.fixture
def printed(capsys, monkeypatch) -> Printed:
    def run(name: str, *arguments: str) -> str:
        if not EXAMPLES.exists():
            pytest.skip("an installed package has no examples")
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        return str(capsys.readouterr().out)

    return run


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?|nan", text)]


def pendulum(said: str) -> None:
    gap, _, measured, exact = numbers(said)
    assert gap < 1e-12 and abs(measured / exact - 1.0) < 0.005


def four_bar(said: str) -> None:
    turns, _, gap, low, high, *_ = numbers(said)
    assert turns > 3.0 and gap < 1e-5
    assert abs(low - np.degrees(np.arccos(7.0 / 8.0))) < 0.05 and abs(high - np.degrees(np.arccos(-1.0 / 8.0))) < 0.05


def newtons_cradle(said: str) -> None:
    rises, lifted, between = numbers(said)
    assert lifted == 30.0 and 29.5 < rises < 30.05 and between < 0.5


def stack(said: str) -> None:
    carried, weight, sinks, by_hand, aside, speed, unsolved = numbers(said)
    assert carried == weight == 10035.63 and sinks == by_hand and aside == 0.0 and speed < 1e-9 and unsolved == 0


def incline(said: str) -> None:
    for _, speed, exact in np.reshape(numbers(said), (4, 3)):
        assert abs(speed - exact) < 2e-6


def pinch_grasp(said: str) -> None:
    theirs, ours = said.split("pliant.mj_step:")
    assert float(re.findall(r"slips ([\d.]+) mm", theirs)[0]) > 1.0
    assert float(re.findall(r"slips (-?[\d.]+) mm", ours)[0]) == 0.0
    assert re.findall(r"presses (\S+) N, holds (\S+) N", ours) == [("20.000", "4.905")] * 2


def foundation_pressure(said: str) -> None:
    _, _, carried, sinks, by_hand, highest, expected = numbers(said)
    assert carried == 60.0 and abs(sinks / by_hand - 1.0) < 0.02 and abs(highest / expected - 1.0) < 0.02


def humanoid(said: str) -> None:
    touching, carried, weight, deepest, fastest, unsolved = numbers(said)
    assert touching > 3 and abs(carried / weight - 1.0) < 1e-3 and deepest < 10.0 and fastest < 1e-2 and unsolved == 0


def servo_robot(said: str) -> None:
    table = np.reshape(numbers(said), (-1, 4))
    assert np.allclose(table[:, 1], table[:, 2], rtol=2e-3) and table[-1, 0] == 1e10
    assert np.isfinite(table[0, 3]) and np.isnan(table[-1, 3])  # MuJoCo, with small and large gains


def custom_force_law(said: str) -> None:
    for _, gap, exact in np.reshape(numbers(said), (4, 3)):
        assert abs(gap - exact) < 1e-3


CHECKS = {
    check.__name__: check
    for check in (
        pendulum, four_bar, newtons_cradle, stack, incline, pinch_grasp, foundation_pressure, humanoid, servo_robot,
        custom_force_law,
    )
}  # fmt: skip
QUICK = ("pendulum", "incline", "pinch_grasp", "custom_force_law")


@pytest.mark.parametrize("name", QUICK)
def test_an_example_shows_what_it_says(printed, name):
    CHECKS[name](printed(name))


@pytest.mark.slow
@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize("name", CHECKS)
def test_an_example_draws_what_it_says(printed, name, tmp_path):
    if name == "humanoid":
        pytest.importorskip("gymnasium")
    CHECKS[name](printed(name, "--picture", str(tmp_path / "picture.png")))
    assert size(tmp_path / "picture.png") == size(PICTURES / f"{name}.png")


@pytest.mark.parametrize("name", CHECKS)
def test_the_gallery_shows_every_example(name):
    if not GALLERY.exists():
        pytest.skip("an installed package has no gallery")
    text, picture = GALLERY.read_text(), PICTURES / f"{name}.png"
    assert f"(images/examples/{name}.png)" in text and f"(../examples/{name}.py)" in text
    assert size(picture)[0] == 800 and picture.stat().st_size < 150_000
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
    assert len(lines) <= 80 and lines[0].startswith('"""')


def size(picture: Path) -> tuple[int, int]:
    """Of a PNG, in pixels."""
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])
    return width, height


def test_humanoids_go_together(printed):
    pytest.importorskip("gymnasium")
    said = printed("vector_humanoid")
    assert int(re.findall(r"(\d+) falls", said)[0]) > 0
    assert int(re.findall(r"(\d+) steps per second", said)[0]) > 100
