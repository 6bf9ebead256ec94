"""Commands that another command runs, each once."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from touche_rad.cli.console import say
from touche_rad.errors import WorkError
from touche_rad.files.records import write_json

DONE: Final = "done"
"""The key of the finished commands in a record."""


def line_of(words: Sequence[str]) -> str:
    """Return a command as the user would type it."""
    return f"touche-rad {shlex.join(words)}"


def run_once(
    commands: Iterable[Sequence[str]],
    record: Path,
    state: dict[str, Any],
    call: Callable[[Sequence[str]], int],
    *,
    quiet: bool,
) -> None:
    """Print and run the commands that the state does not list, and record each that succeeds."""
    for words in commands:
        line = line_of(words)
        if line in state[DONE]:
            continue
        say(f"$ {line}", quiet=quiet)
        code = call(words)
        if code:
            error = WorkError(f"the command failed with exit code {code}: {line}")
            error.exit_code = code
            raise error
        state[DONE].append(line)
        write_json(record, state)
