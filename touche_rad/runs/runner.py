"""Run units of work in parallel, with a journal of the progress and a status of the result.

Respond, simulate and judge differ in what they do with a debate. All other parts of a run are here.
TIRA drops the exit code, so `status.json` beside the output says what a user must know.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar

import anyio
from pydantic import BaseModel, ConfigDict, Field

from touche_rad import __version__, files
from touche_rad.debate import Debate
from touche_rad.errors import InputError, ToucheRadError, UserError, WorkError
from touche_rad.files.outputs import STATUS_FORMAT, is_output_of, sha256_of, status_beside
from touche_rad.models import Model, ModelError
from touche_rad.plugins import Plugin, Services, annotations_of
from touche_rad.runs.journal import SUFFIX, Done, Journal, as_written
from touche_rad.runs.stand_ins import (
    ANSWERS,
    RUN_FAILURES,
    FailureLog,
    StandIn,
    StandInStop,
    grouped,
    total_of,
    warnings_of,
)
from touche_rad.text import printable, redact_data

if TYPE_CHECKING:
    from touche_rad.models.usage import Usage

State = Literal["done", "stopped", "failed"]

MOST_EXAMPLES = 5
WARNING: Final = "warning: "
"""The beginning of a line of the terminal that says what is wrong with a result."""
_IN_WARNINGS: Final = ("fallback from", "without model", "user fallback", "unscored", "last-resort")
"""Kinds of notes that the warnings about stand-ins contain."""


class Status(BaseModel):
    """The result of a run. `counts` counts results, `notes` counts failures and changes by kind."""

    model_config = ConfigDict(frozen=True)

    format: int = STATUS_FORMAT
    verb: str
    state: State
    error: str | None = None
    output: str = ""
    units: int | None = None
    done: int = 0
    resumed: int = 0
    skipped: int = 0
    replaced: int = 0
    """Results that are not from the selected plugin, or that it made without its model."""
    stand_ins: tuple[Mapping[str, Any], ...] = ()
    """These results by plugin, cause and what stands in, with counts and turns.

    A turn is DEBATE.TURN in the output's order, counted from 1, or DEBATE for a whole debate.
    """
    replaced_turns: tuple[str, ...] = ()
    """The turns of all these answers."""
    errors: str = ""
    """The file with the first traceback of each kind of failure."""
    counts: Mapping[str, int] = Field(default_factory=dict)
    notes: Mapping[str, int] = Field(default_factory=dict)
    examples: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    sha256: str = ""
    """The digest of the finished output."""
    demo: bool = False
    """Whether the index is the demo collection's: such a run is not fit to hand in."""
    identity: Mapping[str, Any] = Field(default_factory=dict)
    usage: Mapping[str, Any] = Field(default_factory=dict)
    """Cost of model calls in this process; without the cost of an earlier, interrupted run."""
    estimate: Mapping[str, Any] = Field(default_factory=dict)
    """The model calls and tokens that were estimated at the start, if that was done."""
    started: datetime
    finished: datetime
    seconds: float
    version: str = __version__

    @property
    def all_replaced(self) -> str:
        """The kind of results that are all stand-ins: answers, verdicts or utterances; or empty."""
        if not self.stand_ins:
            return ""
        found: Counter[str] = Counter()
        for one in self.stand_ins:
            found[one["what"]] += one["count"]
        every = (what for what, number in found.items() if number >= total_of(what, self.counts))
        return next(every, "")

    def lines(self) -> list[str]:
        """Return the status as lines for the terminal."""
        made = ", ".join(f"{count} {what}" for what, count in self.counts.items())
        of = "" if self.units in (None, self.done) else f" of {self.units}"
        first = f"{self.verb}: {self.done}{of} {self.state} in {self.seconds:.1f} s"
        said = [f"{first} ({made})" if made else first]
        if self.resumed:
            said.append(f"{self.resumed} of them were taken over from an earlier run")
        said.extend(
            f"{kind}: {count}" for kind, count in self.notes.items()
            if not self.stand_ins or not kind.startswith(_IN_WARNINGS)
        )  # fmt: skip
        if self.usage:
            said.append(_cost(self.usage["total"]))
            said.extend(_endpoint_warnings(self.usage.get("endpoints", {})))
        said.extend(f"{WARNING}{warning}" for warning in self.warnings)
        if self.errors:
            said.append(f"tracebacks: {self.errors}")
        return said


