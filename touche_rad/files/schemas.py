"""JSON schemas of the files of the task, and of ours beside them: one record per line.

They describe what this package writes and what the organisers' tools accept. The readers, which are
the same models, accept more: null texts, and records of earlier versions.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import TypeAdapter

from touche_rad.criteria import CriteriaFile, grice
from touche_rad.files._messages import AnnotatedLine, RequestLine, ResponseLine
from touche_rad.files._rows import ClaimRow
from touche_rad.files.contests import ContestLine, Judgement
from touche_rad.files.formats import Kind
from touche_rad.files.labels import AnnotationLine, turn_labels
from touche_rad.files.simulations import Cited, SimulationLine, evaluation_model

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
CRITERIA: Final = "criteria"
_LABELS: Any = list
SCHEMAS: Final[dict[str, Any]] = {
    Kind.SIMULATIONS: SimulationLine,
    Kind.EVALUATIONS: evaluation_model(grice()),
    Kind.CHAT: RequestLine,
    Kind.RESPONSES: ResponseLine,
    Kind.ANNOTATED: AnnotatedLine,
    Kind.CLAIMS: ClaimRow,
    Kind.LABELS: _LABELS[turn_labels(grice())],
    Kind.ARGUMENTS: Cited,
    Kind.CONTESTS: ContestLine,
    Kind.OUTCOMES: Judgement,
    Kind.ANNOTATIONS: AnnotationLine,
    CRITERIA: CriteriaFile,
}
"""The record of each kind of file, or the whole file; TREC runs and qrels are no JSON."""


def names() -> dict[str, str]:
    """Return the kinds by the names that the command line uses."""
    return {kind.replace(" ", "-"): kind for kind in SCHEMAS}


def schema_of(kind: str) -> dict[str, Any]:
    """Return the JSON schema of one record of a kind of file."""
    schema = TypeAdapter(SCHEMAS[kind]).json_schema(by_alias=True)
    return {"$schema": DIALECT, **schema, "title": str(kind)}
