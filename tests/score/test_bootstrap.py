"""The paired bootstrap and Holm's correction, on planted data and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from touche_rad.score.significance import compare, holm, interval, resampled_sums, weights


def draws_of(values: list[float], samples: int = 4000, seed: int = 1) -> np.ndarray:
    return resampled_sums(np.array(values), samples, seed) / len(values)


def test_sums_are_over_the_units_drawn() -> None:
    table = np.array([[1, 10], [2, 20], [4, 40]])
    drawn = np.concatenate(list(weights(3, 50, seed=5)))
    sums = resampled_sums(table, 50, seed=5)
    assert sums.shape == (50, 2)
    assert (drawn.sum(axis=1) == 3).all()
    for counts, (first, second) in zip(drawn, sums, strict=True):
        assert first == counts[0] + 2 * counts[1] + 4 * counts[2]
        assert second == 10 * first


@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_in_every_unit_has_the_smallest_p(sign: int) -> None:
    values = [sign * (0.5 + 0.01 * step) for step in range(20)]
    low, high, p = compare(float(np.mean(values)), draws_of(values))
    assert p == 1 / 4001
    assert min(abs(low), abs(high)) > 0.5


@given(st.lists(st.integers(-10, 10), min_size=3, max_size=30), st.integers(0, 99))
def test_interval_and_p_say_the_same(tenths: list[int], seed: int) -> None:
    values = [value / 10 for value in tenths]
    low, high, p = compare(float(np.mean(values)), draws_of(values, 500, seed))
    outside = low > 1e-9 or high < -1e-9
    if p < 0.045:
        assert outside
    if p > 0.055:
        assert not outside


def test_the_interval_is_the_middle_95_percent() -> None:
    low, high = interval(np.arange(1001.0))
    assert (low, high) == pytest.approx((25.0, 975.0))


def test_holm_by_hand() -> None:
    # ascending .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04; never below the one before
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []
