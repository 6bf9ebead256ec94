"""The log of a labelling: a file of JSON lines to which each keystroke is appended.

The first line describes the run and the queue. Each further line is one event. A line counts when
it ends with a line break; it is on the disk before the annotator sees that it is saved.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from touche_rad.errors import InputError, UserError, refuse_newer
from touche_rad.files.outputs import lock
from touche_rad.files.records import short_repr

FORMAT: Final = 1
KIND: Final = "labelling"
_SAME: Final = 30
"""Bytes with which each log begins."""

Event = Mapping[str, Any]


class Log:
    """An open log; other processes cannot open it at the same time."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        """Open a log, or make it with a header."""
        self.path = path
        self.events: list[Event] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        problem = f"{path} is not a regular file: choose another output"
        try:
            self._file = os.open(path, kind | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EISDIR):
                raise UserError(problem) from None
            raise
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise UserError(problem)
            self.header = self._read({"format": FORMAT, "kind": KIND, **header})
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

    def _read(self, header: Event) -> Any:
        """Read the events and return the header of the file; a new file gets this header."""
        try:
            lock(self._file)
        except BlockingIOError:
            raise UserError(
                f"{self.path} is in use by another `touche-rad label`: stop it first, or choose "
                "another output"
            ) from None
        with os.fdopen(self._file, "rb", closefd=False) as file:
            data = file.read()
        whole, own = data.rfind(b"\n") + 1, _line(header)
        try:
            records: list[Any] = [json.loads(line) for line in data[:whole].splitlines()] or [
                header
            ]
        except ValueError:
            records = [None]
        first, *self.events = records
        is_ours = isinstance(first, dict) and first.get("kind") == KIND
        if not is_ours or (not whole and not own.startswith(data[:_SAME])):
            raise InputError(self.path, "expected a log of `touche-rad label`", line=1)
        refuse_newer(self.path, first, FORMAT)
        if first.get("digest") != header.get("digest"):
            run = first.get("run")
            raise UserError(f"{self.path} has labels of another run ({run}): choose another output")
        for number, event in enumerate(self.events, 2):
            if not isinstance(event, dict):
                wrong = f"expected an event, got {short_repr(event)}"
                raise InputError(self.path, wrong, line=number)
        os.ftruncate(self._file, whole)  # a write was interrupted
        if not whole:
            self._write(header)
        return first

    def _write(self, record: Event) -> None:
        line, before = _line(record), os.fstat(self._file).st_size
        try:
            if os.write(self._file, line) != len(line):
                raise OSError("the disk is full")
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, before)
            raise


def _line(record: Event) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
