"""The rankings of TREC runs in the report: each query with its first arguments, run by run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from touche_rad import files
from touche_rad.files import BadLines, Kind
from touche_rad.plugins import open_index
from touche_rad.report.sources import Source
from touche_rad.score import kind_of
from touche_rad.score.retrieval import read_qrels

_SHOWN_ARGUMENTS: Final = 10


@dataclass(frozen=True)
class RankedArgument:
    """An argument of a ranking; `text` is empty and `relevance` None where they are unknown."""

    id: str
    text: str
    relevance: int | None


@dataclass(frozen=True)
class RankedQuery:
    """A query with its first arguments by run."""

    id: str
    text: str
    rankings: Mapping[str, Sequence[RankedArgument]]


def queries_of(
    sources: Sequence[Source],
    texts: Mapping[str, str],
    index: str | None,
    labels: Path | None,
    bad: BadLines,
) -> Iterator[RankedQuery]:
    """Yield the queries of TREC runs, with the texts that the queries and the index have."""
    runs = {source.name: source.path for source in sources if source.kind is Kind.RUN}
    if not runs:
        return
    qrels: dict[tuple[str, str], int] = {}
    if labels is not None and kind_of(labels) is Kind.QRELS:
        qrels = {(query, document): grade for query, document, grade in read_qrels(labels)}
    arguments = open_index(index) if index else None
    rankings: dict[str, dict[str, list[RankedArgument]]] = {}
    for name, path in runs.items():
        for row in sorted(files.read_run(path, bad), key=lambda row: -row.score):
            ranking = rankings.setdefault(row.query, {}).setdefault(name, [])
            if len(ranking) < _SHOWN_ARGUMENTS:
                argument = arguments.get(row.document) if arguments else None
                text = argument.text if argument else ""
                relevance = qrels.get((row.query, row.document))
                ranking.append(RankedArgument(row.document, text, relevance))
    for query in sorted(rankings):
        yield RankedQuery(query, texts.get(query, ""), rankings[query])
