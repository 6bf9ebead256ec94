"""The working folder of the process, which plugins may change while our paths are relative."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_lock = threading.Lock()
_folders: list[Path] = []
"""The folder to return to, once for each block that has begun and not ended."""


def working_folder() -> Path:
    """Return the working folder, also while a plugin has left it."""
    with _lock:
        return _folders[0] if _folders else Path.cwd()


@contextmanager
def keep_folder() -> Iterator[None]:
    """Return to the working folder after code of a plugin.

    Blocks may overlap in several threads. All of them return to the folder in which the first one
    began: another folder, which a later block sees when it begins, is that of a plugin.
    """
    with _lock:
        _folders.append(_folders[0] if _folders else Path.cwd())
    try:
        yield
    finally:
        with _lock:
            os.chdir(_folders.pop())
