"""Labels of people: of the turns of debates, and of texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from touche_rad.criteria import grice
from touche_rad.debate import Debate
from touche_rad.errors import UserError
from touche_rad.files.formats import Kind, OpenFile, read_debates
from touche_rad.files.records import (
    BadLines,
    FieldError,
    Line,
    Place,
    dump,
    require_field,
    require_object,
    require_text,
    short_repr,
)

Labels = Mapping[str, int | None]
"""The labels of a turn, by the key of the criterion."""
_FIELDS: Final = frozenset(("sample", "annotators", "words"))
"""Fields beside the labels of a turn: of `touche-rad label`, and the digest of the turn's text."""


def digest(utterance: object, response: object) -> str:
    """Return a digest of a turn's words; white space does not matter."""
    text = "\x1f".join(" ".join(str(text or "").split()) for text in (utterance, response))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def digests(debate: Debate) -> tuple[str, ...]:
    """Return the digest of each turn of a debate."""
    return tuple(
        digest(turn.utterance, turn.response.content if turn.response else "")
        for turn in debate.turns
    )


def read_labels(path: Place, bad: BadLines | None = None) -> Iterator[tuple[Labels, ...]]:
    """Read labels, one debate at a time."""
    return OpenFile(path, bad, frozenset({Kind.LABELS})).each(lambda line: _labels_of(line.value))


def read_labelled(debates: Place, labels: Place) -> list[tuple[Debate, tuple[Any, ...]]]:
    """Read debates with the labels of each turn.

    Raises:
        UserError: The numbers of debates or turns differ, or the digests in the labels.
    """
    pairs = list(zip_longest(read_debates(debates), read_labels(labels)))
    for number, (debate, turns) in enumerate(pairs, 1):
        own, of = digests(debate or Debate()), turns or ()
        both: Iterable[tuple[str, Any]] = zip(own, of, strict=False)
        other = any(label.get("words") not in (None, words) for words, label in both)
        if other or debate is None or turns is None or len(own) != len(of):
            problem = f"has {len(own)} turns, and {labels} has labels for {len(of)}"
            fix = f"{' with other texts' * other}: give the labelled debates in the labels' order"
            raise UserError(f"{debates}: debate {number} {problem}{fix}")
    return pairs


def _labels_of(value: Any) -> tuple[Labels, ...]:
    """Read the labels of one debate: 1, 0 or null for each maxim; other fields are kept."""
    if not isinstance(value, list):
        raise FieldError("", f"expected a list with one object a turn, got {short_repr(value)}")
    return tuple(_labels(turn, f"[{number}]") for number, turn in enumerate(value))


def _labels(value: Any, place: str) -> Labels:
    record = require_object(value, place)
    keys = grice().keys
    labels: dict[str, Any] = {}
    other = record.keys() - set(keys) - _FIELDS
    misspelt = {key for key in other if get_close_matches(key.lower(), keys, cutoff=0.8)}
    if misspelt or (other and len(record.keys() & set(keys)) < len(keys)):
        names = ", ".join(keys)
        raise FieldError(f"{place}.{min(misspelt or other)}", f"expected one of {names}")
    for key, label in record.items():
        if key not in keys:
            labels[key] = label
            continue
        if label not in (0, 1, None) or isinstance(label, bool | float):
            raise FieldError(f"{place}.{key}", f"expected 0, 1 or null, got {short_repr(label)}")
        labels[key] = label
    return labels


def labels_line(turns: Iterable[Mapping[Any, Any]]) -> str:
    """Write the labels of one debate."""
    return dump([{str(key): label for key, label in turn.items()} for turn in turns])


class Annotated(NamedTuple):
    """The labels of a text with their grades; 0 is a label that the text does not have."""

    id: str
    labels: Mapping[str, float]


def _annotation(line: Line) -> Annotated:
    """Read `{"id": "u1", "labels": ["A"]}` or `{"id": "u1", "labels": {"A": 3, "B": 0}}`."""
    record = require_object(line.value, "")
    key = require_text(*require_field(record, "id"))
    return Annotated(key, labels_of(require_field(record, "labels")[0]))


def labels_of(value: Any) -> dict[str, float]:
    """Return the grades of labels; each label of a list has the grade 1."""
    if isinstance(value, list):
        return {require_text(one, f"labels.{at}"): 1.0 for at, one in enumerate(value)}
    if not isinstance(value, dict):
        expected = "expected a list of labels, or an object of labels and grades"
        raise FieldError("labels", f"{expected}, got {short_repr(value)}")
    for label, grade in value.items():
        if isinstance(grade, bool) or not isinstance(grade, int | float) or grade < 0:
            raise FieldError(
                f"labels.{label}", f"expected a number from 0, got {short_repr(grade)}"
            )
    return {str(label): float(grade) for label, grade in value.items()}


def read_annotations(path: Place, bad: BadLines | None = None) -> Iterator[Annotated]:
    """Read the labels of texts."""
    return OpenFile(path, bad, frozenset({Kind.ANNOTATIONS})).each(_annotation)
