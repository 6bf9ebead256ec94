"""Leaderboards: a ranking in words, a table that can be sorted, plots, and further tables.

Runs of every kind (judges, debaters, TREC runs, panels, tournaments) are shown by the same board.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from urllib.parse import quote

from markupsafe import Markup

from touche_rad.score.tables import Table, csv_rows
from touche_rad.score.words import number


class BoardCell(str):
    """The text of a cell that opens a part of the page, or has a background."""

    href: str
    shade: int
    """Strength of the background, from 0 to 10."""

    def __new__(cls, text: str, href: str = "", share: float | None = None) -> BoardCell:
        """Make a text with an address, and with a background for a share."""
        cell = super().__new__(cls, text)
        cell.href = href
        cell.shade = round(10 * (share or 0))
        return cell


@dataclass(frozen=True)
class BoardTable:
    """A table whose first column names the rows."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    baselines: frozenset[str] = frozenset()
    grid: bool = False
    """Whether it is a picture of shares: no rows to sort, and shaded cells."""

    @property
    def csv(self) -> str:
        """Return its content as an address to download."""
        text = csv_rows([self.heads, *self.rows])
        return "data:text/csv;charset=utf-8," + quote(text.encode("utf-8", "replace"))


def board_table(caption: str, table: Table, baselines: Iterable[str] = ()) -> BoardTable:
    """Show a table of the terminal, with the names in the first column."""
    at = table.name
    rows = [[row[at], *row[:at], *row[at + 1 :]] for row in (table.heads, *table.rows)]
    return BoardTable(caption, rows[0], rows[1:], frozenset(baselines))


def matrix(
    caption: str,
    names: Sequence[str],
    share: Callable[[str, str], float | None],
    show: Callable[[float | None], str] | None = None,
) -> BoardTable:
    """Show a share of each two runs, shaded."""
    show = show or number
    rows = []
    for row_name in names:
        row = [row_name]
        for column_name in names:
            value = share(row_name, column_name) if row_name != column_name else None
            row.append(BoardCell(show(value), share=value))
        rows.append(row)
    return BoardTable(caption, ["", *names], rows, grid=True)


Votes = Mapping[str, Sequence[bool | None]]
"""The verdicts of each judge on the same turns and maxims, in one order; None if it has none."""


def agreement(votes: Votes) -> BoardTable:
    """Show the share of equal verdicts of each two judges."""

    def share_of_equal(first: str, second: str) -> float | None:
        pairs = zip(votes[first], votes[second], strict=True)
        equal = [vote == against for vote, against in pairs if None not in (vote, against)]
        return fmean(equal) if equal else None

    return matrix("Agreement of the judges: share of equal verdicts", list(votes), share_of_equal)


@dataclass
class Board:
    """What a report says about a group of runs."""

    title: str
    sentences: list[str]
    note: str = ""
    tables: list[BoardTable] = field(default_factory=list)
    plots: list[Markup] = field(default_factory=list)
    details: list[tuple[str, list[BoardTable]]] = field(default_factory=list)
    """Folded tables by title."""
    warnings: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    """Other pages: address and text."""
    scores: dict[str, str] = field(default_factory=dict)
    """The score of each run, by which it is ranked."""
    squares: list[tuple[str, list[BoardTable]]] = field(default_factory=list)
    """Verdicts against labels, by run: a table of two by two for each maxim."""
