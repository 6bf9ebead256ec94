"""JSON output: ask for an object of a schema, parse what a model wrote, and ask once more."""

from __future__ import annotations

import bisect
import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, Field, ValidationError

from touche_rad.models.errors import BadRequest, EmptyReply, InvalidAnswer, Refusal, Truncated
from touche_rad.models.forgiving import bare, forgiving
from touche_rad.models.prompts import Message
from touche_rad.models.sending import Sender
from touche_rad.models.usage import Call
from touche_rad.text import load_json

Line = Annotated[str, Field(json_schema_extra={"maxLength": 200})]
"""Text of at most 200 characters: a name or a reason."""
Paragraph = Annotated[str, Field(json_schema_extra={"maxLength": 600})]
"""Text of at most 600 characters: one turn."""
Page = Annotated[str, Field(json_schema_extra={"maxLength": 2_000})]
"""Text of at most 2,000 characters: a quoted text or a comment."""


def numbers_to(highest: int) -> Any:
    """Return the type of a list of numbers of things that a prompt numbers from 1 to `highest`.

    If there are none (0), the only number is 1, which names nothing. A server with schemas writes
    no other number. One that another server writes is no error: the caller leaves it out.
    """
    limits: Any = {"minimum": 1, "maximum": max(1, highest)}
    return list[Annotated[int, Field(json_schema_extra=limits)]]


_NUMBERS: Final = {"integer", "number"}
_LOWEST: Final = ("minimum", "exclusiveMinimum")
_HIGHEST: Final = ("maximum", "exclusiveMaximum")
_LIMIT: Final = 999_999
"""Larger than every number that a prompt asks for."""


@functools.lru_cache(maxsize=256)  # pydantic takes 0.2 to 0.5 ms, at each call
def _schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    return schema.model_json_schema()


