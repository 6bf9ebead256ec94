"""Annotations of texts: which labels each text has, and their grades, one record per line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from touche_rad.files.records import (
    FieldError,
    Line,
    require_field,
    require_object,
    require_text,
    short_repr,
)


class Annotated(NamedTuple):
    """The labels of a text with their grades; 0 is a label that the text does not have."""

    id: str
    labels: Mapping[str, float]


def annotation_of(line: Line) -> Annotated:
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
