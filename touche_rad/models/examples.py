"""A backend that answers each request with an example of its schema, and keeps the requests.

It shows the prompts that a plugin sends (`touche-rad prompts`), and estimates calls and tokens
(`--dry-run`), without a model. Its answers have a valid form and no sense.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from json import dumps
from typing import Any, Final

from touche_rad.frozen import frozen
from touche_rad.lists import T
from touche_rad.models.endpoint import Backend, completion

TEXT: Final = "A short example of some words."
_LENGTH: Final = 0.25
"""Share of the maximum length that varied texts and lists have."""
_TEXT: Final = 300
"""Characters of a text whose schema has no maximum."""
_ITEMS: Final = 4
"""Items of a list whose schema has no maximum."""
_SHORTEST: Final = 30
_IN_A_ROW: Final = 3
"""Words that a varied answer takes from one place of the prompt."""
_SCALE: Final = 100
"""A number varies if its bounds are at most this far apart."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of an English text: four letters each."""
    return round(len(text) / 4)


@frozen
class PluginRequest:
    """One request of a plugin."""

    messages: tuple[Mapping[str, str], ...]
    schema_name: str = ""
    schema: Mapping[str, Any] | None = None
    """None if the answer is one of several words."""
    choices: tuple[str, ...] = ()

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> PluginRequest:
        """Read a request in the format of OpenAI's chat completions."""
        form = body.get("response_format", {}).get("json_schema", {})
        choices = body.get("structured_outputs", {}).get("choice", ())
        return cls(
            tuple(body["messages"]), form.get("name", ""), form.get("schema"), tuple(choices)
        )

    @property
    def prompt(self) -> str:
        """All messages in one text."""
        return "\n".join(message["content"] for message in self.messages)

    @property
    def tokens(self) -> int:
        """Estimated tokens of the prompt."""
        return estimate_tokens(self.prompt)


class Examples(Backend):
    """A backend whose answers are examples of the schemas."""

    model = place = "examples"

    def __init__(self, *, varied: bool = False) -> None:
        """Make a backend.

        Varied answers depend on the prompt, have usual lengths, and are cut off at the token limit.
        """
        self.requests: list[PluginRequest] = []
        self._varied = varied

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Keep the request and answer it."""
        request = PluginRequest.of(body)
        self.requests.append(request)
        writer = _Writer(request.prompt if self._varied else None)
        if request.schema is not None:
            value = writer.value(request.schema, request.schema)
            content = dumps(value, ensure_ascii=not self._varied)
        elif request.choices:
            content = str(writer.one_of(request.choices))
        else:
            content = writer.text({})
        tokens = estimate_tokens(content)
        if not self._varied:
            return completion(content, request.tokens, tokens)
        limit = int(body.get("max_tokens") or 10**9)
        if tokens > limit:
            return completion(content[: 4 * limit], request.tokens, max(1, limit), "length")
        return completion(content, request.tokens, max(1, tokens))


def example(schema: Mapping[str, Any]) -> object:
    """Return a value that is valid by a JSON schema, with all keys."""
    return _Writer(None).value(schema, schema)


class _Writer:
    """Writes one answer: the simplest one, or one that varies with a prompt.

    The texts of a varied answer are quoted from the prompt, so that plugins which compare an answer
    with its sources accept some of them. Its choices, numbers and decisions vary, so that the
    branches of a plugin are visited.
    """

    def __init__(self, prompt: str | None) -> None:
        self._chance = random.Random(prompt) if prompt is not None else None
        self._words = re.findall(r"[\w'-]+", prompt or "")[-2000:] or ["none"]

    def one_of(self, options: Sequence[T]) -> T:
        """Choose one of several values."""
        return self._chance.choice(options) if self._chance else options[0]

    def value(self, part: Mapping[str, Any], schema: Mapping[str, Any]) -> object:
        """Return a value that fits a part of a schema."""
        if "$ref" in part:
            return self.value(schema["$defs"][part["$ref"].rpartition("/")[2]], schema)
        if "const" in part:
            return part["const"]
        if "enum" in part:
            return self.one_of(part["enum"])
        if "anyOf" in part:
            return self.value(self.one_of(part["anyOf"]), schema)
        match part.get("type"):
            case "object":
                fields = part.get("properties", {})
                return {key: self.value(inner, schema) for key, inner in fields.items()}
            case "array":
                return self._list(part, schema)
            case "integer":
                low = int(part.get("minimum", 0))
                high = int(part.get("maximum", 1))
                if self._chance and high - low <= _SCALE:
                    return self._chance.randint(low, max(low, high))
                return min(max(1, low), high)
            case "number" if self._chance:
                highest = min(1.0, part.get("maximum", 1.0))
                lowest = min(highest, max(0.0, part.get("minimum", 0.0)))
                return round(self._chance.uniform(lowest, highest), 2)
            case "number":
                return min(max(0.5, part.get("minimum", 0.5)), part.get("maximum", 0.5))
            case "boolean":
                return self._chance is None or self._chance.random() < 0.5
            case "null":
                return None
        return self.text(part)

    def _list(self, part: Mapping[str, Any], schema: Mapping[str, Any]) -> list[object]:
        least = part.get("minItems", 1)
        if not self._chance:
            return [self.value(part["items"], schema)] * max(1, least)
        most = max(least, part.get("maxItems", _ITEMS))
        values: list[object] = []
        for _ in range(least + round(_LENGTH * (most - least))):
            value = self.value(part.get("items", {}), schema)
            if value not in values or len(values) < least:
                values.append(value)
        return values

    def text(self, part: Mapping[str, Any]) -> str:
        """Return a text; a varied one quotes words of the prompt.

        Few of them follow each other in the prompt: an answer that repeats its prompt is refused.
        """
        if not self._chance:
            return TEXT
        most = part.get("maxLength", _TEXT)
        length = min(most, max(_SHORTEST, round(_LENGTH * most)))
        quoted: list[str] = []
        size = 0
        while size < length:
            at = self._chance.randrange(len(self._words))
            quoted.append(" ".join(self._words[at : at + _IN_A_ROW]))
            size += len(quoted[-1])
        return " ".join(quoted)[:length]
