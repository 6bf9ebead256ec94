"""Folders of results that one process uses at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from touche_rad.errors import UserError, why
from touche_rad.files.locks import open_locked


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
