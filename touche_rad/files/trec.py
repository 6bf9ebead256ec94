"""TREC runs and qrels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from touche_rad.errors import InputError
from touche_rad.files.lines import BadLines, Place, numbered_lines


class Ranked(NamedTuple):
    """A row of a run."""

    query: str
    document: str
    rank: int
    score: float
    tag: str


class Judged(NamedTuple):
    """A row of qrels."""

    query: str
    document: str
    relevance: int


def read_run(path: Place, bad: BadLines | None = None) -> Iterator[Ranked]:
    """Read a run: QUERY Q0 DOCUMENT RANK SCORE TAG."""
    for number, (query, _, document, rank, score, tag) in _rows(path, 6, bad):
        try:
            value = float(score)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            wrong = f"expected a number, got {score!r}"
            (bad or BadLines()).report(InputError(path, wrong, line=number, field="SCORE"))
            continue
        yield Ranked(query, document, _whole(path, number, "RANK", rank), value, tag)


def read_qrels(path: Place, bad: BadLines | None = None) -> Iterator[Judged]:
    """Read qrels: QUERY 0 DOCUMENT RELEVANCE."""
    for number, (query, _, document, relevance) in _rows(path, 4, bad):
        yield Judged(query, document, _whole(path, number, "RELEVANCE", relevance))


def _rows(path: Place, columns: int, bad: BadLines | None) -> Iterator[tuple[int, list[str]]]:
    bad = bad or BadLines()
    for number, line in numbered_lines(path, bad):
        row = line.split()
        if len(row) != columns:
            wrong = f"expected {columns} columns, got {len(row)}"
            bad.report(InputError(path, wrong, line=number))
            continue
        yield number, row


def _whole(path: Place, number: int, field: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        wrong = f"expected a whole number, got {text!r}"
        raise InputError(path, wrong, line=number, field=field) from None


def run_lines(rows: Iterable[Ranked]) -> Iterator[str]:
    """Write a run."""
    for row in rows:
        _check(row.query, row.document, row.tag)
        yield f"{row.query} Q0 {row.document} {row.rank} {row.score:.6f} {row.tag}"


def qrels_lines(rows: Iterable[Judged]) -> Iterator[str]:
    """Write qrels."""
    for row in rows:
        _check(row.query, row.document)
        yield f"{row.query} 0 {row.document} {row.relevance}"


def _check(*words: str) -> None:
    for word in words:
        if len(word.split()) != 1 or word != word.strip():
            raise InputError("run", f"expected a name without white space, got {word!r}")
