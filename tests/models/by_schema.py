"""A scripted endpoint whose answers depend on the schema that is asked for; it keeps the calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tests.models.scripted import Handler, Scripted, content

"""Makes an answer from the prompt."""


def schema_of(body: Mapping[str, Any]) -> str:
    """The name of the schema a request asks for; of a choice, the choices."""
    if "response_format" in body:
        return str(body["response_format"].get("json_schema", {}).get("name", "json"))
    choices = body.get("structured_outputs", {}).get("choice")
    return "|".join(choices) if choices else "text"


def form_of(body: Mapping[str, Any]) -> Any:
    """The JSON schema that a request asks for."""
    return body["response_format"]["json_schema"]["schema"]


def prompt_of(body: Mapping[str, Any]) -> str:
    """All that was said, in order."""
    return "\n".join(message["content"] for message in body["messages"])


def last_message(body: Mapping[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def last_asked(server: Scripted) -> str:
    """The last message of the last request."""
    return last_message(server.asked[-1])


def roles_of(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    return [message["role"] for message in messages]


def answering(server: Scripted, answers: Mapping[str, Any]) -> None:
    """Let the endpoint answer each schema; a callable is given the prompt."""

    def act(handler: Handler) -> None:
        name = schema_of(handler.body)
        answer = answers[name]
        if callable(answer):
            answer = answer(prompt_of(handler.body))
        if isinstance(answer, Exception):
            handler.say(503, b"{}")
            return
        text = answer if isinstance(answer, str) else json.dumps(answer)
        content(text)(handler)

    server.always = act


def called(server: Scripted) -> list[str]:
    """The schemas asked for, in order."""
    return [schema_of(body) for body in server.asked]


def prompts(server: Scripted, schema: str) -> list[str]:
    """The prompts that asked for a schema, in order."""
    return [prompt_of(body) for body in server.asked if schema_of(body) == schema]


def filled(schema: Mapping[str, Any], **given: Any) -> Any:
    """Some value that fits a schema; a field whose name is given has that value."""
    definitions = schema.get("$defs", {})

    def value(part: Mapping[str, Any]) -> Any:
        if "$ref" in part:
            return value(definitions[part["$ref"].rpartition("/")[2]])
        if "enum" in part or "const" in part:
            return part.get("enum", [part.get("const")])[0]
        kinds = {
            "string": "said",
            "integer": int(part.get("maximum", 7)),
            "boolean": True,
            "number": part.get("maximum", 0.9),
            "null": None,
        }
        if part.get("type") == "object":
            return {name: given.get(name, value(of)) for name, of in part["properties"].items()}
        if part.get("type") == "array":
            return [value(part["items"])] * max(1, part.get("minItems", 1))
        if "anyOf" in part:
            return value(part["anyOf"][0])
        return kinds[part["type"]]

    return value(schema)


def filling(server: Scripted, **given: Any) -> None:
    """Let the endpoint answer whatever is asked with something that fits, and choices with yes."""

    def act(handler: Handler) -> None:
        if "structured_outputs" in handler.body:
            choice, *_ = handler.body["structured_outputs"]["choice"]
            content(choice)(handler)
            return
        schema = form_of(handler.body)
        answer = given.get(schema_of(handler.body))
        if callable(answer):
            answer = answer(prompt_of(handler.body))
        content(json.dumps(filled(schema, **given) if answer is None else answer))(handler)

    server.always = act
