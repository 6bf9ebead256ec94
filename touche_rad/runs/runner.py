"""Run units of work in parallel, with a journal of the progress and a status of the result.

Respond, simulate and judge differ in what they do with a debate. All other parts of a run are here.
TIRA drops the exit code, so `status.json` beside the output says what a user must know.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeVar

import anyio
from pydantic import BaseModel, ConfigDict, Field

from touche_rad import __version__, files
from touche_rad.debate import Debate
from touche_rad.errors import InputError, UserError, WorkError
from touche_rad.models import Model
from touche_rad.runs.journal import SUFFIX, Done, Journal
from touche_rad.secrets import redact_data

State = Literal["done", "stopped", "failed"]

MOST_EXAMPLES = 5
REPLACED = "replaced"
"""The count of things that stand in for what the chosen plugin should have given."""


class Status(BaseModel):
    """What a run did. `counts` counts what was made, `notes` what was done to it on the way."""

    model_config = ConfigDict(frozen=True)

    verb: str
    state: State
    error: str | None = None
    output: str = ""
    units: int | None = None
    done: int = 0
    resumed: int = 0
    skipped: int = 0
    replaced: int = 0
    counts: Mapping[str, int] = Field(default_factory=dict)
    notes: Mapping[str, int] = Field(default_factory=dict)
    examples: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    identity: Mapping[str, Any] = Field(default_factory=dict)
    usage: Mapping[str, Any] = Field(default_factory=dict)
    """What asking a model cost this time; an earlier, killed run's cost is not in it."""
    started: datetime
    finished: datetime
    seconds: float
    version: str = __version__

    @classmethod
    def failed(cls, verb: str, error: BaseException) -> Status:
        """Return the status of a run that could not even begin."""
        now = datetime.now().astimezone()
        return cls(
            verb=verb, state="failed", error=str(error), started=now, finished=now, seconds=0
        )

    def lines(self) -> list[str]:
        """Say it to a person, in short lines."""
        made = ", ".join(f"{count} {what}" for what, count in self.counts.items())
        of = "" if self.units in (None, self.done) else f" of {self.units}"
        first = f"{self.verb}: {self.done}{of} {self.state} in {self.seconds:.1f} s"
        said = [f"{first} ({made})" if made else first]
        if self.resumed:
            said.append(f"{self.resumed} of them were taken over from an earlier run")
        said.extend(f"{kind}: {count}" for kind, count in self.notes.items())
        if self.usage:
            said.append(_cost(self.usage["total"]))
        said.extend(f"warning: {warning}" for warning in self.warnings)
        return said


def _cost(total: Mapping[str, Any]) -> str:
    parts = [f"{total['calls']} calls", f"{total['from_cache']} answers from the cache"]
    parts.append(f"{total['prompt_tokens']} + {total['completion_tokens']} tokens")
    if total["prompt_letters"]:
        share = total["shared_letters"] / total["prompt_letters"]
        parts.append(f"{share:.0%} of the prompts shared")
    if total["failures"]:
        parts.append(f"{total['failures']} failed")
    return f"model: {', '.join(parts)}"


def at_turn(note: str, debate: Debate, turn: int) -> str:
    """Return a note with the place it happened at, after its kind."""
    kind, _, what = note.partition(": ")
    return f"{kind}: debate {debate.id or '?'}, turn {turn + 1}: {what}"


class Tally:
    """Adds up what finished units tell."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}

    def add(self, done: Done) -> None:
        """Add one unit; of each kind of note the first few are kept in full."""
        self.counts.update(done.counts)
        for note in done.notes:
            kind, _, what = note.partition(": ")
            self.notes[kind] += 1
            examples = self.examples.setdefault(kind, [])
            if len(examples) < MOST_EXAMPLES:
                examples.append(what)

    def fields(self) -> dict[str, Any]:
        """Return what a status says of them."""
        counts = dict(self.counts)
        return {
            "replaced": counts.pop(REPLACED, 0),
            "counts": counts,
            "notes": dict(self.notes.most_common()),
            "examples": {kind: tuple(few) for kind, few in self.examples.items()},
        }


def write_status(status: Status, path: Path) -> None:
    """Write the record, whole or not at all."""
    with files.atomic_write(path) as stream:
        told = redact_data(status.model_dump(mode="json"))
        stream.write(json.dumps(told, ensure_ascii=False, indent=2) + "\n")


def sha256_of(path: Path) -> str:
    """Return the digest of a file, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


log = logging.getLogger("touche_rad")

T = TypeVar("T")
Progress = Callable[[int, int | None], None]


class Interrupted(WorkError):
    """A person stopped the run."""

    exit_code = 130


@dataclass(frozen=True)
class Work(Generic[T]):
    """One run: what is read, what is done with each unit, and where it goes."""

    verb: str
    source: Path
    out: Path
    read: Callable[[files.BadLines], Iterable[T]]
    do: Callable[[T], Awaitable[Done]]
    identity: Mapping[str, Any]


@dataclass(frozen=True)
class RunOptions:
    """How a run is done; nothing here changes what comes out."""

    workers: int = 4
    """Units under work at once."""
    restart: bool = False
    """Begin anew where an earlier run could go on."""
    bad: files.BadLines | None = None
    """What happens to bad lines."""
    progress: Progress | None = None
    """Told (done, total)."""
    status_path: Path | None = None
    """Where a status record goes, if anywhere."""
    model: Model | None = None
    """The language model that plugins ask, if any: its costs are told, and it is closed."""


