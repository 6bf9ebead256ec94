"""Score TREC runs against qrels with ir-measures, with intervals and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import ir_measures
import numpy as np

from touche_rad import files
from touche_rad.runs.work import Progress
from touche_rad.score import significance as bootstrap
from touche_rad.score._figures import Draws
from touche_rad.score.naming import baseline_names, names
from touche_rad.score.reports import RetrievalReport
from touche_rad.score.result import Problem, ProblemKind, Ranked, RetrievalRow
from touche_rad.score.significance import Measured, Pairs, comparisons, pairs, ranks

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def read_qrels(path: Path) -> Qrels:
    """Read qrels: by query and document, the relevance. A bad line is always an error."""
    relevance: Qrels = {}
    for row in files.read_qrels(path):
        relevance.setdefault(row.query, {})[row.document] = row.relevance
    return relevance


def read_run(path: Path, bad: files.BadLines | None = None) -> Run:
    """Read a run: by query and document, the score. The ranks follow from the scores."""
    scores: Run = {}
    for row in files.read_run(path, bad):
        scores.setdefault(row.query, {})[row.document] = row.score
    return scores


MEASURES = ("nDCG@10", "RR", "R@10", "R@100")

Values = Mapping[str, Sequence[float]]
"""By measure, one value per query."""


def score_retrieval(
    runs: Sequence[Path],
    qrels: Path,
    *,
    compare: Pairs = "top",
    samples: int = 10_000,
    seed: int = 0,
    baselines: Sequence[Path] = (),
    bad: files.BadLines | None = None,
    progress: Progress | None = None,
) -> RetrievalReport:
    """Score TREC runs against qrels. A query without results counts as 0.

    `bad` decides on invalid lines of the runs. Skipped qrels would change all scores.
    """
    relevance = read_qrels(qrels)
    tags = names(runs)
    marked = baseline_names(baselines, runs, tags)
    draws = Draws(samples, seed)
    scores: list[Run] = []
    figures: dict[str, dict[str, Measured]] = {}
    for tag, run in zip(tags, runs, strict=True):
        scores.append(read_run(run, bad))
        figures[tag] = _measured(per_query(relevance, scores[-1]), draws)
        if progress is not None:
            progress(len(scores), len(runs))
    ranked = ranks(figures, MEASURES[0], marked)
    compared = pairs(compare, tags, ranked[0][0], marked)
    return RetrievalReport(
        truth=str(qrels),
        runs=tuple(tags),
        measures=MEASURES,
        queries=len(relevance),
        baselines=tuple(marked),
        ranking=tuple(Ranked(run=run, rank=rank) for run, rank in ranked),
        rows=tuple(
            _row(tag, measure, figures[tag][measure], len(relevance))
            for measure in MEASURES
            for tag in tags
        ),
        comparisons=comparisons(figures, compared, MEASURES),
        problems=tuple(
            problem
            for tag, run in zip(tags, scores, strict=True)
            for problem in _problems(tag, run, relevance)
        ),
        samples=samples,
        seed=seed,
    )


def per_query(qrels: Qrels, run: Run) -> Values:
    """Return the value of each measure on each query, in the order of the qrels."""
    values = {measure: dict.fromkeys(qrels, 0.0) for measure in MEASURES}
    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    for metric in ir_measures.iter_calc(measures, qrels, run):
        values[str(metric.measure)][metric.query_id] = metric.value
    return {measure: list(by_query.values()) for measure, by_query in values.items()}


def _measured(values: Values, draws: Draws) -> dict[str, Measured]:
    table = np.array(list(values.values())).T
    observed = table.mean(axis=0)
    sums = bootstrap.resampled_sums(table, draws.samples, draws.seed) if len(table) > 1 else None
    return {
        name: Measured(float(observed[at]), None if sums is None else sums[:, at] / len(table))
        for at, name in enumerate(values)
    }


def _row(run: str, measure: str, measured: Measured, queries: int) -> RetrievalRow:
    low, high = measured.interval
    return RetrievalRow(
        run=run, measure=measure, value=measured.value, low=low, high=high, queries=queries
    )


def _problems(run: str, scores: Run, relevance: Qrels) -> list[Problem]:
    missing = [
        Problem(run=run, kind=ProblemKind.NO_QUERY, message=f"{query} counts as 0")
        for query in relevance
        if query not in scores
    ]
    extra = [
        Problem(run=run, kind=ProblemKind.EXTRA_QUERY, message=f"{query} is left out")
        for query in scores
        if query not in relevance
    ]
    return missing + extra