def _cost(total: Mapping[str, Any]) -> str:
    parts = [f"{total['calls']} calls", f"{total['from_cache']} answers from the cache"]
    parts.append(f"{total['prompt_tokens']} + {total['completion_tokens']} tokens")
    if total["prompt_letters"]:
        share = total["shared_letters"] / total["prompt_letters"]
        parts.append(f"{share:.0%} of the prompts shared")
    return f"model: {', '.join(parts)}"


def _endpoint_warnings(endpoints: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Name the endpoints that did not answer some calls."""
    for place, one in endpoints.items():
        if one["failures"]:
            failed = f"{one['failures']} of {one['calls']} calls failed"
            yield f"{WARNING}{printable(place)}: {failed}; other endpoints or retries followed"


def at_turn(note: str, debate: Debate, turn: int) -> str:
    """Return a note with its debate and turn after its kind."""
    kind, _, what = note.partition(": ")
    return f"{kind}: debate {debate.id or '?'}, turn {turn + 1}: {what}"


@dataclass
class Tally:
    """Sums the counts and notes of finished units."""

    counts: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    stand_ins: list[StandIn] = field(default_factory=list)
    turns: dict[tuple[str, ...], dict[str, None]] = field(default_factory=dict)
    """The turns of each group of stand-ins, without repetitions."""
    units: int = 0

    def add(self, done: Done) -> None:
        """Add one unit; the first few notes of each kind are kept as examples."""
        self.units += 1
        self.counts.update(done.counts)
        if done.stand_ins:
            self.stand_ins = grouped([*self.stand_ins, *done.stand_ins])
            for one in done.stand_ins:
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
            "replaced": sum(one.count for one in self.stand_ins),
            "stand_ins": tuple(self._record(one) for one in self.stand_ins),
            "replaced_turns": tuple(self._replaced_turns()),
            "counts": dict(self.counts),
            "notes": dict(self.notes.most_common()),
            "examples": {kind: tuple(few) for kind, few in self.examples.items()},
        }

    def _record(self, one: StandIn) -> dict[str, Any]:
        """Return a group of stand-ins with all its turns."""
        turns = list(self.turns.get(one.group, ()))
        return {key: value for key, value in vars(one).items() if key != "turn"} | {"turns": turns}

    def _replaced_turns(self) -> list[str]:
        """Return the turns of all replaced answers in the output's order."""
        groups = (self.turns[one.group] for one in self.stand_ins if one.what == ANSWERS)
        return sorted({turn for group in groups for turn in group}, key=_turn_order)


def _turn_order(turn: str) -> list[int]:
    return [int(number) for number in turn.split(".")]


def write_status(status: Status, path: Path) -> None:
    """Write the status atomically."""
    with files.atomic_write(path) as stream:
        record = redact_data(status.model_dump(mode="json"))
        stream.write(json.dumps(record, ensure_ascii=False, indent=2) + "\n")


log = logging.getLogger("touche_rad")

T = TypeVar("T")
Progress = Callable[[int, int | None], None]


class Interrupted(WorkError):
    """The user stopped the run with Ctrl-C."""

    exit_code = 130


@dataclass(frozen=True)
class Work(Generic[T]):
    """One run: its input, the work on each unit, and its output."""

    verb: str
    source: Path
    out: Path
    read: Callable[[files.BadLines], Iterable[T]]
    do: Callable[[T], Awaitable[Done]]
    identity: Mapping[str, Any]


class PartOfRun(Protocol):
    """A part of a run; `touche_rad.runs.parts` has the one of `--shard`."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What the identity of the part has in addition to that of the run."""
        ...

    def units(self, total: int) -> range:
        """Return the numbers of its units, if the input has `total`."""
        ...

    def finished(self, out: Path, identity: Mapping[str, Any]) -> Status | None:
        """Return the status of this part if it is complete already, with the same identity."""
        ...

    def finish(self, journal: Journal, status: Status, total: int, facts: Facts) -> None:
        """Write what the whole run needs of this part."""
        ...


class Engine(Protocol):
    """Processes the units of a run in other processes."""

    async def process(
        self,
        units: Iterator[tuple[int, Any]],
        total: int,
        options: RunOptions,
        keep: Callable[[int, Done], None],
    ) -> list[str]:
        """Process units like `process_units`; `total` is their number."""
        ...


@dataclass(frozen=True)
class RunOptions:
    """Settings of a run that do not change its output."""

    workers: int = 4
    """Number of units processed in parallel."""
    restart: bool = False
    """Start again instead of continuing an earlier run."""
    replace: bool = True
    """Whether the output of another run may be replaced."""
    bad: files.BadLines | None = None
    """Handling of invalid lines; None raises an error."""
    progress: Progress | None = None
    """Called with (done, total)."""
    status_path: Path | None = None
    """Path of the status file, if it is to be written."""
    model: Model | None = None
    """The language model of the plugins; the runner reports its usage and closes it."""
    warnings: tuple[str, ...] = ()
    """Warnings about the settings, for the status."""
    demo: bool = False
    """Whether the index is the demo collection's."""
    sample: Callable[[Work[Any], RunOptions], Awaitable[Status]] | None = None
    """Takes the place of the run, for an estimate: nothing is written."""
    estimate: Mapping[str, Any] = field(default_factory=dict)
    """The estimated calls and tokens, for the status."""
    strict: bool = False
    """Stop at the first stand-in."""
    hand_in: bool = False
    """Finish also without the model, because the output must be handed in (under TIRA)."""
    errors: Path | None = None
    """File for the first traceback of each kind of failure."""
    part: PartOfRun | None = None
    """The part of the input to process; the output is then this part of the run's output."""
    engine: Engine | None = None
    """Processes the units in other processes."""


DEFAULT_OPTIONS: Final = RunOptions()


def run(work: Callable[[], Awaitable[Status]], out: Path) -> Status:
    """Run from synchronous code; Ctrl-C raises Interrupted, which says how to continue."""
    try:
        return anyio.run(work)
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped; finished work is kept in {out}{SUFFIX}: run the same command to continue"
        ) from None


