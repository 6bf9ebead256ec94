"""Score TREC runs against qrels with ir-measures, with intervals and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import ir_measures
import numpy as np

from touche_rad import files
from touche_rad.errors import InputError
from touche_rad.plugins import index_backend_of
from touche_rad.runs.work import Progress
from touche_rad.score import significance as bootstrap
from touche_rad.score.naming import baseline_names, each_run, names
from touche_rad.score.reports import RetrievalReport
from touche_rad.score.result import Problem, ProblemKind, RetrievalRow
from touche_rad.score.significance import Measured, comparisons, pairs, ranks

MEASURES = ("nDCG@10", "RR", "R@10", "R@100")
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def is_public(qrels: Path) -> bool:
    """Whether these are the qrels of a dataset of ir_datasets."""
    return str(qrels).startswith("irds:")


def read_qrels(qrels: Path) -> Iterable[tuple[str, str, int]]:
    """Return query, document and relevance of each line of a file, or of a public dataset."""
    if is_public(qrels):
        location = str(qrels).removesuffix("/qrels")
        return index_backend_of(location).qrels(location)
    return ((row.query, row.document, row.relevance) for row in files.read_qrels(qrels))


def score_retrieval(
    runs: Sequence[Path],
    qrels: Path,
    *,
    compare: bool = True,
    samples: int = 10_000,
    seed: int = 0,
    baselines: Sequence[Path] = (),
    bad: files.BadLines | None = None,
    progress: Progress | None = None,
    tags: Sequence[str] | None = None,
) -> RetrievalReport:
    """Score TREC runs against qrels. A query without results counts as 0.

    `bad` decides on invalid lines of the runs. Skipped qrels would change all scores. A run that
    cannot be read is listed if another one can; otherwise its error is raised.
    """
    relevance: Qrels = {}
    for query, document, grade in read_qrels(qrels):
        relevance.setdefault(query, {})[document] = grade
    tags = tags or names(runs)
    marked = baseline_names(baselines, runs, tags)
    problems: list[Problem] = []

    def measure(tag: str, path: Path) -> dict[str, Measured]:
        scores: Run = {}
        for row in files.read_run(path, bad):
            scores.setdefault(row.query, {})[row.document] = row.score
        if scores and relevance and scores.keys().isdisjoint(relevance):
            ids = f"expected ids such as {next(iter(relevance))!r}, not {next(iter(scores))!r}"
            raise InputError(path, f"no query of {qrels.name} is in this run: {ids}")
        texts = {
            ProblemKind.NO_QUERY: [
                f"{query} counts as 0" for query in relevance if query not in scores
            ],
            ProblemKind.EXTRA_QUERY: [
                f"{query} is left out" for query in scores if query not in relevance
            ],
        }
        problems.extend(
            Problem(run=tag, kind=kind, message=text) for kind in texts for text in texts[kind]
        )
        measured = _measured(relevance, scores, samples, seed)
        if progress is not None:
            progress(tags.index(tag) + 1, len(tags))
        return measured

    refused: dict[str, str] = {}
    figures = each_run(dict(zip(tags, runs, strict=True)), measure, refused)
    marked = [tag for tag in marked if tag in figures]
    ranked = ranks(figures, MEASURES[0], marked)
    compared = pairs(list(figures), ranked[0].run, marked) if compare else []
    rows = []
    for name in MEASURES:
        for tag, of_run in figures.items():
            value, (low, high) = of_run[name].value, of_run[name].interval
            rows.append(
                RetrievalRow(
                    run=tag, measure=name, value=value, low=low, high=high, queries=len(relevance)
                )
            )
    return RetrievalReport(
        truth=str(qrels),
        runs=tuple(figures),
        refused=refused,
        measures=MEASURES,
        queries=len(relevance),
        baselines=tuple(marked),
        ranking=ranked,
        rows=tuple(rows),
        comparisons=comparisons(figures, compared, MEASURES),
        problems=tuple(problems),
        samples=samples,
        seed=seed,
    )


def _measured(qrels: Qrels, run: Run, samples: int, seed: int) -> dict[str, Measured]:
    """Return the mean of each measure over the queries, with its bootstrap samples."""
    values = {measure: dict.fromkeys(qrels, 0.0) for measure in MEASURES}
    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    for metric in ir_measures.iter_calc(measures, qrels, run):
        values[str(metric.measure)][metric.query_id] = metric.value
    table = np.array([list(by_query.values()) for by_query in values.values()]).T
    observed = table.mean(axis=0)
    sums = bootstrap.resampled_sums(table, samples, seed) if len(table) > 1 else None
    return {
        name: Measured(float(observed[at]), None if sums is None else sums[:, at] / len(table))
        for at, name in enumerate(MEASURES)
    }
