"""Paired bootstrap and Holm correction: which differences between runs are significant.

Ranks and p-values are from the same comparisons. Each family of comparisons has one run that the
others are compared with (the first run of a rank, or a baseline) and is corrected by Holm: the
measure of the ranking is one family, all other measures are another.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from touche_rad.frozen import frozen
from touche_rad.score.result import RankedRun, RunComparison, exact

Floats = NDArray[np.float64]
CONFIDENCE = 0.95
FEWEST_FOR_INTERVAL: Final = 6
"""With fewer debates (claims, queries) no interval is given: the samples are too much alike."""
FEWEST_FOR_TEST: Final = 10
"""With fewer debates nothing is called significant: there are no p-values and no ranks."""
_CELLS_AT_ONCE = 4_000_000
"""The largest block of samples: a block of 64-bit counts takes 32 MB."""


def weights(units: int, samples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield bootstrap samples in blocks: a row per sample with the count of each unit."""
    chance = np.random.default_rng(seed)
    block = max(1, _CELLS_AT_ONCE // max(units, 1))
    for start in range(0, samples, block):
        yield chance.multinomial(units, np.full(units, 1 / units), size=min(block, samples - start))


def resampled_sums(values: NDArray[Any], samples: int, seed: int) -> Floats | None:
    """Return the sums of `values` (units, ...) over each sample; None with too few units."""
    units = values.shape[0]
    if units < FEWEST_FOR_INTERVAL:
        return None
    flat = values.reshape(units, -1).astype(np.float64)
    blocks = [counts @ flat for counts in weights(units, samples, seed)]
    return np.concatenate(blocks).reshape(samples, *values.shape[1:])


def interval(draws: Floats) -> tuple[float, float]:
    """Return the middle 95 % of the samples."""
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def ratio_interval(
    sums: Sequence[float], counts: Sequence[float], samples: int, seed: int
) -> tuple[float, float] | tuple[None, None]:
    """Return the interval of a mean over units of different sizes; None with too few units."""
    drawn = resampled_sums(np.column_stack([sums, counts]), samples, seed)
    if drawn is None or not any(counts):
        return None, None
    drawn = drawn[drawn[:, 1] > 0]
    return interval(drawn[:, 0] / drawn[:, 1])


def share_interval(share: float, total: float, z: float = 1.96) -> tuple[float, float]:
    """Return the interval of a share (Wilson 1927), which is right for few and for none, too.

    `z` is the quantile of the distribution: of the normal one, or of Student's t.
    """
    centre = share + z**2 / (2 * total)
    reach = z * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    scale = 1 + z**2 / total
    return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)


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


@frozen
class Measured:
    """An observed value, and its value in each bootstrap sample (None without a bootstrap)."""

    value: float
    draws: Floats | None = field(default=None, compare=False)
    limits: tuple[float | None, float | None] | None = None
    """The interval, if it is not that of the samples."""

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The middle 95 % of the samples, if nothing else is known."""
        if self.limits or self.draws is None:
            return self.limits or (None, None)
        return interval(self.draws)


def measured(values: Iterable[float], draws: Floats | None) -> list[Measured]:
    """Return values with their bootstrap samples: a row of `draws` is a sample of all values."""
    if draws is None:
        return [Measured(float(value)) for value in values]
    return [Measured(float(value), draws[:, at]) for at, value in enumerate(values)]


def mean_of(values: Sequence[Measured]) -> Measured:
    """Return the mean of measures; 0 of none."""
    draws = [measured.draws for measured in values if measured.draws is not None]
    mean_draws = np.mean(draws, axis=0) if draws and len(draws) == len(values) else None
    mean = Measured(fmean([measured.value for measured in values] or [0.0]), mean_draws)
    # Samples of a share of 0 or 1 do not differ: what is known of its limits widens the interval.
    margins = [
        np.array(measured.limits) - measured.value
        for measured in values
        if measured.limits and measured.draws is not None and not np.ptp(measured.draws)
    ]
    if mean_draws is None or not margins:
        return mean
    low, high = np.array(mean.interval) + np.sum(margins, axis=0) / len(values)
    return replace(mean, limits=(float(low), float(high)))


def with_intervals(
    measures: Mapping[str, Measured], others: Mapping[str, Measured]
) -> dict[str, Measured]:
    """Return measures with the intervals of others."""
    return {
        name: replace(measured, limits=others[name].interval) for name, measured in measures.items()
    }


Figures = Mapping[str, Mapping[str, Measured]]
"""By run, then by measure."""


@frozen
class Ranking:
    """The runs and baselines, best first, and the comparisons that their ranks are from."""

    runs: tuple[RankedRun, ...]
    comparisons: tuple[RunComparison, ...]


def rank(
    figures: Figures,
    measure: str,
    units: int,
    *,
    baselines: Collection[str] = (),
    others: Sequence[str] = (),
    apart: Collection[str] = (),
) -> Ranking:
    """Rank runs by a measure.

    Rank 1 have the best run and all that are not significantly worse; the others have their places
    by value. Baselines stand among them without a rank. Runs that are apart, or have too few
    debates for an interval, stand at the end without a rank.

    Args:
        figures: The figures of all runs and baselines.
        measure: The measure of the ranking.
        units: Number of debates (claims, queries) of the figures.
        baselines: What has no rank; all runs are compared with each of them.
        others: Measures that are compared, too, with the best run and with the baselines.
        apart: Runs on other debates, which cannot be compared.
    """
    with_interval = {run for run in figures if figures[run][measure].draws is not None}
    comparable = (with_interval or set(figures)) - set(apart)
    values = {run: exact(of_run[measure].value) for run, of_run in figures.items()}
    order = sorted(figures, key=lambda run: (run not in comparable, -values[run]))
    runs = [run for run in order if run in comparable and run not in baselines]
    references = [*runs[:1], *(run for run in order if run in baselines)]
    comparisons: list[RunComparison] = []
    for measures in ([measure], others):
        for reference in references:
            comparisons += compare_runs(figures, runs, reference, measures, units)
    worse = {
        row.run
        for row in comparisons
        if row.significant and row.measure == measure and row.against == references[0]
    }
    ranked = []
    places: dict[float, int] = {}  # by value: equal runs have equal places
    for run in order:
        place = rank_of_run = None
        if run in runs and run in with_interval and units >= FEWEST_FOR_TEST:
            place = places.setdefault(values[run], 1 + runs.index(run))
            rank_of_run = place if run in worse else 1
        ranked.append(RankedRun(run=run, rank=rank_of_run, place=place))
    return Ranking(tuple(ranked), tuple(comparisons))


def compare_runs(
    figures: Figures, runs: Sequence[str], against: str, measures: Sequence[str], units: int
) -> list[RunComparison]:
    """Compare runs with another one by each measure: one family of the Holm correction."""
    rows = []
    for run in runs:
        for measure in measures:
            if run == against:
                continue
            first = figures[run][measure]
            second = figures[against][measure]
            difference = first.value - second.value
            low = high = p = None
            if first.draws is not None and second.draws is not None:
                low, high, p = compare(difference, first.draws - second.draws)
            rows.append(
                RunComparison(
                    run=run,
                    against=against,
                    measure=measure,
                    difference=difference,
                    low=low,
                    high=high,
                    p=p if units >= FEWEST_FOR_TEST else None,
                )
            )
    corrected = holm([row.p for row in rows if row.p is not None])
    family = len(corrected)
    return [
        row if row.p is None else row.replace(p_holm=corrected.pop(0), family=family)
        for row in rows
    ]
