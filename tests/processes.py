"""Processes that a test has started, and those that they start."""

from __future__ import annotations

import time
from collections.abc import Set
from contextlib import suppress
from pathlib import Path


def children(pid: int) -> set[int]:
    """Return all processes that a process has started, and those they have."""
    pids: set[int] = set()
    with suppress(OSError):  # one that ends has none
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                pids |= {int(child)} | children(int(child))
    return pids


def command_of(pid: int) -> str:
    """Return the name and the command line of a process; empty if it has ended."""
    place = Path(f"/proc/{pid}")
    try:
        return (place / "comm").read_text() + (place / "cmdline").read_text("utf-8", "replace")
    except OSError:
        return ""


def gone(pids: Set[int]) -> bool:
    """Wait until processes have ended, at most a minute; a zombie has."""

    def lives(pid: int) -> bool:
        try:
            return " Z " not in Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return False

    end = time.monotonic() + 60
    while any(map(lives, pids)) and time.monotonic() < end:
        time.sleep(0.2)
    return not any(map(lives, pids))
