"""Simulations (what the official client writes, one debate a line), and their evaluations.

Files are read strictly: a wrong field is an error with file and line. The server and the scorer
use `parse_simulation`, which is lenient: the official client sends back whatever a system once
answered, and one refused request ends its whole evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from functools import cache
from typing import Annotated, Any, Final, Literal, TypeGuard

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from touche_rad.criteria import Criteria, grice, is_tag
from touche_rad.debate import FALLBACK, Argument, Debate, Response, Turn, Verdict, Verdicts
from touche_rad.errors import InputProblem
from touche_rad.files.models import (
    WRITTEN_TEXT,
    Content,
    FileRecord,
    LenientRecord,
    NullAsObject,
    OptionalText,
    lenient_text,
    only_text,
    validate,
    written,
)
from touche_rad.files.records import (
    FieldError,
    JsonObject,
    Line,
    drop_keys,
    dump,
    keep_record,
    original_record,
    renewed,
    short_repr,
)
from touche_rad.frozen import frozen

ANNOTATED = "annotated"
SIMULATIONS = "simulations"
SYSTEM = "systemResponse"
_NAMED = ("id", "claim", "description", "debate", "simulated_debate")
_BODY = ("content", "arguments")


class Cited(LenientRecord):
    """An argument of the collection: `text` argues against `attacks` and for `supports`."""

    texts = ("id", "text")

    id: Annotated[str, WRITTEN_TEXT]
    text: str
    topic: str | None = None
    tags: tuple[str, ...] | None = None
    attacks: str | None = None
    supports: str | None = None
    references: tuple[str, ...] | None = None
    original: str | None = None

    @classmethod
    def of_text(cls, value: object) -> JsonObject:
        """Return a text as an argument: it is an id, or a text if it has spaces."""
        text = lenient_text(value)
        return {"text": text} if " " in text else {"id": text}


_NULLABLE: Final = ("topic", "tags", "attacks", "supports", "references")


def argument_of(value: object, *, lenient: bool = False) -> Argument:
    """Parse an argument; a null text or list is read as if it were missing."""
    # Almost all are arguments as they are: this takes a third of the time.
    if isinstance(value, dict) and None not in value.values():
        with suppress(ValidationError):
            return Argument.model_validate(value)
    cited = validate(Cited, value, lenient=lenient)
    nulls = {name for name in _NULLABLE if getattr(cited, name) is None}
    return Argument.model_validate(cited.model_dump(exclude_unset=True, exclude=nulls))


def _argument(value: object, info: ValidationInfo) -> Argument:
    return argument_of(value, lenient=bool(info.context))


Citation = Annotated[Argument, PlainValidator(_argument, json_schema_input_type=Cited)]


def _as_list(value: object, info: ValidationInfo) -> object:
    if value is None:
        return []
    if not info.context:
        return value
    return value[:_MOST_CITATIONS] if isinstance(value, list) else [value]


_MOST_CITATIONS: Final = 1000
_MOST_TURNS: Final = 1000
"""Cited arguments of a response that are read of a request: a hundred times what anybody cites."""


class _JudgedBody(LenientRecord):
    texts = ("content",)

    content: SkipJsonSchema[Any] = Field(None, exclude=True)
    arguments: Annotated[tuple[Citation, ...], BeforeValidator(_as_list)] = ()  # null is none

    def response(self, content: str) -> Response:
        """Return the response with this text."""
        return Response(content=content, arguments=self.arguments, extra=self.rest)


class _JudgedResponse(LenientRecord):
    texts = ("utterance",)

    utterance: Content
    response: Annotated[_JudgedBody, NullAsObject] = _JudgedBody()

    @model_validator(mode="before")
    @classmethod
    def _find_text(cls, value: object, info: ValidationInfo) -> object:
        """Take the text of the body where the response has none."""
        if not isinstance(value, dict) or value.get("utterance") is not None:
            return value
        body = value.get("response")
        if info.context and not isinstance(body, dict | None):
            body = {"content": body}
        if isinstance(body, dict) and "content" in body:
            return {**value, "utterance": body["content"]}
        return value


class _JudgedTurn(LenientRecord):
    texts = ("utterance",)

    utterance: str
    system_response: _JudgedResponse | None = Field(None, alias="systemResponse")


class Topic(LenientRecord):
    """The claim of a debate."""

    description: OptionalText = ""


class Configuration(LenientRecord):
    """The configuration of a simulation."""

    topic: Annotated[Topic, BeforeValidator(lambda value: value or {})] = Topic()


class _JudgedSimulation(FileRecord):
    """A debate as the organisers' converter writes it: less is required."""

    configuration: SkipJsonSchema[Annotated[Configuration, NullAsObject]] = Configuration()
    user_turns: tuple[_JudgedTurn, ...] = Field(alias="userTurns")

    def debate(self, record: JsonObject, default_name: str = "") -> Debate:
        """Return the debate of a record with these fields beside the simulation."""
        turns = []
        for turn in self.user_turns:
            system = turn.system_response
            response = system and system.response.response(system.utterance)
            rest = drop_keys(turn.rest, ("response",))
            turns.append(Turn(utterance=turn.utterance, response=response, **rest))
        user = self.configuration.rest.get("user")
        return Debate(
            id=only_text(record.get("id", self.rest.get("id"))) or default_name,
            claim=self.configuration.topic.description,
            description=only_text(record.get("description")),
            user=only_text(user.get("model")) if isinstance(user, dict) else "",
            turns=tuple(turns),
        )


