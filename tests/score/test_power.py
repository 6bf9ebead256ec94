"""The smallest differences that data can show, by formula and by simulation."""

from __future__ import annotations

from math import inf, sqrt

import pytest

from benchmarks.power import share
from touche_rad.debate import Maxim
from touche_rad.score import power


def test_four_times_the_debates_halve_the_difference() -> None:
    few, many = (power.judges(count, 3 * count)[0].difference for count in (40, 160))
    assert few == pytest.approx(2 * many)


def test_turns_of_one_debate_count_less_than_turns_of_several() -> None:
    one_each, ten_each = power.smallest(1.0, 100, 100), power.smallest(1.0, 10, 100)
    assert ten_each == pytest.approx(one_each * sqrt(1 + 9 * power.CORRELATION))


def test_labels_that_are_all_yes_show_nothing() -> None:
    labels = [[dict.fromkeys(Maxim, 1)] * 3] * 20
    assert all(one.difference == inf for one in power.judges(20, 60, labels))
    assert "too few" in power.judges(20, 60, labels)[0].line()


@pytest.mark.long
def test_the_bootstrap_finds_the_smallest_difference_in_about_four_of_five_cases() -> None:
    least = power.smallest(power.f1_variance(power.YES), 50, 150)
    assert 0.75 < share(50, 3, least, 300) < 0.92
    assert share(50, 3, 0.0, 300) < 0.1
