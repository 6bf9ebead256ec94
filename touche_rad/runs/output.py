"""The output of a run: its journal until it is complete, and the status beside it.

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
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from touche_rad import __version__, files
from touche_rad.errors import UserError, WorkError, refuse_newer
from touche_rad.files.outputs import (
    State,
    Status,
    is_output_of,
    open_locked,
    sha256_of,
    status_beside,
    write_status,
)
from touche_rad.models.sending import Usage
from touche_rad.runs.fallbacks import ANSWERS, Fallback, warnings_of
from touche_rad.runs.work import Done, RunOptions, Work
from touche_rad.text import printable, redact_data, redact_line

log = logging.getLogger("touche_rad")

SUFFIX: Final = ".part"
VERSION: Final = 1
MOST_EXAMPLES: Final = 5
_NAME: Final = "touche-rad"
_BEGIN: Final = f'{{"journal": "{_NAME} '.encode()


@dataclass
class Tally:
    """Sums the counts and notes of finished units."""

    counts: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    groups: dict[tuple[str, ...], Fallback] = field(default_factory=dict)
    """The fallbacks with equal causes: the first one, with the count of all."""
    turns: dict[tuple[str, ...], dict[str, None]] = field(default_factory=dict)
    """The turns of each group, without repetitions."""
    units: int = 0

    def add(self, done: Done) -> None:
        """Add one unit; the first few notes of each kind are kept as examples."""
        self.units += 1
        self.counts.update(done.counts)
        for one in done.fallbacks:
            earlier = self.groups.get(one.group)
            count = one.count + (earlier.count if earlier else 0)
            self.groups[one.group] = replace(earlier or one, count=count)
            turn = f"{self.units}.{one.turn}" if one.turn else str(self.units)
            self.turns.setdefault(one.group, {})[turn] = None
        for note in done.notes:
            kind, _, what = note.partition(": ")
            self.notes[kind] += 1
            examples = self.examples.setdefault(kind, [])
            if len(examples) < MOST_EXAMPLES:
                examples.append(what)

    @property
    def fallbacks(self) -> list[Fallback]:
        """The groups of fallbacks, the most frequent first."""
        return sorted(self.groups.values(), key=lambda one: -one.count)

    def fields(self) -> dict[str, Any]:
        """Return the fields of a status."""
        answers = (self.turns[one.group] for one in self.fallbacks if one.what == ANSWERS)
        turns = {turn for group in answers for turn in group}
        return {
            "replaced": sum(one.count for one in self.fallbacks),
            "fallbacks": tuple(
                {key: value for key, value in vars(one).items() if key != "turn"}
                | {"turns": list(self.turns[one.group])}
                for one in self.fallbacks
            ),
            "replaced_turns": tuple(
                sorted(turns, key=lambda turn: [int(number) for number in turn.split(".")])
            ),
            "counts": dict(self.counts),
            "notes": dict(self.notes.most_common()),
            "examples": {kind: tuple(few) for kind, few in self.examples.items()},
        }


@dataclass(frozen=True)
class Facts:
    """What a status says besides the results."""

    settings: tuple[str, ...] = ()
    """Warnings about the settings."""
    skipped: str = ""
    """The warning about skipped lines, if there were any."""
    model: tuple[str, ...] = ()
    """Warnings about the model's endpoints."""
    usage: Usage | None = None
    """The cost of the model calls, if there is a model."""

    def status(self, tally: Tally, out: Path, errors: Path | None, **fields: Any) -> Status:
        """Return the status of a run with these results."""
        usage, warnings = self.usage, [*self.settings, *([self.skipped] if self.skipped else [])]
        warnings += [*warnings_of(tally.fallbacks, tally.counts), *map(printable, self.model)]
        if usage is not None and usage.faults:
            kinds = ", ".join(f"{count} {kind}" for kind, count in usage.faults.items())
            calls = f"{sum(usage.faults.values())} model calls failed ({kinds})"
            warnings.append(f"{calls}; the first: {printable(usage.first_fault)}")
        return Status(
            output=str(out),
            warnings=tuple(warnings),
            errors=str(errors) if errors is not None and errors.is_file() else "",
            usage=usage.record() if usage is not None and usage.steps else {},
            **tally.fields(),
            **fields,
        )