class Body(_JudgedBody):
    """What the debate system answered."""

    model_config = written("content", "arguments")

    content: Annotated[Any, WRITTEN_TEXT] = None


class SystemResponse(_JudgedResponse):
    """The answer to a user turn, as the organisers' client records it."""

    model_config = written("response")

    utterance: Annotated[Content, WRITTEN_TEXT]
    response: Annotated[Body, NullAsObject] = Body()


class UserTurn(_JudgedTurn):
    """A user turn with its answer."""

    model_config = written("systemResponse")

    system_response: SystemResponse | None = Field(None, alias="systemResponse")


class Simulation(_JudgedSimulation):
    """A debate with the simulated user."""

    model_config = written("configuration")

    configuration: Annotated[Configuration, NullAsObject] = Configuration()
    user_turns: tuple[UserTurn, ...] = Field(alias="userTurns", json_schema_extra={"minItems": 1})


class SimulationLine(FileRecord):
    """A line of simulations.jsonl."""

    simulation: Simulation


def plain(word: BaseModel) -> JsonObject:
    """Return the fields that were set.

    Without pydantic's JSON mode, which refuses lone surrogates.
    """
    return word.model_dump(exclude_unset=True)


def body_of(response: Response) -> JsonObject:
    """Write the official body of a response; the arguments are always a list."""
    cited = [plain(argument) for argument in response.arguments]
    return {"content": response.content, "arguments": cited, **drop_keys(response.extra, _BODY)}


def user_turn(turn: Turn) -> JsonObject:
    """Write a turn in the official client's shape."""
    record = {**drop_keys(turn.rest, (SYSTEM,)), "utterance": turn.utterance}
    if turn.response:
        record[SYSTEM] = system_response(turn.response)
    return record


def system_response(response: Response) -> JsonObject:
    """Write a response in the official client's shape."""
    return {"utterance": response.content, "response": body_of(response)}


def simulation_of(line: Line) -> Debate:
    """Parse one line of simulations."""
    record = validate(SimulationLine, line.value)
    debate = record.simulation.debate(record.rest, f"debate-{line.number}")
    return keep_record(debate, SIMULATIONS, line.value)


def parse_simulation(record: JsonObject) -> Debate:
    """Parse a record with the key `simulation` leniently.

    Missing texts, null, numbers and booleans are texts, and other fields of a wrong type are
    ignored.

    Raises:
        FieldError: A field is missing or has a wrong type.
    """
    line = validate(SimulationLine, record, lenient=True)
    return line.simulation.debate(line.rest)


def configured(debate: Debate, *keys: str) -> Any:
    """Return the configuration of a simulation, or a value in it; None if there is none."""
    record: Any = debate.wire.get("record")
    for key in ("simulation", "configuration", *keys):
        record = record.get(key) if isinstance(record, dict) else None
    return record


