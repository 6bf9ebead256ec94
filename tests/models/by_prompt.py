"""Answers of a scripted endpoint that depend on the prompt alone and fit the request's schema."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.models.by_schema import prompt_of
from tests.models.scripted import Handler, reply, says


def answer_by_prompt(handler: Handler) -> None:
    """Answer a request."""
    says(reply_to(handler.body))(handler)


def reply_to(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a completion: of a schema, of choices, or a sentence; with log probabilities if asked."""
    prompt = prompt_of(body)
    draw = random.Random(hashlib.sha256(prompt.encode()).digest())
    words = re.findall(r"[A-Za-z]{3,}", prompt)
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    choices = body.get("structured_outputs", {}).get("choice")
    if schema is not None:
        content = json.dumps(_value(schema, schema.get("$defs", {}), draw, words))
    elif choices:
        content = draw.choice(choices)
    else:
        content = _sentence(draw, words)
    if not body.get("logprobs"):
        return reply(content)
    likely = [{"token": token, "logprob": -3 * draw.random()} for token in ("yes", "no", "1", "2")]
    tokens = [
        {"token": token, "logprob": -0.1, "top_logprobs": likely}
        for token in re.findall(r"\w+|\W+", content)
    ]
    return reply(content, logprobs={"content": tokens})


def _sentence(draw: random.Random, words: Sequence[str]) -> str:
    """Return some words of the prompt as a sentence."""
    return f"{' '.join(draw.choices(words, k=9)).capitalize()}."


def _value(part: Any, definitions: Any, draw: random.Random, words: Sequence[str]) -> Any:
    """Return a value that fits a part of a schema."""
    if "$ref" in part:
        return _value(definitions[part["$ref"].rpartition("/")[2]], definitions, draw, words)
    if "anyOf" in part:
        return _value(draw.choice(part["anyOf"]), definitions, draw, words)
    if "enum" in part or "const" in part:
        return draw.choice(part.get("enum", [part.get("const")]))
    match part.get("type"):
        case "object":
            return {
                name: _value(field, definitions, draw, words)
                for name, field in part["properties"].items()
            }
        case "array":
            count = max(part.get("minItems", 1), min(part.get("maxItems", 9), draw.randint(1, 3)))
            return [_value(part["items"], definitions, draw, words) for _ in range(count)]
        case "integer" | "number":
            return draw.randint(int(part.get("minimum", 0)), int(part.get("maximum", 9)))
        case "boolean":
            return draw.random() < 0.5
        case "null":
            return None
    return _sentence(draw, words)
