"""Locks between processes, on a file or a folder; a lock ends with its process, also by a kill.

On a file system without locks (for example Lustre without the mount option `flock`) work goes on
without them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import lock_descriptor

from touche_rad.errors import UserError, why


def lock(descriptor: int, *, wait: bool = False) -> bool:
    """Lock an open file or folder until it is closed; False if its file system has no locks.

    Raises:
        BlockingIOError: Another process has the lock.
    """
    try:
        free = lock_descriptor(descriptor, blocking=wait)
    except OSError:
        return False
    if not free:
        raise BlockingIOError("in use by another process")
    return True


def open_locked(path: Path, *, folder: bool = False, wait: bool = False) -> int:
    """Open and lock a file, which is made if needed, or a folder; closing it releases the lock.

    Raises:
        BlockingIOError: Another process has the lock.
        OSError: It cannot be opened.
    """
    kind = os.O_RDONLY | os.O_DIRECTORY if folder else os.O_RDWR | os.O_CREAT | os.O_NONBLOCK
    while True:
        opened = os.open(path, kind | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            lock(opened, wait=wait)
            if os.fstat(opened).st_nlink:
                return opened
        except BaseException:
            os.close(opened)
            raise
        os.close(opened)  # another process removed the file between our opening and our locking


@contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Lock a folder.

    Raises:
        BlockingIOError: Another process has the lock.
        OSError: It cannot be opened.
    """
    opened = open_locked(folder, folder=True, wait=wait)
    try:
        yield
    finally:
        os.close(opened)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes from a folder of results, until the end or until this one is killed.

    Raises:
        UserError: Another process is at work on them, or the folder cannot be made.
    """
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(folder.resolve()))
        except BlockingIOError:
            raise UserError(f"{folder}: another process is at work on these results") from None
        except OSError as error:
            raise UserError(f"{folder}: expected a folder to write: {why(error)}") from None
        yield