def is_number_of_turns(value: object) -> TypeGuard[int]:
    """Whether this can be the `maxTurns` of a configuration."""
    return type(value) is int and 0 < value <= _MOST_TURNS


def planned_turns(debate: Debate) -> int:
    """Return how many turns a simulation should have, which its configuration says; else 0."""
    turns = configured(debate, "maxTurns")
    return turns if is_number_of_turns(turns) else 0


def debater_of(debate: Debate) -> str:
    """Return the debater that the configuration of a simulation names; else empty."""
    return only_text(configured(debate, "system", "debater"))


def simulation_line(debate: Debate) -> str:
    """Write a debate as the official client does."""
    return dump(simulation_record(debate))


def simulation_record(debate: Debate) -> JsonObject:
    """Return a debate as a simulation; other fields of the record it was read from are kept."""
    old = original_record(debate, SIMULATIONS)
    if old is None:
        return _simulation(debate)
    before: Debate = debate.wire["read"]
    if debate.replace(wire=before.wire) == before:
        return old
    record: JsonObject = renewed(old, _simulation(before), _simulation(debate), (SYSTEM,))
    return record


def _simulation(debate: Debate) -> JsonObject:
    configuration: JsonObject = {"topic": {"description": debate.claim}}
    if debate.user:
        configuration["user"] = {"model": debate.user}
    turns = [user_turn(turn) for turn in debate.turns]
    head = {"id": debate.id, "description": debate.description}
    return {
        **{key: text for key, text in head.items() if text},
        **drop_keys(original_record(debate, ANNOTATED) or {}, _NAMED),
        "simulation": {"configuration": configuration, "userTurns": turns},
    }


_TURNS = "userTurnsEvaluations"
_OVERALL = "overallEvaluations"
_CRITERIA = "criteria"
_ANSWER = "answer"
_EVALUATION = ("configuration", _TURNS, _OVERALL, "millisecondsEvaluation")
"""Fields of the evaluation that are not fields of the evaluated debate."""
_VERDICT = ("score", "explanation", "rationale", FALLBACK)


@frozen
class Evaluation:
    """A judged debate: verdicts on each turn, or on each other unit of the criteria."""

    debate: Debate
    turns: tuple[Verdicts, ...]
    criteria: Criteria = field(default_factory=grice)


def _number(value: Any) -> float | None:
    """Return a score; None if it is no number. A text is refused: it may be a number in quotes."""
    if isinstance(value, str):
        message = f"expected a number or null, got {short_repr(value)}"
        raise FieldError("", message, InputProblem.TEXT_SCORE)
    with suppress(TypeError, OverflowError):
        return float(value)
    return None


class Scored(FileRecord):
    """A verdict: 0.5 and more means yes."""

    model_config = written("score")

    score: Annotated[
        float | None,
        BeforeValidator(_number),
        WithJsonSchema({"maximum": 1, "minimum": 0, "type": "number"}),
    ] = None
    explanation: Annotated[Any, WithJsonSchema({"type": "string"})] = ""
    fallback: Annotated[Any, WithJsonSchema({"type": "string"})] = ""


def fallback_of(record: Mapping[str, Any] | None) -> str:
    """Return why a response, a user turn or a verdict is a fallback's; empty if it is none."""
    cause = (record or {}).get(FALLBACK) or ""
    return cause if isinstance(cause, str) else "the run does not say why"


_MISSING: Final[Any] = None
"""In place of a record that may be missing, and may not be null."""


@cache
def evaluation_model(criteria: Criteria) -> type[EvaluationLine]:
    """Return the model of a line of evaluations on these criteria."""
    verdicts: dict[str, Any] = {}
    for number, (criterion, name) in enumerate(zip(criteria, criteria.names, strict=True)):
        scored: Any = Scored
        if not criteria.official:
            values: Any = Literal[tuple(choice.value for choice in criterion.answers.values)]
            scored = create_model("Answered", __base__=Scored, answer=(values, ...))
        verdict = Annotated[scored, NullAsObject]
        verdicts[f"verdict_{number}"] = (verdict, Field(_MISSING, alias=name))
    turn: Any = create_model(
        "TurnEvaluation",
        __base__=FileRecord,
        __doc__="The verdicts on one response, on the task's criteria. On others they have the "
        "keys of the questions, one entry for each response, message of the user or debate, and "
        "an `answer`: yes or no, a number of the scale, or a category, whose score is null. The "
        "line has `criteria`, the name and the digest.",
        **verdicts,
    )
    turn.model_config["json_schema_extra"] = written(*criteria.names)["json_schema_extra"]
    turns = (tuple[turn, ...], Field(alias=_TURNS))
    return create_model("EvaluationLine", __base__=EvaluationLine, turns=turns)


