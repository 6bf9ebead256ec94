"""Text for the terminal: wrapped, shortened, and without control characters."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from touche_rad.text import colour_setting, printable, redact

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from touche_rad.debate import Maxim
    from touche_rad.runs.judging import ViewVerdicts

MAX_WIDTH: Final = 100
"""Columns that are used of a wider terminal: longer lines are hard to read."""


def open_console(width: int | None = None) -> Console:
    """Return the console of standard output; letters that it cannot write are replaced."""
    from rich.console import Console

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    setting = colour_setting()
    console = Console(
        highlight=False,
        markup=False,
        emoji=False,
        width=width,
        force_terminal=True if setting else None,
        no_color=setting is False,
    )
    console.width = min(console.width or 80, MAX_WIDTH)  # COLUMNS=0: the width is unknown
    return console


def plain(text: str) -> str:
    """Return a text from a debate, an argument or a model as one safe line."""
    return " ".join(printable(redact(text)).split())


def shorten(text: str, cells: int) -> str:
    """Return the text on one line of at most this many cells, with an ellipsis if it is cut."""
    from rich.cells import cell_len, set_cell_size

    line = plain(text)
    if cell_len(line) <= cells:
        return line
    return f"{set_cell_size(line, max(0, cells - 1)).rstrip()}…"


def wrapped(text: Text, width: int, indent: str = "") -> list[Text]:
    """Wrap a text at words; each line begins with the indent."""
    from rich.console import Console
    from rich.text import Text as Line

    room = max(10, width - len(indent))
    lines = list(text.wrap(Console(width=room), room))
    for line in lines:
        line.rstrip()
    return [Line(indent).append_text(line) for line in lines]


def verdict_text(verdicts: ViewVerdicts, maxim: Maxim) -> tuple[Text, str]:
    """Return the verdict on a maxim as `yes`, `no` or `none` with its score, and its reason."""
    from rich.text import Text as Line

    verdict, failure = verdicts.verdicts[maxim], verdicts.unscored.get(maxim)
    line = Line(f"  {maxim.key:9}")
    if failure is not None:
        return line.append("none", "yellow"), f"the judge failed: {failure}"
    line.append(f"{'yes' if verdict.yes else 'no':4}", f"bold {'green' if verdict.yes else 'red'}")
    return line.append(f"{verdict.score or 0.0:.2f}"), verdict.rationale
