"""Plots: whole figures, their scales, and names from elsewhere."""

from __future__ import annotations

import pytest

from tests.screens import SCREENS, check_golden
from touche_rad.plots.svg import COLOURS, Dot, dot_plot, line_plot, scale

PLOTS = SCREENS.with_name("plots")


def test_a_plot_of_values_with_intervals() -> None:
    rows = [
        Dot("a<b", 0.75, 0.5, 1.0),
        Dot("a name of more than fifteen letters", 1.0, None, None),
        Dot("c", 0.125, 0.0, 0.25),
    ]
    baselines = [("always yes", 0.5), ("at the right end", 1.0)]
    check_golden(PLOTS / "dots.svg", f"{dot_plot('F1 <of> runs', rows, baselines, digits=2)}\n")


def test_a_plot_of_values_by_turn() -> None:
    series = {"first": [0.1, None, 0.3], "second": [0.45], "third & last": [0.2, 0.4, 0.1, 0.0]}
    check_golden(PLOTS / "lines.svg", f"{line_plot('Mean by turn', series, axis=(0.0, 0.5))}\n")


def test_a_plot_without_values_has_a_scale() -> None:
    assert "<circle" not in dot_plot("none", [])
    assert "<circle" not in line_plot("none", {})


@pytest.mark.parametrize(
    ("values", "low", "high", "step"),
    [
        ([0.0, 1.0], 0.0, 1.0, 0.2),
        ([0.31, 0.33], 0.31, 0.33, 0.01),
        ([0.5], 0.5, 0.51, 0.01),
        ([-120.0, 940.0], -500.0, 1000.0, 500.0),
        ([0.0, 9000.0], 0.0, 10000.0, 10000.0),
    ],
)
def test_a_scale_has_round_ends(values: list[float], low: float, high: float, step: float) -> None:
    smallest = scale(values)
    assert smallest.low == pytest.approx(low)
    assert smallest.high == pytest.approx(high)
    assert smallest.step == pytest.approx(step)
    ticks = list(smallest.ticks())
    assert ticks[0] == pytest.approx(low)
    assert ticks[-1] == pytest.approx(high)
    assert smallest.across(low - step) == smallest.across(low), "the left end"
    assert smallest.across(high + step) == smallest.across(high), "the right end"


def test_lines_of_many_series_repeat_the_colours() -> None:
    svg = line_plot("x", {str(number): [0.1, 0.2] for number in range(COLOURS + 1)})
    assert svg.count('class="s0"') == 4
    assert svg.count('class="s1"') == 2
