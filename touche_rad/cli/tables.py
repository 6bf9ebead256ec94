"""Tables that fit the terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import click

from touche_rad.cli.console import terminal_width

GAP: Final = "  "
MIN_TEXT: Final = 24
"""A wrapped column that would be narrower stands on lines of its own, below the row."""


@dataclass(frozen=True)
class Column:
    """A column: its title, whether it is aligned to the right, and whether its text wraps."""

    title: str = ""
    right: bool = False
    wrap: bool = False


def render_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], *, indent: str = "", width: int = 0
) -> list[str]:
    """Return the lines of a table.

    Args:
        columns: The columns; only the last one may wrap. Without any title, there is no head.
        rows: The cells, which may be coloured with `click.style`.
        indent: Text before every line.
        width: Columns of the terminal. Default: those of this terminal.
    """
    width = width or terminal_width()
    titles = [column.title for column in columns]
    head = [titles] if any(titles) else []
    fixed = [column for column in columns if not column.wrap]
    widths = [max((cells(row[i]) for row in [*head, *rows]), default=0) for i in range(len(fixed))]
    room = width - cells(indent) - sum(widths) - len(GAP) * len(fixed)
    lines: list[str] = []
    for number, row in enumerate([*head, *rows]):
        first = indent + GAP.join(map(_align, row, widths, fixed))
        wrapped = row[len(fixed)] if len(columns) > len(fixed) else ""
        if number < len(head):
            first = click.style(f"{first}{GAP if wrapped else ''}{wrapped}".rstrip(), bold=True)
            lines.append(first)
            continue
        lines.extend(_with_text(first, wrapped, indent, room, width))
    return lines


def _with_text(first: str, text: str, indent: str, room: int, width: int) -> list[str]:
    """Return a row: the text beside its fixed columns, or below them if there is no room."""
    if not text:
        return [first.rstrip()]
    if room >= MIN_TEXT:
        start = " " * (cells(first) + len(GAP))
        inside = wrap(text, room)
        return [f"{first}{GAP}{inside[0]}", *(start + line for line in inside[1:])]
    start = f"{indent}    "
    return [first.rstrip(), *(start + line for line in wrap(text, width - cells(start)))]


def wrap(text: str, width: int) -> list[str]:
    """Return the lines of a text; words such as paths and addresses are never cut."""
    return textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False) or [
        ""
    ]


def _align(cell: str, width: int, column: Column) -> str:
    space = " " * (width - cells(cell))
    return space + cell if column.right else cell + space


def cells(text: str) -> int:
    """Return the columns that a text takes in a terminal, without colours."""
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        for one in click.unstyle(text)
    )
