"""Run units of work in parallel, with a journal of the progress and a status of the result.

Respond, simulate and judge differ in what they do with a debate. All other parts of a run are here.
TIRA drops the exit code, so `status.json` beside the output says what a user must know.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import anyio

from touche_rad import __version__, files
from touche_rad.calls import call_context
from touche_rad.debate import Debate
from touche_rad.errors import InputError, ToucheRadError, UserError, WorkError
from touche_rad.files.outputs import (
    State,
    Status,
    is_output_of,
    sha256_of,
    status_beside,
    write_status,
)
from touche_rad.models import ModelError
from touche_rad.plugins import Plugin, Services, annotations_of
from touche_rad.runs.fallbacks import FailureLog, FallbackStop
from touche_rad.runs.journal import SUFFIX, Done, Facts, Journal, Tally, as_written
from touche_rad.runs.work import DEFAULT_OPTIONS, RunOptions, T, Work


def at_turn(note: str, debate: Debate, turn: int) -> str:
    """Return a note with its debate and turn after its kind."""
    kind, _, what = note.partition(": ")
    return f"{kind}: debate {debate.id or '?'}, turn {turn + 1}: {what}"


log = logging.getLogger("touche_rad")


class Interrupted(WorkError):
    """The user stopped the run with Ctrl-C."""

    exit_code = 130


def run(work: Work[Any], out: Path, options: RunOptions = DEFAULT_OPTIONS) -> Status:
    """Run from synchronous code; Ctrl-C raises Interrupted, which says how to continue."""
    try:
        return anyio.run(run_work, work, out, options)
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped; finished work is kept in {out}{SUFFIX}: run the same command to continue"
        ) from None


async def run_work(work: Work[Any], out: Path, options: RunOptions = DEFAULT_OPTIONS) -> Status:
    """Process all units that are not in the journal, write the output, and return the status.

    The input is read completely before any work begins, so that an invalid line is reported at once
    and not after hours; then it is streamed.

    Raises:
        UserError: The input or the output is wrong, or the journal is another run's.
        WorkError: A unit failed; finished units are kept for the next call.
    """
    report = _StatusWriter(work, out, options)
    try:
        bad = options.bad or files.BadLines()
        identity = _identify(work, out)
        if options.part is not None:
            identity |= options.part.identity
            finished = None if options.restart else options.part.finished(out, identity)
            if finished is not None:
                return finished
        _check_output(out, identity, options)
        total = _check_input(work, bad)
        units = range(total) if options.part is None else options.part.units(total)
        report.units, report.identity, report.bad = units, identity, bad
        failures = FailureLog(options.errors, options.strict)
        with (
            call_context(failures=failures),
            Journal(out, identity, restart=options.restart) as journal,
        ):
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
    for file in sorted({plugin.file for plugin in plugins if plugin.file is not None}):
        identity[f"--plugin {file.name}"] = sha256_of(file)
    return identity


def _identify(work: Work[Any], out: Path) -> dict[str, Any]:
    """Return the identity of a run, with its input; check that this is a file of its own."""
    if not work.source.is_file():
        problem = "is not a regular file" if work.source.exists() else "does not exist"
        raise UserError(f"{work.source} {problem}: expected a file to read")
    if out.exists() and out.samefile(work.source):
        raise UserError(f"{out} is the input too: choose another output")
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
    total = sum(1 for _ in work.units(bad))
    if not total:
        raise InputError(work.source, "expected at least one debate, found none")
    return total


async def _work_through(
    work: Work[T], options: RunOptions, journal: Journal, numbers: range
) -> None:
    """Process units with parallel workers; an error of the journal stops all of them."""
    read = enumerate(work.units(files.BadLines(skip=True)))
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
    except (FallbackStop, ModelError) as error:
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

    Raises:
        FallbackStop: A result is a fallback, and the run is strict.
        ModelError: The model's server does not work any more.
    """
    failures: list[str] = []
    fatal: list[Exception] = []

    async def take() -> None:
        try:
            for number, unit in units:
                try:
                    done = await do(unit)
                except FallbackStop:
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


class _StatusWriter:
    """Collects the fields of the status, which is written even if the run fails."""

    def __init__(self, work: Work[Any], out: Path, options: RunOptions) -> None:
        self.work, self.out, self.options = work, out, options
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
            for _, done in journal.numbered():
                self.tally.add(done)
        totals = self.tally.fields()
        skipped = self.bad.count if self.bad else 0
        status = Status(
            verb=self.work.verb,
            state=state,
            error=error,
            output=str(self.out),
            sha256=sha256_of(self.out) if state == "done" else "",
            units=None if self.units is None else len(self.units),
            done=len(journal) if journal else 0,
            resumed=journal.resumed if journal else 0,
            skipped=skipped,
            warnings=self.facts().warnings(self.tally),
            demo=self.options.demo,
            errors=self._errors(),
            identity=self.identity,
            usage=model.usage.record() if model is not None and model.usage.steps else {},
            started=self.started,
            finished=datetime.now().astimezone(),
            seconds=round(time.monotonic() - self.clock, 3),
            **totals,
        )
        path = self.options.status_path
        if error and journal is None and path == status_beside(self.out):
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
            self.options.warnings,
            skipped,
            tuple(model.warnings) if model else (),
            model.usage if model is not None else None,
        )
