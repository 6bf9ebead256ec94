"""The lines of a file, one at a time, whatever the file was packed with or ended by."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import IO

from touche_rad.errors import InputError

LONGEST = 64 * 2**20
"""Bytes that a line may have: far more than any debate, far less than the memory."""

GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
Place = str | PathLike[str]


class BadLines:
    """What happens at a bad line: the end, or, where bad ones are skipped, a count."""

    def __init__(self, skip: bool = False) -> None:
        self.skip = skip
        self.count = 0
        self.first: InputError | None = None

    def report(self, error: InputError) -> None:
        """Raise the error, or count it."""
        if not self.skip:
            raise error
        self.count += 1
        self.first = self.first or error


def numbered_lines(path: Place, bad: BadLines | None = None) -> Iterator[tuple[int, str]]:
    """Yield each line that holds anything, with its number, without its end.

    A byte order mark, CRLF and gzip are seen through. What cannot be read as text is reported.
    """
    bad = bad or BadLines()
    number = 0
    try:
        with _opened(Path(path)) as file:
            while True:
                line = file.readline(LONGEST + 1)
                number += 1
                if not line:
                    return
                text = _decoded(path, number, line, file, bad)
                if text and not text.isspace():
                    yield number, text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what = "cut off" if isinstance(error, EOFError) else f"broken ({error})"
        bad.report(InputError(path, f"the gzip file is {what} here", line=number + 1))
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from None


def _opened(path: Path) -> IO[bytes]:
    if path.is_dir():
        raise InputError(path, "expected a file, got a folder")
    with path.open("rb") as file:
        seekable = file.seekable()
        zipped = seekable and file.read(2) == GZIP
    return gzip.open(path) if zipped else path.open("rb")  # type: ignore[return-value]


def _decoded(path: Place, number: int, line: bytes, file: IO[bytes], bad: BadLines) -> str | None:
    if len(line) > LONGEST:
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST)
        limit = f"expected a line of at most {LONGEST // 2**20} MiB"
        bad.report(InputError(path, limit, line=number))
        return None
    if number == 1:
        line = line.removeprefix(BOM)
    try:
        return line.rstrip(b"\r\n").decode("utf-8")
    except UnicodeDecodeError as error:
        wrong = f"expected UTF-8 text, got the byte {line[error.start]:#04x}"
        bad.report(InputError(path, wrong, line=number))
        return None
