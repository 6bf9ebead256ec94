"""The official figures as ir-measures sees them: SetP, SetR and SetF over qrels and a run.

A maxim is a query, and a turn a document named `debate.turn`, both counted from 1. The qrels hold
each label, and the run holds the labelled turns that the judge gave a yes. A turn without a label
is in neither. So SetP, SetR and SetF of a query are the official precision, recall and F1, and
their means over the queries are the means over the maxims.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ir_measures
from ir_measures import Qrel, ScoredDoc, SetF, SetP, SetR

from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.score.align import Labelled, Scored
from touche_rad.score.official import says_yes

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
