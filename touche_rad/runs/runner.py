"""Run units of work in parallel, with a journal of the progress and a status of the result.

The next run with the same identity continues after a kill; a unit whose line in the journal is
damaged is processed again. The output is written in the order of the input, so it is byte-identical
to the output of an uninterrupted run.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

import anyio

from touche_rad import __version__, files, session
from touche_rad.errors import InputError, UserError, WorkError, why
from touche_rad.events import Event, EventKind
from touche_rad.files.append_log import IDENTITY, AppendLog, is_begun, refuse_other_identity
from touche_rad.files.outputs import (
    REPLACE_OUTPUT,
    STATUS,
    State,
    Status,
    is_output_of,
    read_status,
    sha256_of,
)
from touche_rad.files.records import JOURNAL, path_beside, write_json
from touche_rad.lists import T
from touche_rad.models import ModelError
from touche_rad.plugins.folder import keep_folder
from touche_rad.runs.fallbacks import FailureLog, FallbackStop
from touche_rad.runs.journal import RUN, Journal
from touche_rad.runs.shard import SHARD, UNITS, Shard
from touche_rad.runs.work import (
    Done,
    RunOptions,
    Tally,
    Work,
    count_units,
)
from touche_rad.text import map_texts, printable, redact

DEFAULT_OPTIONS: Final = RunOptions()

STDOUT: Final = Path("-")


class Interrupted(WorkError):
    """The user stopped the run with Ctrl-C."""

    exit_code = 130


def run(
    work: Work[Any],
    out: Path,
    options: RunOptions = DEFAULT_OPTIONS,
    shard: Shard | None = None,
) -> Status:
    """Run from synchronous code; Ctrl-C raises Interrupted, which says how to continue."""
    try:
        return session.run(run_work, work, out, options, shard)
    except KeyboardInterrupt:
        if out == STDOUT:
            raise Interrupted("stopped") from None
        raise Interrupted(
            f"stopped; finished work is kept in {path_beside(out, JOURNAL)}: run the same command "
            "to continue"
        ) from None


async def run_work(
    work: Work[Any],
    out: Path,
    options: RunOptions = DEFAULT_OPTIONS,
    shard: Shard | None = None,
) -> Status:
    """Process all units that are not in the journal, write the output, and return the status.

    The input is read completely before any work begins, so that an invalid line is reported at once
    and not after hours; then it is streamed. With `shard`, `out` is the output of this part. On
    the standard output, nothing is kept for another run.

    Raises:
        UserError: The input or the output is wrong, or the journal is another run's.
        WorkError: A unit failed; finished units are kept for the next call.
    """
    output = Output(out, work, options)
    try:
        # Whatever is wrong with the input or the output is an error before any work.
        if not work.source.is_file():
            problem = "is not a regular file" if work.source.exists() else "does not exist"
            raise UserError(f"{work.source} {problem}: expected a file to read")
        if out.exists() and out.samefile(work.source):
            raise UserError(f"{out} is the input too: choose another output")
        output.identity = whole_identity(work.verb, work.identity, work.source)
        if shard:
            output.identity[SHARD] = str(shard)
        is_ours = out.is_file() and is_output_of(out, output.identity)
        is_kept = out.with_name(UNITS).is_file() if shard else options.keep_finished
        if is_ours and is_kept and not (options.restart or output.log_path.exists()):
            return Status.model_validate(read_status(out))
        continues = not options.restart and is_begun(output.log_path, output.identity)
        if out.is_file() and not (continues or is_ours or options.replace):
            earlier = read_status(out).get(IDENTITY, output.identity)
            refuse_other_identity(
                f"{out} exists already:", earlier, output.identity, REPLACE_OUTPUT
            )
            files.check_output(out, replace=False)
        total, output.copies = count_units(work.units(options.bad))
        if not total:
            raise InputError(work.source, "expected at least one debate, found none")

        failures = FailureLog(options.errors.absolute() if options.errors else None, options.strict)
        with output.begin(total, shard) as log:
            finished_units = output.journal.places
            options.progress(len(finished_units), len(output.units))
            with keep_folder():  # a plugin may leave it, and our paths are relative
                # The input is read again; its bad lines have been reported.
                read = enumerate(work.units(files.BadLines(skip=True)))
                of_part = islice(read, output.units.start, output.units.stop)
                units = ((number, unit) for number, unit in of_part if number not in finished_units)
                try:
                    failed = await process_units(work, units, options, failures, output.append)
                except (FallbackStop, ModelError) as error:
                    says_fix = isinstance(error, FallbackStop) or error.fix
                    fix = "" if says_fix else "fix the server (see its log), then "
                    raise WorkError(f"{error}; {output.how_to_continue(fix)}") from error
            if failed:
                summary = f"{len(failed)} of {len(output.units)} failed, first {failed[0]}"
                if failures.first_fault and failures.path:
                    summary += f" (traceback: {options.errors})"
                summary += f"; {output.how_to_continue()}"
                raise WorkError(summary) from failures.first_fault
            status = output.finish()
            # Last, so that the next call finishes a run that is killed before.
            if log:
                log.finish(out.with_name(UNITS) if shard else None)
            return status
    except asyncio.CancelledError:
        output.stop("stopped", "stopped before the end")
        raise
    except Exception as error:
        output.stop("failed", str(error))
        raise


def whole_identity(verb: str, identity: Mapping[str, Any], source: Path) -> dict[str, Any]:
    """Return the identity of a run as its files have it: JSON values, without secrets."""
    values = {"verb": verb, **identity, "input": sha256_of(source), "version": __version__}
    written: dict[str, Any] = map_texts(json.loads(json.dumps(values, default=str)), redact)
    return written


async def process_units(
    work: Work[T],
    units: Iterator[tuple[int, T]],
    options: RunOptions,
    failures: FailureLog,
    keep: Callable[[int, Done], None],
) -> list[str]:
    """Process units with parallel workers; return a line for each that failed.

    Raises:
        FallbackStop: A result is a fallback, and the run is strict.
        ModelError: The model's server does not work any more.
    """
    failed: list[str] = []
    fatal: list[Exception] = []

    async def take() -> None:
        try:
            for number, unit in units:
                try:
                    done = await work.do(unit, failures)
                except FallbackStop:
                    raise
                except Exception as error:
                    what = f"number {number + 1}: {type(error).__name__}: {error}"
                    failures.add_fault(what, error)
                    failed.append(what)
                    continue
                if options.model and not options.must_finish:
                    await options.model.check_after_failure()  # also results made in part
                keep(number, done)
        except Exception as error:
            fatal.append(error)
            group.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as group:
            for _ in range(options.workers):
                group.start_soon(take)
    finally:
        if work.end:
            with anyio.CancelScope(shield=True):
                await work.end()
    if fatal:
        raise fatal[0]
    return failed


class Output:
    """The output of one run, and its status."""

    def __init__(self, path: Path, work: Work[Any], options: RunOptions) -> None:
        """Prepare; nothing is read or written."""
        self.path = path
        self.log_path = path_beside(path, JOURNAL)
        self.verb = work.verb
        self.options = options
        self.identity = dict(work.identity)
        """Everything that determines the output. A run is continued only with an equal one."""
        self.total = 0
        """The number of units of the whole run."""
        self.units = range(0)
        """The units of this output: a part has some of them."""
        self.copies: Event | None = None
        """The warning on debates that the input has more than once."""
        self.resumed = 0
        self.journal = Journal[int]()
        self._started = datetime.now().astimezone()
        self._clock = time.monotonic()

    @contextmanager
    def begin(self, total: int, shard: Shard | None = None) -> Iterator[AppendLog | None]:
        """Open the journal, or create it; at the end it is closed, and the file is kept.

        Raises:
            UserError: The journal is of another run, or the output cannot be written.
        """
        log: AppendLog | None = None
        if self.path.exists() and not self.path.is_file():
            raise UserError(f"{self.path} is a folder or a device: name a file to write")
        header = {IDENTITY: self.identity}
        if self.path != STDOUT:
            with self._writing(self.log_path):
                log = AppendLog(self.log_path, RUN, header, restart=self.options.restart)
        try:
            self.total = total
            self.units = shard.units(total) if shard else range(total)
            self.journal = Journal[int](log, self.units)
            self.resumed = len(self.journal.places)
            if not self.resumed:
                if self.options.errors:
                    self.options.errors.unlink(missing_ok=True)
                if self.options.model and not self.options.keep_trace:
                    self.options.model.begin_trace()
            yield log
        finally:
            if log:
                log.close()

    def append(self, unit: int, done: Done) -> None:
        """Append one finished unit to the journal."""
        with self._writing(self.log_path):
            self.journal.append(unit, done)
        self.resumed += done.resumed
        self.options.progress(len(self.journal.places), len(self.units))

    def finish(self) -> Status:
        """Write the output and its status; the journal remains."""
        tally = Tally(units=self.units.start)
        with self._writing(self.path), files.atomic_write(self.path) as stream:
            for done in self.journal.read(sorted(self.journal.places)):  # in the order of the input
                tally.add(done)
                stream.writelines(f"{line}\n" for line in done.lines)
        return self._write_status(
            tally, "done", sha256=sha256_of(self.path) if self.path != STDOUT else ""
        )

    def stop(self, state: State, error: str) -> None:
        """Write the status of a run that did not finish; the journal is kept."""
        path = self.options.status_path
        if not path or (not self.total and path == path_beside(self.path, STATUS)):
            return  # nothing has happened to the output, so its status remains
        tally = Tally(units=self.units.start)
        if self.log_path.exists():
            for done in self.journal.read(sorted(self.journal.places)):
                tally.add(done)
        with suppress(OSError):  # the first error is reported
            self._write_status(tally, state, error=error)

    @property
    def warnings(self) -> tuple[Event, ...]:
        """The warnings that are not about results: on settings, input and model."""
        options = self.options
        warnings = list(options.warnings)
        if options.bad.count:
            warnings.append(
                EventKind.UNREAD_LINES.event(f"lines that cannot be read: {options.bad}")
            )
        if options.bad.empty:
            warnings.append(
                EventKind.UNREAD_LINES.event(f"empty lines left out: {options.bad.say_empty()}")
            )
        if self.copies:
            warnings.append(self.copies)
        if options.model:
            for line in options.model.warnings:
                warnings.append(EventKind.MODEL.event(printable(line)))
        return tuple(warnings)

    def how_to_continue(self, fix: str = "") -> str:
        """Say what is kept, what to fix first, and how to continue."""
        if self.path == STDOUT:
            return f"{fix}run the same command again"
        return (
            f"{len(self.journal.places)} of {len(self.units)} done and kept in {self.log_path}: "
            f"{fix}run the same command to continue"
        )

    def _write_status(self, tally: Tally, state: State, **fields: Any) -> Status:
        """Return the status, which is also written if it has a place."""
        status = tally.status(
            self.path,
            warnings=self.warnings,
            usage=self.options.model.usage if self.options.model else None,
            errors=self.options.errors,
            verb=self.verb,
            state=state,
            units=len(self.units) if self.total else None,
            done=len(self.journal.places),
            resumed=self.resumed,
            skipped=self.options.bad.count,
            identity=self.identity,
            started=self._started,
            finished=datetime.now().astimezone(),
            seconds=round(time.monotonic() - self._clock, 3),
            **self.options.setup,
            **fields,
        )
        if self.options.status_path:
            write_json(self.options.status_path, map_texts(status.model_dump(mode="json"), redact))
        return status

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise WorkError(
                f"{path}: cannot be written: {why(error)}; {self.how_to_continue()}"
            ) from error
