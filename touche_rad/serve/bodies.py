"""What is sent and answered, read as the official client writes it and its users bend it.

Only what is needed is asked for; further fields are accepted and passed over. Text may be null or a
number, since the client sends back whatever a system once answered.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from touche_rad.debate import Argument, Debate, Response, Turn
from touche_rad.text import clean


def _words(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    return clean(value) if isinstance(value, str) else value


def _listed(value: object) -> object:
    return [] if value is None else value


Words = Annotated[str, BeforeValidator(_words, json_schema_input_type=str | float | bool | None)]


class Body(BaseModel):
    """Base: fields that we do not know are no fault."""

    model_config = ConfigDict(extra="ignore")


class Message(Body):
    """One utterance of the conversation."""

    role: Literal["user", "assistant", "system"]
    content: Words = ""


class ChatRequest(Body):
    """The conversation so far; the last message is the user's, and is to be answered."""

    messages: list[Message] = Field(min_length=1, max_length=4000)


class CitedArgument(Body):
    """An argument of the collection."""

    model_config = ConfigDict(extra="allow")

    id: str
    text: str
    topic: str = ""
    tags: list[str] = []
    attacks: str = ""
    supports: str = ""
    references: list[str] = []
    original: str | None = None


class ChatAnswer(Body):
    """The answer, and the arguments it stands on, first used first."""

    model_config = ConfigDict(extra="allow")

    content: str
    arguments: list[CitedArgument]


class JudgedArgument(Body):
    """A cited argument, as much of it as came along."""

    id: Words = ""
    text: Words = ""


class JudgedResponse(Body):
    """The body that the system once answered."""

    content: Words | None = None
    arguments: Annotated[
        list[JudgedArgument],
        BeforeValidator(_listed, json_schema_input_type=list[JudgedArgument] | None),
    ] = []


class JudgedSystem(Body):
    """The system's half of a turn."""

    utterance: Words | None = None
    response: JudgedResponse | None = None


class JudgedTurn(Body):
    """One turn of the simulation."""

    utterance: Words = ""
    systemResponse: JudgedSystem | None = None


class JudgedSimulation(Body):
    """The whole simulation, later turns included; they are not looked at."""

    userTurns: list[JudgedTurn] = Field(max_length=2000)


class JudgeRequest(Body):
    """Which response to judge. Without an index the whole debate is meant: not evaluated."""

    simulation: JudgedSimulation
    userTurnIndex: int | None = None


class Score(Body):
    """A number in 0..1, where 0.5 and more means yes; null for a whole debate."""

    score: float | None
    explanation: str = ""


class Health(Body):
    """That the server answers, and with what."""

    status: Literal["ok"] = "ok"
    version: str
    debater: str
    judge: str
    arguments: int | None


class Fault(Body):
    """Why a request was refused."""

    detail: str


class RequestFault(ValueError):
    """A request that is well-formed and still cannot be answered."""


def to_debate(request: ChatRequest) -> Debate:
    """Read a conversation; neighbours of one role are one utterance, system messages no turn."""
    debate = Debate()
    last: str | None = None
    for message in request.messages:
        if message.role == "system":
            continue
        if message.role == "user":
            debate = _hear(debate, message.content, again=last == "user")
        else:
            debate = _recall(debate, message.content, again=last == "assistant")
        last = message.role
    if last != "user":
        raise RequestFault("messages: expected the last message to be the user's")
    return debate


def _hear(debate: Debate, content: str, *, again: bool) -> Debate:
    if not again:
        return debate.with_utterance(content)
    joined = Turn(utterance=f"{debate.last.utterance} {content}".strip())
    return debate.model_copy(update={"turns": (*debate.turns[:-1], joined)})


def _recall(debate: Debate, content: str, *, again: bool) -> Debate:
    if not debate.turns:
        debate = debate.with_utterance("")
    if again and debate.last.response:
        content = f"{debate.last.response.content} {content}".strip()
    return debate.with_response(Response(content=content))


def to_view(request: JudgeRequest) -> Debate:
    """Read the debate up to the judged response; what came later is left behind."""
    number = request.userTurnIndex
    turns = request.simulation.userTurns
    if number is None:
        raise RequestFault("userTurnIndex: expected a number")
    if not 0 <= number < len(turns):
        raise RequestFault(f"userTurnIndex: expected 0 to {len(turns) - 1}, got {number}")
    judged = tuple(_turn(turn) for turn in turns[: number + 1])
    if judged[-1].response is None:
        raise RequestFault(f"simulation.userTurns[{number}].systemResponse: missing")
    return Debate(turns=judged)


def _turn(turn: JudgedTurn) -> Turn:
    system = turn.systemResponse
    if system is None:
        return Turn(utterance=turn.utterance)
    body = system.response or JudgedResponse()
    content = system.utterance if system.utterance is not None else body.content or ""
    arguments = tuple(Argument(id=one.id, text=one.text) for one in body.arguments)
    return Turn(utterance=turn.utterance, response=Response(content=content, arguments=arguments))


def answer_body(response: Response) -> dict[str, Any]:
    """The official body of an answer."""
    return response.model_dump(mode="json", exclude_unset=True) | {
        "arguments": [one.model_dump(mode="json", exclude_unset=True) for one in response.arguments]
    }