@functools.lru_cache(maxsize=256)
def bounded_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema for a server; callers share it and do not change it.

    Each number has a minimum and a maximum. Each object requires all its keys and allows no others,
    because servers with strict schemas accept nothing else.
    """
    bounded: dict[str, Any] = _strict(_schema_of(schema))
    return bounded


def _strict(part: Any) -> Any:
    if isinstance(part, list):
        return [_strict(item) for item in part]
    if not isinstance(part, dict):
        return part
    whole = {name: _strict(item) for name, item in part.items() if name != "default"}
    if "properties" in part:  # the names of properties are no keywords
        whole["properties"] = {key: _strict(item) for key, item in part["properties"].items()}
        whole["required"] = list(part["properties"])
        whole["additionalProperties"] = False
    kind = whole.get("type")
    if isinstance(kind, str) and kind in _NUMBERS:
        if not any(name in whole for name in _LOWEST):
            whole["minimum"] = -_LIMIT
        if not any(name in whole for name in _HIGHEST):
            whole["maximum"] = _LIMIT
    return whole


S = TypeVar("S", bound=BaseModel)
Chances = tuple[tuple[str, dict[str, float]], ...]
"""Name of a field and the probability of each choice in it, for each field with a choice."""

_FENCE: Final = re.compile(r"```(?:json)?\s*+(.*?)```", re.DOTALL)
_THOUGHT: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_LONGEST: Final = 1_000_000


class NoObject(ValueError):
    """A text contains no object of the schema; the message is written for the model."""


def parse_object(text: str, schema: type[S]) -> S:
    """Return the first object in a text that fits the schema.

    Removes `<think>` blocks, then tries the whole text, fenced blocks, every outermost object, and
    at last lines such as `quantity: yes`. A value that does not fit is read as a person would read
    it (`"**Yes**"` for the choice `yes`); see `forgiving`.

    Raises:
        NoObject: There is none; the message says what was wrong.
    """
    said = _THOUGHT.sub("", text[:_LONGEST]).strip()
    problem = "no JSON object was found"
    for piece in _pieces(said):
        try:
            value = load_json(piece, parse_constant=_no_constant)
        except ValueError as error:
            problem = f"the JSON cannot be read: {error}" if piece.startswith("{") else problem
            continue
        if not isinstance(value, dict | list):
            problem = f"expected a JSON object, got {type(value).__name__}"
            continue
        try:
            return _validated(value, schema)
        except ValidationError as error:
            problem = describe_errors(error)
    lines = {match["key"]: match["value"] for match in _KEY_AND_VALUE.finditer(said)}
    if lines and "{" not in said:
        with suppress(ValidationError):
            return _validated(lines, schema)
    raise NoObject(problem)


_KEY_AND_VALUE: Final = re.compile(
    r"^[ \t\r\f\v>*#-]*+[\"'`]?(?P<key>\w++)[\"'`*]*+\s*+:\s*+(?P<value>\S.*)$", re.MULTILINE
)


def _validated(value: Any, schema: type[S]) -> S:
    form = _schema_of(schema)  # has the keys of the answer: aliases, if fields have them
    exact = isinstance(value, dict) and not value.keys() - form.get("properties", {}).keys()
    try:
        if exact:  # other keys may be known ones in capitals, which must not be dropped
            return schema.model_validate(value)
    except ValidationError as first:
        with suppress(ValidationError):
            return schema.model_validate(forgiving(value, form))
        raise first from None
    return schema.model_validate(forgiving(value, form))


def describe_errors(error: ValidationError) -> str:
    """Describe the errors of a validation, field by field."""
    return "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'the object'}: {one['msg']}"
        for one in error.errors()[:8]
    )


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not valid JSON")


def _pieces(text: str) -> Iterator[str]:
    yield text
    yield from (found.strip() for found in _FENCE.findall(text))
    yield from _objects(text)


def _objects(text: str) -> Iterator[str]:
    """Yield each outermost `{...}`; braces inside strings are skipped."""
    depth, start, quoted, escaped = 0, 0, False, False
    for place, letter in enumerate(text):
        if quoted:
            quoted = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"' and depth:
            quoted = True
        elif letter == "{":
            start = place if depth == 0 else start
            depth += 1
        elif letter == "}" and depth:
            depth -= 1
            if depth == 0:
                yield text[start : place + 1]


def probabilities(tops: Any, choices: tuple[str, ...]) -> dict[str, float] | None:
    """Return the probability of each choice from the first token, or None if it is unknown.

    Args:
        tops: The protocol's `top_logprobs` of the first token.
        choices: The possible answers; no choice may begin like another.
    """
    weight = dict.fromkeys(choices, 0.0)
    for one in tops if isinstance(tops, list) else ():
        token = str(one.get("token", "")).strip().strip('"').lower()
        chance = one.get("logprob")
        if not token or not isinstance(chance, int | float) or math.isnan(chance):
            continue
        fitting = [choice for choice in choices if choice.lower().startswith(token)]
        if len(fitting) == 1:
            weight[fitting[0]] += math.exp(min(0.0, float(chance)))
    total = sum(weight.values())
    return {choice: value / total for choice, value in weight.items()} if total > 0 else None


def chances(reply: Mapping[str, Any], choices: tuple[str, ...]) -> Chances:
    """Return the probability of each choice for each field that has a choice as its value.

    Fields without log probabilities are left out.
    """
    first = reply["choices"][0]
    tokens = (first.get("logprobs") or {}).get("content")
    if not isinstance(tokens, list):
        return ()
    starts, text = [], ""
    for one in tokens:
        starts.append(len(text))
        text += str(one.get("token", "")) if isinstance(one, dict) else ""
    either = "|".join(map(re.escape, choices))
    value = re.compile(rf'"(\w+)"\s*:\s*(")(?:{either})"')
    found = []
    for match in value.finditer(text):
        quote = match.start(2)
        place = bisect.bisect_right(starts, quote + 1) - 1
        for at in {place, bisect.bisect_right(starts, quote) - 1}:
            likely = probabilities(tokens[at].get("top_logprobs"), choices)
            if likely is not None:
                found.append((match.group(1), likely))
                break
    return tuple(found)


_BLANKS: Final = 20


def _first(reply: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise EmptyReply(f"{model}: the reply has no choice")
    first: Mapping[str, Any] = choices[0]
    message = first.get("message")
    if isinstance(message, dict) and message.get("refusal"):
        raise Refusal(f"{model} refused: {str(message['refusal'])[:200]}")
    if first.get("finish_reason") == "content_filter":
        raise Refusal(f"{model} refused: content filter")
    return first


def answer_text(reply: Mapping[str, Any], model: str) -> str:
    """Return the text of the answer; raise an error if it is missing or cut off."""
    first = _first(reply, model)
    message = first.get("message")
    said = message.get("content") if isinstance(message, dict) else None
    if first.get("finish_reason") == "length":
        cut = Truncated(f"{model}: the answer was cut off; raise -O model.max_tokens")
        cut.blank = isinstance(said, str) and len(said) - len(said.rstrip()) >= _BLANKS
        raise cut
    if not isinstance(said, str) or not said.strip():
        raise EmptyReply(f"{model}: the reply has no text")
    return said


def is_scored(reply: Mapping[str, Any]) -> bool:
    """Whether a reply has log probabilities."""
    return bool((_first(reply, "the model").get("logprobs") or {}).get("content"))


def _first_token(reply: Mapping[str, Any], choices: tuple[str, ...]) -> dict[str, float] | None:
    """Return the probability of each choice from the first token, or None if it is unknown."""
    tokens = (_first(reply, "the model").get("logprobs") or {}).get("content") or [{}]
    return probabilities(tokens[0].get("top_logprobs"), choices)


def _choice_text(reply: Mapping[str, Any]) -> str:
    """Return the text of a reply to compare with choices, also if it was cut off."""
    message = _first(reply, "the model").get("message") or {}
    return bare(str(message.get("content") or ""))


LIKELY: Final = {"logprobs": True, "top_logprobs": 20}
"""Asks the server for the log probabilities of the answer."""
_MODES: Final = ("json_schema", "json_object", "text")
_FORMAT_WORDS: Final = (
    "response_format",
    "json_schema",
    "guided",
    "structured",
    "grammar",
    "schema",
)


class JsonFormat:
    """Requests a JSON answer in the strictest way that the server supports.

    It asks for decoding with the schema, then for JSON, then for plain text.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._mode = 0

    async def valid(
        self,
        sender: Sender,
        call: Call,
        body: Mapping[str, Any],
        schema: type[BaseModel],
        choices: Sequence[str],
    ) -> Mapping[str, Any]:
        """Return a reply with an object of the schema; an invalid one is sent back once.

        Raises:
            InvalidAnswer: The second answer does not fit the schema either.
        """
        again = False
        while True:
            reply = await self._said(sender, call, body, schema, choices)
            said = answer_text(reply, self._model)
            try:
                parse_object(said, schema)
            except NoObject as error:
                if again:
                    raise InvalidAnswer(
                        f"{self._model}: the answer does not fit {schema.__name__}: {error}"
                    ) from None
                how = "Answer again with nothing but the corrected JSON object"
                body, again = _sent_back(call, body, said, error, how), True
            else:
                return reply

    async def _said(
        self,
        sender: Sender,
        call: Call,
        body: Mapping[str, Any],
        schema: type[BaseModel],
        choices: Sequence[str],
    ) -> Mapping[str, Any]:
        freely = False
        while True:
            mode = "text" if freely else _MODES[self._mode]
            wanted = {**body, **_format(mode, schema)}
            bodies = [{**wanted, **LIKELY}, wanted] if choices else [wanted]
            try:
                return await sender.first_accepted(
                    call,
                    bodies,
                    lambda reply: answer_text(reply, self._model),
                    "scored" if choices else "object",
                )
            except BadRequest as error:
                if mode == "text" or not any(word in str(error).lower() for word in _FORMAT_WORDS):
                    raise
                self._mode = max(self._mode, _MODES.index(mode) + 1)
            except Truncated as error:
                if not error.blank or mode == "text":
                    raise
                freely = True


