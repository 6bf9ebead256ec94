"""Files of a chat: the unfinished chat in the user's state folder, and saved debates."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from touche_rad.errors import InputError, UserError, refuse_newer, why

if TYPE_CHECKING:
    from touche_rad.debate import Debate

MAX_KEPT: Final = 20
"""Unfinished chats that are kept; the oldest are deleted."""
_FORMAT: Final = 1


def state_folder() -> Path:
    """Return the folder for the history and unfinished chats."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "touche-rad"


def simulation(debate: Debate, debaters: list[str]) -> str:
    """Return the debate as one line of the official simulation format.

    Args:
        debate: The debate.
        debaters: Who answered, one name per turn.
    """
    from touche_rad.runs.simulate import simulation_line

    claim = debate.claim or (debate.turns[0].utterance if debate.turns else "")
    names = list(dict.fromkeys(name for name in debaters if name))
    configuration = {
        "topic": {"description": " ".join(claim.split())},
        "user": {"class": "Person", "model": debate.user},
        "maxTurns": len(debate.turns),
    }
    return simulation_line(debate, configuration, " and ".join(names) or "unknown")


def save(path: Path, line: str, *, replace: bool) -> None:
    """Write a simulation file with one line.

    Raises:
        UserError: The file exists, or cannot be written.
    """
    from touche_rad import files

    if path.exists() and not replace:
        raise UserError(f"{path} exists; /save! {path} replaces it")
    try:
        with files.atomic_write(path) as stream:
            stream.write(line + "\n")
    except OSError as error:
        raise UserError(f"{path} cannot be written: {why(error)}") from None


def load(path: Path, number: int) -> tuple[Debate, int]:
    """Return a debate of a file, by its number from 1, and the number of debates there."""
    from touche_rad import files

    debates = list(files.read_debates(path))
    if not 1 <= number <= len(debates):
        raise UserError(f"{path} has {len(debates)} debates; there is no debate {number}")
    return debates[number - 1], len(debates)


class StateFile:
    """The file of an unfinished chat; it is written after each turn."""

    def __init__(self, *, enabled: bool = True) -> None:
        self.enabled = enabled
        stamp = time.strftime("%Y%m%d-%H%M%S")
        self.path = state_folder() / f"chat-{stamp}-{os.getpid()}-{time.monotonic_ns() % 1000}.json"

    def write(self, debate: Debate, pending: str, debater: str, judge: str) -> str:
        """Write the chat; return why it could not be written, or an empty text."""
        if not self.enabled:
            return ""
        from touche_rad import files

        state = {
            "format": _FORMAT,
            "debater": debater,
            "judge": judge,
            "pending": pending,
            "debate": json.loads(files.simulation_line(debate)),
        }
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with files.atomic_write(self.path) as stream:
                stream.write(json.dumps(state, ensure_ascii=True) + "\n")
            self.path.chmod(0o600)
            for old in _unfinished()[MAX_KEPT:]:
                old.unlink(missing_ok=True)
        except OSError as error:
            return why(error)
        return ""

    def delete(self) -> None:
        """Delete the file: the chat is saved elsewhere, or empty."""
        with suppress(OSError):
            self.path.unlink()

    def resume(self) -> dict[str, Any]:
        """Take over the newest unfinished chat.

        Returns:
            Its `debate`, `pending` message, `debater` and `judge`.

        Raises:
            UserError: There is none, or it cannot be read.
        """
        from touche_rad.files.simulations import parse_simulation

        for old in _unfinished():
            try:
                state = json.loads(old.read_text("utf-8"))
                refuse_newer(old, state, _FORMAT)
                state["debate"] = parse_simulation(state["debate"], lenient=True)
                old.rename(self.path)
            except FileNotFoundError:  # another chat has just taken it over
                continue
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise InputError(old, f"expected an unfinished chat: {error}") from None
            return dict(state)
        raise UserError("there is no unfinished chat to resume")


def _unfinished() -> list[Path]:
    """Return the files of unfinished chats, the newest first."""
    found = [path for path in state_folder().glob("chat-*.json") if path.is_file()]
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)
