"""Training metrics: one JSON object per line, each step exactly once, also after a kill."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touche_rad import files

_TIMINGS = ("runtime", "per_second", "total_flos")


class Metrics:
    """A file of metrics."""

    def __init__(self, path: Path, *, from_step: int) -> None:
        """Drop the rows after `from_step`: a resumed training writes them again."""
        self.path = path
        kept = [row for row in read(path) if row["step"] <= from_step] if from_step else []
        with files.atomic_write(path) as stream:
            stream.writelines(json.dumps(row) + "\n" for row in kept)

    def note(self, step: int, values: Mapping[str, Any]) -> None:
        """Append the numbers of a step, without timings."""
        kept = {
            name: value
            for name, value in values.items()
            if isinstance(value, int | float) and not any(word in name for word in _TIMINGS)
        }
        if kept:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({**kept, "step": step}) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """Read metrics; incomplete lines, which a kill may leave, are skipped."""
    rows: list[dict[str, Any]] = []
    for line in path.read_text("utf-8").split("\n") if path.is_file() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("step"), int):
            rows.append(row)
    return rows


def series(rows: list[dict[str, Any]], name: str) -> list[tuple[float, float]]:
    """Return (step, value) pairs of one metric."""
    return [(float(row["step"]), float(row[name])) for row in rows if name in row]
