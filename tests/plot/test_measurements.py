"""Pictures of measurements: orders, work against precision."""

import numpy as np
import pytest

import pliant
from pliant import plot

H = np.array([0.1, 0.05, 0.02, 0.01])


def test_the_order_is_fitted():
    assert plot.order(H, 3.0 * H**2) == pytest.approx(2.0)
    assert np.isnan(plot.order([0.1], [1.0]))


def test_convergence_names_its_orders(tmp_path):
    figure = plot.convergence({"ours": (H, H), "theirs": (H, H**2)}, error="angle [rad]", path=tmp_path / "a.pdf")
    ax = figure.axes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ours, order 1.00", "theirs, order 2.00"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step h [s]", "angle [rad]")
    assert ax.get_xscale() == ax.get_yscale() == "log" and (tmp_path / "a.pdf").stat().st_size > 1000


@pytest.mark.parametrize(("slope", "drawn"), [(None, 1.0), (3.0, 3.0)])
def test_the_triangle_has_its_slope_and_lies_below_the_curves(slope, drawn):
    curves = {"ours": (H, H), "theirs": (H, 5.0 * H**2)}
    ax = plot.convergence(curves, slope=slope).axes[0]
    x, y = ax.get_lines()[-1].get_xydata().T
    assert np.log(y.max() / y.min()) / np.log(x.max() / x.min()) == pytest.approx(drawn)
    for h, e in curves.values():
        assert y[0] < np.interp(x[0], h[::-1], e[::-1]) and y[2] < np.interp(x[2], h[::-1], e[::-1])


def test_work_against_precision():
    ax = plot.work_precision({"ours": (H, 1.0 / H), "theirs": (H**2, 2.0 / H)}, error="angle [rad]").axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("angle [rad]", "time [s]")
    one, two = ax.get_lines()
    assert one.get_color() != two.get_color() and one.get_marker() != two.get_marker()
    np.testing.assert_allclose(one.get_xydata()[0], [0.01, 100.0])  # sorted


@pytest.mark.parametrize("draw", [plot.convergence, plot.work_precision])
@pytest.mark.parametrize(
    ("points", "says"),
    [
        (([0.1, 0.2], [1.0]), "'it' has 2 and 1 numbers"),
        (([0.1], [0.0]), "not positive"),
        (([0.1], [np.nan]), "not positive"),
        (7, "must be a pair of sequences"),
    ],
)
def test_points_that_cannot_be_drawn(draw, points, says):
    with pytest.raises(pliant.InputError, match=says):
        draw({"it": points})


@pytest.mark.parametrize("draw", [plot.convergence, plot.work_precision])
def test_no_curve(draw):
    with pytest.raises(pliant.InputError, match="there is none"):
        draw({})