class _JudgedLine(FileRecord):
    """A line of evaluations.jsonl without its evaluation."""

    simulation: _JudgedSimulation = Field(_MISSING)

    def debate(self, line: Line) -> Debate:
        """Return the judged debate."""
        name = f"debate-{line.number}"
        if "simulation" not in self.model_fields_set:
            return Debate(id=name)
        debate = self.simulation.debate(self.rest, name)
        judged = drop_keys(line.value, _EVALUATION)
        if is_tag(judged.get(_CRITERIA)):
            del judged[_CRITERIA]
        return keep_record(debate, SIMULATIONS, judged)


class EvaluationLine(_JudgedLine):
    """A line of evaluations.jsonl."""

    model_config = written("simulation")

    turns: tuple[FileRecord, ...] = Field(alias=_TURNS)
    overall: Annotated[dict[str, Any], NullAsObject] = Field({}, alias=_OVERALL)


def evaluation_of(line: Line, criteria: Criteria) -> Evaluation:
    """Parse one line of evaluations; missing verdicts are left out."""
    record = validate(evaluation_model(criteria), line.value)
    tag = record.rest.get(_CRITERIA)
    if is_tag(tag) and tag != criteria.tag:
        raise FieldError(_CRITERIA, f"expected {criteria.tag}, got {tag}")
    turns = []
    for at, turn in enumerate(record.turns):
        for key in sorted(turn.rest.keys() & set(criteria.keys)):
            raise FieldError(
                f"{_TURNS}[{at}].{key}",
                f"expected {criteria.names[criteria.keys.index(key)]}",
                InputProblem.OTHER_TITLE,
            )
        verdicts: dict[str, Verdict] = {}
        for number, key in enumerate(criteria.keys):
            scored: Scored | None = getattr(turn, f"verdict_{number}")
            if scored:
                verdicts[key] = Verdict(
                    score=scored.score,
                    answer=getattr(scored, _ANSWER, None),
                    rationale=only_text(scored.explanation),
                    extra=drop_keys(scored.rest, _VERDICT),
                    fallback=fallback_of(vars(scored)),
                )
        turns.append(verdicts)
    return Evaluation(record.debate(line), tuple(turns), criteria)


def judged_debate_of(line: Line) -> Debate:
    """Parse the judged debate, without the evaluation."""
    return validate(_JudgedLine, line.value).debate(line)


def evaluation_line(evaluation: Evaluation) -> str:
    """Write a judged debate, with what else its record has, without an earlier evaluation."""
    criteria = evaluation.criteria
    fields = _VERDICT if criteria.official else (*_VERDICT, _ANSWER)
    turns = []
    for verdicts in evaluation.turns:
        turn: JsonObject = {}
        for criterion in criteria:
            verdict = verdicts.get(criterion.key)
            if not verdict:
                continue
            scored: JsonObject = {"score": verdict.score, "explanation": verdict.rationale}
            if not criteria.official:
                scored[_ANSWER] = verdict.answer
            if verdict.fallback:
                scored[FALLBACK] = verdict.fallback
            name = criterion.title if criteria.official else criterion.key
            turn[name] = scored | drop_keys(verdict.extra, fields)
        turns.append(turn)
    record = simulation_record(evaluation.debate)
    # The format check of TIRA wants a configuration, which the official converter leaves out.
    simulation = {"configuration": {}} | record["simulation"]
    named = {} if criteria.official else {_CRITERIA: criteria.tag}
    return dump({**record, **named, "simulation": simulation, _TURNS: turns})