def as_written(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return an identity as files have it: JSON values, without secrets."""
    written: dict[str, Any] = redact_data(json.loads(json.dumps(identity, default=str)))
    return written


def whole_identity(verb: str, identity: Mapping[str, Any], source: Path) -> dict[str, Any]:
    """Return the identity of a run as its status and its journal have it."""
    whole = {"verb": verb, **identity, "input": sha256_of(source), "version": __version__}
    return as_written(whole)


class Output:
    """The output of one run, with its journal and its status."""

    def __init__(self, path: Path, work: Work[Any], options: RunOptions) -> None:
        """Prepare; nothing is read or written."""
        self.path, self.journal = path, path.with_name(path.name + SUFFIX)
        self.verb, self.options = work.verb, options
        self.identity = dict(work.identity)
        """Everything that determines the output. A run is continued only with an equal one."""
        self.bad = options.bad or files.BadLines()
        self.total = 0
        """The number of units of the whole run."""
        self.units = range(0)
        """The units of this output: a part has some of them."""
        self.resumed = 0
        self.finished: dict[int, int] = {}
        """The finished units, and where the line of each begins in the journal."""
        self._file: IO[bytes] | None = None
        self._started, self._clock = datetime.now().astimezone(), time.monotonic()

    def check_replace(self) -> None:
        """Refuse to replace what another run or program wrote; a run may be made again.

        An unfinished run is left to its journal, which has its identity.
        """
        unfinished = self.journal.exists() and not self.options.restart
        if not unfinished and not is_output_of(self.path, self.identity):
            files.check_output(self.path, replace=self.options.replace)

    @contextmanager
    def begin(self, total: int, units: range) -> Iterator[None]:
        """Open the journal, or create it; at the end it is closed, and the file is kept.

        Raises:
            UserError: The journal is of another run, or the output cannot be written.
        """
        self._file = _open_locked(self.path, self.journal)
        try:
            self._resume(self._file)
            self.total, self.units, self.resumed = total, units, len(self.finished)
            if not self.resumed:
                if self.options.errors is not None:
                    self.options.errors.unlink(missing_ok=True)
                if self.options.model is not None:
                    self.options.model.begin_trace()
            yield
        finally:
            with suppress(OSError):  # a line that a full disk did not take
                self._file.close()

    def append(self, unit: int, done: Done) -> None:
        """Append one finished unit to the journal."""
        self.finished[unit] = self._write(record_line(unit, done))

    def numbered(self) -> Iterator[tuple[int, Done]]:
        """Yield the finished units with their numbers in the order of the input."""
        with self.journal.open("rb") as stream:
            for _, offset in sorted(self.finished.items()):
                stream.seek(offset)
                yield read_record(stream.readline())

    def finish(self) -> Status:
        """Write the output and its status; the journal remains."""
        tally = Tally(units=self.units.start)
        try:
            with files.atomic_write(self.path) as stream:
                for _, done in self.numbered():
                    tally.add(done)
                    stream.writelines(f"{line}\n" for line in done.lines)
        except OSError as error:
            raise self._unwritten(self.path, error) from error
        status = self._status(tally, "done", sha256=sha256_of(self.path))
        if self.options.status_path is not None:
            write_status(status, self.options.status_path)
        return status

    def stop(self, state: State, error: str) -> None:
        """Write the status of a run that did not finish; the journal is kept."""
        path = self.options.status_path
        if path is None or (not self.total and path == status_beside(self.path)):
            return  # nothing has happened to the output, so its status remains
        tally = Tally(units=self.units.start)
        if self.finished and self.journal.exists():
            for _, done in self.numbered():
                tally.add(done)
        with suppress(OSError):  # the first error is reported
            write_status(self._status(tally, state, error=error), path)

    def facts(self) -> Facts:
        """Return what the status says besides the results."""
        model, bad, settings = self.options.model, self.bad, self.options.warnings
        skipped = f"{bad.count} bad lines were skipped; the first: {bad.first}" if bad.count else ""
        if model is None:
            return Facts(settings, skipped)
        return Facts(settings, skipped, tuple(model.warnings), model.usage)

    def how_to_continue(self) -> str:
        """Say what is kept, and how to continue."""
        units = "1 unit" if len(self.finished) == 1 else f"{len(self.finished)} units"
        return f"{units} done and kept in {self.journal}: run the same command to continue"

    def _status(self, tally: Tally, state: State, **fields: Any) -> Status:
        return self.facts().status(
            tally,
            self.path,
            self.options.errors,
            verb=self.verb,
            state=state,
            units=len(self.units) if self.total else None,
            done=len(self.finished),
            resumed=self.resumed,
            skipped=self.bad.count,
            demo=self.options.demo,
            identity=self.identity,
            started=self._started,
            finished=datetime.now().astimezone(),
            seconds=round(time.monotonic() - self._clock, 3),
            **fields,
        )

    def _resume(self, file: IO[bytes]) -> None:
        """Read the records of an earlier run, and go to the place of the next record."""
        header = file.readline()
        if header[: len(_BEGIN)] != _BEGIN[: len(header)]:
            raise UserError(
                f"{self.journal} is not a journal of touche-rad: move it, or choose another output"
            )
        if self.options.restart or not header.endswith(b"\n"):
            file.seek(0)
            file.truncate()
            self._write(_line({"journal": f"{_NAME} {VERSION}", "identity": self.identity}))
            return
        self._compare(header)
        end = len(header)
        for row, line in enumerate(file, 2):
            if not line.endswith(b"\n"):  # the process was killed while it wrote the line
                break
            try:
                unit, _ = read_record(line)
            except ValueError:
                log.warning("%s:%d is damaged: its unit is processed again", self.journal, row)
            else:
                self.finished[unit] = end
            end += len(line)
        file.seek(end)
        file.truncate()

    def _compare(self, header: bytes) -> None:
        try:
            record = json.loads(header)
            earlier = dict(record["identity"])
        except (ValueError, TypeError, KeyError):
            raise UserError(f"{self.journal} is damaged: start again with --restart") from None
        refuse_newer(self.journal, {"format": record["journal"]}, VERSION)
        for key in [*self.identity, *earlier]:
            was, now = earlier.get(key), self.identity.get(key)
            if was != now:
                raise UserError(
                    f"{self.journal} is of another run: {key} was {short_json(was)} and is now "
                    f"{short_json(now)}; start again with --restart, or choose another output"
                )

    def _write(self, line: bytes) -> int:
        """Append a line to the journal, and return where it begins."""
        assert self._file is not None
        try:
            offset = self._file.tell()
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise self._unwritten(self.journal, error) from error
        return offset

    def _unwritten(self, path: Path, error: OSError) -> WorkError:
        return WorkError(
            f"{path}: cannot be written: {error.strerror or error}; {self.how_to_continue()}"
        )


def _open_locked(out: Path, journal: Path) -> IO[bytes]:
    """Open the journal of an output for this process alone; a kill lets go of the lock.

    Raises:
        UserError: Another process is at work on it, or it cannot be written.
    """
    if out.is_dir():
        raise UserError(f"{out} is a folder: name a file to write")
    if out.exists() and not out.is_file():
        raise UserError(f"{out} is not a regular file, which a run needs to be able to continue")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        return os.fdopen(open_locked(journal), "r+b")
    except BlockingIOError:
        raise UserError(f"{journal}: another process is at work on this run") from None
    except OSError as error:
        raise UserError(f"{journal}: cannot be written: {error.strerror}") from None


def record_line(unit: int | str, done: Done) -> bytes:
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


def read_record(line: bytes) -> tuple[Any, Done]:
    """Read one record; anything else is a ValueError."""
    try:
        record = json.loads(line)
        fallbacks = tuple(Fallback(**one) for one in record["fallbacks"])
        return record["unit"], Done(
            tuple(record["lines"]), record["counts"], tuple(record["notes"]), fallbacks
        )
    except (TypeError, KeyError) as error:
        raise ValueError("no record") from error


def short_json(value: Any) -> str:
    """Return a value of an identity for a message."""
    text = "not set" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"
