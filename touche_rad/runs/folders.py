"""Folders of one process: results, and temporary ones that the next process removes after a kill.

The process that uses a folder holds a lock on it. The kernel releases the lock when the process
ends, however it ends, so a folder without a lock is abandoned.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from touche_rad.errors import UserError, why
from touche_rad.files.locks import open_locked, remove_if_unlocked

_PREFIX: Final = "touche-rad-worker-"
_UNLOCKED: Final = "touche-rad-new-"


class LockedFolder:
    """A new temporary folder, locked until it is removed or its process ends."""

    def __init__(self) -> None:
        made = Path(tempfile.mkdtemp(prefix=_UNLOCKED))
        self._lock = open_locked(made, folder=True)
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
        lock = open_locked(folder.resolve(), folder=True)
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
        remove_if_unlocked(path)
