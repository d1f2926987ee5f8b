"""Round numbers, and scales that are left alone while they fit."""

import numpy as np
import pytest

from pliant.viewer.colours import pressure_colours, pressure_legend, state_colours, state_legend
from pliant.viewer.scale import Scale, in_words, length_unit, round_up


@pytest.mark.parametrize(
    ("value", "found"),
    [(1.0, 1.0), (1.1, 2.0), (3.0, 5.0), (7.0, 10.0), (0.03, 0.05), (2e5, 2e5), (0.0, 1.0), (float("inf"), 1.0)],
)
def test_round_numbers(value, found):
    assert round_up(value) == pytest.approx(found)


@pytest.mark.parametrize(("value", "text"), [(2e5, "2e5"), (500.0, "500"), (0.05, "0.05"), (1e-6, "1e-6"), (0.0, "0")])
def test_numbers_in_words(value, text):
    assert in_words(value) == text
    assert float(in_words(value)) == value


def test_a_scale_follows_only_when_it_must():
    scale = Scale("N", room=0.5)
    scale.see(180.0)
    assert str(scale) == "1 m = 500 N" and scale.most == pytest.approx(1.2 * 250.0)
    for fits in (249.0, 51.0, 0.0, float("nan")):
        scale.see(fits)
        assert scale.per_metre == 500.0
    for impact in (1e5, 1e5):
        scale.see(impact)
        assert scale.per_metre == 500.0
    for _ in range(20):
        scale.see(5.0)
    assert 0.1 <= 5.0 / scale.per_metre <= 0.5


def test_a_scale_set_by_hand_stays():
    scale = Scale("N", room=0.5)
    scale.set(300.0)
    scale.see(1e6)
    assert scale.per_metre == 300.0 and not scale.automatic


def test_colours_go_with_their_legends():
    assert len({tuple(colour) for colour in state_colours(np.arange(3.0))}) == 3
    assert all(word in state_legend() for word in ("open", "stick", "slip"))
    low, high = pressure_colours(np.array([0.0, 2e5]), 2e5)
    assert low.sum() < high.sum()
    assert "2e5 Pa" in pressure_legend(2e5)


@pytest.mark.parametrize(("largest", "unit"), [(2.0, "m"), (0.5, "mm"), (3e-5, "µm"), (4e-10, "nm"), (0.0, "m")])
def test_lengths_have_a_unit_that_fits(largest, unit):
    name, factor = length_unit(largest)
    assert name == unit and (largest * factor < 1000.0)
