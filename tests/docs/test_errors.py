"""The page of errors quotes messages of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_quoted_message_stands_in_the_code() -> None:
    code = "\n".join(_strings())
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    quoted = re.findall(r"^\| `([^`]+)`", page, re.MULTILINE)
    assert len(quoted) > 25
    missing = []
    for message in quoted:
        parts = [part for part in re.split(r"…|FILE:LINE:|FIELD:", message) if part.strip(" :;,")]
        missing += [(message, part) for part in parts if part.strip() not in code]
    assert not missing


def _strings() -> Iterator[str]:
    """Yield each text in the code; what is computed inside it is a line end."""
    for name in ("touche_rad", "retrieval", "judges"):
        for path in (ROOT / name).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    yield "".join(
                        str(one.value) if isinstance(one, ast.Constant) else "\n"
                        for one in node.values
                    )
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value
