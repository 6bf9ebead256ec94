"""What a request asks for: an object of a schema or one of several words; and what was answered."""

from __future__ import annotations

import bisect
import functools
import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, Field, ValidationError

from touche_rad.models._forgiving import bare, forgiving
from touche_rad.models.errors import EmptyReply, Refusal, Truncated
from touche_rad.models.thinking import place_of_thoughts, without_thoughts
from touche_rad.text import excerpt


def schema_limits(**limits: int) -> Any:
    """Return the limits that a schema tells a server, such as `maxLength=200`.

    An answer of another server that exceeds them is no error.
    """
    return Field(json_schema_extra={**limits})


Line = Annotated[str, Field(json_schema_extra={"maxLength": 200})]
"""Text of at most 200 characters: a name or a reason."""
Remark = Annotated[str, Field(json_schema_extra={"maxLength": 300})]
"""Text of at most 300 characters: a short comment."""
Paragraph = Annotated[str, Field(json_schema_extra={"maxLength": 600})]
"""Text of at most 600 characters: one turn."""
Page = Annotated[str, Field(json_schema_extra={"maxLength": 2_000})]
"""Text of at most 2,000 characters: a quoted text or a comment."""


def numbers_to(highest: int) -> Any:
    """Return the type of a list of numbers of things that a prompt numbers from 1 to `highest`.

    If there are none (0), the only number is 1, which names nothing. A server with schemas writes
    no other number. One that another server writes is no error: the caller leaves it out.
    """
    return list[Annotated[int, schema_limits(minimum=1, maximum=max(1, highest))]]


