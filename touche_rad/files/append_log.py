"""Logs to which one process appends records, so that killed work continues.

The first line is the header: the kind of the log, its format, and the identity of the work. Each
other line is one record. Every line is a JSON object that ends with a checksum, so that a record
that has changed on the disk is noticed, whatever has changed in it.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final, NamedTuple

from touche_rad.errors import UserError, refuse_newer, why
from touche_rad.events import log
from touche_rad.files.outputs import open_locked
from touche_rad.files.records import JsonObject, make_folder
from touche_rad.frozen import frozen
from touche_rad.text import load_json

IDENTITY: Final = "identity"
_CHECKSUM: Final = b',"sum":"'
"""What is between the fields of a record and their checksum."""


@frozen
class LogKind:
    """What the logs of one use have in common."""

    name: str
    format: int
    fix: str
    """How to go on without a log that cannot be continued."""
    damaged: str
    """What happens with the content of a damaged line."""
    identity: str = IDENTITY
    """The key of the header with everything that decides the records."""
    lasting: bool = False
    """Whether lines without a checksum are read, as earlier versions wrote them, and no line is
    ever removed, nor a header without records replaced. In other logs, a line that a killed process
    did not complete is removed."""
    synced: bool = False
    """Whether a record is on the disk when it is appended, and outlasts a power failure."""


class LogEntry(NamedTuple):
    """A record as it is read from a log."""

    line: int
    """The number of its line."""
    offset: int
    """Where its line begins, in bytes."""
    record: JsonObject


class AppendLog:
    """A log that is open for this process alone; a kill releases it, and leaves whole records."""

    def __init__(
        self,
        path: Path,
        kind: LogKind,
        header: Mapping[str, Any] = MappingProxyType({}),
        *,
        restart: bool = False,
    ) -> None:
        """Open a log, or create it with a header; with `restart`, an earlier log is emptied.

        Raises:
            UserError: The file is no such log, is used by another process, cannot be written, or
                has another identity than the header.
        """
        self.path = path
        self.kind = kind
        try:
            make_folder(path.parent)
            self._file = open_locked(path)
        except BlockingIOError:
            raise UserError(f"{path}: another process is at work on it") from None
        except OSError as error:
            raise UserError(f"{path}: cannot be written: {why(error)}") from None
        self._closed = False
        with ExitStack() as on_failure:
            on_failure.callback(self.close)
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise UserError(f"{path} is not a regular file: choose another output")
            self.header = self._begin(header, restart=restart)
            on_failure.pop_all()

    def append(self, record: Mapping[str, Any]) -> int:
        """Append a record, and return where it begins, in bytes.

        Raises:
            OSError: It cannot be written; the log is as before.
        """
        return self._write(checked_line(record))

    def entries(self) -> Iterator[LogEntry]:
        """Yield the records behind the header; nothing is appended meanwhile."""
        with os.fdopen(self._file, "rb", closefd=False) as stream:
            stream.seek(0)
            yield from islice(_entries(stream, self.path, self.kind), 1, None)

    def finish(self, path: Path | None = None) -> None:
        """Remove the log, or keep it as another file: the work is done."""
        if sys.platform == "win32":  # it neither removes nor renames an open file
            self.close()
        if not path:
            self.path.unlink()
        else:
            self.path.replace(path)

    def close(self) -> None:
        """Close the file, so that another process may open it; once is enough."""
        if not self._closed:
            os.close(self._file)
            self._closed = True

    def _begin(self, header: Mapping[str, Any], *, restart: bool) -> JsonObject:
        """Write a new header, or return the one of the log after checking it."""
        path = self.path
        kind = self.kind
        new_line = checked_line({"format": kind.format, "kind": kind.name, **header})
        new_header = read_checked(new_line)
        with os.fdopen(self._file, "rb", closefd=False) as stream:
            first_line = stream.readline()
            last_line = b"".join(deque(stream, maxlen=1))

        # A file of something else is never emptied, also not by a restart.
        begin = rf'{{"format":\d+,"kind":"{kind.name}"'.encode()
        if not (re.match(begin, first_line) or new_line.startswith(first_line)):
            raise UserError(
                f"{path} is not a {kind.name} log of this version of touche-rad: move it, or "
                "choose another output"
            )
        replaces = restart or not first_line.endswith(b"\n")  # killed while it wrote the line
        if not replaces:
            try:
                earlier = read_checked(first_line, lasting=kind.lasting)
            except ValueError:
                raise UserError(f"{path}: the first line is damaged: {kind.fix}") from None
            refuse_newer(path, earlier, kind.format)
            replaces = not (last_line or kind.lasting)  # nothing depends on another identity
        if replaces:
            os.ftruncate(self._file, 0)
            self._write(new_line)
            return new_header

        then = _identity(earlier, kind.identity)
        now = _identity(new_header, kind.identity)
        refuse_other_identity(f"{path} is of another run:", then, now, kind.fix)

        # Complete, or remove, a record that a killed process did not complete.
        if last_line and not last_line.endswith(b"\n"):
            if kind.lasting:
                self._write(b"\n")
            else:
                os.ftruncate(self._file, os.lseek(self._file, 0, os.SEEK_END) - len(last_line))
        return earlier

    def _write(self, line: bytes) -> int:
        """Write a line at the end, and return where it begins."""
        offset = os.lseek(self._file, 0, os.SEEK_END)
        try:
            if os.write(self._file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self.kind.synced:
                os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, offset)
            raise
        return offset


def is_begun(path: Path, identity: Mapping[str, Any]) -> bool:
    """Return whether a log has records, or belongs to work with this identity.

    Other work replaces a log without records, and may not rely on what its command was allowed.
    """
    if not path.is_file():
        return False
    try:
        with path.open("rb") as stream:
            header = stream.readline()
            first_record = stream.readline()
        return bool(first_record) or read_checked(header).get(IDENTITY) == identity
    except (OSError, ValueError):
        return False


def read_log(path: Path, kind: LogKind) -> Iterator[LogEntry]:
    """Yield the header and the records of a log, also of one that this process may not write.

    Raises:
        ValueError: The header is damaged.
    """
    with path.open("rb") as stream:
        yield from _entries(stream, path, kind)


def read_at(path: Path, offsets: Iterable[int]) -> Iterator[JsonObject]:
    """Yield the records of a log that begin at these bytes.

    Raises:
        ValueError: The log has changed.
    """
    with path.open("rb") as stream:
        for offset in offsets:
            stream.seek(offset)
            yield read_checked(stream.readline())


def refuse_other_identity(
    problem: str, earlier: Mapping[str, Any], now: Mapping[str, Any], fix: str
) -> None:
    """Refuse work whose identity is not that of earlier work, with the first key that differs.

    Raises:
        UserError: The identities differ.
    """
    for key in dict.fromkeys([*now, *earlier]):
        if earlier.get(key) != now.get(key):
            if key == "input":  # a digest, which says nothing
                raise UserError(f"{problem} the input has changed; {fix}")
            raise UserError(
                f"{problem} {key} was {_short(earlier.get(key))} "
                f"and is now {_short(now.get(key))}; {fix}"
            )


def _short(value: object) -> str:
    text = "not set" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _identity(header: JsonObject, key: str) -> Mapping[str, Any]:
    value = header.get(key)
    return value if isinstance(value, Mapping) else {key: value}


def _entries(stream: IO[bytes], path: Path, kind: LogKind) -> Iterator[LogEntry]:
    """Yield the header and the records; damaged records are reported and left out."""
    offset = 0
    for number, line in enumerate(stream, 1):
        try:
            yield LogEntry(number, offset, read_checked(line, lasting=kind.lasting))
        except ValueError:
            if number == 1:
                raise
            log.warning("%s:%d is damaged: %s", path, number, kind.damaged)
        offset += len(line)


def checked_line(record: Mapping[str, Any]) -> bytes:
    """Return a record as a line with a checksum."""
    text = json.dumps(record, allow_nan=False, separators=(",", ":"))[:-1].encode()
    return text + _CHECKSUM + _checksum_end(text)


def _checksum_end(text: bytes) -> bytes:
    return b'%08x"}\n' % zlib.crc32(text)


def read_checked(line: bytes, *, lasting: bool = False) -> JsonObject:
    """Return the record in a line; a lasting one may lack the checksum.

    Raises:
        ValueError: It has changed since it was written.
    """
    text, _, end = line.rpartition(_CHECKSUM)
    has_checksum = end == _checksum_end(text)
    if not (has_checksum or lasting):
        raise ValueError("another checksum")
    record: JsonObject = load_json(text + b"}" if has_checksum else line)
    if not has_checksum and (not isinstance(record, dict) or "sum" in record):
        raise ValueError("another checksum")
    return record
