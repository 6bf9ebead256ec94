"""TREC runs and qrels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from touche_rad.errors import InputError, UserError
from touche_rad.files.records import (
    BadLines,
    FieldError,
    Place,
    at_line,
    numbered_lines,
    short_repr,
)

RUN = "QUERY Q0 DOCUMENT RANK SCORE TAG"
QRELS = "QUERY 0 DOCUMENT RELEVANCE"


class Ranked(NamedTuple):
    """A row of a run."""

    query: str
    document: str
    rank: int
    score: float
    tag: str
    iteration: str = "Q0"


class Qrel(NamedTuple):
    """A row of qrels."""

    query: str
    document: str
    relevance: int
    iteration: str = "0"


T = TypeVar("T", Ranked, Qrel)


def read_run(path: Place, bad: BadLines | None = None) -> Iterator[Ranked]:
    """Read a run: QUERY Q0 DOCUMENT RANK SCORE TAG."""
    return _rows(path, RUN, bad, _ranked)


def _ranked(row: list[str]) -> Ranked:
    query, iteration, document, rank, score, tag = row
    return Ranked(query, document, _whole("RANK", rank), _number("SCORE", score), tag, iteration)


def read_qrels(path: Place, bad: BadLines | None = None) -> Iterator[Qrel]:
    """Read qrels: QUERY 0 DOCUMENT RELEVANCE."""
    return _rows(path, QRELS, bad, _judged)


def _judged(row: list[str]) -> Qrel:
    query, iteration, document, relevance = row
    return Qrel(query, document, _whole("RELEVANCE", relevance), iteration)


def _rows(
    path: Place, columns: str, bad: BadLines | None, read: Callable[[list[str]], T]
) -> Iterator[T]:
    bad = bad or BadLines()
    wanted = len(columns.split())
    seen: dict[str, set[str]] = {}
    empty = True
    for number, line in numbered_lines(path, bad):
        row, empty = line.split(), False
        try:
            if len(row) != wanted:
                raise FieldError("", f"expected `{columns}`, got {len(row)} columns")
            one = read(row)
            _once(one, seen.setdefault(one.query, set()))
        except FieldError as miss:
            bad.report(at_line(path, number, miss))
            continue
        yield one
    if empty and not bad.count:
        raise InputError(path, f"is empty: expected lines `{columns}`")


def _once(row: Ranked | Qrel, documents: set[str]) -> None:
    if row.document in documents:
        raise FieldError("", f"duplicate document {row.document} for query {row.query}")
    documents.add(row.document)


def _whole(field: str, text: str) -> int:
    try:
        return int("" if "_" in text else text)
    except ValueError:
        raise FieldError(field, f"expected a whole number, got {short_repr(text)}") from None


def _number(field: str, text: str) -> float:
    try:
        value = math.nan if "_" in text else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FieldError(field, f"expected a number, got {short_repr(text)}")
    return value


def run_lines(rows: Iterable[Ranked]) -> Iterator[str]:
    """Write a run."""
    for row in rows:
        _check(row.query, row.document, row.tag, row.iteration)
        score = _written(row.score)
        yield f"{row.query} {row.iteration} {row.document} {row.rank} {score} {row.tag}"


def _written(score: float) -> str:
    """Return a score with six decimals, or with all digits if six are not exact."""
    rounded = f"{score:.6f}"
    return rounded if float(rounded) == score else repr(float(score))


def qrels_lines(rows: Iterable[Qrel]) -> Iterator[str]:
    """Write qrels."""
    for row in rows:
        _check(row.query, row.document, row.iteration)
        yield f"{row.query} {row.iteration} {row.document} {row.relevance}"


def _check(*words: str) -> None:
    for word in words:
        if word.split() != [word]:
            problem = "a run or qrels file cannot hold it"
            raise UserError(
                f"expected a name without white space, got {short_repr(word)}: {problem}"
            )
