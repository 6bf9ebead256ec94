"""TREC runs against qrels by any ir-measures measure, with intervals and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
from ir_measures.measures import MeanAgg

from touche_rad import files
from touche_rad.errors import InputError, OptionError, UserError, nearest
from touche_rad.score import bootstrap
from touche_rad.score.compare import Measured, comparisons, pairs
from touche_rad.score.figures import Draws
from touche_rad.score.naming import names
from touche_rad.score.result import Problem, RetrievalReport, RetrievalRow, Trouble

MEASURES = ("nDCG@10", "RR", "R@10", "R@100")

Values = Mapping[str, Mapping[str, float]]
"""By measure, then by query."""


def score_retrieval(
    runs: Sequence[Path],
    qrels: Path,
    *,
    measures: Sequence[str] = MEASURES,
    samples: int = 10_000,
    seed: int = 0,
    baseline: Path | None = None,
) -> RetrievalReport:
    """Score TREC runs against qrels. A query that a run lacks counts as 0."""
    judged = _qrels(qrels)
    wanted = [_measure(name) for name in measures]
    shown = [str(measure) for measure in wanted]
    tags = names(runs)
    draws = Draws(samples, seed)
    found = [_run(run) for run in runs]
    figures = {
        tag: _measured(per_query(wanted, judged, run), draws)
        for tag, run in zip(tags, found, strict=True)
    }
    against = None
    if baseline is not None:
        if baseline not in runs:
            raise UserError(f"the baseline {baseline} is none of the runs: give it as a run too")
        against = tags[list(runs).index(baseline)]
    return RetrievalReport(
        truth=str(qrels),
        runs=tuple(tags),
        measures=tuple(shown),
        queries=len(judged),
        rows=tuple(
            _row(tag, measure, figures[tag][measure], len(judged))
            for measure in shown
            for tag in tags
        ),
        comparisons=comparisons(figures, pairs(tags, baseline=against), shown),
        problems=tuple(
            problem
            for tag, run in zip(tags, found, strict=True)
            for problem in _problems(tag, run, judged)
        ),
        samples=samples,
        seed=seed,
    )


def per_query(
    measures: Sequence[Any],
    qrels: dict[str, dict[str, int]],
    run: dict[str, dict[str, float]],
) -> Values:
    """The value of each measure on each query of the qrels."""
    values: dict[str, dict[str, float]] = {str(measure): {} for measure in measures}
    for metric in ir_measures.iter_calc(list(measures), qrels, run):
        if metric.query_id in qrels:
            values[str(metric.measure)][metric.query_id] = metric.value
    return values


def _measure(name: str) -> Any:
    try:
        measure = ir_measures.parse_measure(name)
    except (ValueError, NameError):
        known = ir_measures.measures.registry
        stem = name.partition("@")[0].partition("(")[0]
        raise OptionError(f"there is no measure {name!r}{nearest(stem, known)}") from None
    if not isinstance(measure.aggregator(), MeanAgg):
        raise OptionError(f"measure {name} is no mean over queries: choose one that is")
    return measure


def _measured(values: Values, draws: Draws) -> dict[str, Measured]:
    table = np.array([list(figures.values()) for figures in values.values()]).T
    observed = table.mean(axis=0)
    if len(table) < 2:
        return {name: Measured(float(observed[at])) for at, name in enumerate(values)}
    sums = bootstrap.resampled_sums(table, draws.samples, draws.seed) / len(table)
    return {name: Measured(float(observed[at]), sums[:, at]) for at, name in enumerate(values)}


def _row(run: str, measure: str, measured: Measured, queries: int) -> RetrievalRow:
    low, high = measured.interval
    return RetrievalRow(
        run=run, measure=measure, value=measured.value, low=low, high=high, queries=queries
    )


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    for judgement in files.read_qrels(path):
        judged.setdefault(judgement.query_id, {})[judgement.doc_id] = judgement.relevance
    if not judged:
        raise InputError(path, "holds no qrels: expected lines `QUERY 0 DOCUMENT RELEVANCE`")
    return judged


def _run(path: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for hit in files.read_run(path):
        found.setdefault(hit.query_id, {})[hit.doc_id] = hit.score
    if not found:
        raise InputError(path, "holds no hits: expected lines `QUERY Q0 DOCUMENT RANK SCORE TAG`")
    return found


def _problems(
    run: str, found: Mapping[str, Mapping[str, float]], judged: Mapping[str, Mapping[str, int]]
) -> list[Problem]:
    missing = [
        Problem(run=run, kind=Trouble.NO_QUERY, message=f"{query} counts as 0")
        for query in judged
        if query not in found
    ]
    extra = [
        Problem(run=run, kind=Trouble.EXTRA_QUERY, message=f"{query} is left out")
        for query in found
        if query not in judged
    ]
    return missing + extra
