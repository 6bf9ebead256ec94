"""The lines of a run or qrels file as they stand, so that a scorer can count and name each."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from touche_rad.errors import InputError, UserError

_GZIP = b"\x1f\x8b"


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, blank ones too, without its end; gzip is seen through."""
    number = 0
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, 1):
                yield number, line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        wrong = f"expected UTF-8, got byte {error.object[error.start]:#04x}"
        raise InputError(path, wrong, line=number) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(path, f"the gzip file is broken: {error}", line=number + 1) from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def _opened(path: Path) -> BufferedReader | gzip.GzipFile:
    with path.open("rb") as file:
        zipped = file.read(2) == _GZIP
    return gzip.open(path) if zipped else path.open("rb")
