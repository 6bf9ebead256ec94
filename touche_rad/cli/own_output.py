"""Slow commands that are no runs, such as `audit`: which output is their own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touche_rad import __version__

if TYPE_CHECKING:
    from touche_rad.models import Model


@contextmanager
def own_output(
    verb: str,
    out: Path,
    inputs: Sequence[Path],
    settings: Mapping[str, Any],
    *,
    replace: bool,
    model: Model | None = None,
) -> Iterator[None]:
    """Let a command write its output, or write its own one again, and write the status beside it.

    Pipes and devices have no status. Another process with the same output is refused.

    A fault of the machine, such as used up memory, stops the command.

    Raises:
        UserError: The output exists, and this command did not write it.
        MachineStop: The machine has no memory, file descriptors or threads left.
    """
    from touche_rad.files.records import STANDARD_OUTPUT
    from touche_rad.runs.fallbacks import RUN_FAILURES, FailureLog, stop_at_machine_fault
    from touche_rad.runs.journal import alone_at

    before = RUN_FAILURES.set(FailureLog(needs_machine=True))
    is_stream = str(out) in STANDARD_OUTPUT or (
        out.exists() and not out.is_file() and not out.is_dir()
    )
    try:
        with ExitStack() as stack:
            if not is_stream:
                stack.enter_context(alone_at(out))
                stack.enter_context(_status_beside(verb, out, inputs, settings, replace, model))
            if model is not None:
                model.begin_trace()
            yield
    except ExceptionGroup as error:  # of a group of tasks
        stop_at_machine_fault(verb, error)
        raise
    finally:
        RUN_FAILURES.reset(before)


@contextmanager
def _status_beside(
    verb: str,
    out: Path,
    inputs: Sequence[Path],
    settings: Mapping[str, Any],
    replace: bool,
    model: Model | None,
) -> Iterator[None]:
    """Refuse the output of another command, and write the status beside this one's."""
    from touche_rad.files import check_output
    from touche_rad.files.outputs import (
        Status,
        is_output_of,
        is_output_of_stopped,
        sha256_of,
        status_beside,
        write_status,
    )
    from touche_rad.runs.journal import as_written

    identity = as_written(
        {
            "verb": verb,
            **settings,
            "model": model.identity if model else None,
            "inputs": [sha256_of(path) for path in inputs if path.is_file()],
            "version": __version__,
        }
    )
    own = is_output_of(out, identity) or is_output_of_stopped(out, identity)
    if not replace and not own:
        check_output(out, replace=False)
    started, begun = datetime.now().astimezone(), time.monotonic()
    status = Status(
        verb=verb,
        state="stopped",
        output=str(out),
        identity=identity,
        started=started,
        finished=started,
        seconds=0,
    )
    is_new = not out.exists()
    if is_new:  # killed between output and status, the repeated command knows the output by this
        write_status(status, status_beside(out))
    try:
        yield
    finally:
        if is_new and not out.exists():
            status_beside(out).unlink(missing_ok=True)
    done = {
        "state": "done",
        "sha256": sha256_of(out),
        "finished": datetime.now().astimezone(),
        "seconds": round(time.monotonic() - begun, 3),
    }
    try:
        write_status(status.model_copy(update=done), status_beside(out))
    except OSError:
        if out.is_file():
            out.unlink()  # without its status, the repeated command would not know it as its own
        raise
