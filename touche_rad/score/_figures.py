"""The measures of each run on each criterion, with confidence intervals.

A measure without labelled turns is None, but the official ones are 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import numpy as np

from touche_rad.criteria import Criteria
from touche_rad.score import significance as bootstrap
from touche_rad.score.matching import Scored
from touche_rad.score.measures import FORMULAS, OFFICIAL, Counts, count, f1
from touche_rad.score.reference import Labelled
from touche_rad.score.result import MEAN, JudgementRow
from touche_rad.score.significance import Figures, Measured

_CELLS = ("labelled", "tp", "fp", "fn", "tn")


def measure(
    labels: Labelled, scores: Mapping[str, Scored], criteria: Criteria, samples: int, seed: int
) -> tuple[list[JudgementRow], Figures]:
    """Return the rows of all runs (each criterion and their mean), and their F1 with its samples.

    All runs share the bootstrap samples of debates, which are drawn once.
    """
    # The true and false positives and negatives by run, debate and criterion.
    counts = np.array([_counts(labels, scored, criteria) for scored in scores.values()])
    drawn = None  # the F1 by run, sample and criterion; None with too few debates
    # The counts of a sample are the sums of its debates' counts: F1 of all samples in one step.
    sums = bootstrap.resampled_sums(np.moveaxis(counts, 1, 0), samples, seed)
    if sums is not None:
        drawn = np.moveaxis(bootstrap.f1(sums[..., 0], sums[..., 1], sums[..., 2]), 1, 0)
    rows: list[JudgementRow] = []
    figures: dict[str, dict[str, Measured]] = {}
    for run_at, run in enumerate(scores):
        f1_of: dict[str, Measured] = {}
        by_criterion = []
        for key_at, key in enumerate(criteria.keys):
            cells = Counts(*counts[run_at, :, key_at].sum(axis=0).tolist())
            draws = None if drawn is None else drawn[run_at, :, key_at]
            f1_of[key] = Measured(f1(cells), draws)
            values = {name: getattr(cells, name) for name in _CELLS}
            values |= {name: formula(cells) for name, formula in FORMULAS.items()}
            low, high = f1_of[key].interval
            by_criterion.append(JudgementRow(run=run, maxim=key, low=low, high=high, **values))
        labelled = [row for row in by_criterion if row.labelled]
        mean_draws = None
        if drawn is not None and labelled:
            measured = [at for at, row in enumerate(by_criterion) if row.labelled]
            mean_draws = np.mean([drawn[run_at, :, at] for at in measured], axis=0)
        value = fmean(row.f1 for row in labelled) if labelled else 0.0
        f1_of[MEAN] = Measured(value, mean_draws)
        rows += [*by_criterion, _mean_row(run, labelled, f1_of[MEAN])]
        figures[run] = f1_of
    return rows, figures


def _counts(labels: Labelled, scores: Scored, criteria: Criteria) -> list[list[Counts]]:
    """Return the true and false positives and negatives by debate and criterion."""
    result = []
    for turns, verdicts in zip(labels, scores, strict=True):
        pairs = list(zip(turns, verdicts, strict=True))
        by_criterion = []
        for key in criteria.keys:
            by_criterion.append(
                count((label.get(key), verdict.get(key)) for label, verdict in pairs)
            )
        result.append(by_criterion)
    return result


def _mean_row(run: str, rows: list[JudgementRow], measured: Measured) -> JudgementRow:
    """Return the mean of the rows of a run; the official measures of no rows are 0."""
    values: dict[str, Any] = {}
    for name in _CELLS:
        values[name] = sum(getattr(row, name) for row in rows)
    for name in FORMULAS:
        numbers = [getattr(row, name) for row in rows if getattr(row, name) is not None]
        if numbers:
            values[name] = fmean(numbers)
        else:
            values[name] = 0.0 if name in OFFICIAL else None
    low, high = measured.interval
    return JudgementRow(run=run, maxim=MEAN, low=low, high=high, **values)
