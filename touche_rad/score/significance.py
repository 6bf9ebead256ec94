"""Paired bootstrap and Holm correction: which differences between runs are significant."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from touche_rad.score.result import RankedRun, RunComparison

Floats = NDArray[np.float64]
CONFIDENCE = 0.95
_CELLS_AT_ONCE = 4_000_000
"""The largest block of samples: a block of 64-bit counts takes 32 MB."""


def weights(units: int, samples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield bootstrap samples in blocks: a row per sample with the count of each unit."""
    chance = np.random.default_rng(seed)
    block = max(1, _CELLS_AT_ONCE // max(units, 1))
    for start in range(0, samples, block):
        rows = min(block, samples - start)
        yield chance.multinomial(units, np.full(units, 1 / units), size=rows)


def resampled_sums(values: NDArray[Any], samples: int, seed: int) -> Floats:
    """Return the sums of `values` (units, ...) over each sample: (samples, ...)."""
    units = values.shape[0]
    flat = values.reshape(units, -1).astype(np.float64)
    blocks = [counts.astype(np.float64) @ flat for counts in weights(units, samples, seed)]
    return np.concatenate(blocks).reshape(samples, *values.shape[1:])


def f1(tp: Floats, fp: Floats, fn: Floats) -> Floats:
    """Return F1 elementwise from counts; 0 if there is no true positive."""
    return np.divide(2 * tp, 2 * tp + fp + fn, out=np.zeros_like(tp), where=tp > 0)


def interval(draws: Floats) -> tuple[float, float]:
    """Return the middle 95 % of the samples."""
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def ratio_interval(
    sums: Sequence[float], counts: Sequence[float], samples: int, seed: int
) -> tuple[float, float] | tuple[None, None]:
    """Return the interval of a mean over units of different sizes; None with fewer than two."""
    if len(sums) < 2 or not any(counts):
        return None, None
    drawn = resampled_sums(np.column_stack([sums, counts]), samples, seed)
    drawn = drawn[drawn[:, 1] > 0]
    return interval(drawn[:, 0] / drawn[:, 1])


def compare(observed: float, draws: Floats) -> tuple[float, float, float]:
    """Return the interval and the two-sided p-value of a difference, by those in the samples."""
    # Without an effect, samples would swing around 0 as these swing around the observed value.
    swing = np.abs(draws - observed)
    tolerance = 1e-12  # differences of equal size may differ in the last digit
    as_large = int(np.count_nonzero(swing >= abs(observed) - tolerance))
    reach = float(np.quantile(swing, CONFIDENCE))
    # The observed data count as one sample, so that p is never 0 (Davison and Hinkley 1997).
    p = (1 + as_large) / (1 + len(draws))
    return observed - reach, observed + reach, p


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm-corrected p-values (Holm 1979) in the given order."""
    ascending = np.argsort(p_values, kind="stable")
    # The smallest p times the number of tests, the next times one less; none below the one before.
    factors = np.arange(len(p_values), 0, -1)
    corrected = np.empty(len(p_values))
    corrected[ascending] = np.maximum.accumulate(
        np.minimum(1.0, factors * np.asarray(p_values, dtype=float)[ascending])
    )
    return corrected.tolist()


@dataclass(frozen=True)
class Measured:
    """An observed value, and its value in each bootstrap sample (None without a bootstrap)."""

    value: float
    draws: Floats | None = None

    @property
    def interval(self) -> tuple[float, float] | tuple[None, None]:
        """The middle 95 % of the samples."""
        return (None, None) if self.draws is None else interval(self.draws)


def measured(values: Iterable[float], draws: Floats | None) -> list[Measured]:
    """Return values with their bootstrap samples: a row of `draws` is a sample of all values."""
    if draws is None:
        return [Measured(float(value)) for value in values]
    return [Measured(float(value), draws[:, at]) for at, value in enumerate(values)]


Figures = Mapping[str, Mapping[str, Measured]]
"""By run, then by measure."""


def ranks(figures: Figures, measure: str, unranked: Container[str] = ()) -> tuple[RankedRun, ...]:
    """Sort the runs by a measure, best first, and rank them.

    A run shares the rank of the one above if the 95 % interval of its paired difference from the
    first run of that rank contains 0. Otherwise its rank is its place. The unranked runs stand at
    their places without a rank.
    """
    ranked: list[RankedRun] = []
    first: Measured | None = None
    rank = place = 0
    for run in sorted(figures, key=lambda run: -figures[run][measure].value):
        figure = figures[run][measure]
        if run not in unranked:
            place += 1
            if first is None or differs(first, figure):
                first = figure
                rank = place
        ranked.append(RankedRun(run=run, rank=None if run in unranked else rank))
    return tuple(ranked)


def differs(first: Measured, second: Measured) -> bool:
    """Whether the interval of the paired difference excludes 0; any difference without samples."""
    difference = first.value - second.value
    if first.draws is None or second.draws is None:
        return difference != 0
    low, high, _ = compare(difference, first.draws - second.draws)
    return low > 0 or high < 0


def pairs(runs: Sequence[str], best: str, baselines: Sequence[str]) -> list[tuple[str, str]]:
    """Return each run with the best one and with the baselines."""
    ranked = [run for run in runs if run not in baselines]
    compared = [(run, best) for run in ranked if run != best]
    # A baseline may be the best run.
    for baseline in baselines:
        compared += [(run, baseline) for run in ranked if (run, baseline) not in compared]
    return compared


def comparisons(
    figures: Figures, pairs: Sequence[tuple[str, str]], measures: Sequence[str]
) -> tuple[RunComparison, ...]:
    """Compare each pair by each measure, with one Holm correction over all of them."""
    rows: list[RunComparison] = []
    for run, against in pairs:
        rows += [compare_runs(figures, run, against, measure) for measure in measures]
    corrected = holm([row.p for row in rows if row.p is not None])
    if len(corrected) < len(rows):
        return tuple(rows)
    return tuple(
        row.model_copy(update={"p_holm": p}) for row, p in zip(rows, corrected, strict=True)
    )


def compare_runs(figures: Figures, run: str, against: str, measure: str) -> RunComparison:
    """Return the difference between two runs, without correction."""
    first = figures[run][measure]
    second = figures[against][measure]
    difference = first.value - second.value
    low = high = p = None
    if first.draws is not None and second.draws is not None:
        low, high, p = compare(difference, first.draws - second.draws)
    return RunComparison(
        run=run,
        against=against,
        measure=measure,
        difference=difference,
        low=low,
        high=high,
        p=p,
        p_holm=p,
    )
