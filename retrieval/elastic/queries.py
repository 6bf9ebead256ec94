"""What a search by words is sent as: bounded, so that any query is answered."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, Final

from retrieval.analyser import LONGEST_QUERY, analyse
from retrieval.elastic import shape

_LONGEST_WORD: Final = 255
"""The server cuts a longer word in pieces, each of which it would search."""
_PIECE: Final = re.compile(
    r"[a-zA-Z0-9\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0400-\u0481\u048a-\u04ff]{1,255}|\S"
)
"""What the official index's analyser makes at most one word of; it parts CJK letter by letter."""


def ours(field: str, text: str) -> dict[str, Any] | None:
    """Return the query of an index of ours, or None where no word counts."""
    stems = dict.fromkeys(word[:_LONGEST_WORD] for word in analyse(text).split())
    kept = " ".join(list(stems)[:LONGEST_QUERY])
    return {"match": {f"words.{field}": {"query": kept}}} if kept else None


def official(field: str, text: str) -> dict[str, Any] | None:
    """Return the query of the official index, or None where there is no word."""
    plain = _cut(shape.whole(text))
    if not plain:
        return None
    if field == "all":
        return {"multi_match": {"query": plain, "fields": shape.PLAIN, "type": "most_fields"}}
    return {"match": {field: {"query": plain}}}


def _cut(text: str) -> str:
    """Keep the beginning, of so many pieces as a query may have words."""
    end = 0
    for piece in islice(_PIECE.finditer(text), LONGEST_QUERY):
        end = piece.end()
    return text[:end]
