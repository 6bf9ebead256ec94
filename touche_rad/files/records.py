"""JSON Lines: read with file, line and field in every error; written atomically."""

from __future__ import annotations

import errno
import gzip
import json
import math
import os
import re
import reprlib
import secrets
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from glob import escape
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

from touche_rad.errors import InputError, UserError
from touche_rad.text import load_json

JsonObject = dict[str, Any]

EMPTY_RECORD = "an empty record: the official client writes one where a debate failed"

DEEPEST = 100
"""Maximum nesting of a record; pydantic's serialiser fails at about 250 levels."""

_LONE = re.compile("[\ud800-\udfff]")


class FieldError(ValueError):
    """An invalid value of a field in a record."""

    def __init__(self, field: str, expected: str) -> None:
        self.field = field
        self.expected = expected
        super().__init__(f"{field}: {expected}" if field else expected)


class Line(NamedTuple):
    """The JSON value of one line: `value` for use, `raw` as it is in the file.

    They differ only if the file has a lone surrogate, which UTF-8 cannot encode: `value` has U+FFFD
    in its place.
    """

    number: int
    value: Any
    raw: Any


def parse(text: str) -> Any:
    """Parse strict JSON: NaN and infinities are not numbers here."""
    try:
        value = load_json(text, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        hint = " (a NUL byte)" if "\x00" in text else ""
        detail = f"{error.msg.removesuffix(' at')} at column {error.colno}{hint}"
        raise FieldError("", f"expected JSON: {detail}") from None
    except FieldError:
        raise
    except ValueError as error:  # too many digits in a number, or nested too deeply
        raise FieldError("", f"expected JSON: {error}") from None
    if text.count("[") + text.count("{") > DEEPEST:
        check_depth(value)
    return value


def read_json(path: Place) -> Any:
    """Return the JSON value of a file that we wrote, such as a status or a record.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no regular file, or no strict JSON.
    """
    place = Path(path)
    if place.exists() and not place.is_file():
        raise FieldError("", "expected a regular file")
    return parse(place.read_text("utf-8"))


def check_depth(value: Any) -> None:
    """Raise FieldError if a value is nested too deeply to be serialised later."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> FieldError:
    return FieldError("", f"expected JSON of at most {DEEPEST} levels: it is nested too deeply")


_CONTAINERS = frozenset((dict, list))


def _containers(outer: JsonObject | list[Any]) -> Iterable[Any]:
    """Return the containers directly inside; fast for long lists of numbers."""
    inner = outer.values() if isinstance(outer, dict) else outer
    if _CONTAINERS.isdisjoint(map(type, inner)):
        return ()
    return (one for one in inner if type(one) in _CONTAINERS)


def _no_number(name: str) -> NoReturn:
    raise FieldError("", f"expected JSON: {name} is no number in it")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(short_repr(text).strip("'"))


def whole_characters(value: Any) -> Any:
    """Return the value with U+FFFD for each lone surrogate, in keys too."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [whole_characters(one) for one in value]
    if isinstance(value, dict):
        return {_LONE.sub("\ufffd", key): whole_characters(one) for key, one in value.items()}
    return value


def dump(value: Any) -> str:
    """Return strict JSON on one line; lone surrogates are escaped."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False)
    return line


def records(path: Place, bad: BadLines, lines: Lines | None = None) -> Iterator[Line]:
    """Yield the JSON value of each line with the line's number; an empty file is an error.

    Not with jsonlines.Reader (runs/journal.py writes with jsonlines.Writer): it drops a U+FEFF or
    U+001E before any line without an error, and counts only the lines that it is given, so that its
    numbers need a second counter. With our `parse` as `loads` it is as fast (1.42 and 1.29 s for
    200 000 lines) and this function nine lines longer.
    """
    empty = True
    for number, text in lines or numbered_lines(path, bad):
        empty = False
        try:
            raw = parse(text)
            halves = "\\ud" in text or "\\uD" in text
            yield Line(number, whole_characters(raw) if halves else raw, raw)
        except FieldError as miss:
            bad.report(at_line(path, number, miss))
    if empty and not bad.count:
        raise InputError(path, "is empty: expected at least one line")


def at_line(path: Place, line: int, miss: FieldError) -> InputError:
    """Return the error with its file and line."""
    return InputError(path, miss.expected, line=line, field=miss.field or None)


def short_repr(value: Any) -> str:
    """Return a short form of a wrong value."""
    text = _SHORT.repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60


def require_object(value: Any, field: str) -> JsonObject:
    """Return the value if it is an object."""
    if not isinstance(value, dict):
        raise FieldError(field, f"expected an object, got {short_repr(value)}")
    return value


def require_list(value: Any, field: str) -> list[Any]:
    """Return the value if it is a list."""
    if not isinstance(value, list):
        raise FieldError(field, f"expected a list, got {short_repr(value)}")
    return value


def require_text(value: Any, field: str) -> str:
    """Return the value if it is text."""
    if not isinstance(value, str):
        raise FieldError(field, f"expected text, got {short_repr(value)}")
    return value


def require_field(record: JsonObject, key: str, place: str = "") -> tuple[Any, str]:
    """Return a required field and its path in the record."""
    field = f"{place}.{key}" if place else key
    if key not in record:
        raise FieldError(field, "missing")
    return record[key], field


def optional_text(record: JsonObject, key: str, place: str = "") -> str:
    """Return a text, empty if missing or null."""
    value = record.get(key)
    return "" if value is None else require_text(value, f"{place}.{key}" if place else key)


LONGEST = 64 * 2**20
"""Maximum bytes of a line."""

MOST_EXPANDED = 200
"""How many times its size, beyond `LONGEST`, a gzip file may expand; JSON Lines expand 10 to 30."""
MOST_BLANK = 1_000_000
"""Maximum blank lines of a file."""

GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
_END = 2
"""Bytes of the longest line end."""
Place = str | PathLike[str]
Lines = Iterator[tuple[int, str]]
"""Lines of a file that are not blank, with their numbers."""


class BadLines:
    """Handles invalid lines: raises an error, or skips and counts them."""

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
    """Yield each line that is not blank, with its number and without its end.

    Accepts gzip, CRLF and a byte order mark. Lines that are not UTF-8 are reported to `bad`.
    With `verbatim`, blank lines and the byte order mark are kept.
    """
    bad = bad or BadLines()
    number = size = blank = 0
    try:
        with _opened(path) as file:
            most = LONGEST + MOST_EXPANDED * Path(path).stat().st_size
            while True:
                line = file.readline(LONGEST + _END)
                number += 1
                size += len(line)
                if not line:
                    return
                if size > most:
                    bomb = f"the gzip file expands to more than {MOST_EXPANDED} times its size"
                    raise InputError(path, f"{bomb}: unpack it first if it is right", line=number)
                if number == 1 and not verbatim:
                    line = line.removeprefix(BOM)
                text = _decoded(path, number, line, file, bad)
                if text is not None and (verbatim or (text and not text.isspace())):
                    yield number, text
                    continue
                blank += 1
                if blank > MOST_BLANK:
                    raise InputError(path, f"has more than {MOST_BLANK} blank lines", line=number)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what = "cut off" if isinstance(error, EOFError) else f"broken ({error})"
        bad.report(InputError(path, f"the gzip file is {what} here", line=number + 1))
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from None


def read_whole(path: Place) -> str:
    """Return the text of a regular file; ends of lines become line feeds.

    Raises:
        InputError: It is no regular file, no UTF-8, or has too long lines.
    """
    return "\n".join(text for _, text in numbered_lines(path, verbatim=True)).removeprefix("\ufeff")


def _opened(path: Place) -> IO[bytes]:
    """Open a regular file; pipes are refused because files are read twice."""
    if not str(path) or "\0" in str(path):
        raise InputError(repr(str(path)), "expected the name of a file")
    place = Path(path)
    mode = place.stat().st_mode
    if stat.S_ISDIR(mode):
        raise InputError(path, "expected a file, got a folder")
    if not stat.S_ISREG(mode):
        problem = "expected a file, got a pipe or a device: put what it gives into a file first"
        raise InputError(path, problem)
    file = place.open("rb")
    if file.peek(2)[:2] != GZIP:
        return file
    file.close()
    return gzip.open(place)  # type: ignore[return-value]


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


STANDARD_OUTPUT = frozenset(("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"))
FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
"""Errors of a disk without space."""


class Unwritable(UserError, OSError):
    """A path that cannot be written; also an OSError."""


Check = Callable[[Path, Path], None]
"""Called with a target and the file that is to replace it; raises an error to refuse that."""
_CHECK: ContextVar[Check | None] = ContextVar("check", default=None)


@contextmanager
def check_writes(check: Check) -> Iterator[None]:
    """Call a function before a file is replaced by `atomic_write`."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


@contextmanager
def atomic_write(path: Place) -> Iterator[IO[str]]:
    """Yield a text file that replaces `path` once it is completely written.

    `-` and `/dev/stdout` are the standard output. Standard output and pipes are written directly.
    A symbolic link is kept, and its target is replaced.
    """
    if str(path) in STANDARD_OUTPUT:
        yield _standard_output()
        sys.stdout.flush()
        return
    target = _target(path)
    if target.exists() and not target.is_file():
        with _open_for_writing(target, os.O_WRONLY) as stream:
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


def _open_for_writing(target: Path, flags: int) -> IO[str]:
    """Open a file; a lone surrogate, also one of a file name, is written as JSON escapes it."""
    file = os.open(target, flags, 0o666)
    return os.fdopen(file, "w", encoding="utf-8", errors="backslashreplace", newline="\n")


_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{12}\.new", re.DOTALL)


def remove_unfinished(folder: Path, *, below: bool = True) -> None:
    """Remove the temporary files that killed processes left; no other process may write there.

    Args:
        folder: The folder; it may be missing.
        below: Whether to look into its subfolders too.
    """
    for path in folder.rglob(".*.new") if below else folder.glob(".*.new"):
        if _TEMPORARY.fullmatch(path.name) and path.is_file():
            path.unlink(missing_ok=True)


def remove_unfinished_of(path: Path) -> None:
    """Remove the temporary files that killed processes left for one file; nobody may write it."""
    for one in path.parent.glob(f".{escape(path.name[:60])}.*.new"):
        if len(one.name) == len(f".{path.name[:60]}.{'0' * 12}.new") and one.is_file():
            one.unlink(missing_ok=True)


@contextmanager
def _replacing(target: Path, path: Place) -> Iterator[IO[str]]:
    """Write beside the target, as only a file in the same folder can take its place at once."""
    temporary = target.with_name(f".{target.name[:60]}.{secrets.token_hex(6)}.new")
    try:
        stream = _open_for_writing(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        with stream:
            yield stream
            stream.flush()
            if target.exists():
                os.fchmod(stream.fileno(), stat.S_IMODE(target.stat().st_mode))
            os.fsync(stream.fileno())
        check = _CHECK.get()
        if check is not None:
            check(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno in FULL:
            error.filename = str(path)
        raise