async def run_work(work: Work[Any], options: RunOptions) -> Status:
    """Process all units that are not in the journal, and return the status.

    The input is read completely before any work begins, so that an invalid line is reported at once
    and not after hours; then it is streamed.

    Raises:
        UserError: The input or the output is wrong, or the journal is another run's.
        WorkError: A unit failed; finished units are kept for the next call.
    """
    if options.sample is not None:
        return await options.sample(work, options)
    report = _Report(work, options)
    try:
        bad = options.bad or files.BadLines()
        identity = _identify(work)
        if options.part is not None:
            identity |= options.part.identity
            finished = None if options.restart else options.part.finished(work.out, identity)
            if finished is not None:
                return finished
        _check_output(work.out, identity, options)
        total = _check_input(work, bad)
        units = range(total) if options.part is None else options.part.units(total)
        report.units, report.identity, report.bad = units, identity, bad
        RUN_FAILURES.set(FailureLog(options.errors, options.strict, not options.hand_in))
        with Journal(work.out, identity, restart=options.restart) as journal:
            report.journal = journal
            if options.errors is not None and not journal.resumed:
                options.errors.unlink(missing_ok=True)
            if options.model is not None and not journal.resumed:
                options.model.begin_trace()
            await _work_through(work, options, journal, units)
            report.tally = Tally(units=units.start)
            journal.finish(report.tally.add)
            status = report.write("done")
            if options.part is not None:
                options.part.finish(journal, status, total, report.facts())
            journal.remove()  # last: a kill in between leaves a run that the next call finishes
    except asyncio.CancelledError:
        report.write("stopped", "stopped before the end")
        raise
    except Exception as error:
        report.write("failed", str(error))
        raise
    else:
        return status
    finally:
        if options.model is not None:
            with anyio.CancelScope(shield=True):
                await options.model.close()


