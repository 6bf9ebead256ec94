"""Queries: one a line, with its id before a tab or without one."""

from __future__ import annotations

from collections.abc import Iterator

from touche_rad.errors import InputError
from touche_rad.files.lines import BadLines, Place, numbered_lines


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
            bad.report(InputError(path, f"the id {qid!r} stands here twice", line=number))
        else:
            seen.add(qid)
            yield qid.strip(), query.strip()
    if not seen and not bad.count:
        raise InputError(path, "is empty: expected one query a line")
