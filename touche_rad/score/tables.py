"""Records that print themselves, and tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import Formatter
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

NONE: Final = "–"
"""The cell of a missing value."""

Columns = Sequence[tuple[str, str]]
"""Head and format of each column, such as ("F1", "{f1:.4f}").

The formats `percent` and `share` multiply by 100; `share` has no sign.
"""


class Item(BaseModel):
    """A frozen record; unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Printed(Item):
    """A record that is printed as JSON, or as lines for the terminal."""

    def parts(self) -> Iterable[Iterable[str]]:
        """Return the parts of the terminal output, each as lines."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return self.model_dump(mode="json")

    def lines(self) -> list[str]:
        """Return the lines for the terminal, with an empty line between parts."""
        filled = [list(part) for part in self.parts()]
        return [line for part in filled if part for line in (*part, "")][:-1]


class _Cells(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec in ("percent", "share"):
            return f"{100 * value:.1f}{' %' if format_spec == 'percent' else ''}"
        return str(super().format_field(value, format_spec))


_CELLS: Final = _Cells()


def cell(form: str, record: Item) -> str:
    """Format fields of a record; if one of them is None, return a dash."""
    names = [name for _, name, _, _ in _CELLS.parse(form) if name]
    values = {name: getattr(record, name) for name in names}
    return NONE if None in values.values() else _CELLS.vformat(form, (), values)


def table(columns: Columns, records: Iterable[Item]) -> list[str]:
    """Return a table with a row per record, or nothing if there is no record."""
    rows = [cells(columns, record) for record in records]
    return align_columns([heads(columns), *rows]) if rows else []


def heads(columns: Columns) -> list[str]:
    """Return the heads of the columns."""
    return [head for head, _ in columns]


def cells(columns: Columns, record: Item) -> list[str]:
    """Return the row of a record."""
    return [cell(form, record) for _, form in columns]


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align the first column to the left, the others to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