DEFAULT_OPTIONS: Final = RunOptions()


def run(work: Callable[[], Awaitable[Status]], out: Path) -> Status:
    """Run to the end from plain code; Ctrl-C is told as a `Stopped` that says how to go on."""
    try:
        return anyio.run(work)
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped; what is done is kept in {out}{SUFFIX}: the same command goes on from there"
        ) from None


async def run_work(work: Work[Any], options: RunOptions) -> Status:
    """Do all the work, or go on with it, and say what was done.

    The input is read once before any work begins, so that a bad line is told at once and not after
    hours; then it is streamed.

    Raises:
        UserError: The input or the output is wrong, or the journal is another run's.
        WorkError: Something failed; what was finished is kept for the next call.
    """
    try:
        return await _run_work(work, options)
    finally:
        if options.model is not None:
            with anyio.CancelScope(shield=True):
                await options.model.close()


async def _run_work(work: Work[Any], options: RunOptions) -> Status:
    report = _Report(work, options)
    try:
        bad = options.bad or files.BadLines()
        total, identity = _look_through(work, bad)
        report.units, report.identity, report.bad = total, identity, bad
        with Journal(work.out, identity, restart=options.restart) as journal:
            report.journal = journal
            await _work_through(work, options, journal, total)
            journal.finish(report.tally.add)
    except asyncio.CancelledError:
        report.write("stopped", "stopped before the end")
        raise
    except Exception as error:
        report.write("failed", str(error))
        raise
    return report.write("done")


def _look_through(work: Work[Any], bad: files.BadLines) -> tuple[int, dict[str, Any]]:
    """Count the units and make the run's whole identity."""
    if not work.source.is_file():
        what = "is no regular file" if work.source.exists() else "does not exist"
        raise UserError(f"{work.source} {what}: expected a file to read")
    if work.out.exists() and work.out.samefile(work.source):
        raise UserError(f"{work.out} is the input too: write elsewhere")
    total = sum(1 for _ in work.read(bad))
    if not total:
        raise InputError(work.source, "expected at least one debate, found none")
    identity = {"verb": work.verb, **work.identity}
    return total, identity | {"input": sha256_of(work.source), "version": __version__}


async def _work_through(work: Work[T], options: RunOptions, journal: Journal, total: int) -> None:
    """Let so many workers take one unit after another; the first fatal error stops them all."""
    units = _unfinished(work.read(files.BadLines(skip=True)), journal)
    failures: list[str] = []
    fatal: list[Exception] = []
    tell = options.progress or (lambda done, total: None)
    tell(len(journal), total)

    async def take() -> None:
        try:
            for number, unit in units:
                try:
                    done = await work.do(unit)
                except Exception as error:
                    log.debug("number %d failed", number + 1, exc_info=error)
                    failures.append(f"number {number + 1}: {type(error).__name__}: {error}")
                    continue
                journal.append(number, done)
                tell(len(journal), total)
        except Exception as error:
            fatal.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for _ in range(min(options.workers, total)):
            group.start_soon(take)
    if fatal:
        raise fatal[0]
    if failures:
        raise WorkError(f"{len(failures)} of {total} failed, first {failures[0]}; {journal.kept()}")


def _unfinished(units: Iterable[T], journal: Journal) -> Iterator[tuple[int, T]]:
    return ((number, unit) for number, unit in enumerate(units) if number not in journal)


class _Report:
    """Gathers what the status will say, so that there is one whatever happens."""

    def __init__(self, work: Work[Any], options: RunOptions) -> None:
        self.work, self.options = work, options
        self.started, self.clock = datetime.now().astimezone(), time.monotonic()
        self.tally = Tally()
        self.identity: Mapping[str, Any] = work.identity
        self.units: int | None = None
        self.journal: Journal | None = None
        self.bad: files.BadLines | None = None

    def write(self, state: State, error: str | None = None) -> Status:
        """Make the status, and write it where that was asked."""
        status = self._status(state, error)
        if self.options.status_path is not None:
            try:
                write_status(status, self.options.status_path)
            except OSError:
                if error is None:  # else what went wrong first is what must be told
                    raise
        return status

    def _usage(self) -> Mapping[str, Any]:
        model = self.options.model
        return model.usage.record() if model is not None and model.usage.used else {}

    def _status(self, state: State, error: str | None) -> Status:
        if error and self.journal is not None and self.journal.path.exists():
            self.tally = Tally()
            for done in self.journal.records():
                self.tally.add(done)
        told = self.tally.fields()
        skipped = self.bad.count if self.bad else 0
        return Status(
            verb=self.work.verb,
            state=state,
            error=error,
            output=str(self.work.out),
            units=self.units,
            done=len(self.journal) if self.journal else 0,
            resumed=self.journal.resumed if self.journal else 0,
            skipped=skipped,
            warnings=tuple(_warnings(told, skipped, self.bad)),
            identity=self.identity,
            usage=self._usage(),
            started=self.started,
            finished=datetime.now().astimezone(),
            seconds=round(time.monotonic() - self.clock, 3),
            **told,
        )


def _warnings(told: Mapping[str, Any], skipped: int, bad: files.BadLines | None) -> Iterator[str]:
    if skipped and bad:
        yield f"{skipped} bad lines were skipped; the first: {bad.first}"
    if told["replaced"]:
        made = ", ".join(f"{count} {what}" for what, count in told["counts"].items())
        yield f"{told['replaced']} of {made} stand in for what failed; `examples` says why"