async def one_of(
    sender: Sender, call: Call, body: Mapping[str, Any], choices: tuple[str, ...]
) -> tuple[dict[str, float], bool]:
    """Return the probability of each choice as the answer; an invalid answer is sent back once.

    Without log probabilities the answer has probability 1. The second value is whether the server
    gave log probabilities. One token is enough with them; otherwise a few are asked for.
    """
    held = {"structured_outputs": {"choice": list(choices)}}

    def check(reply: Mapping[str, Any]) -> None:
        is_choice = _choice_text(reply) in map(bare, choices)
        if _first_token(reply, choices) is None and not is_choice:
            answer_text(reply, str(body["model"]))

    again = False
    while True:
        bodies = [{**body, **LIKELY, **held, "max_tokens": 1}, {**body, **LIKELY}, body]
        reply = await sender.first_accepted(call, bodies, check, "choice")
        likely, said = _first_token(reply, choices), _choice_text(reply)
        if likely is not None:
            return likely, is_scored(reply)
        fitting = [choice for choice in choices if said.startswith(bare(choice))]
        if len(fitting) == 1:
            return {choice: float(choice == fitting[0]) for choice in choices}, is_scored(reply)
        problem = InvalidAnswer(f"the answer is none of {', '.join(choices)}: {said[:80]!r}")
        if again:
            raise problem
        how = f"Answer with one word: {' or '.join(choices)}"
        text = answer_text(reply, str(body["model"]))
        body, again = _sent_back(call, body, text, problem, how), True


def _sent_back(
    call: Call, body: Mapping[str, Any], said: str, problem: Exception, how: str
) -> Mapping[str, Any]:
    """Return a request for another answer, which says what was wrong with the first one."""
    call.cost.repairs += 1
    asked = Message("user", f"That is not valid: {problem}. {how}.")
    more = [Message("assistant", said).wire(), asked.wire()]
    return {**body, "messages": [*body["messages"], *more]}


def _format(mode: str, schema: type[BaseModel]) -> dict[str, Any]:
    if mode == "json_schema":
        inner = {"name": schema.__name__, "schema": bounded_schema(schema), "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": inner}}
    return {"response_format": {"type": "json_object"}} if mode == "json_object" else {}
