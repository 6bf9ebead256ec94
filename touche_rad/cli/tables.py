"""Tables that fit the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

import click

from touche_rad.cli.console import terminal_width


@dataclass(frozen=True)
class Column:
    """A column: its title, whether it is aligned to the right, and whether its text wraps."""

    title: str = ""
    right: bool = False
    wrap: bool = False


def render_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], *, indent: str = ""
) -> list[str]:
    """Return the lines of a table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=None,
        show_header=any(column.title for column in columns),
        header_style="bold",
        padding=(0, 2, 0, 0),
        pad_edge=False,
    )
    for column in columns:
        align = "right" if column.right else "left"
        table.add_column(column.title, justify=align, no_wrap=not column.wrap)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*map(Text.from_ansi, row))
    # The commands print the lines with click, which removes colours that are not wanted.
    console = Console(
        file=StringIO(),
        width=terminal_width() - len(indent),
        force_terminal=True,
        color_system="standard",
    )
    with console.capture() as printed:
        console.print(table)
    return [f"{indent}{line.rstrip()}" for line in printed.get().splitlines()]


def print_text(text: str, first: str = "", rest: str = "", *, limit: int = 120) -> None:
    """Print a wrapped text; its first line begins with `first`, the others with `rest`.

    Words such as paths and addresses are never cut.
    """
    lines = textwrap.wrap(
        text,
        max(terminal_width(limit) - len(rest), 1),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
    click.echo("\n".join([first + lines[0], *(rest + line for line in lines[1:])]))
