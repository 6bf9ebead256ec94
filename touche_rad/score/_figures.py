"""The measures of each run on each maxim, with confidence intervals.

A measure without labelled turns is None, but the official ones are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from touche_rad.debate import Maxim
from touche_rad.score import significance as bootstrap
from touche_rad.score.matching import Labelled, Scored
from touche_rad.score.measures import (
    Counts,
    accuracy,
    count,
    f1,
    kappa,
    label_rate,
    mcc,
    precision,
    recall,
    yes_rate,
)
from touche_rad.score.result import BASELINE_SCORE, MEAN, JudgementRow
from touche_rad.score.significance import Figures, Measured

_CELLS = ("labelled", "tp", "fp", "fn", "tn")
_OFFICIAL = {"precision": precision, "recall": recall, "f1": f1}
_ADDITIONAL = {
    "macro_precision": lambda counts: macro(precision, counts),
    "macro_recall": lambda counts: macro(recall, counts),
    "macro_f1": lambda counts: macro(f1, counts),
    "accuracy": accuracy,
    "kappa": kappa,
    "mcc": mcc,
    "yes_rate": yes_rate,
    "label_rate": label_rate,
}


def macro(measure: Callable[[Counts], float], counts: Counts) -> float | None:
    """Return the mean of a measure of "yes" and the same measure of "no"."""
    return (measure(counts) + measure(counts.inverted)) / 2 if counts.labelled else None


@dataclass(frozen=True)
class Draws:
    """Number of bootstrap samples, and the random seed."""

    samples: int
    seed: int


def baseline_scores(labels: Labelled) -> Scored:
    """Return the scores of the official baseline."""
    return [[dict.fromkeys(Maxim, BASELINE_SCORE) for _ in turns] for turns in labels]


def per_debate(labels: Labelled, scores: Scored, maxim: Maxim) -> list[Counts]:
    """Count agreement in each debate."""
    return [
        count(
            (label.get(maxim), verdict.get(maxim))
            for label, verdict in zip(turns, verdicts, strict=True)
        )
        for turns, verdicts in zip(labels, scores, strict=True)
    ]


def measure(
    labels: Labelled, scores: Mapping[str, Scored], draws: Draws
) -> tuple[list[JudgementRow], Figures]:
    """Return the rows of all runs (each maxim and their mean), and their F1 with its samples.

    All runs share the bootstrap samples of debates, which are drawn once.
    """
    parts = {
        run: [per_debate(labels, scored, maxim) for maxim in Maxim]
        for run, scored in scores.items()
    }
    draws_of_f1 = _drawn_f1(list(parts.values()), draws)
    rows: list[JudgementRow] = []
    figures: dict[str, dict[str, Measured]] = {}
    for at, (run, of_run) in enumerate(parts.items()):
        counts = {
            maxim: sum(debates, Counts()) for maxim, debates in zip(Maxim, of_run, strict=True)
        }
        measured = {
            maxim.value: Measured(
                f1(counts[maxim]), None if draws_of_f1 is None else draws_of_f1[at, :, place]
            )
            for place, maxim in enumerate(Maxim)
        }
        of_maxims = [_row(run, maxim, counts[maxim], measured[maxim]) for maxim in Maxim]
        labelled = [row for row in of_maxims if row.labelled]
        measured[MEAN] = _mean_f1(labelled, measured)
        rows += [*of_maxims, _mean_row(run, labelled, measured[MEAN])]
        figures[run] = measured
    return rows, figures


def _drawn_f1(parts: Sequence[Sequence[list[Counts]]], draws: Draws) -> bootstrap.Floats | None:
    """Return the F1 of each run in each sample on each maxim; None with fewer than two debates."""
    table = np.array(
        [[[(one.tp, one.fp, one.fn) for one in debates] for debates in of_run] for of_run in parts],
        dtype=np.float64,
    )
    if table.shape[2] < 2:
        return None
    sums = bootstrap.resampled_sums(np.moveaxis(table, 2, 0), draws.samples, draws.seed)
    return np.moveaxis(bootstrap.f1(sums[..., 0], sums[..., 1], sums[..., 2]), 1, 0)


def _row(run: str, maxim: Maxim, counts: Counts, measured: Measured) -> JudgementRow:
    cells = {name: getattr(counts, name) for name in _CELLS}
    measures = {name: one(counts) for name, one in {**_OFFICIAL, **_ADDITIONAL}.items()}
    return _record(run, maxim.value, measured, cells | measures)


def _mean_f1(rows: list[JudgementRow], measured: Mapping[str, Measured]) -> Measured:
    samples = [one for row in rows if (one := measured[row.maxim].draws) is not None]
    value = fmean(row.f1 for row in rows) if rows else 0.0
    return Measured(value, np.mean(samples, axis=0) if samples else None)


def _mean_row(run: str, rows: list[JudgementRow], measured: Measured) -> JudgementRow:
    cells = {name: sum(getattr(row, name) for row in rows) for name in _CELLS}
    official = {name: _mean([getattr(row, name) for row in rows]) or 0.0 for name in _OFFICIAL}
    additional = {name: _mean([getattr(row, name) for row in rows]) for name in _ADDITIONAL}
    return _record(run, MEAN, measured, cells | official | additional)


def _record(run: str, maxim: str, measured: Measured, values: Mapping[str, Any]) -> JudgementRow:
    low, high = measured.interval
    return JudgementRow(run=run, maxim=maxim, low=low, high=high, **values)


def _mean(values: list[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return fmean(numbers) if numbers else None
