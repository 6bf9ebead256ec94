"""Collections of other tools: TREC documents, tables, and JSON with other names of the fields."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from touche_rad.files.records import (
    BadLines,
    FieldError,
    Line,
    Lines,
    Place,
    at_line,
    records,
    short_repr,
)

FIELDS: Final = ("id", "text", "topic", "attacks", "supports")
"""The fields of an argument that a collection's own names can stand for."""
_BEGIN: Final = "<DOC>"
_END: Final = "</DOC>"
_LONGEST: Final = 2**24
"""Characters of a document; one that does not end would take all memory."""
_TAG: Final = re.compile(r"<(/?)(\w+)[^<>]*>")


def is_trec(line: str) -> bool:
    """Whether a collection that begins with this line has TREC documents."""
    return line.strip().upper() == _BEGIN


def read_documents(
    path: Place, lines: Lines, first: str, bad: BadLines, names: Mapping[str, str]
) -> Iterator[Line]:
    """Yield the documents of a collection, whose first line shows the format, with our names."""
    if is_trec(first):
        documents = _trec_documents(lines)
    elif first.lstrip().startswith("{"):
        documents = records(path, bad, lines)
    else:
        documents = _rows(lines, {*FIELDS, *names})
    for document in documents:
        try:
            yield _with_our_names(document, {"docno": "id", **names})
        except FieldError as miss:
            bad.report(at_line(path, document.number, miss))


def _trec_documents(lines: Lines) -> Iterator[Line]:
    """Yield the elements of each document by name; None for one that is not closed."""
    begin = 0
    body: list[str] = []
    size = 0
    for number, line in chain(lines, [(0, _BEGIN)]):
        if not is_trec(line):
            size += len(line) + 1
            if size <= _LONGEST:
                body.append(line)
            continue
        text = "\n".join(body)
        if begin:
            yield Line(begin, _elements(text) if _END in text.upper() else None)
        begin = number
        body = []
        size = 0


def _elements(text: str) -> dict[str, str]:
    """Return the texts of the outer elements by name; tags that are not closed count as text.

    Each tag is looked at once: a document may have very many.
    """
    tags = list(_TAG.finditer(text))
    last_ends = {tag[2]: tag.start() for tag in tags if tag[1]}
    elements = {}
    begin: re.Match[str] | None = None
    for tag in tags:
        if not begin:
            is_closed = tag.start() < last_ends.get(tag[2], 0)
            begin = tag if is_closed and not tag[1] else None
        elif tag[1] and tag[2] == begin[2]:
            elements[tag[2].lower()] = _TAG.sub(" ", text[begin.end() : tag.start()]).strip()
            begin = None
    return elements


def _rows(lines: Lines, names: Collection[str]) -> Iterator[Line]:
    """Yield the rows of a table: id TAB text, or the columns of its head line."""
    heads = ["id", "text"]
    for place, (number, line) in enumerate(lines):
        cells = line.split("\t")
        if not place and any(cell in ("docno", *names) for cell in cells):
            heads = cells
            continue
        yield Line(number, dict(zip(heads, line.split("\t", len(heads) - 1), strict=False)))


def _with_our_names(document: Line, names: Mapping[str, str]) -> Line:
    """Return a document with the names of our fields.

    Raises:
        FieldError: It has no id or no text.
    """
    if not isinstance(document.value, dict):
        raise FieldError(
            "", f"expected a document; TREC's ends with </DOC>, by {_LONGEST} characters"
        )
    value: dict[str, Any] = {names.get(key, key): part for key, part in document.value.items()}
    for field in FIELDS[:2]:
        if field not in value:
            theirs = [key for key, ours in names.items() if ours == field]
            raise FieldError(
                theirs[-1] if theirs else field,
                f"expected the {field} of the document, got {short_repr(document.value)}; "
                "other names: --map",
            )
    if isinstance(value["id"], int):
        value["id"] = str(value["id"])
    return Line(document.number, value)
