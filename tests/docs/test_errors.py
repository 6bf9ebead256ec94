"""The page of errors quotes messages of the code, and the reference has the messages of all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests import ROOT
from touche_rad.errors import ToucheRadError


def test_each_quoted_message_stands_in_the_code() -> None:
    code = "\n".join(_strings())
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    quoted = re.findall(r"^- `([^`]+)`", page, re.MULTILINE)
    assert len(quoted) > 10
    missing = []
    for message in quoted:
        parts = [part for part in re.split(r"…|FILE:LINE:|FIELD:", message) if part.strip(" :;,")]
        missing += [(message, part) for part in parts if part.strip() not in code]
    assert not missing


def test_the_reference_has_the_messages_of_each_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import error_messages

    import touche_rad.models.errors
    import touche_rad.runs.runner  # noqa: F401 - both define errors

    codes = error_messages.exit_codes()
    assert {error.__name__: error.exit_code for error in _subclasses(ToucheRadError)}.items() <= (
        codes.items()
    )
    messages = {(message.error, message.text) for message in error_messages.collect_messages()}
    assert len(messages) > 400
    assert ("NotCached", "no endpoint, and the answer is not in the cache") in messages


def _subclasses(error: type[ToucheRadError]) -> Iterator[type[ToucheRadError]]:
    yield error
    for subclass in error.__subclasses__():
        yield from _subclasses(subclass)


def _strings() -> Iterator[str]:
    """Yield each text in the code; what is computed inside it is a line end."""
    for name in ("touche_rad", "retrieval", "judges"):
        for path in (ROOT / name).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    yield "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "\n"
                        for part in node.values
                    )
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value
