"""Score TREC runs against qrels with ir-measures, with intervals and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import ir_measures
import numpy as np

from touche_rad import files
from touche_rad.errors import InputError, OptionError
from touche_rad.plugins import index_backend_of
from touche_rad.runs.work import Progress
from touche_rad.samples import SAMPLES
from touche_rad.score.naming import Runs, baseline_names, each_run, named
from touche_rad.score.reports import RetrievalReport
from touche_rad.score.result import Problem, ProblemKind, RetrievalRow
from touche_rad.score.significance import Measured, measured, rank, resampled_sums

MEASURES = ("nDCG@10", "RR", "R@10", "R@100")
_MOST = 1_000_000
"""The most that a cutoff or another number of a measure may be."""


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
    runs: Runs,
    qrels: Path,
    *,
    compare: bool = True,
    samples: int = SAMPLES,
    seed: int = 0,
    baselines: Sequence[Path] = (),
    bad: files.BadLines | None = None,
    progress: Progress | None = None,
    measures: Sequence[str] = MEASURES,
) -> RetrievalReport:
    """Score TREC runs against qrels. A query without results counts as 0.

    `bad` decides on invalid lines of the runs. Skipped qrels would change all scores. A run that
    cannot be read is listed if another one can; otherwise its error is raised. The runs are ranked
    by the first of the measures, which are those of ir-measures.
    """
    parsed = []
    for name in measures or MEASURES:
        try:
            measure = ir_measures.parse_measure(name)
            numbers = [measure.params.get(key, 1) for key in ("beta", "cutoff", "rel")]
            if not 0 < min(numbers) <= max(numbers) <= _MOST:  # trec_eval would end the process
                raise ValueError(f"expected numbers above 0, and at most {_MOST}")
            parsed.append(measure)
        except (NameError, ValueError, TypeError) as error:
            raise OptionError(f"-M {name}: {error} (see ir-measur.es)") from None
    measures = tuple(map(str, parsed))
    values_of_runs: dict[str, dict[str, dict[str, float]]] = {}
    relevance: dict[str, dict[str, int]] = {}
    for query, document, grade in read_qrels(qrels):
        relevance.setdefault(query, {})[document] = grade
    # Whatever the order of the file, the bootstrap samples are the same.
    relevance = dict(sorted(relevance.items()))
    paths = named(runs)
    marked = baseline_names(baselines, paths)
    problems: list[Problem] = []

    def score_run(tag: str, path: Path) -> dict[str, Measured]:
        scores: dict[str, dict[str, float]] = {}
        for row in files.read_run(path, bad):
            scores.setdefault(row.query, {})[row.document] = row.score
        if scores and relevance and scores.keys().isdisjoint(relevance):
            ids = f"expected ids such as {next(iter(relevance))!r}, not {next(iter(scores))!r}"
            raise InputError(path, f"no query of {qrels.name} is in this run: {ids}")
        for kind, queries, effect in (
            (ProblemKind.NO_QUERY, relevance.keys() - scores, "counts as 0"),
            (ProblemKind.EXTRA_QUERY, scores.keys() - relevance, "is left out"),
        ):
            for query in sorted(queries):
                problems.append(Problem(run=tag, kind=kind, message=f"{query} {effect}"))

        # The mean of each measure over the queries, with its bootstrap samples.
        values = {name: dict.fromkeys(relevance, 0.0) for name in measures}
        for metric in ir_measures.iter_calc(parsed, relevance, scores):
            values[str(metric.measure)][metric.query_id] = metric.value
        values_of_runs[tag] = values
        table = np.array([list(by_query.values()) for by_query in values.values()]).T
        sums = resampled_sums(table, samples, seed)
        draws = None if sums is None else sums / len(table)
        return dict(zip(measures, measured(table.mean(axis=0), draws), strict=True))

    refused: dict[str, str] = {}
    figures = each_run(paths, score_run, refused, progress)
    marked = [tag for tag in marked if tag in figures]
    first, *others = measures
    ranking = rank(figures, first, len(relevance), baselines=marked, others=others)
    rows = []
    for name in measures:
        for tag, of_run in figures.items():
            low, high = of_run[name].interval
            rows.append(
                RetrievalRow(
                    run=tag,
                    measure=name,
                    value=of_run[name].value,
                    low=low,
                    high=high,
                    queries=len(relevance),
                )
            )
    return RetrievalReport(
        truth=str(qrels),
        runs=tuple(figures),
        refused=refused,
        measures=measures,
        values=values_of_runs,
        queries=len(relevance),
        baselines=tuple(marked),
        ranking=ranking.runs,
        rows=tuple(rows),
        comparisons=ranking.comparisons,
        figures=figures,
        shows_pairs=compare,
        problems=tuple(problems),
        samples=samples,
        seed=seed,
    )
