"""How arguments lie in an index: ours, with the words that the local index sees, or the official.

Our index holds the official fields as they are, so that the official baseline's queries work on it,
and beside them `words`, analysed as in the local index and scored with the same constants.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from retrieval.analyser import NAME as ANALYSER
from retrieval.analyser import analyse
from retrieval.fields import ALL, FIELDS, PARTS, content
from retrieval.statements import ROLES
from touche_rad import files
from touche_rad.debate import Argument

MARK: Final = "touche-rad"
FORMAT: Final = 1
GROUPS: Final = "groups"
"""Whose statements say the same: what links arguments."""
OFFICIAL_VECTORS: Final = "stella"
K1, B = 0.9, 0.4
"""The local index's constants of BM25."""
PLAIN: Final = ("topic", "text", "attacks", "supports")
_KEYWORD: Final = {"type": "keyword", "ignore_above": 8_191}
"""A longer one is kept and not searched: the server refuses words of more than 32,766 bytes."""


def vector_field(field: str, encoder: str) -> str:
    """Return the name of the field that holds an encoder's vectors."""
    return f"{field}_embedding_{encoder}"


def mapping(digest: str, count: int) -> dict[str, Any]:
    """Return the mapping of an index of ours."""
    words = {"type": "text", "analyzer": "whitespace", "similarity": "argument"}
    return {
        "_meta": about(digest, count),
        "dynamic": "false",
        "properties": {
            "id": {"type": "keyword"},
            "tags": dict(_KEYWORD),
            "original": dict(_KEYWORD),
            "order": {"type": "integer"},
            **{name: {"type": "text"} for name in PLAIN},
            "words": {"properties": dict.fromkeys(FIELDS, words)},
            GROUPS: {"properties": {role: {"type": "integer"} for role in ROLES}},
        },
    }


def about(digest: str, count: int) -> dict[str, Any]:
    """Return what an index of ours says of itself before it is loaded."""
    return {
        MARK: {
            "format": FORMAT, "collection": digest, "arguments": count, "analyser": ANALYSER,
            "complete": False, "encoders": {}, "encoded": {},
        }
    }  # fmt: skip


def settings(shards: int, replicas: int) -> dict[str, Any]:
    """Return the settings of an index of ours."""
    return {
        "number_of_shards": shards,
        "number_of_replicas": replicas,
        "similarity": {"argument": {"type": "BM25", "k1": K1, "b": B}},
    }


def document(argument: Argument, order: int, groups: Sequence[int]) -> dict[str, Any]:
    """Return an argument as a document of our index; `line` is the argument without loss."""
    line = files.argument_line(argument)
    plain: dict[str, Any] = {name: whole(getattr(argument, name)) for name in PLAIN}
    return {
        "id": whole(argument.id),
        "tags": [whole(tag) for tag in argument.tags],
        "original": whole(argument.original or ""),
        "order": order,
        **plain,
        "words": _words(argument),
        GROUPS: {role: group for role, group in zip(ROLES, groups, strict=True) if group >= 0},
        "line": json.dumps(json.loads(line)),
    }


def _words(argument: Argument) -> dict[str, str]:
    found = {part: analyse(content(argument, part)) for part in PARTS}
    return {**found, ALL: " ".join(found.values())}


def whole(text: str) -> str:
    """Return a text that can be sent; the line has the lone surrogates that it may hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def argument(source: Mapping[str, Any], name: str) -> Argument:
    """Return the argument of a document, ours or the official index's."""
    if "line" in source:
        return files.argument_of(json.loads(source["line"]))
    kept = {key: value for key, value in source.items() if "_embedding_" not in key}
    return files.argument_of({"id": name, **kept})
