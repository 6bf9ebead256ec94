"""The journal: the progress of a run, kept beside its output until the output is complete.

`OUT.part` is append-only JSONL. Its first line is the identity of the run; each other line is one
finished unit with its lines of the output. A killed process loses at most the units in progress.
The next run with the same identity continues; a unit whose line is damaged is processed again. The
output is written in the order of the input, so it is byte-identical to the output of an
uninterrupted run.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from touche_rad import files
from touche_rad.errors import UserError, WorkError, refuse_newer
from touche_rad.files.locks import open_locked
from touche_rad.runs.fallbacks import ANSWERS, Fallback, grouped, warnings_of
from touche_rad.text import printable, redact_data, redact_line

if TYPE_CHECKING:
    from touche_rad.models.usage import Usage

log = logging.getLogger("touche_rad")

SUFFIX: Final = ".part"
VERSION: Final = 1
_NAME: Final = "touche-rad"
_BEGIN: Final = f'{{"journal": "{_NAME} '.encode()


@dataclass(frozen=True)
class Done:
    """The result of one unit: output lines, counts, notes, and fallbacks."""

    lines: tuple[str, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()


MOST_EXAMPLES = 5


@dataclass
class Tally:
    """Sums the counts and notes of finished units."""

    counts: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    fallbacks: list[Fallback] = field(default_factory=list)
    turns: dict[tuple[str, ...], dict[str, None]] = field(default_factory=dict)
    """The turns of each group of fallbacks, without repetitions."""
    units: int = 0

    def add(self, done: Done) -> None:
        """Add one unit; the first few notes of each kind are kept as examples."""
        self.units += 1
        self.counts.update(done.counts)
        if done.fallbacks:
            self.fallbacks = grouped([*self.fallbacks, *done.fallbacks])
            for one in done.fallbacks:
                turn = f"{self.units}.{one.turn}" if one.turn else str(self.units)
                self.turns.setdefault(one.group, {})[turn] = None
        for note in done.notes:
            kind, _, what = note.partition(": ")
            self.notes[kind] += 1
            examples = self.examples.setdefault(kind, [])
            if len(examples) < MOST_EXAMPLES:
                examples.append(what)

    def fields(self) -> dict[str, Any]:
        """Return the fields of a status."""
        return {
            "replaced": sum(one.count for one in self.fallbacks),
            "fallbacks": tuple(self._record(one) for one in self.fallbacks),
            "replaced_turns": tuple(self._replaced_turns()),
            "counts": dict(self.counts),
            "notes": dict(self.notes.most_common()),
            "examples": {kind: tuple(few) for kind, few in self.examples.items()},
        }

    def _record(self, one: Fallback) -> dict[str, Any]:
        """Return a group of fallbacks with all its turns."""
        turns = list(self.turns.get(one.group, ()))
        return {key: value for key, value in vars(one).items() if key != "turn"} | {"turns": turns}

    def _replaced_turns(self) -> list[str]:
        """Return the turns of all replaced answers in the output's order."""
        groups = (self.turns[one.group] for one in self.fallbacks if one.what == ANSWERS)
        return sorted({turn for group in groups for turn in group}, key=_turn_order)


def _turn_order(turn: str) -> list[int]:
    return [int(number) for number in turn.split(".")]


@dataclass(frozen=True)
class Facts:
    """What the warnings of a status need, besides the results."""

    settings: tuple[str, ...] = ()
    """Warnings about the settings."""
    skipped: str = ""
    """The warning about skipped lines, if there were any."""
    model: tuple[str, ...] = ()
    """Warnings about the model's endpoints."""
    usage: Usage | None = None
    """The cost of the model calls, if there is a model."""

    def warnings(self, tally: Tally) -> tuple[str, ...]:
        """Return all warnings of a run with these results."""
        return (*self.settings, *self._of(tally))

    def _of(self, tally: Tally) -> Iterator[str]:
        if self.skipped:
            yield self.skipped
        if tally.fallbacks:
            yield from warnings_of(tally.fallbacks, tally.counts)
        yield from map(printable, self.model)
        if self.usage is not None and self.usage.faults:
            faults = self.usage.faults
            kinds = ", ".join(f"{count} {kind}" for kind, count in faults.items())
            failed = f"{sum(faults.values())} model calls failed ({kinds})"
            yield f"{failed}; the first: {printable(self.usage.first_fault)}"


