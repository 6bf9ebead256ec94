"""Records that print themselves, and tables for the terminal and CSV."""

from __future__ import annotations

import csv
import io
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from string import Formatter
from typing import Any, Final

from touche_rad.frozen import frozen
from touche_rad.lists import unique
from touche_rad.records import FrozenRecord
from touche_rad.text import printable, wrap

NONE: Final = "–"
"""The cell of a missing value."""
TOO_FEW: Final = "too few"
"""The cell of an interval that too few debates do not have."""
INTERVAL: Final = "95 %"
"""The head of a column of confidence intervals."""
TRUTH: Final = "(truth)"
"""The head of a column with the true values of the column before it."""
WIDTH: Final = 80
_GAP: Final = "  "
_NARROWEST: Final = 16
"""The column of names is not made narrower; a table that is still too wide is split."""
_PIECES: Final = re.compile(r"(?<=[\s/])|(?=\s)")
"""A name may continue on the next line at a space and behind a folder."""
_GREY: Final = "\x1b[2m{}\x1b[0m"
_BOLD: Final = "\x1b[1m{}\x1b[0m"
"""Where there is no terminal, `click.echo` leaves the colours out."""
_FORMULA: Final = ("=", "+", "-", "@", "＝")
"""A spreadsheet takes a text that begins so for a formula."""
_NUMBER: Final = re.compile(r"[-+]?\d*(\.\d+)?")

Columns = Mapping[str, str]
"""The head of each column by its format, such as {"{f1:.4f}": "F1"}.

The formats of `_OF_100` multiply by 100.
"""
Column = list[str]
"""A head and the cells under it."""


@frozen
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
        # First the optional columns go, then long names get several lines, then the table is split:
        # each block repeats the names, which are whole if they leave room for a value.
        left_out: list[str] = []
        required = len(columns) - self.optional
        while _width(columns) > width and len(columns) > required:
            left_out.insert(0, columns.pop()[0])
        # An interval or a true value stays beside its value.
        groups: list[list[Column]] = []
        for column in columns[self.name + 1 :]:
            if groups and column[0] in (INTERVAL, TRUTH):
                groups[-1].append(column)
            else:
                groups.append([column])

        names = columns[self.name]
        excess = _width(columns) - width
        if excess > 0:
            room = max(map(len, names)) - excess
            if room < max(_NARROWEST, *map(len, _PIECES.split(" ".join(names)))):
                widest = max(_width([*columns[: self.name], *group]) for group in groups)
                room = width - len(_GAP) - widest
            wrapper = _NameWrapper(max(room, _NARROWEST))
            names[:] = ["\n".join(map(str.rstrip, wrapper.wrap(name))) for name in names]

        labels = columns[: self.name + 1]
        blocks = [labels]
        for group in groups:
            if blocks[-1] is not labels and _width([*blocks[-1], *group]) > width:
                blocks.append(labels)
            blocks[-1] = [*blocks[-1], *group]
        lines = _joined(self._aligned(block, number) for number, block in enumerate(blocks))
        if left_out:
            lines += _wrapped(
                f"no room for: {', '.join(left_out)} (a wider terminal shows them)",
                width,
            )
        return lines

    def _aligned(self, columns: Sequence[Column], block: int) -> list[str]:
        """Return the lines of a block; further blocks only have rows with a value."""
        head, *rows = zip(*columns, strict=True)
        if block:
            rows = [row for row in rows if {*row[self.name + 1 :]} != {NONE}]
            if not rows:
                return []
        sizes = [max(map(_size, column)) for column in zip(head, *rows, strict=True)]
        lines = []
        for row in (head, *rows):
            for cells_of_line in zip_longest(*(text.split("\n") for text in row), fillvalue=""):
                texts = [text.rjust(size) for text, size in zip(cells_of_line, sizes, strict=True)]
                texts[self.name] = cells_of_line[self.name].ljust(sizes[self.name])
                lines.append(_GAP.join(texts).rstrip())
        return lines


