"""The paired bootstrap and Holm's correction, on planted data and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import with_cases
from touche_rad.score.significance import (
    Measured,
    compare,
    holm,
    rank,
    resampled_sums,
    share_interval,
)


def draws_of(values: list[float], samples: int, seed: int) -> np.ndarray:
    sums = resampled_sums(np.array(values), samples, seed)
    assert sums is not None
    return sums / len(values)


@given(st.lists(st.integers(-10, 10), min_size=6, max_size=30), st.integers(0, 99))
def test_interval_and_p_say_the_same(tenths: list[int], seed: int) -> None:
    values = [value / 10 for value in tenths]
    low, high, p = compare(float(np.mean(values)), draws_of(values, 500, seed))
    outside = low > 1e-9 or high < -1e-9
    if p < 0.045:
        assert outside
    if p > 0.055:
        assert not outside


def test_the_interval_of_a_share_is_wilsons() -> None:
    assert share_interval(0.1, 10) == pytest.approx((0.0179, 0.4042), abs=1e-4)


def test_holm_by_hand() -> None:
    # ascending .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04; never below the one before
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def figures_of(units: int, **values: float) -> dict[str, dict[str, Measured]]:
    """Figures of runs whose difference is the same in every debate, but for a little noise."""
    noise = np.linspace(-0.02, 0.02, units)
    figures = {}
    for place, (run, value) in enumerate(values.items()):
        of_debates = (value + noise * (-1) ** place).tolist()
        sums = resampled_sums(np.array(of_debates), 2000, seed=1)
        draws = None if sums is None else sums / units
        figures[run] = {"f1": Measured(value, draws), "kappa": Measured(value, draws)}
    return figures


def test_ranks_and_p_values_come_from_the_same_comparisons() -> None:
    ranking = rank(
        figures_of(20, d=0.4, a=0.801, base=0.6, c=0.401, b=0.8),
        "f1",
        20,
        baselines=["base"],
        others=["kappa"],
    )
    assert [(run.run, run.rank) for run in ranking.runs] == [
        ("a", 1),
        ("b", 1),
        ("base", None),
        ("c", 3),
        ("d", 4),
    ]
    smallest = 1 / 2001
    families: dict[tuple[str, str], dict[str, float | None]] = {}
    for row in ranking.comparisons:
        families.setdefault((row.against, row.measure), {})[row.run] = row.p_holm
        assert row.significant == (row.p_holm is not None and row.p_holm < 0.05)
    # The two clear differences from a: 3 and 2 times the smallest p; b is no different.
    of_a = families["a", "f1"]
    assert of_a["c"] == of_a["d"] == pytest.approx(3 * smallest)
    assert of_a["b"] is not None
    assert of_a["b"] > 0.05
    assert families["base", "f1"] == pytest.approx(dict.fromkeys("abcd", 4 * smallest))
    assert {run for run, _ in families} == {"a", "base"}
    assert families["a", "kappa"] == pytest.approx(of_a)
    tied = rank(figures_of(20, a=0.3, b=0.1 + 0.2), "f1", 20)
    assert [run.place for run in tied.runs] == [1, 1], "equal, apart from errors of arithmetic"


@with_cases(("units", "ranks"), "score/few_debates_give_no_interval_no_p_and_no.json")
def test_few_debates_give_no_interval_no_p_and_no_rank(units: int, ranks: bool) -> None:
    figures = figures_of(units, a=0.8, b=0.4)
    ranking = rank(figures, "f1", units)
    (row,) = ranking.comparisons
    assert (figures["a"]["f1"].interval == (None, None)) == (units < 6) == (row.low is None)
    assert (row.p is not None) == (row.p_holm is not None) == row.significant == ranks
    assert [run.rank for run in ranking.runs] == ([1, 2] if ranks else [None, None])