def as_written(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return an identity as files have it: JSON values, without secrets."""
    written: dict[str, Any] = redact_data(json.loads(json.dumps(identity, default=str)))
    return written


class Journal:
    """The journal of one run, a context manager; leaving it keeps the file."""

    def __init__(self, out: Path, identity: Mapping[str, Any], *, restart: bool = False) -> None:
        """Open the journal beside `out`, or create it.

        Args:
            out: The output of the run.
            identity: Everything that determines the output. An earlier run is continued only if
                its identity is equal.
            restart: Discard the journal of an earlier run.

        Raises:
            UserError: The journal is of another run, or `out` cannot be written.
        """
        self.out = out
        self.path = out.with_name(out.name + SUFFIX)
        self._identity = as_written(identity)
        self._offsets: dict[int, int] = {}
        """Where the line of each finished unit begins."""
        self._file = _open_locked(out)
        try:
            self._resume(restart)
        except BaseException:
            self._file.close()
            raise
        self.resumed = len(self)

    def __enter__(self) -> Journal:
        """Return the journal."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        with suppress(OSError):  # a line that a full disk did not take
            self._file.close()

    def __len__(self) -> int:
        """Count the finished units."""
        return len(self._offsets)

    def __contains__(self, unit: int) -> bool:
        """Whether this unit is finished."""
        return unit in self._offsets

    def append(self, unit: int, done: Done) -> None:
        """Append one finished unit."""
        offset = self._file.tell()
        self._write(record_line(unit, done))
        self._offsets[unit] = offset

    def numbered(self) -> Iterator[tuple[int, Done]]:
        """Yield the finished units with their numbers in the order of the input."""
        with self.path.open("rb") as stream:
            for _, offset in sorted(self._offsets.items()):
                stream.seek(offset)
                yield read_record(stream.readline())

    def finish(self, add: Callable[[Done], None]) -> None:
        """Write the output, and pass each unit to `add`; the journal remains until `remove`."""
        import jsonlines

        try:
            with files.atomic_write(self.out) as stream:
                writer = jsonlines.Writer(stream, dumps=str)  # the lines are JSON already
                for _, done in self.numbered():
                    add(done)
                    writer.write_all(done.lines)
        except OSError as error:
            raise self._unwritten(self.out, error) from error

    def remove(self) -> None:
        """Remove the journal: the output is written, and so is its status."""
        self.path.unlink()

    def _resume(self, restart: bool) -> None:
        """Read the records of an earlier run, and go to the place of the next record."""
        header = self._file.readline()
        if header[: len(_BEGIN)] != _BEGIN[: len(header)]:
            raise UserError(
                f"{self.path} is not a journal of touche-rad: move it, or choose another output"
            )
        if restart or not header.endswith(b"\n"):
            self._go_to(0)
            self._write(_line({"journal": f"{_NAME} {VERSION}", "identity": self._identity}))
            return
        self._compare(header)
        end = len(header)
        for row, line in enumerate(self._file, 2):
            if not line.endswith(b"\n"):  # the process was killed while it wrote the line
                break
            try:
                unit, _ = read_record(line)
            except ValueError:
                log.warning("%s:%d is damaged: its unit is processed again", self.path, row)
            else:
                self._offsets[unit] = end
            end += len(line)
        self._go_to(end)

    def _compare(self, header: bytes) -> None:
        try:
            found = json.loads(header)
            earlier = dict(found["identity"])
        except (ValueError, TypeError, KeyError):
            raise UserError(f"{self.path} is damaged: start again with --restart") from None
        refuse_newer(self.path, {"format": found["journal"]}, VERSION)
        for key in [*self._identity, *earlier]:
            was, now = earlier.get(key), self._identity.get(key)
            if was != now:
                raise UserError(
                    f"{self.path} is of another run: {key} was {shown(was)} and is now "
                    f"{shown(now)}; start again with --restart, or choose another output"
                )

    def _go_to(self, end: int) -> None:
        self._file.seek(end)
        self._file.truncate()

    def _write(self, line: bytes) -> None:
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise self._unwritten(self.path, error) from error

    def _unwritten(self, path: Path, error: OSError) -> WorkError:
        return WorkError(f"{path}: cannot be written: {error.strerror or error}; {self.kept()}")

    def kept(self) -> str:
        """Say what is kept, and how to continue."""
        units = "1 unit" if len(self) == 1 else f"{len(self)} units"
        return f"{units} done and kept in {self.path}: run the same command to continue"


def _open_locked(out: Path) -> IO[bytes]:
    """Open the journal of an output for this process alone; a kill lets go of the lock.

    Raises:
        UserError: Another process is at work on it, or it cannot be written.
    """
    if out.is_dir():
        raise UserError(f"{out} is a folder: name a file to write")
    if out.exists() and not out.is_file():
        raise UserError(f"{out} is not a regular file, which a run needs to be able to continue")
    path = out.with_name(out.name + SUFFIX)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        return os.fdopen(open_locked(path), "r+b")
    except BlockingIOError:
        raise UserError(f"{path}: another process is at work on this run") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def alone_at(out: Path) -> Iterator[None]:
    """Keep other processes from an output as a journal does, for a command that keeps none.

    Raises:
        UserError: Another process is at work on it, or it cannot be written.
    """
    file = _open_locked(out)
    try:
        yield
    finally:
        if not os.fstat(file.fileno()).st_size:  # no journal of a run that was stopped
            out.with_name(out.name + SUFFIX).unlink(missing_ok=True)
        file.close()


def record_line(unit: int, done: Done) -> bytes:
    """Return the record of a finished unit: one line without secrets."""
    record = {
        "unit": unit,
        "lines": [redact_line(line) for line in done.lines],
        "counts": dict(done.counts),
        "notes": redact_data(done.notes),
        "fallbacks": redact_data([vars(one) for one in done.fallbacks]),
    }
    return _line(record)


def _line(record: Mapping[str, Any]) -> bytes:
    line = json.dumps(record, ensure_ascii=False, allow_nan=False)
    return line.encode("utf-8", "backslashreplace") + b"\n"


def read_record(line: bytes) -> tuple[int, Done]:
    """Read one record; anything else is a ValueError."""
    try:
        record = json.loads(line)
        fallbacks = tuple(Fallback(**one) for one in record["fallbacks"])
        return int(record["unit"]), Done(
            tuple(record["lines"]), record["counts"], tuple(record["notes"]), fallbacks
        )
    except (TypeError, KeyError) as error:
        raise ValueError("no record") from error


def shown(value: Any) -> str:
    """Return a value of an identity for a message."""
    text = "not set" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"
