"""The share of yes among verdicts: of each criterion, and the mean of the criteria."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from touche_rad.criteria import Criteria
from touche_rad.debate import Verdicts
from touche_rad.score.result import MEAN
from touche_rad.score.significance import Floats, Measured, measured, resampled_sums


def count_yes(turns: Iterable[Verdicts], criteria: Criteria) -> Floats:
    """Count the verdicts that are yes, and all verdicts, by criterion."""
    counts = np.zeros((len(criteria), 2))
    for verdicts in turns:
        for at, key in enumerate(criteria.keys):
            verdict = verdicts.get(key)
            if verdict is not None and verdict.score is not None:
                counts[at, 0] += bool(verdict.yes)
                counts[at, 1] += 1
    return counts


def shares(counts: Floats) -> Floats:
    """Return the share of yes in counts of `count_yes`; 0 where there is no verdict."""
    total = counts[..., 1]
    result: Floats = np.divide(counts[..., 0], total, out=np.zeros(total.shape), where=total > 0)
    return result


def measure_yes(counts: Floats, criteria: Criteria, samples: int, seed: int) -> dict[str, Measured]:
    """Return the share of yes as the mean of the judges: of each criterion, and of all.

    Args:
        counts: Counts of `count_yes` by claim and judge.
        criteria: What the verdicts are on.
        samples: Number of bootstrap samples of claims.
        seed: Random seed of the bootstrap.
    """
    # Each judge counts alike, whatever the number of its verdicts.
    values = shares(counts.sum(axis=0)).mean(axis=0)
    resampled = resampled_sums(counts, samples, seed)
    draws = None if resampled is None else shares(resampled).mean(axis=1)
    mean = Measured(float(values.mean()), None if draws is None else draws.mean(axis=1))
    return {MEAN: mean, **dict(zip(criteria.keys, measured(values, draws), strict=True))}