_LARGEST_NUMBER: Final = 999_999
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
        return [_strict(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    strict = {name: _strict(inner) for name, inner in part.items() if name != "default"}
    if "properties" in part:  # the names of properties are no keywords
        strict["properties"] = {key: _strict(inner) for key, inner in part["properties"].items()}
        strict["required"] = list(part["properties"])
        strict["additionalProperties"] = False
    if strict.get("type") in ("integer", "number"):
        if not {"minimum", "exclusiveMinimum"} & strict.keys():
            strict["minimum"] = -_LARGEST_NUMBER
        if not {"maximum", "exclusiveMaximum"} & strict.keys():
            strict["maximum"] = _LARGEST_NUMBER
    return strict


S = TypeVar("S", bound=BaseModel)
Fields = Mapping[str, Any]
"""Fields of a request or of a reply."""
Chances = Mapping[str, Mapping[str, float]]
"""The probability of each choice by field, for the fields with choices."""

_LONGEST_ANSWER: Final = 1_000_000
"""Characters of a text that are read."""
_MOST_TRIES: Final = 50
"""Places in a text at which JSON is tried."""


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
    answer = without_thoughts(text[:_LONGEST_ANSWER]).strip()
    problem = "no JSON object was found"
    end = 0
    tries = 0
    for match in _BEGIN.finditer(answer):
        if match.start() < end:  # inside the last value
            continue
        tries += 1
        if tries > _MOST_TRIES:
            break
        try:
            value, end = _DECODER.raw_decode(answer, match.start())
            return _validated(value, schema)
        except ValidationError as error:
            problems = []
            for detail in error.errors()[:8]:
                field = ".".join(map(str, detail["loc"])) or "the object"
                problems.append(f"{field}: {detail['msg']}")
            problem = "; ".join(problems)
            if isinstance(value, list):  # an object in it may fit
                end = match.start() + 1
        except (ValueError, RecursionError) as error:
            if match.start() == 0:
                problem = f"the JSON cannot be read: {error}"
    lines = {match["key"]: match["value"] for match in _KEY_AND_VALUE.finditer(answer)}
    if lines and "{" not in answer:
        with suppress(ValidationError):
            return _validated(lines, schema)
    raise NoObject(problem, text)


_BEGIN: Final = re.compile(r"[\[{]")
_KEY_AND_VALUE: Final = re.compile(
    r"^[ \t\r\f\v>*#-]*+[\"'`]?(?P<key>\w++)[\"'`*]*+\s*+:\s*+(?P<value>\S.*)$", re.MULTILINE
)


def _validated(value: object, schema: type[S]) -> S:
    form = _schema_of(schema)  # has the keys of the answer: aliases, if fields have them
    if not isinstance(value, dict) or value.keys() - form.get("properties", {}).keys():
        # Its keys may be known ones in capitals, which must not be dropped.
        return schema.model_validate(forgiving(value, form))
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        with suppress(ValidationError):
            return schema.model_validate(forgiving(value, form))
        raise error from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not valid JSON")


# vLLM lets models write control characters in the strings of JSON.
_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, strict=False)

_BLANKS: Final = 20
"""Spaces at the end of an answer that constrained decoding has written without end."""
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
    is_cut = first.get("finish_reason") == "length"
    missing = not text.strip()
    thinks = (is_cut or missing) and bool(place_of_thoughts(first["message"]))
    if is_cut:
        why = "the answer was cut off; raise -O model.max_tokens"
        if thinks and missing:
            why = f"it was still thinking at its limit of tokens; {NO_THINKING}"
        cut = Truncated(f"{model}: {why}")
        cut.thinking = thinks
        cut.begun = "{" in text
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
    tokens: list[Fields] = [token for token in listed or () if isinstance(token, dict)]
    texts = [str(token.get("token", "")) for token in tokens]
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
    """Return the probability of each choice by a token's `top_logprobs`; None: unknown."""
    if not isinstance(tops, list):
        return None
    weights = dict.fromkeys(choices, 0.0)
    for top in tops:
        token = str(top.get("token", "")).strip().strip('"').lower()
        log_probability = top.get("logprob")
        if not isinstance(log_probability, int | float) or math.isnan(log_probability):
            continue
        fitting = [choice for choice in choices if choice.lower() == token]
        if not fitting:
            fitting = [choice for choice in choices if choice.lower().startswith(token)]
        if len(fitting) == 1 and token:
            weights[fitting[0]] += math.exp(min(0.0, float(log_probability)))
    total = sum(weights.values())
    return {choice: weight / total for choice, weight in weights.items()} if total > 0 else None


LIKELY: Final = {"logprobs": True, "top_logprobs": 20}
"""Asks the server for the log probabilities of the answer."""


@dataclass
class ObjectQuestion:
    """Asks for an object of a schema, perhaps with the probability of choices in its fields."""

    schema: type[BaseModel]
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The choices of each field."""

    def __post_init__(self) -> None:
        self.name = self.schema.__name__
        self.how = "Answer again with nothing but the corrected JSON object"
        self.kind = "scored" if self.choices else "object"
        bounded = bounded_schema(self.schema)
        self.key = [bounded, *dict.fromkeys(chain(*self.choices.values()))]
        form = {"name": self.name, "schema": bounded, "strict": True}
        self.forms: list[Fields] = []
        for response_format in (
            {"response_format": {"type": "json_schema", "json_schema": form}},
            {"response_format": {"type": "json_object"}},
            {},
        ):
            if self.choices:
                self.forms.append({**response_format, **LIKELY})
            self.forms.append(response_format)

    def read(self, reply: Fields, model: str) -> Fields:
        """Return the text, and the probability of each choice for each field that has one."""
        answer = answer_text(reply, model)
        parse_object(answer, self.schema)
        if not self.choices:
            return {"said": answer, "chances": {}}
        tokens = _tokens(first_choice(reply, model))
        starts = []
        text = ""
        for token in tokens:
            starts.append(len(text))
            text += str(token.get("token", ""))
        either = "|".join(map(re.escape, chain(*self.choices.values())))
        by_field = {}
        for match in re.finditer(rf'"(\w+)"\s*:\s*(")(?:{either})"', text):
            quote = match.start(2)
            for at in (quote + 1, quote):  # the quote and the value may be one token
                token = tokens[bisect.bisect_right(starts, at) - 1]
                name = match.group(1)
                likely = probabilities(token.get("top_logprobs"), self.choices.get(name, ()))
                if likely is not None:
                    by_field[name] = likely
                    break
        return {"said": answer, "chances": by_field}

    def result(self, stored: Fields) -> tuple[Any, Chances]:
        """Return the object, and the probabilities by field."""
        return parse_object(stored["said"], self.schema), dict(stored["chances"])


@dataclass
class ChoiceQuestion:
    """Asks for one of several words: for one token where the server gives log probabilities."""

    choices: tuple[str, ...]

    def __post_init__(self) -> None:
        self.name = "choice"
        self.kind = "choice"
        self.key = list(self.choices)
        self.how = f"Answer with one word: {' or '.join(self.choices)}"
        only = {"structured_outputs": {"choice": list(self.choices)}, "max_tokens": 1}
        self.forms: list[Fields] = [{**LIKELY, **only}, LIKELY, {}]

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
            fitting = [choice for choice in self.choices if word == bare(choice)]
            if not fitting:
                fitting = [choice for choice in self.choices if word.startswith(bare(choice))]
            if len(fitting) != 1:
                raise NoObject(
                    f"the answer is none of {', '.join(self.choices)}: {excerpt(word, 80)!r}", text
                )
            likely = {choice: float(choice == fitting[0]) for choice in self.choices}
        return {"said": json.dumps(likely)}

    def result(self, stored: Fields) -> dict[str, float]:
        """Return the probability of each choice."""
        likely = json.loads(stored["said"])
        return {choice: float(likely[choice]) for choice in self.choices}


Question = ObjectQuestion | ChoiceQuestion
"""What a request asks for: how servers may be asked, and how a reply is read."""
