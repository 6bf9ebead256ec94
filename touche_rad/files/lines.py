"""The lines of a file, one at a time, whatever the file was packed with or ended by."""

from __future__ import annotations

import gzip
import stat
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
UTF16 = (b"\xff\xfe", b"\xfe\xff")
_END = 2
"""Bytes that a line's end may have."""
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


def numbered_lines(
    path: Place, bad: BadLines | None = None, *, verbatim: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield each line that holds anything, with its number, without its end.

    A byte order mark, CRLF and gzip are seen through. What cannot be read as text is reported.
    With `verbatim`, blank lines and the mark are left in, for who must refuse or count them.
    """
    bad = bad or BadLines()
    number = 0
    try:
        with _opened(path) as file:
            while True:
                line = file.readline(LONGEST + _END)
                number += 1
                if not line:
                    return
                if number == 1 and not verbatim:
                    line = line.removeprefix(BOM)
                text = _decoded(path, number, line, file, bad)
                if text is not None and (verbatim or (text and not text.isspace())):
                    yield number, text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what = "cut off" if isinstance(error, EOFError) else f"broken ({error})"
        bad.report(InputError(path, f"the gzip file is {what} here", line=number + 1))
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from None


def _opened(path: Place) -> IO[bytes]:
    place = _regular(path)
    with place.open("rb") as file:
        zipped = file.read(2) == GZIP
    return gzip.open(place) if zipped else place.open("rb")  # type: ignore[return-value]


def _regular(path: Place) -> Path:
    """Return the path if it is a file's; what can be read only once would lose its first lines."""
    if not str(path) or "\0" in str(path):
        raise InputError(repr(str(path)), "expected the name of a file")
    place = Path(path)
    mode = place.stat().st_mode
    if stat.S_ISDIR(mode):
        raise InputError(path, "expected a file, got a folder")
    if not stat.S_ISREG(mode):
        told = "expected a file, got a pipe or a device: put what it gives into a file first"
        raise InputError(path, told)
    return place


def _decoded(path: Place, number: int, line: bytes, file: IO[bytes], bad: BadLines) -> str | None:
    if len(line.rstrip(b"\r\n")) > LONGEST:
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST)
        limit = f"expected a line of at most {LONGEST // 2**20} MiB"
        bad.report(InputError(path, limit, line=number))
        return None
    try:
        return line.rstrip(b"\r\n").decode("utf-8")
    except UnicodeDecodeError as error:
        got = "UTF-16" if line.startswith(UTF16) else f"the byte {line[error.start]:#04x}"
        wrong = f"expected UTF-8 text, got {got}"
        bad.report(InputError(path, wrong, line=number))
        return None
