"""The finished units of a run in a log, so that a run that was killed continues.

The journal of a run is `OUT.part`. A killed process loses at most the units in progress.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from pydantic import TypeAdapter

from touche_rad.errors import WorkError
from touche_rad.files.append_log import IDENTITY, AppendLog, LogKind, read_at, read_log
from touche_rad.files.outputs import is_output_of, read_status
from touche_rad.files.records import JOURNAL, JsonObject, path_beside
from touche_rad.runs.work import Done
from touche_rad.text import map_texts, redact, redact_line

K = TypeVar("K", int, str)

UNIT: Final = "unit"
RUN: Final = LogKind(
    "run",
    2,
    fix="start again with --restart, or choose another output",
    damaged="its unit is processed again",
)

_DONE: Final = TypeAdapter(Done)


def is_finished(out: Path, identity: Mapping[str, Any]) -> bool:
    """Whether an output is of a finished run with this identity, and no run is to replace it."""
    return not path_beside(out, JOURNAL).exists() and is_output_of(out, identity)


def identity_of(out: Path) -> Mapping[str, Any]:
    """Return the identity of the run that an output is of, finished or not; empty if unknown."""
    journal = path_beside(out, JOURNAL)
    if journal.is_file():
        with suppress(StopIteration, LookupError, ValueError):
            identity: Mapping[str, Any] = next(read_log(journal, RUN)).record[IDENTITY]
            return identity
    return read_status(out).get(IDENTITY) or {}


class Journal(Generic[K]):
    """Finished units by their numbers, or by other keys: in a log, or without one in memory."""

    def __init__(self, log: AppendLog | None = None, units: Container[K] | None = None) -> None:
        """Find the units of a log that has just been opened.

        Others are left out: a checksum shows accidents only, and a line may be anybody's.
        """
        self.log = log
        self.places: dict[K, int] = {}
        """Where each unit's record is: its first byte in the log, or its number in memory."""
        if log:
            for line in log.entries():
                unit: Any = line.record.get(UNIT)
                if unit in units if units else isinstance(unit, str):
                    self.places[unit] = line.offset
        self._records: list[JsonObject] = []

    def append(self, unit: K, done: Done) -> None:
        """Record a finished unit, without secrets."""
        record = {
            UNIT: unit,
            "lines": [redact_line(line) for line in done.lines],
            "counts": dict(done.counts),
            "events": map_texts([event.model_dump(mode="json") for event in done.events], redact),
            "fallbacks": map_texts([vars(fallback) for fallback in done.fallbacks], redact),
        }
        if self.log:
            self.places[unit] = self.log.append(record)
        else:
            self.places[unit] = len(self._records)
            self._records.append(record)

    def read(self, units: Iterable[K]) -> Iterator[Done]:
        """Yield finished units, also when the log is closed."""
        places = [self.places[unit] for unit in units]
        if self.log:
            return map(parse_unit, read_at(self.log.path, places))
        return (parse_unit(self._records[place]) for place in places)


def parse_unit(record: Mapping[str, Any]) -> Done:
    """Return the result of a unit from its record.

    Raises:
        WorkError: It has a checksum, but not the fields that we write.
    """
    try:
        return replace(_DONE.validate_python(record), resumed=True)
    except ValueError:
        raise WorkError(f"unit {record.get(UNIT)} of the run is damaged: {RUN.fix}") from None
