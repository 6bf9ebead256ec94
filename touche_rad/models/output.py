"""What a request asks for: an object of a schema or one of several words; and what was answered."""

from __future__ import annotations

import bisect
import functools
import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from touche_rad.models._forgiving import bare, forgiving
from touche_rad.models.errors import EmptyReply, Refusal, Truncated
from touche_rad.models.thinking import place_of_thoughts, without_thoughts
from touche_rad.text import excerpt

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
    limits: object = {"minimum": 1, "maximum": max(1, highest)}
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


def _strict(part: object) -> Any:
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
Fields = Mapping[str, Any]
"""Fields of a request or of a reply."""
Chances = tuple[tuple[str, dict[str, float]], ...]
"""Name of a field and the probability of each choice in it, for each field with a choice."""

_LONGEST: Final = 1_000_000


class NoObject(ValueError):
    """A text is not what was asked for; the message is written for the model."""

    def __init__(self, problem: str, text: str) -> None:
        super().__init__(problem)
        self.text = text


def parse_object(text: str, schema: type[S]) -> S:
    """Return the first object in a text that fits the schema.

    Leaves out thoughts before the answer, then tries every outermost JSON value, and at last lines
    such as `quantity: yes`. A value that does not fit is read as a person would read it, such as
    `"**Yes**"` for the choice `yes`; see `forgiving`.
    """
    answer = without_thoughts(text[:_LONGEST]).strip()
    problem = "no JSON object was found"
    at, tries = 0, 0
    for match in _BEGIN.finditer(answer):
        if match.start() < at:
            continue
        tries += 1
        if tries > _MOST:
            break
        try:
            value, at = _DECODER.raw_decode(answer, match.start())
            return _validated(value, schema)
        except ValidationError as error:
            problem = "; ".join(
                f"{'.'.join(map(str, one['loc'])) or 'the object'}: {one['msg']}"
                for one in error.errors()[:8]
            )
            if isinstance(value, list):  # an object in it may fit
                at = match.start() + 1
        except (ValueError, RecursionError) as error:
            if match.start() == 0:
                problem = f"the JSON cannot be read: {error}"
    lines = {match["key"]: match["value"] for match in _KEY_AND_VALUE.finditer(answer)}
    if lines and "{" not in answer:
        with suppress(ValidationError):
            return _validated(lines, schema)
    raise NoObject(problem, text)


_BEGIN: Final = re.compile(r"[\[{]")
_MOST: Final = 50
"""Places in a text at which JSON is tried."""
_KEY_AND_VALUE: Final = re.compile(
    r"^[ \t\r\f\v>*#-]*+[\"'`]?(?P<key>\w++)[\"'`*]*+\s*+:\s*+(?P<value>\S.*)$", re.MULTILINE
)


def _validated(value: object, schema: type[S]) -> S:
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


# vLLM lets models write control characters in the strings of JSON.
_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, strict=False)

_BLANKS: Final = 20
NO_THINKING: Final = (
    "switch thinking off with -O model.think=off, or raise -O model.think_tokens "
    "(touche-rad doctor -m URL#MODEL tries what works)"
)