def identity_of(
    services: Services, *plugins: Plugin, deadline: float | None, **first: Any
) -> dict[str, Any]:
    """Return everything that decides a run's results; a run with another identity cannot resume.

    Args:
        services: The index, the model and the random seed.
        plugins: The plugins; the model is part of the identity if one of them uses it.
        deadline: Time limit of the plugins in seconds.
        first: What comes first, such as the tag of the main plugin.
    """
    identity = {**first, "seed": services.seed, "deadline": deadline}
    if services.index is not None:
        identity["index"] = services.index.fingerprint
        with suppress(ToucheRadError):  # annotations that cannot be read have no fingerprint
            for name, annotations in annotations_of(services.index).items():
                identity[f"annotations.{name}"] = annotations.fingerprint
    if services.model is not None and any(plugin.uses_model for plugin in plugins):
        identity["model"] = services.model.identity
    return identity


def _identify(work: Work[Any]) -> dict[str, Any]:
    """Return the identity of a run, with its input; check that this is a file of its own."""
    if not work.source.is_file():
        problem = "is not a regular file" if work.source.exists() else "does not exist"
        raise UserError(f"{work.source} {problem}: expected a file to read")
    if work.out.exists() and work.out.samefile(work.source):
        raise UserError(f"{work.out} is the input too: choose another output")
    identity = {"verb": work.verb, **work.identity}
    return identity | {"input": sha256_of(work.source), "version": __version__}


def _check_output(out: Path, identity: Mapping[str, Any], options: RunOptions) -> None:
    """Refuse to replace what another run or program wrote; a run may be made again.

    An unfinished run is left to its journal, which knows its identity.
    """
    unfinished = out.with_name(f"{out.name}{SUFFIX}").exists() and not options.restart
    if not options.replace and not unfinished and not is_output_of(out, as_written(identity)):
        files.check_output(out, replace=False)


def _check_input(work: Work[Any], bad: files.BadLines) -> int:
    """Validate every line before any work begins, and return their number."""
    total = sum(1 for _ in work.read(bad))
    if not total:
        raise InputError(work.source, "expected at least one debate, found none")
    return total


async def _work_through(
    work: Work[T], options: RunOptions, journal: Journal, numbers: range
) -> None:
    """Process units with parallel workers; an error of the journal stops all of them."""
    read = enumerate(work.read(files.BadLines(skip=True)))
    here = islice(read, numbers.start, numbers.stop)
    units = ((number, unit) for number, unit in here if number not in journal)
    total = len(numbers)
    report = options.progress or (lambda done, total: None)
    report(len(journal), total)

    def keep(number: int, done: Done) -> None:
        journal.append(number, done)
        report(len(journal), total)

    try:
        if options.engine is not None:
            failures = await options.engine.process(units, total - len(journal), options, keep)
        else:
            failures = await process_units(work.do, units, options, keep)
    except (StandInStop, ModelError) as error:
        raise WorkError(f"{error}; {journal.kept()}") from error
    if failures:
        raise WorkError(f"{len(failures)} of {total} failed, first {failures[0]}; {journal.kept()}")


