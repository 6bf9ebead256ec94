"""A backend for estimates: its answers fit the schemas.

The texts are quoted from the prompt, so that plugins which compare an answer with its sources
accept some of them. Choices, numbers and decisions vary with the prompt, so that the branches of a
plugin are visited. The same prompts get the same answers.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from touche_rad.models.examples import Examples, Request, estimate_tokens

_LENGTH: Final = 0.25
"""Share of the maximum length that texts and lists have."""
_TEXT: Final = 300
"""Characters of a text whose schema has no maximum."""
_ITEMS: Final = 4
"""Items of a list whose schema has no maximum."""
_SHORTEST: Final = 30
_IN_A_ROW: Final = 3
"""Words that an example answer takes from one place of the prompt."""
_SCALE: Final = 100
"""A number varies if its bounds are at most this far apart."""


class Answers(Examples):
    """Answers requests without a model, and counts estimated tokens."""

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Answer; an answer beyond the token limit of the request is cut off."""
        request = Request.of(body)
        self.requests.append(request)
        content = self._answer(request)
        written, limit = max(1, estimate_tokens(content)), int(body.get("max_tokens") or 10**9)
        message = {"role": "assistant", "content": content[: 4 * limit]}
        reason = "length" if written > limit else "stop"
        return {
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {
                "prompt_tokens": self._count(request.prompt),
                "completion_tokens": min(written, limit),
            },
        }

    def _answer(self, request: Request) -> str:
        writer = _Writer(request.prompt)
        if request.schema is not None:
            return json.dumps(writer.value(request.schema, request.schema), ensure_ascii=False)
        if request.choices:
            return writer.chance.choice(request.choices)
        return writer.text(_TEXT)


class _Writer:
    """Writes one answer."""

    def __init__(self, prompt: str) -> None:
        self.chance = random.Random(prompt)
        self._prompt = prompt

    @cached_property
    def _words(self) -> list[str]:
        return re.findall(r"[\w'-]+", self._prompt)[-2000:] or ["none"]

    def value(self, part: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
        """Return a value that fits a part of a schema."""
        if "$ref" in part:
            return self.value(schema["$defs"][part["$ref"].rpartition("/")[2]], schema)
        if "const" in part:
            return part["const"]
        if "enum" in part:
            return self.chance.choice(part["enum"])
        if "anyOf" in part:
            return self.value(self.chance.choice(part["anyOf"]), schema)
        match part.get("type"):
            case "object":
                fields = part.get("properties", {})
                return {key: self.value(inner, schema) for key, inner in fields.items()}
            case "array":
                return self._list(part, schema)
            case "integer":
                return self._integer(part)
            case "number":
                low, high = max(0.0, part.get("minimum", 0.0)), min(1.0, part.get("maximum", 1.0))
                return round(self.chance.uniform(min(low, high), high), 2)
            case "boolean":
                return self.chance.random() < 0.5
            case "null":
                return None
        return self.text(part.get("maxLength", _TEXT))

    def _list(self, part: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Any]:
        least = part.get("minItems", 1)
        most = max(least, part.get("maxItems", _ITEMS))
        items: list[Any] = []
        for _ in range(least + round(_LENGTH * (most - least))):
            item = self.value(part.get("items", {}), schema)
            if item not in items or len(items) < least:
                items.append(item)
        return items

    def _integer(self, part: Mapping[str, Any]) -> int:
        low, high = int(part.get("minimum", 0)), int(part.get("maximum", 1))
        if high - low <= _SCALE:
            return self.chance.randint(low, max(low, high))
        return min(max(1, low), high)

    def text(self, most: int) -> str:
        """Quote words of the prompt, up to a share of `most` characters.

        Few of them follow each other in the prompt: an answer that repeats its prompt is refused.
        """
        length = min(most, max(_SHORTEST, round(_LENGTH * most)))
        quoted: list[str] = []
        size = 0
        while size < length:
            at = self.chance.randrange(len(self._words))
            quoted.append(" ".join(self._words[at : at + _IN_A_ROW]))
            size += len(quoted[-1])
        return " ".join(quoted)[:length]
