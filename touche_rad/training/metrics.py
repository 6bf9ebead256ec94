"""Metrics while a model is trained: a line of JSON each, without a gap or a line twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touche_rad import files

_NOISE = ("runtime", "per_second", "total_flos")


class Metrics:
    """A file of metrics."""

    def __init__(self, path: Path, *, from_step: int) -> None:
        """Go on after a step: what a killed training had measured beyond it is measured again."""
        self.path = path
        kept = [row for row in read(path) if row["step"] <= from_step] if from_step else []
        with files.atomic_write(path) as stream:
            stream.writelines(json.dumps(row) + "\n" for row in kept)

    def note(self, step: int, values: Mapping[str, Any]) -> None:
        """Append what was measured at a step; how long it took is no metric."""
        told = {
            name: value
            for name, value in values.items()
            if isinstance(value, int | float) and not any(noise in name for noise in _NOISE)
        }
        if told:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({**told, "step": step}) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """Read metrics; a line that a kill left torn is passed over."""
    found: list[dict[str, Any]] = []
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("step"), int):
            found.append(row)
    return found


def series(rows: list[dict[str, Any]], name: str) -> list[tuple[float, float]]:
    """Return a metric over the steps."""
    return [(float(row["step"]), float(row[name])) for row in rows if name in row]
