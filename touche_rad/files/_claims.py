"""Claims (the official parameter file) and queries, one per row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from touche_rad.debate import Debate
from touche_rad.errors import InputError
from touche_rad.files.records import BadLines, Lines, Place, numbered_lines, whole_characters

CLAIM, USER = "TOPIC_DESCRIPTION", "USER"
KIND = "claims"

Row = dict[str, str]


def read_rows(path: Place, bad: BadLines, lines: Lines) -> Iterator[Debate]:
    """Read the claims of a TSV; other columns are kept."""
    header: list[str] | None = None
    count = 0
    for number, line in lines:
        cells = line.split("\t")
        if header is None:
            header = [cell.strip() for cell in cells]
            for column in (CLAIM, USER):
                if column not in header:
                    columns = f"{CLAIM} and {USER}, got {', '.join(header[:6])}"
                    wrong = f"expected the columns {columns}"
                    raise InputError(path, wrong, line=number, field=column)
            if len(set(header)) != len(header):
                raise InputError(path, "expected each column once", line=number)
            continue
        if len(cells) != len(header):
            wrong = f"expected {len(header)} columns, got {len(cells)}"
            bad.report(InputError(path, wrong, line=number))
            continue
        row = dict(zip(header, cells, strict=True))
        if not row[CLAIM].strip():
            bad.report(InputError(path, "expected a claim, got none", line=number, field=CLAIM))
            continue
        count += 1
        yield _claim(row, count)
    if header is None:
        raise InputError(path, f"is empty: expected a header with {CLAIM} and {USER}")
    if not count and not bad.count:
        raise InputError(path, "expected at least one claim below the header")


def _claim(row: Row, count: int) -> Debate:
    claim, user = _unescaped(row[CLAIM]), _unescaped(row[USER])
    wire = {"kind": KIND, "row": row, "claim": claim, "user": user}
    return Debate(id=f"claim-{count}", claim=claim, user=user, wire=wire)


def claims_text(debates: Iterable[Debate]) -> str:
    """Write claims as the official parameter file."""
    rows = [_row(debate) for debate in debates]
    header = list(dict.fromkeys(key for row in rows for key in row)) or [CLAIM, USER]
    lines = ["\t".join(row.get(key, "") for key in header) for row in rows]
    return "\n".join(["\t".join(header), *lines]) + "\n"


def _row(debate: Debate) -> Row:
    """Return the cells of a row; unchanged cells are kept as they were."""
    now = {CLAIM: debate.claim, USER: debate.user}
    if debate.wire.get("kind") != KIND:
        return {column: _escaped(text) for column, text in now.items()}
    then = {CLAIM: debate.wire["claim"], USER: debate.wire["user"]}
    changed = {column: _escaped(now[column]) for column in now if now[column] != then[column]}
    return {**debate.wire["row"], **changed}


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


def read_queries(path: Place, bad: BadLines | None = None) -> Iterator[tuple[str, str]]:
    """Yield each query with its id; without one, its line's number is the id."""
    bad = bad or BadLines()
    seen: set[str] = set()
    for number, line in numbered_lines(path, bad):
        qid, tab, query = line.partition("\t")
        if not tab:
            qid, query = str(number), line
        if len(qid.split()) != 1:
            wrong = f"expected an id without white space, got {qid!r}"
            bad.report(InputError(path, wrong, line=number, field="qid"))
        elif qid in seen:
            bad.report(InputError(path, f"duplicate id {qid!r}", line=number))
        else:
            seen.add(qid)
            yield qid.strip(), query.strip()
    if not seen and not bad.count:
        raise InputError(path, "is empty: expected one query a line")
