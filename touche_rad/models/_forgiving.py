"""Read the values that small models write although the schema says something else.

Servers without JSON schemas return what the model happened to write: a choice in capitals or bold
type, null for an unused key, a list without its object, "8/10" for a number. A person would read
such an answer without asking again, and so does this module. It changes no text and invents no
value: what stays unclear fails the validation that follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def bare(text: str) -> str:
    """Return a text in lower case without marks around it, with one kind of word separator."""
    return re.sub(r"[\s_-]+", "_", text.strip(" \t\n*_`\"'.:;!").lower())


def forgiving(value: object, schema: Mapping[str, Any]) -> object:
    """Return the value with what a schema plainly means; unclear values stay as they are."""
    return _read(value, schema, schema.get("$defs", {}))


def _read(value: object, part: Mapping[str, Any], definitions: Mapping[str, Any]) -> object:
    if "$ref" in part:
        return _read(value, definitions[part["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in part:
        kinds = [kind for kind in part["anyOf"] if kind.get("type") != "null"]
        if isinstance(value, str) and bare(value) in ("null", "none") and _allows_null(part):
            return None
        if value is None or len(kinds) != 1:
            return value
        return _read(value, kinds[0], definitions)
    choices = part.get("enum", [part["const"]] if "const" in part else [])
    if choices:
        return _choice(value, choices)
    if "properties" in part:
        properties: Mapping[str, Any] = part["properties"]
        if isinstance(value, list):
            lists = [key for key, kind in properties.items() if kind.get("type") == "array"]
            value = {lists[0]: value} if len(lists) == 1 else value
        if not isinstance(value, dict):
            return value
        if len(value) == 1 and not _keys(value, properties):
            (inner,) = value.values()  # such as {"answer": {...}}
            value = inner if isinstance(inner, dict) else value
        return {
            key: _read(value[name], properties[key], definitions)
            for key, name in _keys(value, properties).items()
            if value[name] is not None or _allows_null(properties[key])
        }
    if part.get("type") == "array":
        elements = value if isinstance(value, list) else [value]
        return [_read(element, part.get("items", {}), definitions) for element in elements]
    if isinstance(value, str) and part.get("type") == "boolean":
        return bare(value)
    if isinstance(value, str) and part.get("type") in ("integer", "number"):
        number = _NUMBER.match(value.strip(" *`\"'"))
        return number[0] if number else value
    return value


def _choice(value: object, choices: list[object]) -> object:
    """Return the choice that a text is, or begins with if it contains no other choice.

    A part of a choice such as `Assertive/Critical` stands for it if no other choice has this part.
    """
    words = f"_{bare(str(value))}_"
    texts = {choice: f"_{bare(str(choice))}_" for choice in choices}
    for choice, text in texts.items():
        if text == words:
            return choice
    contained = [choice for choice, text in texts.items() if text in re.sub(r"\W", "_", words)]
    if len(contained) == 1 and words.startswith(texts[contained[0]][:-1]):
        return contained[0]
    word = words.strip("_")
    fitting = [choice for choice in choices if word in map(bare, str(choice).split("/"))]
    return fitting[0] if len(fitting) == 1 else value


def _keys(value: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the key in the value for each property that the value has."""
    names = {bare(name): name for name in value}
    return {key: names[bare(key)] for key in properties if bare(key) in names}


def _allows_null(part: Mapping[str, Any]) -> bool:
    return any(kind.get("type") == "null" for kind in part.get("anyOf", ()))
