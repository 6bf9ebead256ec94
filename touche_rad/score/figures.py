"""From aligned scores to rows: the figures of each run on each maxim, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from touche_rad.debate import Maxim
from touche_rad.score import agreement, bootstrap
from touche_rad.score.align import Labelled, Scored
from touche_rad.score.compare import Measured
from touche_rad.score.official import Counts, count
from touche_rad.score.result import MEAN, JudgementRow

_CELLS = ("labelled", "tp", "fp", "fn", "tn")
_OFFICIAL = ("precision", "recall", "f1")
_BESIDE = ("macro_f1", "accuracy", "kappa", "mcc", "yes_rate", "label_rate")


@dataclass(frozen=True)
class Draws:
    """How often to draw the debates anew, and by which chance."""

    samples: int
    seed: int


def always_yes(labels: Labelled) -> Scored:
    """The scores of the official baseline."""
    return [[dict.fromkeys(Maxim, 1.0) for _ in turns] for turns in labels]


def per_debate(labels: Labelled, scores: Scored, maxim: Maxim) -> list[Counts]:
    """Count each debate by itself."""
    return [
        count(
            (label.get(maxim), verdict.get(maxim))
            for label, verdict in zip(turns, verdicts, strict=True)
        )
        for turns, verdicts in zip(labels, scores, strict=True)
    ]


def total(parts: list[Counts]) -> Counts:
    """Add tables up."""
    return Counts(
        tp=sum(part.tp for part in parts),
        fp=sum(part.fp for part in parts),
        fn=sum(part.fn for part in parts),
        tn=sum(part.tn for part in parts),
    )


def measure(
    run: str, labels: Labelled, scores: Scored, draws: Draws
) -> tuple[list[JudgementRow], dict[str, Measured]]:
    """Give a run's rows, one a maxim and their mean, and its F1 figures with their draws."""
    parts = {maxim: per_debate(labels, scores, maxim) for maxim in Maxim}
    counts = {maxim: total(parts[maxim]) for maxim in Maxim}
    drawn = {maxim: _drawn_f1(parts[maxim], draws) for maxim in Maxim}
    measured = {maxim.value: Measured(counts[maxim].f1, drawn[maxim]) for maxim in Maxim}
    rows = [_row(run, maxim, counts[maxim], measured[maxim]) for maxim in Maxim]
    with_labels = [row for row in rows if row.labelled]
    measured[MEAN] = _mean_f1(with_labels, measured)
    return [*rows, _mean_row(run, with_labels, measured[MEAN])], measured


def _drawn_f1(parts: list[Counts], draws: Draws) -> bootstrap.Floats | None:
    if len(parts) < 2:
        return None
    table = np.array([(part.tp, part.fp, part.fn) for part in parts])
    tp, fp, fn = bootstrap.resampled_sums(table, draws.samples, draws.seed).T
    return bootstrap.f1(tp, fp, fn)


def _row(run: str, maxim: Maxim, counts: Counts, measured: Measured) -> JudgementRow:
    official = {name: getattr(counts, name) for name in (*_CELLS, *_OFFICIAL)}
    beside = {name: getattr(agreement, name)(counts) for name in _BESIDE}
    low, high = measured.interval
    where = {"run": run, "maxim": maxim.value, "low": low, "high": high}
    return JudgementRow.model_validate(where | official | beside)


def _mean_f1(rows: list[JudgementRow], measured: Mapping[str, Measured]) -> Measured:
    draws = [drawn for row in rows if (drawn := measured[row.maxim].draws) is not None]
    value = fmean(row.f1 for row in rows) if rows else 0.0
    return Measured(value, np.mean(draws, axis=0) if draws else None)


def _mean_row(run: str, rows: list[JudgementRow], f1: Measured) -> JudgementRow:
    cells = {name: sum(getattr(row, name) for row in rows) for name in _CELLS}
    official = {name: _mean([getattr(row, name) for row in rows]) or 0.0 for name in _OFFICIAL}
    beside = {name: _mean([getattr(row, name) for row in rows]) for name in _BESIDE}
    low, high = f1.interval
    where = {"run": run, "maxim": MEAN, "low": low, "high": high}
    return JudgementRow.model_validate(where | cells | official | beside)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
