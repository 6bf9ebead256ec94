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

    def ranked(row: list[str]) -> Ranked:
        query, iteration, document, rank, score, tag = row
        number = _number("SCORE", score, float)
        return Ranked(query, document, int(_number("RANK", rank, int)), number, tag, iteration)

    return _rows(path, RUN, bad, ranked)


def read_qrels(path: Place, bad: BadLines | None = None) -> Iterator[Qrel]:
    """Read qrels: QUERY 0 DOCUMENT RELEVANCE."""

    def qrel(row: list[str]) -> Qrel:
        query, iteration, document, relevance = row
        return Qrel(query, document, int(_number("RELEVANCE", relevance, int)), iteration)

    return _rows(path, QRELS, bad, qrel)


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
            documents = seen.setdefault(one.query, set())
            if one.document in documents:
                raise FieldError("", f"duplicate document {one.document} for query {one.query}")
            documents.add(one.document)
        except FieldError as miss:
            bad.report(at_line(path, number, miss))
            continue
        yield one
    if empty and not bad.count:
        raise InputError(path, f"is empty: expected lines `{columns}`")


def _number(field: str, text: str, kind: type[int] | type[float]) -> float:
    try:
        value = kind(text)
        if "_" not in text and math.isfinite(value):
            return value
    except (ValueError, OverflowError):
        pass
    what = "a whole number" if kind is int else "a number"
    raise FieldError(field, f"expected {what}, got {short_repr(text)}")


def run_lines(rows: Iterable[Ranked]) -> Iterator[str]:
    """Write a run."""
    for row in rows:
        _check(row.query, row.document, row.tag, row.iteration)
        score = f"{row.score:.6f}"
        if float(score) != row.score:  # six decimals are not exact
            score = repr(float(row.score))
        yield f"{row.query} {row.iteration} {row.document} {row.rank} {score} {row.tag}"


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