class _NameWrapper(textwrap.TextWrapper):
    wordsep_re = _PIECES


def _size(text: str) -> int:
    return max(map(len, text.split("\n")))


def _width(columns: Sequence[Column]) -> int:
    return sum(max(map(_size, column)) for column in columns) + len(_GAP) * (len(columns) - 1)


@frozen
class Notes:
    """Lines that few readers need, such as the method; grey on a terminal."""

    lines: Iterable[str]


Part = Table | Notes | Iterable[str]
"""A table, or lines of text."""


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
    blocks = []
    for part in parts:
        if isinstance(part, Table):
            lines = part.lines(width)
        else:
            texts = part.lines if isinstance(part, Notes) else part
            lines = [line for text in texts for line in _wrapped(text, width)]
        block = [printable(line) for line in lines]
        if isinstance(part, Notes):
            block = [_GREY.format(line) for line in block]
        elif isinstance(part, Table):
            before = ["", *block]  # heads are the first line, and those after an empty one
            block = [
                line if above else _BOLD.format(line)
                for above, line in zip(before, block, strict=False)
            ]
        blocks.append(block)
    return _joined(blocks)


def _wrapped(line: str, width: int) -> list[str]:
    """Wrap a line at its spaces; the further lines are indented."""
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return wrap(line, width, "", indent)


def _joined(blocks: Iterable[list[str]]) -> list[str]:
    """Join the blocks that have lines, with an empty line between them."""
    lines: list[str] = []
    for block in blocks:
        if block and lines:
            lines.append("")
        lines += block
    return lines


def csv_text(records: Iterable[Mapping[str, Any]]) -> str:
    """Return records as CSV; a text that a spreadsheet would take for a formula gets a quote."""
    rows = list(records)
    names = unique(name for row in rows for name in row)
    return csv_rows([names, *(map(row.get, names) for row in rows)])


def csv_rows(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV; a text that a spreadsheet would take for a formula gets a quote."""

    def quoted(value: object) -> object:
        if not isinstance(value, str):
            return value
        text = printable(value)
        is_formula = text.lstrip().startswith(_FORMULA) and not _NUMBER.fullmatch(text)
        return f"'{text}" if is_formula else text

    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(map(quoted, row) for row in rows)
    return stream.getvalue()


def fixed(value: float, form: str) -> str:
    """Write a number as pages do: a 5 goes up, and a true minus.

    There is no zero before the point, and no sign before 0.
    """
    text = format(value + math.copysign(1e-9, value), form)
    text = re.sub(r"^([-+]?)0\.", r"\1.", text).replace("-", "−")
    return text if text.strip("+−.0") else text.lstrip("+−")


_OF_100: Final = {"percent": "{:.1f} %", "share": "{:.1f}", "whole": "{:.0f}"}


class _Cells(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec in _OF_100:
            return _OF_100[format_spec].format(100 * value)
        if format_spec.endswith(("2f", "3f", "4f")):
            return fixed(value, format_spec)
        return str(super().format_field(value, format_spec))


_CELLS: Final = _Cells()


def cell(form: str, record: FrozenRecord) -> str:
    """Format fields of a record, such as `{f1:.4f}` or `{costs.calls}`; a dash for None."""
    names = [name.partition(".")[0] for _, name, _, _ in _CELLS.parse(form) if name]
    values = {name: getattr(record, name) for name in names}
    return NONE if None in values.values() else _CELLS.vformat(form, (), values)


def interval_cell(form: str, record: FrozenRecord) -> str:
    """Format the interval of a record; too few debates have none."""
    text = cell(form, record)
    return TOO_FEW if text == NONE else text


def table(columns: Columns, records: Iterable[FrozenRecord]) -> Table:
    """Return a table with a row per record."""
    return Table(list(columns.values()), [cells(columns, record) for record in records])


def cells(columns: Columns, record: FrozenRecord) -> list[str]:
    """Return the row of a record."""
    return [cell(form, record) for form in columns]
