"""The log of a labelling: a file of JSON lines to which each keystroke is appended.

The first line describes the run and the queue. Each further line is one event. A line counts when
it ends with a line break; it is on the disk before the annotator sees that it is saved.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from touche_rad.errors import InputError, UserError, refuse_newer
from touche_rad.files.outputs import lock

FORMAT: Final = 1
KIND: Final = "labelling"

Event = Mapping[str, Any]


class Log:
    """An open log; other processes cannot open it at the same time."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        """Open a log, or make it with a header."""
        self.path = path
        self.header: Mapping[str, Any] = {"format": FORMAT, "kind": KIND, **header}
        self.events: list[Event] = []
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise UserError(f"{path} is not a regular file: choose another output")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError as error:
            raise UserError(f"{path} cannot be written: {error.strerror or error}") from None
        try:
            self._start()
            self._read()
        except BaseException:
            self.close()
            raise

    def append(self, event: Event) -> None:
        """Write an event to the disk."""
        self._write(event)
        self.events.append(event)

    def close(self) -> None:
        """Close the file, so that another process may open it."""
        os.close(self._file)

    def _start(self) -> None:
        try:
            lock(self._file)
        except BlockingIOError:
            raise UserError(
                f"{self.path} is in use by another `touche-rad label`: stop it first, or choose "
                "another output"
            ) from None
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        begin = json.dumps({"format": FORMAT, "kind": KIND}, separators=(",", ":"))[:-1].encode()
        if not whole and not data.startswith(begin[: len(data)]):
            raise InputError(self.path, "expected a log of `touche-rad label`", line=1)
        if not whole:  # new, or killed while the first line was written
            os.ftruncate(self._file, 0)
            self._write(self.header)
        elif len(whole) < len(data):
            os.write(self._file, b"\n")  # ends the incomplete line

    def _read(self) -> None:
        lines = self.path.read_bytes().split(b"\n")[:-1]
        records = [_record(line) for line in lines]
        header = records[0] if records else None
        if header is None or header.get("kind") != KIND:
            raise InputError(self.path, "expected a log of `touche-rad label`", line=1)
        refuse_newer(self.path, header, FORMAT)
        self.header = header
        # None is the incomplete line of an interrupted write.
        self.events = [one for one in records[1:] if one is not None]

    def _write(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        before = os.fstat(self._file).st_size
        try:
            if os.write(self._file, line) != len(line):
                raise OSError("the disk is full")
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, before)
            raise


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
