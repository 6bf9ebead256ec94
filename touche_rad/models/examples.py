"""A backend that answers each request with an example of its schema, and keeps the requests.

It shows the prompts that a plugin sends (`touche-rad prompts`), and counts calls and tokens,
without a model. Its answers have a valid form and no sense.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from json import dumps
from typing import Any, Final

TEXT: Final = "A short example of some words."


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of an English text: four letters each."""
    return round(len(text) / 4)


@dataclass(frozen=True)
class Request:
    """One request of a plugin."""

    messages: tuple[Mapping[str, str], ...]
    schema_name: str = ""
    schema: Mapping[str, Any] | None = None
    """None if the answer is one of several words."""
    choices: tuple[str, ...] = ()

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Request:
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


class Examples:
    """A backend whose answers are examples of the schemas."""

    model = place = "examples"

    def __init__(
        self,
        answers: Mapping[str, Callable[[str], Any]] | None = None,
        count_tokens: Callable[[str], int] = estimate_tokens,
    ) -> None:
        """Make a backend.

        Args:
            answers: For the name of a schema, a function from the prompt to the answer.
            count_tokens: Counts the tokens of a text.
        """
        self.requests: list[Request] = []
        self._answers = answers or {}
        self._count = count_tokens

    async def ready(self) -> float:
        """Always ready."""
        return 0.0

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Keep the request and answer it."""
        request = Request.of(body)
        self.requests.append(request)
        if request.schema is None:
            content = request.choices[0] if request.choices else TEXT
        elif request.schema_name in self._answers:
            content = dumps(self._answers[request.schema_name](request.prompt))
        else:
            content = dumps(example(request.schema))
        message = {"role": "assistant", "content": content}
        return {
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": self._count(request.prompt),
                "completion_tokens": self._count(content),
            },
        }

    async def context(self) -> int | None:
        """No limit."""
        return None

    async def close(self) -> None:
        """Nothing to close."""


def example(schema: Mapping[str, Any]) -> Any:
    """Return a value that is valid by a JSON schema, with all keys."""
    definitions = schema.get("$defs", {})

    def value(part: Mapping[str, Any]) -> Any:
        if "$ref" in part:
            return value(definitions[part["$ref"].rpartition("/")[2]])
        if "anyOf" in part:
            return value(part["anyOf"][0])
        if "enum" in part or "const" in part:
            return part.get("const", (part.get("enum") or [None])[0])
        match part.get("type"):
            case "object":
                return {key: value(inner) for key, inner in part.get("properties", {}).items()}
            case "array":
                return [value(part["items"])] * max(1, part.get("minItems", 1))
            case "integer":
                return min(max(1, part.get("minimum", 1)), part.get("maximum", 1))
            case "number":
                return min(max(0.5, part.get("minimum", 0.5)), part.get("maximum", 0.5))
            case "boolean":
                return True
            case "null":
                return None
        return TEXT

    return value(schema)
