"""Files that are there as a whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from touche_rad.errors import UserError
from touche_rad.files.records import Place

STANDARD_OUTPUT = frozenset(("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"))
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


class Unwritable(UserError, OSError):
    """No file can be written at a path; those who watch for an OSError see one."""


@contextmanager
def atomic_write(path: Place) -> Iterator[IO[str]]:
    """Yield a text file that stands at `path` when all was written, and not before.

    `-` and `/dev/stdout` are the standard output. It and what else is no regular file, such as a
    pipe, is written as it comes. A link stays, and the file it leads to is replaced.
    """
    if str(path) in STANDARD_OUTPUT:
        yield _standard_output()
        sys.stdout.flush()
        return
    target = _target(path)
    if target.exists() and not target.is_file():
        with _opened(target, os.O_WRONLY) as stream:
            yield stream
        return
    with _replacing(target, path) as stream:
        yield stream


def _standard_output() -> IO[str]:
    """Return the standard output; what we write is UTF-8, whatever the terminal's language."""
    stream = sys.stdout
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None and (stream.encoding or "").lower() not in ("utf-8", "utf8"):
        reconfigure(encoding="utf-8")
    return stream


def _target(path: Place) -> Path:
    """Return the file that a path leads to, if it can be written at all."""
    if not str(path) or "\0" in str(path):
        raise Unwritable(f"{str(path)!r} cannot be written: it is no file's name")
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_dir():
            return target
    except OSError as error:
        raise _unwritable(path, error) from None
    raise Unwritable(f"{path} cannot be written: it is a folder")


def _unwritable(path: Place, error: OSError) -> Unwritable:
    return Unwritable(f"{path} cannot be written: {error.strerror or error}")


def _opened(target: Path, flags: int) -> IO[str]:
    return os.fdopen(os.open(target, flags, 0o666), "w", encoding="utf-8", newline="\n")


@contextmanager
def _replacing(target: Path, path: Place) -> Iterator[IO[str]]:
    """Write beside the target, as only a file in the same folder can take its place at once."""
    temporary = target.with_name(f".{target.name[:60]}.{secrets.token_hex(6)}.new")
    try:
        stream = _opened(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        with stream:
            yield stream
            stream.flush()
            if target.exists():
                os.fchmod(stream.fileno(), stat.S_IMODE(target.stat().st_mode))
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno in _FULL:
            error.filename = str(path)
        raise
