"""Equal requests of several processes at the same time: one asks, the others find its answer."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

import anyio

log = logging.getLogger("touche_rad")

FILE: Final = "asked.lock"
_PLACES: Final = 2**31
_SHORTEST, _LONGEST = 0.02, 0.5


@cache
def _opened(folder: Path) -> int | None:
    """Open the folder's lock file once a process: closing it anywhere gives up every lock."""
    try:
        return os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        log.info("the cache in %s locks nothing: %s", folder, error)
        return None


@asynccontextmanager
async def first_to_ask(folder: Path, key: str, left: Callable[[], float]) -> AsyncIterator[None]:
    """Wait while another process asks the same; the system frees what a killed one held.

    Each request is one byte of a lock file. Where files cannot be locked, or no time is left,
    the request is made all the same: an answer twice is better than none.
    """
    locks = _locks()
    file = _opened(folder) if locks else None
    if locks is None or file is None:
        yield
        return
    place = int(key[:16], 16) % _PLACES
    held = await _taken(locks, file, place, left)
    try:
        yield
    finally:
        if held:
            locks.lockf(file, locks.LOCK_UN, 1, place)


async def _taken(locks: ModuleType, file: int, place: int, left: Callable[[], float]) -> bool:
    pause = _SHORTEST
    while left() > pause:
        try:
            locks.lockf(file, locks.LOCK_EX | locks.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST)
        except OSError:
            return False
        else:
            return True
    return False


def _locks() -> ModuleType | None:
    try:
        import fcntl
    except ImportError:  # not on Windows
        return None
    return fcntl
