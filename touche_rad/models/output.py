"""JSON output: ask for an object of a schema, parse what a model wrote, and ask once more."""

from __future__ import annotations

import bisect
import functools
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, Field, ValidationError

from touche_rad.models._forgiving import bare, forgiving
from touche_rad.models.errors import BadRequest, EmptyReply, InvalidAnswer, Refusal, Truncated
from touche_rad.models.prompts import Message
from touche_rad.models.sending import Call, Sender
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
    return dict(_strict(_schema_of(schema)))


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
    if whole.get("type") in ("integer", "number"):
        if not {"minimum", "exclusiveMinimum"} & whole.keys():
            whole["minimum"] = -_LIMIT
        if not {"maximum", "exclusiveMaximum"} & whole.keys():
            whole["maximum"] = _LIMIT
    return whole


S = TypeVar("S", bound=BaseModel)
Chances = tuple[tuple[str, dict[str, float]], ...]
"""Name of a field and the probability of each choice in it, for each field with a choice."""

_FENCE: Final = re.compile(r"```(?:json)?\s*+(.*?)```", re.DOTALL)
_THINKS: Final = re.compile(r"\s*<think(?:ing)?>")
_THOUGHT: Final = re.compile(r"</think(?:ing)?>")
"""The end of thoughts; a chat template may have written their beginning into the prompt."""
_THOUGHTS: Final = ("reasoning_content", "reasoning")
"""The fields of a message in which servers put thoughts."""
_LONGEST: Final = 1_000_000


class NoObject(ValueError):
    """A text contains no object of the schema; the message is written for the model."""


