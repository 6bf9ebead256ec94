"""Read the user's lines: with editing, history and completion on a terminal, plain otherwise."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from touche_rad.text import printable

PROMPT: Final = "you> "
_HISTORY: Final = 1000
"""Lines that are kept."""
_PASTE_SECONDS: Final = 0.05
"""A line that follows within this time was pasted, not typed."""


class Reader:
    """Yields messages and commands; several pasted lines are one message."""

    def __init__(self, history: Path | None, complete: Callable[[str], Iterable[str]]) -> None:
        """Prepare the terminal.

        Args:
            history: The file of typed lines, or None for no history.
            complete: Returns completions of a line.
        """
        self.interactive = sys.stdin.isatty() and sys.stdout.isatty()
        self._readline = _load_readline() if self.interactive else None
        self._history = history if self._readline is not None else None
        if self._readline is not None:
            self._prepare(self._readline, complete)

    def _prepare(self, readline: Any, complete: Callable[[str], Iterable[str]]) -> None:
        self._libedit = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if self._libedit else "tab: complete")
        if not self._libedit:
            readline.parse_and_bind("set enable-bracketed-paste on")
        readline.set_completer_delims("")

        def completer(text: str, number: int) -> str | None:
            found = [one for one in complete(text) if one.startswith(text)]
            return found[number] if number < len(found) else None

        readline.set_completer(completer)
        readline.set_auto_history(False)
        readline.clear_history()
        if self._history is not None:
            with suppress(OSError):
                readline.read_history_file(self._history)

    def read(self) -> str:
        """Return the next message or command, without white space around it.

        Raises:
            EOFError: The input ended.
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        if not self.interactive:
            line = sys.stdin.readline()
            if not line:
                raise EOFError
            return printable(line).strip()
        lines = [input(PROMPT)]
        while lines[0] and not lines[0].startswith("/") and self._is_pasted():
            lines.append(input())
        text = "\n".join(printable(line).rstrip() for line in lines).strip()
        self._remember(text)
        return text

    def confirm(self, question: str) -> bool:
        """Ask a yes-no question on a terminal; otherwise no."""
        if not self.interactive:
            return False
        with suppress(EOFError, KeyboardInterrupt):
            return input(f"{printable(question)} [y/N] ").strip().lower() in ("y", "yes")
        return False

    def _is_pasted(self) -> bool:
        """Whether more lines are there already; an editor with bracketed paste returns them all."""
        if self._readline is not None and not self._libedit:
            return False
        return bool(select.select([sys.stdin], [], [], _PASTE_SECONDS)[0])

    def _remember(self, text: str) -> None:
        if self._readline is None or not text:
            return
        self._readline.add_history(" ".join(text.split()))
        if self._history is None:
            return
        try:
            self._history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._history.touch(mode=0o600)
            self._readline.set_history_length(_HISTORY)
            self._readline.write_history_file(self._history)
        except OSError:
            self._history = None


def _load_readline() -> Any:
    try:
        import readline
    except ImportError:
        return None
    return readline
