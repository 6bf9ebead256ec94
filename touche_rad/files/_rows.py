"""Files of rows: TREC runs and qrels, queries, and claims (the official parameter file)."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Annotated, NamedTuple, TypeVar

from pydantic import Field

from touche_rad.debate import Debate
from touche_rad.errors import InputError, UserError
from touche_rad.files.models import WRITTEN_TEXT, FileRecord
from touche_rad.files.records import (
    BadLines,
    FieldError,
    Lines,
    Place,
    at_line,
    numbered_lines,
    short_repr,
    whole_characters,
)
from touche_rad.lists import unique
from touche_rad.text import is_blank

RUN = "QUERY Q0 DOCUMENT RANK SCORE TAG"
QRELS = "QUERY 0 DOCUMENT RELEVANCE"


class Ranked(NamedTuple):
    """A row of a run."""

    query: str
    document: str
    rank: int
    score: float
    tag: str


class Qrel(NamedTuple):
    """A row of qrels."""

    query: str
    document: str
    relevance: int


T = TypeVar("T", Ranked, Qrel)


def read_run(path: Place, bad: BadLines | None = None) -> Iterator[Ranked]:
    """Read a run: QUERY Q0 DOCUMENT RANK SCORE TAG."""

    def ranked(cells: list[str]) -> Ranked:
        query, _, document, rank, score, tag = cells
        number = _number("SCORE", score, float)
        return Ranked(query, document, int(_number("RANK", rank, int)), number, tag)

    return _read_rows(path, RUN, bad, ranked)


def read_qrels(path: Place, bad: BadLines | None = None) -> Iterator[Qrel]:
    """Read qrels: QUERY 0 DOCUMENT RELEVANCE."""

    def qrel(cells: list[str]) -> Qrel:
        query, _, document, relevance = cells
        return Qrel(query, document, int(_number("RELEVANCE", relevance, int)))

    return _read_rows(path, QRELS, bad, qrel)


def _read_rows(
    path: Place, columns: str, bad: BadLines | None, read: Callable[[list[str]], T]
) -> Iterator[T]:
    bad = bad or BadLines()
    wanted = len(columns.split())
    documents: defaultdict[str, set[str]] = defaultdict(set)
    """Those of each query so far."""
    number = 0
    for number, line in numbered_lines(path, bad):
        cells = line.split()
        try:
            if len(cells) != wanted:
                raise FieldError("", f"expected `{columns}`, got {len(cells)} columns")
            row = read(cells)
            if row.document in documents[row.query]:
                raise FieldError("", f"duplicate document {row.document} for query {row.query}")
        except FieldError as miss:
            bad.report(at_line(path, number, miss))
            continue
        documents[row.query].add(row.document)
        yield row
    if not number and not bad.count:
        raise InputError(path, f"is empty: expected lines `{columns}`")


def _number(field: str, text: str, kind: type[int] | type[float]) -> float:
    try:
        value = kind(text)
        # A larger relevance would be another number in the library that scores it.
        if "_" not in text and abs(value) < (2**31 if kind is int else math.inf):
            return value
    except (ValueError, OverflowError):
        pass
    what = "a whole number" if kind is int else "a number"
    raise FieldError(field, f"expected {what}, got {short_repr(text)}")


def run_lines(rows: Iterable[Ranked]) -> Iterator[str]:
    """Write a run."""
    for row in rows:
        for word in (row.query, row.document, row.tag):
            if word.split() != [word]:
                raise UserError(
                    f"expected a name without white space, got {short_repr(word)}: a run cannot "
                    "hold it"
                )
        score = f"{row.score:.6f}"
        if float(score) != row.score:  # six decimals are not exact
            score = repr(float(row.score))
        yield f"{row.query} Q0 {row.document} {row.rank} {score} {row.tag}"


CLAIM = "TOPIC_DESCRIPTION"
USER = "USER"


class ClaimRow(FileRecord):
    """A row of the parameter file, by the columns of its header (TSV)."""

    claim: Annotated[str, WRITTEN_TEXT] = Field(alias=CLAIM)
    user: str = Field(alias=USER)


KIND = "claims"


def read_rows(path: Place, bad: BadLines, lines: Lines) -> Iterator[Debate]:
    """Read the claims of a TSV; other columns are kept."""
    header: list[str] | None = None
    count = 0
    for number, line in _with_empty_lines(lines, bad):
        cells = line.split("\t")
        if header is None:
            header = [cell.strip() for cell in cells]
            for column in (CLAIM, USER):
                if column not in header:
                    raise InputError(
                        path,
                        f"expected the columns {CLAIM} and {USER}, got {', '.join(header[:6])}",
                        line=number,
                        field=column,
                    )
            if len(set(header)) != len(header):
                raise InputError(path, "expected each column once", line=number)
            continue
        if len(cells) != len(header):
            bad.report(
                InputError(path, f"expected {len(header)} columns, got {len(cells)}", line=number)
            )
            continue
        row = dict(zip(header, cells, strict=True))
        if is_blank(row[CLAIM]):
            bad.report(InputError(path, "expected a claim, got none", line=number, field=CLAIM))
            continue
        count += 1
        claim = _unescaped(row[CLAIM])
        user = _unescaped(row[USER])
        wire = {"kind": KIND, "row": row, "claim": claim, "user": user}
        yield Debate(id=f"claim-{count}", claim=claim, user=user, wire=wire)
    if header is None:
        raise InputError(path, f"is empty: expected a header with {CLAIM} and {USER}")
    if not count and not bad.count:
        raise InputError(path, "expected at least one claim below the header")


def _with_empty_lines(lines: Lines, bad: BadLines) -> Lines:
    """Yield also the empty lines between the others; those that are no UTF-8 were reported."""
    following = 0
    reported = 0
    for number, line in lines:
        if following:  # below the header
            for empty in range(following + bad.count - reported, number):
                yield empty, ""
        yield number, line
        following = number + 1
        reported = bad.count


def claims_text(debates: Iterable[Debate]) -> str:
    """Write claims as the official parameter file."""
    rows: list[dict[str, str]] = []
    for debate in debates:
        read = debate.wire if debate.wire.get("kind") == KIND else {}
        row = dict(read.get("row", {}))
        # Unchanged cells are kept as they were.
        if debate.claim != read.get("claim"):
            row[CLAIM] = _escaped(debate.claim)
        if debate.user != read.get("user"):
            row[USER] = _escaped(debate.user)
        rows.append(row)
    header = unique(chain.from_iterable(rows)) or [CLAIM, USER]
    lines = ["\t".join(header)]
    for row in rows:
        lines.append("\t".join(row.get(column, "") for column in header))
    return "\n".join(lines) + "\n"


def _unescaped(cell: str) -> str:
    """Decode a cell as the inside of a JSON string; keep it if it is none."""
    if "\\" not in cell:
        return cell
    try:
        return str(whole_characters(json.loads(f'"{cell}"')))
    except ValueError:
        return cell.replace('\\"', '"')


def _escaped(text: str) -> str:
    return json.dumps(str(whole_characters(text)), ensure_ascii=False)[1:-1]


def read_queries(path: Place) -> Iterator[tuple[str, str]]:
    """Yield each query with its id; without one, its line's number is the id."""
    seen: set[str] = set()
    for number, line in numbered_lines(path, BadLines()):
        qid, tab, query = line.partition("\t")
        if not tab:
            qid = str(number)
            query = line
        if len(qid.split()) != 1:
            raise InputError(
                path, f"expected an id without white space, got {qid!r}", line=number, field="qid"
            )
        if qid in seen:
            raise InputError(path, f"duplicate id {qid!r}", line=number)
        seen.add(qid)
        yield qid.strip(), query.strip()
    if not seen:
        raise InputError(path, "is empty: expected one query a line")
