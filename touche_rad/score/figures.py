"""From aligned scores to rows: the measures of each run on each maxim, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import ir_measures
import numpy as np
from ir_measures import Qrel, ScoredDoc, SetF, SetP, SetR

from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.score import agreement
from touche_rad.score import significance as bootstrap
from touche_rad.score.alignment import Labelled, Scored
from touche_rad.score.official import Counts, count, says_yes
from touche_rad.score.result import MEAN, JudgementRow
from touche_rad.score.significance import Measured

MEASURES = (SetP, SetR, SetF)


def qrels(labels: Labelled) -> Iterator[Qrel]:
    """Yield the labels as qrels."""
    for maxim in Maxim:
        for debate, turns in enumerate(labels, 1):
            for turn, label in enumerate(turns, 1):
                value = label.get(maxim)
                if value is not None:
                    yield Qrel(maxim.value, f"{debate}.{turn}", value)


def run(labels: Labelled, scores: Scored) -> Iterator[ScoredDoc]:
    """Yield the labelled turns that got a yes, each maxim's surest first."""
    for maxim in Maxim:
        found = [
            ScoredDoc(maxim.value, f"{debate}.{turn}", score)
            for debate, (turns, verdicts) in enumerate(zip(labels, scores, strict=True), 1)
            for turn, (label, verdict) in enumerate(zip(turns, verdicts, strict=True), 1)
            if label.get(maxim) is not None
            and (score := verdict.get(maxim)) is not None
            and says_yes(score)
        ]
        yield from sorted(found, key=lambda hit: -hit.score)


def set_figures(labels: Labelled, scores: Scored) -> dict[Maxim, tuple[float, float, float]]:
    """Precision, recall and F1 a maxim, as ir-measures gives them, for maxims with labels."""
    found: dict[tuple[str, str], float] = {
        (metric.query_id, str(metric.measure)): metric.value
        for metric in ir_measures.iter_calc(MEASURES, list(qrels(labels)), run(labels, scores))
    }
    labelled = {query for query, _ in found}
    return {
        maxim: (found[maxim, "SetP"], found[maxim, "SetR"], found[maxim, "SetF"])
        for maxim in Maxim
        if maxim in labelled
    }


def write_qrels(labels: Labelled, path: Path) -> Path:
    """Write the labels as a qrels file."""
    with files.atomic_write(path) as file:
        for query, document, relevance, _ in qrels(labels):
            file.write(f"{query} 0 {document} {relevance}\n")
    return path


def write_run(labels: Labelled, scores: Scored, tag: str, path: Path) -> Path:
    """Write a judge's yes-verdicts as a run file."""
    ranks: dict[str, int] = {}
    with files.atomic_write(path) as file:
        for query, document, score in run(labels, scores):
            ranks[query] = ranks.get(query, 0) + 1
            file.write(f"{query} Q0 {document} {ranks[query]} {score!r} {_one_word(tag)}\n")
    return path


def _one_word(tag: str) -> str:
    return "_".join(tag.split()) or "run"


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
