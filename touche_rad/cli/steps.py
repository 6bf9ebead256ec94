"""Commands that another command runs, each once."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from touche_rad.cli.console import say
from touche_rad.errors import WorkError
from touche_rad.files.append_log import IDENTITY, AppendLog, LogKind

COMMANDS: Final = "commands.jsonl"
"""The log of the commands that are finished; they are not run again."""
_COMMAND: Final = "command"
_KIND: Final = LogKind(
    _COMMAND,
    1,
    fix="replace it with --replace, or choose another folder with -o",
    damaged="its command runs again",
    lasting=True,
)


def line_of(words: Sequence[str]) -> str:
    """Return a command as the user would type it."""
    return f"touche-rad {shlex.join(words)}"


class Steps:
    """The commands of a folder; its log must be closed."""

    def __init__(self, folder: Path, identity: Mapping[str, Any], *, restart: bool = False) -> None:
        self._log = AppendLog(folder / COMMANDS, _KIND, {IDENTITY: identity}, restart=restart)
        self.finished = [logged.record[_COMMAND] for logged in self._log.entries()]

    def run(
        self,
        commands: Iterable[Sequence[str]],
        call: Callable[[Sequence[str]], int],
    ) -> None:
        """Print and run the commands that are not finished, and record each that succeeds."""
        for words in commands:
            line = line_of(words)
            if line in self.finished:
                continue
            say(f"$ {line}")
            code = call(words)
            if code:
                error = WorkError(f"the command failed with exit code {code}: {line}")
                error.exit_code = code
                raise error
            self._log.append({_COMMAND: line})
            self.finished.append(line)

    def close(self) -> None:
        """Close the log."""
        self._log.close()