def first_choice(reply: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    """Return the choice of a reply with its message; raise an error if the model refused."""
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        raise EmptyReply(f"{model}: the reply has no choice")
    message = first.get("message")
    if not isinstance(message, dict):
        raise EmptyReply(f"{model}: the reply has no message")
    if message.get("refusal"):
        raise Refusal(f"{model} refused: {excerpt(message['refusal'], 200)}")
    if first.get("finish_reason") == "content_filter":
        raise Refusal(f"{model} refused: content filter")
    return first


def answer_text(reply: Mapping[str, Any], model: str) -> str:
    """Return the text of the answer; raise an error if it is missing or cut off."""
    first = first_choice(reply, model)
    content = first["message"].get("content")
    text = without_thoughts(content) if isinstance(content, str) else ""
    is_cut, missing = first.get("finish_reason") == "length", not text.strip()
    thinks = (is_cut or missing) and bool(place_of_thoughts(first["message"]))
    if is_cut:
        why = "the answer was cut off; raise -O model.max_tokens"
        if thinks and missing:
            why = f"it was still thinking at its limit of tokens; {NO_THINKING}"
        cut = Truncated(f"{model}: {why}")
        cut.thinking, cut.begun = thinks, "{" in text
        cut.blank = len(text) - len(text.rstrip()) >= _BLANKS
        raise cut
    if missing:
        why = f"thoughts, but no answer; {NO_THINKING}" if thinks else "no text"
        raise EmptyReply(f"{model}: the reply has {why}")
    return text


def has_scores(reply: Mapping[str, Any]) -> bool:
    """Whether a reply has log probabilities."""
    return bool((first_choice(reply, "the model").get("logprobs") or {}).get("content"))


def _tokens(first: Fields) -> list[Fields]:
    """Return the tokens of the answer with their log probabilities: those of thoughts are no part.

    Empty if there are none, or if the answer is not among them.
    """
    listed: Any = (first.get("logprobs") or {}).get("content")
    tokens: list[Fields] = [one for one in listed or () if isinstance(one, dict)]
    texts = [str(one.get("token", "")) for one in tokens]
    answer = without_thoughts(str(first["message"].get("content") or "")).strip()
    start = "".join(texts).rfind(answer)
    if start < 0:
        return [] if place_of_thoughts(first["message"]) else tokens
    for number, text in enumerate(texts):
        start -= len(text)
        if start < 0:
            return tokens[number:]
    return []


def probabilities(tops: object, choices: tuple[str, ...]) -> dict[str, float] | None:
    """Return the probability of each choice by a token's `top_logprobs`; None: unknown.

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


def _chances(first: Mapping[str, Any], choices: tuple[str, ...]) -> Chances:
    """Return the probability of each choice for each field that has a choice as its value."""
    starts, text, tokens = [], "", _tokens(first)
    for one in tokens:
        starts.append(len(text))
        text += str(one.get("token", ""))
    either = "|".join(map(re.escape, choices))
    by_field = []
    for match in re.finditer(rf'"(\w+)"\s*:\s*(")(?:{either})"', text):
        quote = match.start(2)
        for at in (quote + 1, quote):  # the quote and the value may be one token
            token = tokens[bisect.bisect_right(starts, at) - 1]
            likely = probabilities(token.get("top_logprobs"), choices)
            if likely is not None:
                by_field.append((match.group(1), likely))
                break
    return tuple(by_field)


LIKELY: Final = {"logprobs": True, "top_logprobs": 20}
"""Asks the server for the log probabilities of the answer."""


class Question:
    """What a request asks for: how servers may be asked, and how a reply is read."""

    name: str
    kind: Literal["object", "scored", "choice"]
    """Servers refuse a form of one kind of request as a rule."""
    key: list[object]
    """What the cache's key has of it."""
    forms: list[Fields]
    """Fields that are added to a request, the best ones first; a server may refuse some."""
    how: str
    """What a model is told that answered something else."""

    def read(self, reply: Fields, model: str) -> Fields:
        """Return what is stored of an answer.

        Raises:
            ModelError: There is no answer.
            NoObject: It is not what was asked for.
        """
        raise NotImplementedError


@dataclass
class ObjectQuestion(Question):
    """Asks for an object of a schema, perhaps with the probability of choices in its fields."""

    schema: type[BaseModel]
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.name, self.how = (
            self.schema.__name__,
            "Answer again with nothing but the corrected JSON object",
        )
        self.kind = "scored" if self.choices else "object"
        bounded = bounded_schema(self.schema)
        self.key = [bounded, *self.choices]
        form = {"name": self.name, "schema": bounded, "strict": True}
        formats: list[Fields] = [
            {"response_format": {"type": "json_schema", "json_schema": form}},
            {"response_format": {"type": "json_object"}},
            {},
        ]
        both = ({**LIKELY}, {}) if self.choices else ({},)
        self.forms = [{**one, **likely} for one in formats for likely in both]

    def read(self, reply: Fields, model: str) -> Fields:
        """Return the text and the probabilities."""
        text = answer_text(reply, model)
        parse_object(text, self.schema)
        first = first_choice(reply, model)
        return {"said": text, "chances": _chances(first, self.choices) if self.choices else ()}


@dataclass
class ChoiceQuestion(Question):
    """Asks for one of several words: for one token where the server gives log probabilities."""

    choices: tuple[str, ...]

    def __post_init__(self) -> None:
        self.name, self.kind, self.key = "choice", "choice", list(self.choices)
        self.how = f"Answer with one word: {' or '.join(self.choices)}"
        only = {"structured_outputs": {"choice": list(self.choices)}, "max_tokens": 1}
        self.forms = [{**LIKELY, **only}, LIKELY, {}]

    def likely(self, first: Fields) -> dict[str, float] | None:
        """Return the probabilities by the first token with a letter; None if it is no choice."""
        for token in _tokens(first):
            word = bare(str(token.get("token", "")))
            if word:
                begins = any(bare(choice).startswith(word) for choice in self.choices)
                return probabilities(token.get("top_logprobs"), self.choices) if begins else None
        return None

    def read(self, reply: Fields, model: str) -> Fields:
        """Return the probability of each choice; one that was cut off is enough."""
        first = first_choice(reply, model)
        likely = self.likely(first)
        if likely is None:
            text = str(first["message"].get("content") or "")
            if bare(text) not in map(bare, self.choices):
                text = answer_text(reply, model)
            word = bare(text)
            fitting = [choice for choice in self.choices if word.startswith(bare(choice))]
            if len(fitting) != 1:
                words = ", ".join(self.choices)
                raise NoObject(f"the answer is none of {words}: {excerpt(word, 80)!r}", text)
            likely = {choice: float(choice == fitting[0]) for choice in self.choices}
        return {"said": json.dumps(likely)}
