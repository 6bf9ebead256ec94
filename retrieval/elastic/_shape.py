"""Mappings, documents and queries of an index on Elasticsearch."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from retrieval.index.analyser import ALL, LONGEST_QUERY, PARTS, analyse
from retrieval.index.analyser import NAME as ANALYSER
from retrieval.index.engine import K1, B
from retrieval.index.statements import ROLES
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.text import encodable

if TYPE_CHECKING:
    from retrieval.dense.encoders import Vectors


DEEPEST: Final = 10_000
"""Maximum depth of a search (the server's index.max_result_window)."""


def nearest(field: str, vector: Vectors, k: int, candidates: int) -> dict[str, Any]:
    """Return a search of the nearest vectors.

    The server's search is approximate, but compares all of as many candidates as documents.
    """
    return {
        "knn": {
            "field": field,
            "query_vector": vector.tolist(),
            "k": k,
            "num_candidates": candidates,
        },
        "size": k,
        "_source": False,
        "track_total_hits": False,
    }


_LONGEST_WORD: Final = 255
"""The server splits longer words and searches each piece."""
_WORD: Final = re.compile(
    r"[a-zA-Z0-9\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0400-\u0481\u048a-\u04ff]{1,255}|\S"
)
"""At most one word for the analyser of the official index, which splits CJK into characters."""


def our_query(field: str, text: str) -> dict[str, Any] | None:
    """Return the query for an index of ours, or None if there is no content word."""
    stems = dict.fromkeys(word[:_LONGEST_WORD] for word in analyse(text).split())
    words = " ".join(list(stems)[:LONGEST_QUERY])
    return {"match": {f"words.{field}": {"query": words}}} if words else None


def official_query(field: str, text: str) -> dict[str, Any] | None:
    """Return the query for the official index, or None if there is no word."""
    text = encodable(text)
    end = 0
    for word in islice(_WORD.finditer(text), LONGEST_QUERY):
        end = word.end()
    if not end:
        return None
    if field == ALL:
        return {"multi_match": {"query": text[:end], "fields": PARTS, "type": "most_fields"}}
    return {"match": {field: {"query": text[:end]}}}


MARK: Final = "touche-rad"
FORMAT: Final = 2
GROUPS: Final = "groups"
"""The field with the groups of equal statements, which link arguments."""
OFFICIAL_VECTORS: Final = "stella"
_FIELDS: Final = Argument.model_fields.keys()
SOURCE: Final = [*_FIELDS, "line"]
"""The fields of a document of ours that have its argument."""
_KEYWORD: Final = {"type": "keyword", "ignore_above": 8_191}
"""Longer values are stored and not searched: the server rejects words of over 32,766 bytes."""


def vector_field(field: str) -> str:
    """Return the name of the official index's field with the vectors of a field."""
    return f"{field}_embedding_{OFFICIAL_VECTORS}"


def mapping(digest: str, count: int) -> dict[str, Any]:
    """Return the mapping of an index of ours."""
    # No query of ours or of the official baseline needs the places of words.
    plain = {"type": "text", "index_options": "freqs"}
    words = {**plain, "analyzer": "whitespace", "similarity": "argument"}
    parts = {part: {**words, "copy_to": f"words.{ALL}"} for part in PARTS}
    return {
        "_meta": {
            MARK: {
                "format": FORMAT,
                "collection": digest,
                "arguments": count,
                "analyser": ANALYSER,
                "complete": False,
            }
        },
        "dynamic": "false",
        "properties": {
            "id": {"type": "keyword"},
            "tags": dict(_KEYWORD),
            "original": dict(_KEYWORD),
            "order": {"type": "integer"},
            **dict.fromkeys(PARTS, plain),
            "words": {"properties": {**parts, ALL: words}},
            GROUPS: {
                "properties": {role: {"type": "integer", "doc_values": False} for role in ROLES}
            },
        },
    }


def settings(shards: int, replicas: int) -> dict[str, Any]:
    """Return the settings of an index of ours."""
    return {
        "number_of_shards": shards,
        "number_of_replicas": replicas,
        "similarity": {"argument": {"type": "BM25", "k1": K1, "b": B}},
    }


def document(
    record: Mapping[str, Any], line: bytes, stems: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return the document of an argument, which lacks its order and groups.

    If the argument has further fields or lone surrogates, the field `line` has its JSON.
    """
    fields = dict(record)
    if not record.keys() <= _FIELDS or b"\\ud" in line:
        fields = {name: encodable(record.get(name) or "") for name in ("id", *PARTS, "original")}
        fields["tags"] = [encodable(tag) for tag in record.get("tags") or ()]
        fields["line"] = json.dumps(record)
    return {**fields, "words": {part: " ".join(words) for part, words in stems.items() if words}}


def argument(source: Mapping[str, Any], name: str, *, ours: bool) -> Argument:
    """Return the argument of a document, ours or the official index's."""
    if "line" in source:
        return files.argument_of(json.loads(source["line"]))  # a lone surrogate stays
    fields = {key: value for key, value in source.items() if not ours or key in _FIELDS}
    return files.argument_of({"id": name, **fields})
