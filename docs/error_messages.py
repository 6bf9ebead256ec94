"""Collect the messages of all errors from the source code, for the documentation and its test."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ("touche_rad", "retrieval", "judges")
BASES: Final = {"ToucheRadError": 1, "UserError": 2, "WorkError": 1, "FieldError": 2}
"""The errors that end a command with one line, and its exit code; `exit_codes` adds subclasses."""


@dataclass(frozen=True)
class Message:
    """An error message as it stands in the code; `…` stands for a value."""

    module: str
    error: str
    text: str


def collect_messages() -> Iterator[Message]:
    """Yield the message of each error that the code makes, and what users read of its class."""
    codes = exit_codes()
    for path, nodes in _modules():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in nodes:
            if isinstance(node, ast.Call) and (error := _name(node.func)) in codes:
                text = max(map(_text, node.args), key=len, default="")
                if len(text.strip("… :")) > 5:
                    yield Message(module, error, text)
            elif isinstance(node, ast.ClassDef) and node.name in codes:
                for text in _values(node, "problem"):
                    yield Message(module, node.name, text)


def exit_codes() -> Mapping[str, int]:
    """Return the exit code of each error class, by its name."""
    classes = [node for _, nodes in _modules() for node in nodes if isinstance(node, ast.ClassDef)]
    codes = dict(BASES)
    while found := {
        node.name: next(_values(node, "exit_code"), codes[_name(base)])
        for node in classes
        for base in node.bases
        if _name(base) in codes and node.name not in codes
    }:
        codes |= found
    return codes


@cache
def _modules() -> Sequence[tuple[Path, Sequence[ast.AST]]]:
    """Return the classes and calls of each module."""
    return [
        (
            path,
            [
                node
                for node in ast.walk(ast.parse(path.read_text("utf-8")))
                if isinstance(node, (ast.ClassDef, ast.Call))
            ],
        )
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    ]


def _values(node: ast.ClassDef, name: str) -> Iterator[Any]:
    """Yield the constant that a class sets an attribute to."""
    for one in node.body:
        if isinstance(one, ast.Assign) and _name(one.targets[0]) == name:
            yield ast.literal_eval(one.value)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


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