async def process_units(
    do: Callable[[T], Awaitable[Done]],
    units: Iterator[tuple[int, T]],
    options: RunOptions,
    keep: Callable[[int, Done], None],
) -> list[str]:
    """Process units with parallel workers in this process; return a line for each that failed.

    Args:
        do: The work on a unit.
        units: The units with their numbers.
        options: The settings of the run.
        keep: Called with each result; an error of it stops all workers.

    Raises:
        StandInStop: A result is a stand-in, and the run is strict.
        ModelError: The model's server does not work any more.
    """
    failures: list[str] = []
    fatal: list[Exception] = []

    async def take() -> None:
        try:
            for number, unit in units:
                try:
                    done = await do(unit)
                except StandInStop:
                    raise
                except Exception as error:
                    log.debug("number %d failed", number + 1, exc_info=error)
                    failures.append(f"number {number + 1}: {type(error).__name__}: {error}")
                    continue
                if options.model is not None and not options.hand_in:
                    await options.model.check_after_failure()  # also results made in part
                keep(number, done)
        except Exception as error:
            fatal.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for _ in range(options.workers):
            group.start_soon(take)
    if fatal:
        raise fatal[0]
    return failures


class _Report:
    """Collects the fields of the status, which is written even if the run fails."""

    def __init__(self, work: Work[Any], options: RunOptions) -> None:
        self.work, self.options = work, options
        self.started, self.clock = datetime.now().astimezone(), time.monotonic()
        self.tally = Tally()
        self.identity: Mapping[str, Any] = work.identity
        self.units: range | None = None
        self.journal: Journal | None = None
        self.bad: files.BadLines | None = None

    def write(self, state: State, error: str | None = None) -> Status:
        """Make the status, and write it if a path is set."""
        journal, model = self.journal, self.options.model
        if error and journal is not None and journal.path.exists():
            self.tally = Tally(units=self.units.start if self.units else 0)
            for done in journal.records():
                self.tally.add(done)
        totals = self.tally.fields()
        skipped = self.bad.count if self.bad else 0
        status = Status(
            verb=self.work.verb,
            state=state,
            error=error,
            output=str(self.work.out),
            sha256=sha256_of(self.work.out) if state == "done" else "",
            units=None if self.units is None else len(self.units),
            done=len(journal) if journal else 0,
            resumed=journal.resumed if journal else 0,
            skipped=skipped,
            warnings=self.facts().warnings(self.tally),
            demo=self.options.demo,
            errors=self._errors(),
            identity=self.identity,
            usage=model.usage.record() if model is not None and model.usage.used else {},
            estimate=self.options.estimate,
            started=self.started,
            finished=datetime.now().astimezone(),
            seconds=round(time.monotonic() - self.clock, 3),
            **totals,
        )
        path = self.options.status_path
        if error and journal is None and path == status_beside(self.work.out):
            return status  # nothing has happened to the output, so its status remains
        if path is not None:
            try:
                write_status(status, path)
            except OSError:
                if error is None:  # otherwise the first error is reported
                    raise
        return status

    def _errors(self) -> str:
        path = self.options.errors
        return str(path) if path is not None and path.exists() else ""

    def facts(self) -> Facts:
        """Return what the warnings of the status need, besides the results."""
        model, bad = self.options.model, self.bad
        skipped = ""
        if bad and bad.count:
            skipped = f"{bad.count} bad lines were skipped; the first: {bad.first}"
        return Facts(
            self.options.warnings, skipped, tuple(model.warnings) if model else (),
            model.usage if model is not None else None,
        )  # fmt: skip


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
        if tally.stand_ins:
            yield from warnings_of(tally.stand_ins, tally.counts)
        yield from map(printable, self.model)
        if self.usage is not None and self.usage.faults:
            faults = self.usage.faults
            kinds = ", ".join(f"{count} {kind}" for kind, count in faults.items())
            failed = f"{sum(faults.values())} model calls failed ({kinds})"
            yield f"{failed}; the first: {printable(self.usage.first_fault)}"
