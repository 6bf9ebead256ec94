"""Records that print themselves, and tables for the terminal and CSV."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from touche_rad.text import printable

NONE: Final = "–"
"""The cell of a missing value."""
INTERVAL: Final = "95 %"
"""The head of a column of confidence intervals."""
TRUTH: Final = "(truth)"
"""The head of a column with the true values of the column before it."""
WIDTH: Final = 80
_GAP: Final = "  "
_SHORTEST: Final = 16
"""Names are not shortened further; a table that is still too wide is split."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a text that begins so for a formula."""
_NUMBER: Final = re.compile(r"[-+]?\d+(\.\d+)?")

Columns = Mapping[str, str]
"""The head of each column by its format, such as {"{f1:.4f}": "F1"}.

The formats `percent` and `share` multiply by 100; `share` has no sign.
"""
Column = list[str]
"""A head and the cells under it."""


@dataclass(frozen=True)
class Table:
    """Cells under heads. The column `name` is aligned to the left, the others to the right."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    name: int = 0
    """The column with the names. It and those before it are repeated if the table is split."""
    optional: int = 0
    """How many of the last columns are only shown if there is room."""

    def lines(self, width: int = WIDTH) -> list[str]:
        """Return lines of at most `width` characters, or several tables with some columns each.

        A table without rows has no lines.
        """
        if not self.rows:
            return []
        columns = [list(column) for column in zip(self.heads, *self.rows, strict=True)]
        fewest = len(columns) - self.optional
        while _width(columns) > width and len(columns) > fewest:
            columns.pop()
        over, names = _width(columns) - width, columns[self.name]
        if over > 0:
            room = max(map(len, names)) - over
            names[1:] = shorten(
                names[1:], room if room >= _SHORTEST else max(_SHORTEST, width // 4)
            )
        first = columns[: self.name + 1]
        blocks = [first]
        for group in _groups(columns[self.name + 1 :]):
            if blocks[-1] is not first and _width([*blocks[-1], *group]) > width:
                blocks.append(first)
            blocks[-1] = [*blocks[-1], *group]
        return _joined(
            [self._aligned(blocks[0]), *map(self._aligned, map(self._known, blocks[1:]))]
        )

    def _known(self, columns: Sequence[Column]) -> list[Column]:
        """Return the columns of a further block without rows that have no value, if any."""
        head, *rows = zip(*columns, strict=True)
        known = [row for row in rows if {*row[self.name + 1 :]} != {NONE}]
        return [list(column) for column in zip(head, *known, strict=True)] if known else []

    def _aligned(self, columns: Sequence[Column]) -> list[str]:
        padded = [
            [text.ljust(size) if at == self.name else text.rjust(size) for text in column]
            for at, column in enumerate(columns)
            for size in [max(map(len, column))]
        ]
        return [_GAP.join(row).rstrip() for row in zip(*padded, strict=True)]


def _width(columns: Sequence[Column]) -> int:
    return sum(max(map(len, column)) for column in columns) + len(_GAP) * (len(columns) - 1)


def _groups(columns: Iterable[Column]) -> list[list[Column]]:
    """Return the columns that stay together: an interval or a true value is beside its value."""
    groups: list[list[Column]] = []
    for column in columns:
        if groups and column[0] in (INTERVAL, TRUTH):
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def shorten(names: Sequence[str], room: int) -> list[str]:
    """Cut long names in the middle; different names stay different."""
    short: dict[str, str] = {}
    tail = (room - 1) // 2
    for name in names:
        cut = name if len(name) <= room else f"{name[: room - 1 - tail]}…{name[-tail:]}"
        if name not in short and cut in short.values():
            number = f"…{len(short) + 1}"
            cut = f"{name[: room - len(number)]}{number}"
        short.setdefault(name, cut)
    return [short[name] for name in names]


Part = Table | Iterable[str]
"""A table, or lines of text."""


class FrozenRecord(BaseModel):
    """A frozen record; unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Printed(FrozenRecord):
    """A record that is printed as JSON or CSV, or as lines for the terminal."""

    def parts(self) -> Iterable[Part]:
        """Return the parts of the terminal output."""
        raise NotImplementedError

    def records(self) -> Iterable[Mapping[str, Any]]:
        """Return the rows of the CSV file: by default, those of the field `rows`."""
        rows: Sequence[FrozenRecord] = getattr(self, "rows", ())
        return (row.model_dump(mode="json") for row in rows)

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return self.model_dump(mode="json")

    def lines(self, width: int = WIDTH) -> list[str]:
        """Return the lines for the terminal, with an empty line between parts."""
        return terminal_lines(self.parts(), width)


def terminal_lines(parts: Iterable[Part], width: int = WIDTH) -> list[str]:
    """Return the lines of the parts, with an empty line between parts."""
    lines = _joined(
        part.lines(width)
        if isinstance(part, Table)
        else [short for line in part for short in _wrap(line, width)]
        for part in parts
    )
    return [printable(line) for line in lines]


def _joined(parts: Iterable[list[str]]) -> list[str]:
    return [line for part in parts if part for line in (*part, "")][:-1]


def _wrap(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def csv_text(records: Iterable[Mapping[str, Any]]) -> str:
    """Return records as CSV; a text that a spreadsheet would take for a formula gets a quote."""
    rows = list(records)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return csv_rows([names, *([row.get(name) for name in names] for row in rows)])


def csv_rows(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV; a text that a spreadsheet would take for a formula gets a quote."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows(map(_csv_cell, row) for row in rows)
    return stream.getvalue()


def _csv_cell(value: Any) -> Any:
    is_formula = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if is_formula and not _NUMBER.fullmatch(value) else value


class _Cells(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec in ("percent", "share"):
            return f"{100 * value:.1f}{' %' if format_spec == 'percent' else ''}"
        return str(super().format_field(value, format_spec))


_CELLS: Final = _Cells()


def cell(form: str, record: FrozenRecord) -> str:
    """Format fields of a record, such as `{f1:.4f}` or `{costs.calls}`; a dash for None."""
    names = [name.partition(".")[0] for _, name, _, _ in _CELLS.parse(form) if name]
    values = {name: getattr(record, name) for name in names}
    return NONE if None in values.values() else _CELLS.vformat(form, (), values)


def table(columns: Columns, records: Iterable[FrozenRecord]) -> Table:
    """Return a table with a row per record."""
    return Table(list(columns.values()), [cells(columns, record) for record in records])


def cells(columns: Columns, record: FrozenRecord) -> list[str]:
    """Return the row of a record."""
    return [cell(form, record) for form in columns]
