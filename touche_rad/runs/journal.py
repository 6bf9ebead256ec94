"""The finished units of a run in a log, so that a run that was killed continues.

The journal of a run is `OUT.part`. A killed process loses at most the units in progress.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from touche_rad.files.append_log import AppendLog, LogKind, read_places
from touche_rad.files.records import JsonObject
from touche_rad.runs.fallbacks import Fallback
from touche_rad.runs.work import Done
from touche_rad.text import redact_data, redact_line

SUFFIX: Final = ".part"
"""Suffix of the journal of a run."""
RUN: Final = LogKind(
    "run",
    2,
    fix="start again with --restart, or choose another output",
    damaged="its unit is processed again",
)


def journal_beside(out: Path) -> Path:
    """Return the path of the journal of a run's output."""
    return out.with_name(f"{out.name}{SUFFIX}")


class Journal:
    """Finished units by their numbers, or by other keys."""

    def __init__(
        self, path: Path, kind: LogKind, header: Mapping[str, Any], *, restart: bool = False
    ) -> None:
        """Open or create the log of an AppendLog, and find its units."""
        self.log = AppendLog(path, kind, header, restart=restart)
        self.places: dict[Any, int] = {
            entry.record["unit"]: entry.place for entry in self.log.entries()
        }
        """Where the records of the units begin."""

    def append(self, unit: int | str, done: Done) -> None:
        """Record a finished unit."""
        self.places[unit] = self.log.append(_record(unit, done))

    def read(self, units: Iterable[int | str]) -> Iterator[Done]:
        """Yield finished units, also when the log is closed."""
        return read_units(self.log.path, [self.places[unit] for unit in units])


def read_units(path: Path, places: Iterable[int]) -> Iterator[Done]:
    """Yield the units whose records begin at places of a log."""
    return map(_done, read_places(path, places))


def _record(unit: int | str, done: Done) -> JsonObject:
    """Return the record of a finished unit, without secrets."""
    return {
        "unit": unit,
        "lines": [redact_line(line) for line in done.lines],
        "counts": dict(done.counts),
        "notes": redact_data(done.notes),
        "fallbacks": redact_data([vars(fallback) for fallback in done.fallbacks]),
    }


def _done(record: Mapping[str, Any]) -> Done:
    fallbacks = tuple(Fallback(**fallback) for fallback in record["fallbacks"])
    return Done(
        tuple(record["lines"]), record["counts"], tuple(record["notes"]), fallbacks, resumed=True
    )
