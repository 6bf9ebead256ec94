"""Run units of work in parallel, with a journal of the progress and a status of the result.

Respond, simulate and judge differ in what they do with a debate. All other parts of a run are here
and in `output`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import anyio

from touche_rad import files
from touche_rad.calls import call_context
from touche_rad.errors import InputError, ToucheRadError, UserError, WorkError
from touche_rad.files.outputs import Status, sha256_of
from touche_rad.models import ModelError
from touche_rad.plugins import Plugin, Services, annotations_of
from touche_rad.runs.fallbacks import FailureLog, FallbackStop
from touche_rad.runs.output import SUFFIX, Output, whole_identity
from touche_rad.runs.parts import Part
from touche_rad.runs.work import DEFAULT_OPTIONS, Done, RunOptions, T, Work

log = logging.getLogger("touche_rad")


class Interrupted(WorkError):
    """The user stopped the run with Ctrl-C."""

    exit_code = 130


def run(
    work: Work[Any],
    out: Path,
    options: RunOptions = DEFAULT_OPTIONS,
    part: Part | None = None,
) -> Status:
    """Run from synchronous code; Ctrl-C raises Interrupted, which says how to continue."""
    try:
        return anyio.run(run_work, work, out, options, part)
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped; finished work is kept in {out}{SUFFIX}: run the same command to continue"
        ) from None


async def run_work(
    work: Work[Any],
    out: Path,
    options: RunOptions = DEFAULT_OPTIONS,
    part: Part | None = None,
) -> Status:
    """Process all units that are not in the journal, write the output, and return the status.

    The input is read completely before any work begins, so that an invalid line is reported at once
    and not after hours; then it is streamed. With `part`, `out` is the part's output.

    Raises:
        UserError: The input or the output is wrong, or the journal is another run's.
        WorkError: A unit failed; finished units are kept for the next call.
    """
    output = Output(out, work, options)
    try:
        if not work.source.is_file():
            problem = "is not a regular file" if work.source.exists() else "does not exist"
            raise UserError(f"{work.source} {problem}: expected a file to read")
        if out.exists() and out.samefile(work.source):
            raise UserError(f"{out} is the input too: choose another output")
        output.identity = whole_identity(work.verb, work.identity, work.source)
        if part is not None:
            output.identity |= part.identity
            finished = None if options.restart else part.finished(out, output.identity)
            if finished is not None:
                return finished
        output.check_replace()
        total = sum(1 for _ in work.units(output.bad))
        if not total:
            raise InputError(work.source, "expected at least one debate, found none")
        failures = FailureLog(options.errors, options.strict)
        units = range(total) if part is None else part.shard.units(total)
        with call_context(report_failure=failures.add), output.begin(total, units):
            folder = Path.cwd()
            try:
                await _work_through(work, options, output)
            finally:
                os.chdir(folder)  # a plugin may have changed it, and our paths are relative
            status = output.finish()
            if part is not None:
                part.finish(output, status)
            output.journal.unlink()  # last: the next call finishes a run that is killed before
            return status
    except asyncio.CancelledError:
        output.stop("stopped", "stopped before the end")
        raise
    except Exception as error:
        output.stop("failed", str(error))
        raise
    finally:
        for model in filter(None, (options.model, *options.more_models)):
            with anyio.CancelScope(shield=True):
                await model.close()


def identity_of(
    services: Services, *plugins: Plugin, deadline: float | None, **first: Any
) -> dict[str, Any]:
    """Return everything that decides a run's results, such as the tag of the main plugin (`first`).

    A run with another identity cannot resume. The model counts only if a plugin uses it.
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


async def _work_through(work: Work[T], options: RunOptions, output: Output) -> None:
    """Process units with parallel workers; an error of the journal stops all of them."""
    numbers = output.units
    read = enumerate(work.units(files.BadLines(skip=True)))
    here = islice(read, numbers.start, numbers.stop)
    units = ((number, unit) for number, unit in here if number not in output.finished)
    report = options.progress or (lambda done, total: None)
    report(len(output.finished), len(numbers))

    def keep(number: int, done: Done) -> None:
        output.append(number, done)
        report(len(output.finished), len(numbers))

    try:
        if options.process is not None:
            left = len(numbers) - len(output.finished)
            failures = await options.process(units, left, options, keep)
        else:
            failures = await process_units(work.do, units, options, keep)
    except (FallbackStop, ModelError) as error:
        raise WorkError(f"{error}; {output.how_to_continue()}") from error
    if failures:
        lines = f"{len(failures)} of {len(numbers)} failed, first {failures[0]}"
        raise WorkError(f"{lines}; {output.how_to_continue()}")


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
