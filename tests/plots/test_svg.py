"""Plots: whole figures, their scales, and names from elsewhere."""

from __future__ import annotations

import pytest

from tests.screens import SCREENS, check_golden
from touche_rad.plots.svg import Dot, Scale, dot_plot, line_plot, scale

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
    series = {"first": [0.1, None, 0.3], "b & c": [0.4], "d": [0.2, 0.0], "e": [0.1], "f": [0.3]}
    check_golden(PLOTS / "lines.svg", f"{line_plot('Mean by turn', series, axis=(0.0, 0.5))}\n")


@pytest.mark.parametrize(
    ("values", "smallest"),
    [
        ([], Scale(0.0, 1.0, 0.2)),
        ([0.5], Scale(0.5, 0.51, 0.01)),
        ([-120.0, 940.0], Scale(-500.0, 1000.0, 500.0)),
        ([0.0, 9000.0], Scale(0.0, 10000.0, 10000.0)),
    ],
)
def test_a_scale_has_round_ends(values: list[float], smallest: Scale) -> None:
    assert scale(values) == smallest
    assert smallest.share(smallest.low - 1) == 0
    assert smallest.share(smallest.high + 1) == 1
