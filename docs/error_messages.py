"""Collect the messages of all errors from the source code, for the documentation and its test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ("touche_rad", "retrieval", "judges")
EXIT_CODES: Final = {
    "UserError": 2, "OptionError": 2, "InputError": 2, "FieldError": 2, "WorkError": 1,
}  # fmt: skip
"""The errors that end a command with one line, and its exit code."""


@dataclass(frozen=True)
class Message:
    """An error message as it stands in the code; `…` stands for a value."""

    module: str
    error: str
    text: str


def collect_messages() -> Iterator[Message]:
    """Yield the message of each `raise` of an error that a user sees."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                    error = ast.unparse(node.exc.func).rpartition(".")[2]
                    texts = [_text(one) for one in node.exc.args]
                    text = max(texts, key=len, default="")
                    if error in EXIT_CODES and len(text.strip("… :")) > 5:
                        yield Message(module.removesuffix(".__init__"), error, text)


def _text(node: ast.expr) -> str:
    """Return a text with `…` for each part that is computed."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else "…"
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(one) for one in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.IfExp):
        return max(_text(node.body), _text(node.orelse), key=len)
    return "…"
