"""TREC runs and qrels, by query, as ir-measures takes them."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from pathlib import Path

from touche_rad.errors import InputError
from touche_rad.score.lines import read_lines

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def read_qrels(path: Path) -> Qrels:
    """Read qrels: by query and document, the relevance."""
    judged: Qrels = {}
    for line, (query, _, document, relevance) in _rows(path, "QUERY 0 DOCUMENT RELEVANCE"):
        try:
            value = int(relevance)
        except ValueError:
            wrong = f"expected a whole number, got {relevance!r}"
            raise InputError(path, wrong, line=line, field="RELEVANCE") from None
        _once(path, line, judged.setdefault(query, {}), query, document)
        judged[query][document] = value
    return judged


def read_run(path: Path) -> Run:
    """Read a run: by query and document, the score. The ranks follow from the scores."""
    found: Run = {}
    for line, row in _rows(path, "QUERY Q0 DOCUMENT RANK SCORE TAG"):
        query, document, score = row[0], row[2], row[4]
        try:
            value = float(score)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            wrong = f"expected a number, got {score!r}"
            raise InputError(path, wrong, line=line, field="SCORE")
        _once(path, line, found.setdefault(query, {}), query, document)
        found[query][document] = value
    return found


def _rows(path: Path, columns: str) -> Iterator[tuple[int, list[str]]]:
    wanted = len(columns.split())
    empty = True
    for number, line in read_lines(path):
        row = line.removeprefix("\ufeff").split()
        if not row:
            continue
        if len(row) != wanted:
            raise InputError(path, f"expected `{columns}`, got {len(row)} columns", line=number)
        empty = False
        yield number, row
    if empty:
        raise InputError(path, f"is empty: expected lines `{columns}`")


def _once(path: Path, line: int, seen: Container[str], query: str, document: str) -> None:
    if document in seen:
        raise InputError(path, f"document {document} stands twice for query {query}", line=line)
