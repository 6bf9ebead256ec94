"""Folders of one process: results, and temporary ones that the next process removes after a kill.

The process that uses a folder holds a lock on it. The kernel releases the lock when the process
ends, however it ends, so a folder without a lock is abandoned.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from touche_rad.errors import UserError, why

_PREFIX: Final = "touche-rad-worker-"
_UNLOCKED: Final = "touche-rad-new-"


class LockedFolder:
    """A new temporary folder, locked until it is removed or its process ends."""

    def __init__(self) -> None:
        made = Path(tempfile.mkdtemp(prefix=_UNLOCKED))
        self._lock = _locked(made)
        # Only now can other processes take it for a folder of a worker.
        self.path = made.rename(made.with_name(f"{_PREFIX}{made.name.removeprefix(_UNLOCKED)}"))

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes from a folder of results, until the end or until this one is killed.

    Raises:
        UserError: Another process is at work on them, or the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = _locked(folder.resolve())
    except BlockingIOError:
        raise UserError(f"{folder}: another process is at work on these results") from None
    except OSError as error:
        raise UserError(f"{folder}: expected a folder to write: {why(error)}") from None
    try:
        yield
    finally:
        os.close(lock)


def remove_abandoned() -> None:
    """Remove the folders whose processes have ended; those of other users are left."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            lock = _locked(path)
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _locked(folder: Path) -> int:
    """Return the lock of a folder.

    Raises:
        OSError: Another process has it.
    """
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        raise
    return opened