def parse_object(text: str, schema: type[S]) -> S:
    """Return the first object in a text that fits the schema.

    Leaves out thoughts before the answer, then tries the whole text, fenced blocks, every outermost
    object, and at last lines such as `quantity: yes`. A value that does not fit is read as a person
    would read it (`"**Yes**"` for the choice `yes`); see `forgiving`.
    """
    answer = without_thoughts(text[:_LONGEST]).strip()
    problem = "no JSON object was found"
    fenced = (piece.strip() for piece in _FENCE.findall(answer))
    for piece in chain((answer,), fenced, _objects(answer)):
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
            problem = "; ".join(
                f"{'.'.join(map(str, one['loc'])) or 'the object'}: {one['msg']}"
                for one in error.errors()[:8]
            )
    lines = {match["key"]: match["value"] for match in _KEY_AND_VALUE.finditer(answer)}
    if lines and "{" not in answer:
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


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not valid JSON")


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
    """Return the probability of each choice by the first token's `top_logprobs`; None: unknown.

    No choice may begin like another.
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
    by_field = []
    for match in value.finditer(text):
        quote = match.start(2)
        place = bisect.bisect_right(starts, quote + 1) - 1
        for at in {place, bisect.bisect_right(starts, quote) - 1}:
            likely = probabilities(tokens[at].get("top_logprobs"), choices)
            if likely is not None:
                by_field.append((match.group(1), likely))
                break
    return tuple(by_field)


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


NO_THINKING: Final = (
    """switch thinking off with -O 'model.chat_template_kwargs={"enable_thinking": false}' or """
    "-O model.reasoning_effort=low, or raise -O model.max_tokens"
)


def answer_text(reply: Mapping[str, Any], model: str) -> str:
    """Return the text of the answer; raise an error if it is missing or cut off."""
    first = _first(reply, model)
    message = first.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    text = without_thoughts(text) if isinstance(text, str) else None
    if first.get("finish_reason") == "length":
        if not (text or "").strip() and has_thoughts(message):
            raise Truncated(f"{model}: it was still thinking at its limit of tokens; {NO_THINKING}")
        cut = Truncated(f"{model}: the answer was cut off; raise -O model.max_tokens")
        cut.blank = isinstance(text, str) and len(text) - len(text.rstrip()) >= _BLANKS
        raise cut
    if not isinstance(text, str) or not text.strip():
        why = f"thoughts, but no answer; {NO_THINKING}" if has_thoughts(message) else "no text"
        raise EmptyReply(f"{model}: the reply has {why}")
    return text


def has_thoughts(message: Any) -> bool:
    """Whether a message of a reply has thoughts."""
    if not isinstance(message, dict):
        return False
    text = str(message.get("content") or "")
    return any(message.get(key) for key in _THOUGHTS) or text != without_thoughts(text)


def without_thoughts(text: str) -> str:
    """Return an answer without the thoughts before it; unfinished thoughts leave nothing."""
    if text.lstrip().startswith("{"):  # an object may quote a text with such a mark
        return text
    answer = _THOUGHT.split(text)[-1]
    return "" if _THINKS.match(answer) else answer


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
    return bare(without_thoughts(str(message.get("content") or "")))


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


@dataclass
class JsonFormat:
    """Requests a JSON answer in the strictest way that the server supports.

    It asks for decoding with the schema, then for JSON, then for plain text.
    """

    model: str
    _mode: int = 0

    async def valid(
        self,
        sender: Sender,
        call: Call,
        body: Mapping[str, Any],
        schema: type[BaseModel],
        choices: Sequence[str],
    ) -> Mapping[str, Any]:
        """Return a reply with an object of the schema; an invalid one is sent back once."""

        def read(reply: Mapping[str, Any]) -> Mapping[str, Any]:
            parse_object(answer_text(reply, self.model), schema)
            return reply

        send = partial(self._send, sender, call, schema, choices)
        how = "Answer again with nothing but the corrected JSON object"
        try:
            return await _corrected(call, body, send, read, how)
        except NoObject as error:
            raise InvalidAnswer(
                f"{self.model}: the answer does not fit {schema.__name__}: {error}"
            ) from None

    async def _send(
        self,
        sender: Sender,
        call: Call,
        schema: type[BaseModel],
        choices: Sequence[str],
        body: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        """Send a request in the strictest format that works; return a reply with a text."""
        freely = False
        while True:
            mode = "text" if freely else _MODES[self._mode]
            request = dict(body)
            if mode == "json_schema":
                form = {"name": schema.__name__, "schema": bounded_schema(schema), "strict": True}
                request["response_format"] = {"type": mode, "json_schema": form}
            elif mode == "json_object":
                request["response_format"] = {"type": mode}
            bodies = [{**request, **LIKELY}, request] if choices else [request]
            check, kind = partial(answer_text, model=self.model), "scored" if choices else "object"
            try:
                return await sender.first_accepted(call, bodies, check, kind)
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
    limits = {"structured_outputs": {"choice": list(choices)}, "max_tokens": 1}

    def check(reply: Mapping[str, Any]) -> None:
        is_choice = _choice_text(reply) in map(bare, choices)
        if _first_token(reply, choices) is None and not is_choice:
            answer_text(reply, str(body["model"]))

    async def send(body: Mapping[str, Any]) -> Mapping[str, Any]:
        bodies = [{**body, **LIKELY, **limits}, {**body, **LIKELY}, body]
        return await sender.first_accepted(call, bodies, check, "choice")

    def read(reply: Mapping[str, Any]) -> tuple[dict[str, float], bool]:
        likely, text = _first_token(reply, choices), _choice_text(reply)
        if likely is not None:
            return likely, is_scored(reply)
        fitting = [choice for choice in choices if text.startswith(bare(choice))]
        if len(fitting) != 1:
            raise NoObject(f"the answer is none of {', '.join(choices)}: {text[:80]!r}")
        return {choice: float(choice == fitting[0]) for choice in choices}, is_scored(reply)

    how = f"Answer with one word: {' or '.join(choices)}"
    try:
        return await _corrected(call, body, send, read, how)
    except NoObject as error:
        raise InvalidAnswer(str(error)) from None


T = TypeVar("T")


async def _corrected(
    call: Call,
    body: Mapping[str, Any],
    send: Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]],
    read: Callable[[Mapping[str, Any]], T],
    how: str,
) -> T:
    """Return what `read` makes of a reply; the model is told once what was wrong with it."""
    reply = await send(body)
    try:
        return read(reply)
    except NoObject as error:
        request = Message("user", f"That is not valid: {error}. {how}.")
    call.cost.repairs += 1
    more = [Message("assistant", answer_text(reply, str(body["model"]))), request]
    messages = [*body["messages"], *(message.wire() for message in more)]
    return read(await send({**body, "messages": messages}))
