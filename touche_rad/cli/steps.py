"""Commands that another command runs, each once."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from touche_rad import processes
from touche_rad.cli.console import line_of, say
from touche_rad.credentials import Server, trusted_servers
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


_RUN_STEP: Final = "import sys; from touche_rad.cli.steps import run_step; run_step(*sys.argv[1:])"
"""Of a Python whose first argument is the trusted servers as JSON; the words of a step follow."""


def call_step(words: Sequence[str], **options: Any) -> int:
    """Run a command in a process of its own; the options are those of `subprocess.Popen`."""
    trusted = trusted_servers()
    servers = json.dumps(None if trusted is None else sorted(trusted))
    command = [sys.executable, "-c", _RUN_STEP, servers, *words]
    with processes.start(command, gets_keys=True, **options) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()  # which got it too: it keeps what is finished
            raise


def run_step(servers: str, *words: str) -> None:
    """Run a step in a process of its own, and exit with its exit code."""
    from touche_rad.cli.program import run

    fields: list[list[Any]] | None = json.loads(servers)
    trusted = None if fields is None else frozenset(Server(*server) for server in fields)
    sys.exit(run(list(words), is_step=True, trusted=trusted))


class Steps:
    """The commands of a folder; its log must be closed."""

    def __init__(self, folder: Path, identity: Mapping[str, Any], *, restart: bool = False) -> None:
        self._log = AppendLog(folder / COMMANDS, _KIND, {IDENTITY: identity}, restart=restart)
        self.finished = [str(logged.record.get(_COMMAND)) for logged in self._log.entries()]

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
