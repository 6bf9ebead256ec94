"""JSON schemas of the files of the task, and of ours beside them: one record per line.

The models describe what this package writes and what the organisers' tools accept. The readers in
this package accept more: null texts, and records of earlier versions.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from touche_rad.contest import Contest, Outcome
from touche_rad.files.formats import Kind

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
Score = Annotated[float, Field(ge=0, le=1, strict=True)]
Label = Literal[0, 1] | None
Text = Annotated[str, Field(min_length=1, pattern=r"\S")]


class _Open(BaseModel):
    """A record that may have more fields."""

    model_config = ConfigDict(extra="allow")


class Cited(_Open):
    """An argument of the collection: `text` argues against `attacks` and for `supports`."""

    id: Text
    text: str
    topic: str | None = None
    tags: list[str] | None = None
    attacks: str | None = None
    supports: str | None = None
    references: list[str] | None = None
    original: str | None = None


class Body(_Open):
    """What the debate system answered."""

    content: Text
    arguments: list[Cited]


class SystemResponse(_Open):
    """The answer to a user turn, as the organisers' client records it."""

    utterance: Text
    response: Body


class UserTurn(_Open):
    """A user turn with its answer."""

    utterance: str
    system_response: SystemResponse = Field(alias="systemResponse")


class Topic(_Open):
    """The claim of a debate."""

    description: str = ""


class Configuration(_Open):
    """The configuration of a simulation."""

    topic: Topic = Topic()


class Simulation(_Open):
    """A debate with the simulated user."""

    configuration: Configuration
    user_turns: list[UserTurn] = Field(alias="userTurns", min_length=1)


class SimulationLine(_Open):
    """A line of simulations.jsonl."""

    simulation: Simulation


class _JudgedBody(_Open):
    arguments: list[Cited] = []


class _JudgedResponse(_Open):
    utterance: str
    response: _JudgedBody = _JudgedBody()


class _JudgedTurn(_Open):
    utterance: str
    system_response: _JudgedResponse | None = Field(None, alias="systemResponse")


class _JudgedSimulation(_Open):
    """A debate as the organisers' converter writes it: less is required."""

    user_turns: list[_JudgedTurn] = Field(alias="userTurns")


class Scored(_Open):
    """A verdict: 0.5 and more means yes."""

    score: Score
    explanation: str = ""
    fallback: bool = False


class TurnEvaluation(_Open):
    """The verdicts on one response."""

    quantity: Scored = Field(alias="Quantity")
    quality: Scored = Field(alias="Quality")
    relation: Scored = Field(alias="Relation")
    manner: Scored = Field(alias="Manner")


class EvaluationLine(_Open):
    """A line of evaluations.jsonl."""

    simulation: _JudgedSimulation
    turns: list[TurnEvaluation] = Field(alias="userTurnsEvaluations")
    overall: dict[str, Any] = Field({}, alias="overallEvaluations")


class Message(_Open):
    """A message; the user's and the system's take turns, and the user's is the first."""

    role: Literal["user", "assistant"]
    content: str | None


class Request(_Open):
    """The body of a request to a debate system."""

    messages: list[Message] = Field(min_length=1)


class ResponseLine(Body):
    """A line of responses.jsonl: the answer, and the request that it answers."""

    debate: str = ""
    turn: int = Field(0, ge=0)
    messages: list[Message] = Field(min_length=1)


class AnnotatedMessage(Message):
    """A message with the arguments that it cites."""

    arguments: list[Cited] | None = None


class AnnotatedLine(_Open):
    """A line of the annotated debates."""

    id: str = ""
    claim: str
    description: str = ""
    simulated_debate: list[AnnotatedMessage]


class ClaimRow(_Open):
    """A row of the parameter file, by the columns of its header (TSV)."""

    claim: Text = Field(alias="TOPIC_DESCRIPTION")
    user: str = Field(alias="USER")


class TurnLabels(_Open):
    """People's verdicts on one response; null is no verdict."""

    quantity: Label = None
    quality: Label = None
    relation: Label = None
    manner: Label = None


class OutcomeLine(_Open):
    """A panel's verdict on a contest, and that on the contest with the sides swapped."""

    format: Literal[1] = 1
    id: str
    judge: str = ""
    outcome: Outcome
    swapped: Outcome | None = None
    words: str = ""


class ContestLine(Contest):
    """A whole debate as speeches of two sides."""

    format: Literal[1] = 1


class AnnotationLine(_Open):
    """The labels of a text; an object grades them."""

    id: str
    labels: list[str] | dict[str, Annotated[float, Field(ge=0)]]


SCHEMAS: Final[dict[Kind, Any]] = {
    Kind.SIMULATIONS: SimulationLine,
    Kind.EVALUATIONS: EvaluationLine,
    Kind.CHAT: Request,
    Kind.RESPONSES: ResponseLine,
    Kind.ANNOTATED: AnnotatedLine,
    Kind.CLAIMS: ClaimRow,
    Kind.LABELS: list[TurnLabels],
    Kind.ARGUMENTS: Cited,
    Kind.CONTESTS: ContestLine,
    Kind.OUTCOMES: OutcomeLine,
    Kind.ANNOTATIONS: AnnotationLine,
}
"""The record of each kind of file; TREC runs and qrels are no JSON."""


def names() -> dict[str, Kind]:
    """Return the kinds by the names that the command line uses."""
    return {kind.value.replace(" ", "-"): kind for kind in SCHEMAS}


def schema_of(kind: Kind) -> dict[str, Any]:
    """Return the JSON schema of one record of a kind of file."""
    schema = TypeAdapter(SCHEMAS[kind]).json_schema(by_alias=True)
    return {"$schema": DIALECT, **schema, "title": kind.value}
