"""The measures of each run on each criterion, with confidence intervals.

A measure without labelled turns is None, but the official ones are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from touche_rad.criteria import Criteria
from touche_rad.score import significance as bootstrap
from touche_rad.score.matching import Scored
from touche_rad.score.measures import (
    Counts,
    accuracy,
    count,
    f1,
    kappa,
    label_rate,
    macro,
    mcc,
    precision,
    recall,
    yes_rate,
)
from touche_rad.score.reference import Labelled
from touche_rad.score.result import MEAN, JudgementRow
from touche_rad.score.significance import Figures, Measured

_CELLS = ("labelled", "tp", "fp", "fn", "tn")
_OFFICIAL: Mapping[str, Callable[[Counts], float]] = {
    "precision": precision,
    "recall": recall,
    "f1": f1,
}
_ADDITIONAL: Mapping[str, Callable[[Counts], float | None]] = {
    **{f"macro_{name}": partial(macro, of_yes) for name, of_yes in _OFFICIAL.items()},
    "accuracy": accuracy,
    "kappa": kappa,
    "mcc": mcc,
    "yes_rate": yes_rate,
    "label_rate": label_rate,
}


def measure(
    labels: Labelled, scores: Mapping[str, Scored], criteria: Criteria, samples: int, seed: int
) -> tuple[list[JudgementRow], Figures]:
    """Return the rows of all runs (each criterion and their mean), and their F1 with its samples.

    All runs share the bootstrap samples of debates, which are drawn once.
    """
    counts = np.array([_counts(labels, scored, criteria) for scored in scores.values()])
    drawn = None  # the F1 by run, sample and criterion; None with fewer than two debates
    if len(labels) > 1:
        sums = bootstrap.resampled_sums(np.moveaxis(counts, 1, 0), samples, seed)
        drawn = np.moveaxis(bootstrap.f1(sums[..., 0], sums[..., 1], sums[..., 2]), 1, 0)
    rows: list[JudgementRow] = []
    figures: dict[str, dict[str, Measured]] = {}
    for at, run in enumerate(scores):
        own: dict[str, Measured] = {}
        by_criterion = []
        for place, key in enumerate(criteria.keys):
            cells = Counts(*counts[at, :, place].sum(axis=0).tolist())
            own[key] = Measured(f1(cells), None if drawn is None else drawn[at, :, place])
            by_criterion.append(_row(run, key, cells, own[key]))
        labelled = [row for row in by_criterion if row.labelled]
        draws = [one for row in labelled if (one := own[row.maxim].draws) is not None]
        value = fmean(row.f1 for row in labelled) if labelled else 0.0
        own[MEAN] = Measured(value, np.mean(draws, axis=0) if draws else None)
        rows += [*by_criterion, _mean_row(run, labelled, own[MEAN])]
        figures[run] = own
    return rows, figures


def _counts(labels: Labelled, scores: Scored, criteria: Criteria) -> list[list[Counts]]:
    """Return the true and false positives and negatives by debate and criterion."""
    result = []
    for turns, verdicts in zip(labels, scores, strict=True):
        pairs = list(zip(turns, verdicts, strict=True))
        result.append(
            [
                count((label.get(key), verdict.get(key)) for label, verdict in pairs)
                for key in criteria.keys
            ]
        )
    return result


def _row(run: str, maxim: str, counts: Counts, measured: Measured) -> JudgementRow:
    values = {name: getattr(counts, name) for name in _CELLS}
    values |= {name: one(counts) for name, one in {**_OFFICIAL, **_ADDITIONAL}.items()}
    low, high = measured.interval
    return JudgementRow(run=run, maxim=maxim, low=low, high=high, **values)


def _mean_row(run: str, rows: list[JudgementRow], measured: Measured) -> JudgementRow:
    values: dict[str, Any] = {name: sum(getattr(row, name) for row in rows) for name in _CELLS}
    for name in (*_OFFICIAL, *_ADDITIONAL):
        numbers = [value for row in rows if (value := getattr(row, name)) is not None]
        values[name] = fmean(numbers) if numbers else 0.0 if name in _OFFICIAL else None
    low, high = measured.interval
    return JudgementRow(run=run, maxim=MEAN, low=low, high=high, **values)
