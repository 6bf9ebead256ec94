"""The rankings of TREC runs in the report: each query with its first arguments, run by run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.files import BadLines, Kind
from touche_rad.plugins import open_index
from touche_rad.report.sources import Source
from touche_rad.score import kind_of
from touche_rad.score.retrieval import read_qrels
from touche_rad.score.words import number

_SHOWN_ARGUMENTS: Final = 10


RankedArgument = tuple[str, str, int | None]
"""An argument's id and text, and its relevance; the last two may be unknown."""


def query_records(
    sources: Sequence[Source],
    texts: Mapping[str, str],
    index: str | None,
    labels: Path | None,
    bad: BadLines,
    values: Mapping[str, Mapping[str, float]],
) -> Iterator[tuple[dict[str, Any], dict[str, list[RankedArgument]]]]:
    """Yield the queries of TREC runs, with the first arguments of each run.

    They have the texts that the queries and the index have, and the values of the runs by query.
    """
    runs = {source.name: source.path for source in sources if source.kind is Kind.RUN}
    if not runs:
        return
    qrels: dict[tuple[str, str], int] = {}
    if labels and kind_of(labels) is Kind.QRELS:
        qrels = {(query, document): grade for query, document, grade in read_qrels(labels)}
    arguments = open_index(index) if index else None
    rankings: dict[str, dict[str, list[RankedArgument]]] = {}
    for name, path in runs.items():
        for row in sorted(files.read_run(path, bad), key=lambda row: -row.score):
            ranking = rankings.setdefault(row.query, {}).setdefault(name, [])
            if len(ranking) < _SHOWN_ARGUMENTS:
                argument = arguments.get(row.document) if arguments else None
                ranking.append(
                    (
                        row.document,
                        argument.text if argument else "",
                        qrels.get((row.query, row.document)),
                    )
                )
    for query in sorted(rankings):
        shown = [
            f"{run} {number(of_run[query])}" for run, of_run in values.items() if query in of_run
        ]
        yield (
            {
                "id": query,
                "text": texts.get(query) or query,
                "about": " · ".join(shown),
                "tags": {},
            },
            rankings[query],
        )
