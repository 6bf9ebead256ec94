"""The measures of each run on each maxim, with confidence intervals.

Beside the official measures: F1 of "yes" rewards a judge that always says yes; Cohen's kappa and
Matthews' correlation are 0 for it. A measure without labelled turns is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

import numpy as np

from touche_rad.debate import Maxim
from touche_rad.score import significance as bootstrap
from touche_rad.score.alignment import Labelled, Scored
from touche_rad.score.official import Counts, count
from touche_rad.score.result import BASELINE_SCORE, MEAN, JudgementRow
from touche_rad.score.significance import Figures, Measured


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def accuracy(counts: Counts) -> float | None:
    """The share of labelled turns on which judge and label agree."""
    return _share(counts.tp + counts.tn, counts.labelled)


def label_rate(counts: Counts) -> float | None:
    """The share of labelled turns with the label yes."""
    return _share(counts.tp + counts.fn, counts.labelled)


def yes_rate(counts: Counts) -> float | None:
    """The share of labelled turns with a yes of the judge."""
    return _share(counts.tp + counts.fp, counts.labelled)


def macro_precision(counts: Counts) -> float | None:
    """The mean of the precision of "yes" and the precision of "no"."""
    return (counts.precision + counts.inverted.precision) / 2 if counts.labelled else None


def macro_recall(counts: Counts) -> float | None:
    """The mean of the recall of "yes" and the recall of "no"."""
    return (counts.recall + counts.inverted.recall) / 2 if counts.labelled else None


def macro_f1(counts: Counts) -> float | None:
    """The mean of the F1 of "yes" and the F1 of "no"."""
    return (counts.f1 + counts.inverted.f1) / 2 if counts.labelled else None


def kappa(counts: Counts) -> float | None:
    """Cohen's kappa: agreement beyond chance, from -1 to 1; 0 if both always give one answer."""
    total = counts.labelled
    if not total:
        return None
    agreed = (counts.tp + counts.tn) * total
    chance = (counts.tp + counts.fp) * (counts.tp + counts.fn)
    chance += (counts.tn + counts.fn) * (counts.tn + counts.fp)
    return (agreed - chance) / (total * total - chance) if total * total > chance else 0.0


def mcc(counts: Counts) -> float | None:
    """Matthews' correlation of labels and predictions, from -1 to 1; 0 if either is constant."""
    if not counts.labelled:
        return None
    predicted = (counts.tp + counts.fp) * (counts.tn + counts.fn)
    labelled = (counts.tp + counts.fn) * (counts.tn + counts.fp)
    if not predicted or not labelled:
        return 0.0
    product = counts.tp * counts.tn - counts.fp * counts.fn
    return product / sqrt(predicted * labelled)


_CELLS = ("labelled", "tp", "fp", "fn", "tn")
_OFFICIAL = ("precision", "recall", "f1")
_ADDITIONAL = {
    measure.__name__: measure
    for measure in (
        macro_precision,
        macro_recall,
        macro_f1,
        accuracy,
        kappa,
        mcc,
        yes_rate,
        label_rate,
    )
}


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


def total(parts: list[Counts]) -> Counts:
    """Return the sum of the counts."""
    return Counts(
        tp=sum(part.tp for part in parts),
        fp=sum(part.fp for part in parts),
        fn=sum(part.fn for part in parts),
        tn=sum(part.tn for part in parts),
    )


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
    drawn = _drawn_f1(list(parts.values()), draws)
    rows: list[JudgementRow] = []
    figures: dict[str, dict[str, Measured]] = {}
    for at, (run, of_run) in enumerate(parts.items()):
        counts = dict(zip(Maxim, map(total, of_run), strict=True))
        measured = {
            maxim.value: Measured(counts[maxim].f1, None if drawn is None else drawn[at, :, place])
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
    runs, maxims, debates = table.shape[:3]
    if debates < 2:
        return None
    columns = np.moveaxis(table, 2, 0).reshape(debates, runs, -1)
    found = np.empty((runs, draws.samples, maxims))
    start = 0
    for drawn in bootstrap.weights(debates, draws.samples, draws.seed):
        stop = start + len(drawn)
        counted = drawn.astype(np.float64)
        for run in range(runs):
            sums = (counted @ columns[:, run]).reshape(len(drawn), maxims, 3)
            found[run, start:stop] = bootstrap.f1(sums[..., 0], sums[..., 1], sums[..., 2])
        start = stop
    return found


def _row(run: str, maxim: Maxim, counts: Counts, measured: Measured) -> JudgementRow:
    official = {name: getattr(counts, name) for name in (*_CELLS, *_OFFICIAL)}
    additional = {name: measure(counts) for name, measure in _ADDITIONAL.items()}
    low, high = measured.interval
    where = {"run": run, "maxim": maxim.value, "low": low, "high": high}
    return JudgementRow.model_validate(where | official | additional)


def _mean_f1(rows: list[JudgementRow], measured: Mapping[str, Measured]) -> Measured:
    draws = [drawn for row in rows if (drawn := measured[row.maxim].draws) is not None]
    value = fmean(row.f1 for row in rows) if rows else 0.0
    return Measured(value, np.mean(draws, axis=0) if draws else None)


def _mean_row(run: str, rows: list[JudgementRow], f1: Measured) -> JudgementRow:
    cells = {name: sum(getattr(row, name) for row in rows) for name in _CELLS}
    official = {name: _mean([getattr(row, name) for row in rows]) or 0.0 for name in _OFFICIAL}
    additional = {name: _mean([getattr(row, name) for row in rows]) for name in _ADDITIONAL}
    low, high = f1.interval
    where = {"run": run, "maxim": MEAN, "low": low, "high": high}
    return JudgementRow.model_validate(where | cells | official | additional)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
