"""JSON Lines: read with file, line and field in every error; written atomically.

What a record has and our classes do not read is kept, and written again.
"""

from __future__ import annotations

import errno
import gzip
import json
import math
import os
import re
import reprlib
import secrets
import shutil
import stat
import sys
import tomllib
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, NoReturn, TextIO, TypeVar, cast

import jsonlines
from pydantic import BaseModel, ValidationError

from touche_rad.debate import Debate
from touche_rad.errors import InputError, InputProblem, UserError, refuse_newer, why
from touche_rad.text import json_text, map_texts

JsonObject = dict[str, Any]
B = TypeVar("B", bound=BaseModel)

EMPTY_RECORD = "an empty record: the official client writes one where a debate failed"

DEEPEST = 100
"""Maximum nesting of a record; pydantic's serialiser fails at about 250 levels."""

_UNFINISHED = ".new"
_LONE = re.compile("[\ud800-\udfff]")


class FieldError(ValueError):
    """An invalid value of a field in a record."""

    def __init__(self, field: str, expected: str, problem: InputProblem | None = None) -> None:
        self.field = field
        self.expected = expected
        self.problem = problem
        super().__init__(f"{field}: {expected}" if field else expected)


class Line(NamedTuple):
    """The JSON value of one line."""

    number: int
    value: Any


def parse(text: str) -> Any:
    """Parse strict JSON: NaN and infinities are not numbers here.

    A lone surrogate, which UTF-8 cannot encode, becomes U+FFFD.
    """
    try:
        value = _STRICT.decode(text)
    except json.JSONDecodeError as error:
        raise FieldError(
            "", f"expected JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
        ) from None
    except RecursionError:
        raise FieldError("", "expected JSON: it is nested too deeply") from None
    except FieldError:
        raise
    except ValueError as error:  # too many digits in a number
        raise FieldError("", f"expected JSON: {error}") from None
    return writable_again(value, text)


def writable_again(value: Any, text: str) -> Any:
    """Return the value of a JSON text so that it can be written: without lone surrogates.

    Raises:
        FieldError: It is nested too deeply.
    """
    level = [value] if text.count("[") + text.count("{") > DEEPEST else []
    depth = 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise FieldError("", f"expected JSON of at most {DEEPEST} levels")
        values = chain.from_iterable(
            outer.values() if isinstance(outer, dict) else outer for outer in level
        )
        level = [inner for inner in values if isinstance(inner, dict | list)]
    return whole_characters(value) if "\\ud" in text or "\\uD" in text else value


def each_key_once(pairs: list[tuple[str, object]]) -> JsonObject:
    """Return a JSON object of its pairs; a key that occurs twice is an error."""
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise FieldError("", f"expected each key once, got {short_repr(twice)} twice")
    return value


def read_json(path: Place) -> Any:
    """Return the JSON value of a file that we wrote, such as a status or a record.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no strict JSON.
    """
    return parse(read_file(Path(path)).decode())


def read_file(path: Path, largest: int = 2**30) -> bytes:
    """Return the content of a file whose name is ours, or which is read once.

    A folder of a stranger may have a pipe or a device of this name, which would never end.

    Raises:
        OSError: It cannot be read.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is a folder, a pipe or a device", str(path))
    if path.stat().st_size > largest:
        raise OSError(errno.EFBIG, f"it has more than {largest >> 20} MiB", str(path))
    return path.read_bytes()


def read_toml(path: Place) -> JsonObject:
    """Return the content of a TOML file that a user wrote.

    Raises:
        InputError: It cannot be read, or is no TOML.
    """
    try:
        return parse_toml(read_whole(path, LARGEST_TOML))
    except ValueError as error:
        # Only the message says that a table or a key is there twice.
        fix = ": rename one of them" if re.search("twice|overwrite", str(error)) else ""
        raise InputError(path, f"expected TOML: {error}{fix}") from None


def parse_toml(text: str) -> JsonObject:
    """Return the content of a TOML text.

    Raises:
        ValueError: It is no TOML, or harms who reads it.
    """
    if _DEEP_KEY.search(text):
        raise ValueError(f"a key has more than {DEEPEST} parts")
    try:
        content = tomllib.loads(text)
        shown = repr(content)  # refuses hexadecimal numbers with too many digits for any message
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if r"\x00" in shown.replace(r"\\", ""):  # pairs are backslashes of the text
        raise ValueError("a text has a NUL character, which no path may have")
    return content


LARGEST_TOML: Final = 2**20
_KEY: Final = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_DEEP_KEY: Final = re.compile(rf"(?<![\w-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{{DEEPEST}}}")
"""A dotted key for which Python's reader takes gigabytes of memory."""


def write_text(path: Place, text: str) -> None:
    """Write a text to a file, atomically."""
    with atomic_write(path) as stream:
        stream.write(text)


def write_json(path: Place, value: object) -> None:
    """Write a value as indented JSON, atomically."""
    write_text(path, json_text(value) + "\n")


def append_text(path: Path, text: str) -> None:
    """Append to a file, which is made if needed.

    Raises:
        OSError: It cannot be written, or it is a link or a pipe.
    """
    make_folder(path.parent)
    kind = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    kind |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    opened = os.open(path, kind, 0o666)
    with os.fdopen(opened, "a", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(text)


def copy_file(source: Path, path: Path) -> None:
    """Copy a file to a name that is ours, atomically."""
    with source.open("rb") as original, atomic_write(path) as stream:
        shutil.copyfileobj(original, stream.buffer)


def refuse_links(folder: Path) -> None:
    """Raise an error if a folder in which all names are ours is a link, or has a link or a pipe.

    Raises:
        UserError: It names the link.
    """
    for path in chain([folder], folder.rglob("*")):
        is_pipe = path.exists() and not (path.is_file() or path.is_dir())
        if is_pipe or path.is_symlink():
            raise UserError(
                f"{path} is a link, a pipe or a device: remove it, or choose another output"
            )


def refuse_links_out(folder: Path, paths: Iterable[Path]) -> None:
    """Raise an error if a file or folder of a folder is elsewhere.

    The folder may be a stranger's, and a page or a model's server would get the text.

    Raises:
        UserError: It names the link.
    """
    root = Path(os.path.realpath(folder))
    for path in paths:
        if not Path(os.path.realpath(path)).is_relative_to(root):
            raise UserError(f"{path} leads out of {folder}: name the file itself")


def _no_number(name: str) -> NoReturn:
    raise FieldError("", f"expected JSON: {name} is no number in it")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(short_repr(text).strip("'"))


_STRICT: Final = json.JSONDecoder(
    parse_constant=_no_number, parse_float=_finite, object_pairs_hook=each_key_once
)


def whole_characters(value: object) -> Any:
    """Return the value with U+FFFD for each lone surrogate, in keys too."""
    return map_texts(value, partial(_LONE.sub, "\ufffd"), names=True)


def dump(value: object) -> str:
    """Return strict JSON on one line; lone surrogates are escaped."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        line.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False)
    return line


def records(path: Place, bad: BadLines, lines: Lines | None = None) -> Iterator[Line]:
    """Yield the JSON value of each line with the line's number; an empty file is an error."""
    number = 0

    def texts() -> Iterator[str]:
        nonlocal number
        for number, text in lines or numbered_lines(path, bad):
            # jsonlines would skip these marks, and the organisers refuse them.
            if text.startswith(("\ufeff", "\x1e")):
                bad.report(
                    InputError(
                        path, f"expected JSON, got {short_repr(text[0])} before it", line=number
                    )
                )
            else:
                yield text

    reader = jsonlines.Reader(texts(), loads=parse)  # type: ignore[arg-type]  # only texts
    with suppress(EOFError):
        while True:
            try:
                value = reader.read(allow_none=True)
            except jsonlines.InvalidLineError as error:
                bad.report(at_line(path, number, cast("FieldError", error.__cause__)))
            else:
                yield Line(number, value)
    if not number and not bad.count:
        raise InputError(path, "is empty: expected at least one line")


def read_models(path: Place, model: type[B], newest: int = 1) -> Iterator[B]:
    """Read a file with one record of a model per line; refuse a format after `newest`."""
    for number, value in records(path, BadLines()):
        refuse_newer(path, value, newest)
        try:
            yield model.model_validate(value)
        except ValidationError as error:
            raise at_line(path, number, field_error(error)) from None


def read_toml_record(path: Place, model: type[B]) -> B:
    """Read a TOML file that a user wrote, as a record of a model."""
    try:
        return model.model_validate(read_toml(path))
    except ValidationError as error:
        raise at_line(path, None, field_error(error)) from None


def at_line(path: Place, line: int | None, miss: FieldError) -> InputError:
    """Return the error with its file and line; None: the file is one value."""
    return InputError(
        path, miss.expected, line=line, field=miss.field or None, problem=miss.problem
    )


def short_repr(value: object) -> str:
    """Return a short form of a wrong value."""
    try:
        text = _SHORT.repr(value)
    except ValueError:
        text = "a number of too many digits"
    return text if len(text) <= 40 else f"{text[:37]}..."


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 200  # the beginning is shown, not both ends


_EXPECTED = {
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
}
"""What was expected, by pydantic's name of the error."""


def field_error(error: ValidationError) -> FieldError:
    """Return the first error of a record, with the field's name."""
    first = error.errors()[0]
    place = ""
    for step in first["loc"]:
        if step != "[key]":  # of a wrong key
            place = inner_field(place, step if isinstance(step, str) else f"[{step}]")
    context = first.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, FieldError):  # of a validator: its field is inside this one
        return FieldError(inner_field(place, cause.field), cause.expected, cause.problem)
    kind = first["type"]
    expected = context["expected"] if kind == "literal_error" else _EXPECTED.get(kind)
    message = first["msg"].removeprefix("Value error, ")
    if kind == "missing":
        message = "missing"
    elif expected:
        message = f"expected {expected}, got {short_repr(first['input'])}"
    return FieldError(place, message)


def inner_field(place: str, field: str) -> str:
    """Return the name of a field, or of an element in brackets, of what is at this place."""
    dot = "." if place and field and not field.startswith("[") else ""
    return f"{place}{dot}{field}"


def require_object(value: object) -> JsonObject:
    """Return the value if it is an object."""
    if not isinstance(value, dict):
        raise FieldError("", f"expected an object, got {short_repr(value)}")
    return value


def keep_record(debate: Debate, kind: str, record: JsonObject, turn: int = 0) -> Debate:
    """Return the debate with the record from which it was read."""
    return debate.replace(wire={"kind": kind, "record": record, "read": debate, "turn": turn})


def original_record(debate: Debate, kind: str) -> JsonObject | None:
    """Return the record from which it was read, if it was of this kind."""
    return debate.wire["record"] if debate.wire.get("kind") == kind else None


def renewed(old: Any, before: Any, now: Any, undivided: Collection[str] = ()) -> Any:
    """Return a value as we write it now, with what the file (`old`) has and we do not read.

    `before` is how we would write what was read from `old`. Values of the keys `undivided` are
    replaced as a whole if anything in them has changed.
    """
    if before == now:
        return old
    if isinstance(now, list) and isinstance(before, list) and isinstance(old, list):
        common = [renewed(*values, undivided) for values in zip(old, before, now, strict=False)]
        return common + now[len(common) :]
    if not (isinstance(now, dict) and isinstance(before, dict)):
        return now
    old = old if isinstance(old, dict) else {}
    record = {key: value for key, value in old.items() if key in now or key not in before}
    for key, value in now.items():
        if key not in before and key not in old:
            record[key] = value
        elif key not in before or before[key] != value:
            if key not in undivided:
                value = renewed(old.get(key), before.get(key, {}), value, undivided)
            record[key] = value
    return record


def drop_keys(record: Mapping[str, Any], keys: Collection[str]) -> JsonObject:
    """Return the record without these fields."""
    return {key: value for key, value in record.items() if key not in keys}


GZIP = b"\x1f\x8b"
_BROKEN_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)
_REST_LOST = "the gzip file is broken, and the rest of the file is lost"
LONGEST_LINE: Final = 64 * 2**20
"""Bytes of a line; a small gzip file can contain one that takes all memory."""
Place = str | PathLike[str]
Lines = Iterator[tuple[int, str]]
"""Lines of a file that are not empty, with their numbers."""


_MOST_EMPTY: Final = 1000


@dataclass
class BadLines:
    """Handles invalid lines: raises an error, or skips and counts them."""

    skip: bool = False
    most: int = 4
    """The most errors that are kept."""
    count: int = 0
    errors: list[InputError] = field(default_factory=list)
    """The first few."""
    copies: list[int] = field(default_factory=list)
    """Lines with an argument of an earlier line."""
    empty: list[int] = field(default_factory=list)
    """The first thousand lines without a letter, which the official programs refuse."""

    def report(self, error: InputError) -> None:
        """Raise the error, or count it."""
        if not self.skip:
            raise error
        self.count += 1
        if len(self.errors) < self.most:
            self.errors.append(error)

    @property
    def first(self) -> InputError | None:
        """The first error."""
        return self.errors[0] if self.errors else None

    def say_empty(self) -> str:
        """Return how many empty lines there are, and where the first is."""
        return f"{len(self.empty)}, the first is line {self.empty[0]}"

    def __str__(self) -> str:
        """Return how many lines there are, the first error, and where the next few are."""
        text = f"{self.count}; the first: {self.first}"
        places = [error.place for error in self.errors[1:4]]
        return f"{text}; then {', '.join(places)}" if places else text


def numbered_lines(
    path: Place, bad: BadLines | None = None, *, verbatim: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield each line that is not empty, with its number and without its end.

    Accepts gzip, CRLF and a byte order mark. Lines that are not UTF-8 are reported to `bad`.
    With `verbatim`, empty lines and the byte order mark are kept.
    """
    bad = bad or BadLines()
    number = 0
    try:
        with _opened(path) as file:
            lines = iter(partial(file.readline, LONGEST_LINE + 1), b"")
            for number, line in enumerate(lines, 1):
                if len(line) > LONGEST_LINE:
                    raise InputError(
                        path, f"expected at most {LONGEST_LINE} bytes in a line", line=number
                    )
                encoding = "utf-8-sig" if number == 1 and not verbatim else "utf-8"
                try:
                    text = line.rstrip(b"\r\n").decode(encoding)
                except UnicodeDecodeError as error:
                    bad.report(
                        InputError(
                            path,
                            f"expected UTF-8 text, got the byte {line[error.start]:#04x}",
                            line=number,
                        )
                    )
                    continue
                if verbatim or text:
                    yield number, text
                elif len(bad.empty) < _MOST_EMPTY:
                    bad.empty.append(number)
    except _BROKEN_GZIP as error:
        lost = InputError(path, f"{_REST_LOST}: {error}", line=number + 1)
        lost.exit_code = 1 if bad.skip else 2
        raise lost from None  # also with --skip-bad: nobody knows how many lines are missing
    except OSError as error:
        raise InputError(path, f"cannot be read: {why(error)}") from None


def read_whole(path: Place, largest: int = 2**30) -> str:
    """Return the text of a file; ends of lines become line feeds.

    Raises:
        InputError: It cannot be read, is larger than so many bytes, or is no UTF-8.
    """
    try:
        with _opened(path) as file:
            content = file.read(largest + 1)
        if len(content) > largest:
            raise InputError(path, f"expected at most {largest} bytes of text")
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except _BROKEN_GZIP as error:
        raise InputError(path, f"{_REST_LOST}: {error}") from None
    except OSError as error:
        raise InputError(path, f"cannot be read: {why(error)}") from None
    except UnicodeDecodeError as error:
        raise InputError(path, f"expected UTF-8 text: {error.reason}") from None


JOURNAL: Final = ".part"
"""What the name of the journal of a run adds to that of its output."""


def make_folder(path: Path) -> None:
    """Make a folder and those above it, if they are not there."""
    path.mkdir(parents=True, exist_ok=True)


def path_beside(path: Path, ending: str) -> Path:
    """Return the path of a file beside another one: its name has an ending in addition."""
    return path.with_name(f"{path.name}{ending}")


def refuse_unfinished(place: Path) -> None:
    """Refuse a missing run whose journal is there."""
    if path_beside(place, JOURNAL).exists():
        raise InputError(place, "the run is not finished: run its command again to continue it")


def _opened(path: Place) -> IO[bytes]:
    """Open a regular file; pipes are refused because a run reads its input several times."""
    place = Path(path)
    if place.exists() and not place.is_file():
        problem = "expected a file, got a folder, a pipe or a device"
        if place.is_dir():
            problem += f"; give a file of the folder: {', '.join(sorted(os.listdir(path))[:3])}"
        raise InputError(path, problem)
    if not place.exists():
        refuse_unfinished(place)
    file = place.open("rb")
    if file.peek(2)[:2] != GZIP:
        return file
    file.close()
    return gzip.open(place)  # type: ignore[return-value]


STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk without space."""


class Unwritable(UserError, OSError):
    """A path that cannot be written; also an OSError."""

    def __init__(self, path: Place, reason: str) -> None:
        super().__init__(f"{path} cannot be written: {reason}")


def is_unfinished(path: Path) -> bool:
    """Whether a file is one that a killed `atomic_write` left."""
    return path.name.startswith(".") and path.suffix == _UNFINISHED


@contextmanager
def atomic_write(path: Place) -> Iterator[TextIO]:
    """Yield a text file that replaces `path` once it is completely written.

    `-` and `/dev/stdout` are the standard output. Standard output and pipes are written directly.
    A symbolic link is replaced, not followed: most names are ours, and a folder of a stranger may
    have links of these names. A link that the user names is resolved where it is read.
    """
    if str(path) in STANDARD_OUTPUT:
        yield sys.stdout
        sys.stdout.flush()
        return
    target = Path(path)
    # Only a file in the same folder can take the target's place at once.
    temporary = target.with_name(f".{target.name[:60]}.{secrets.token_hex(6)}{_UNFINISHED}")
    try:
        make_folder(target.parent)
        is_link = target.is_symlink()
        if target.is_dir() and not is_link:
            raise Unwritable(path, "it is a folder")
        direct = target.exists() and not target.is_file() and not is_link
        if direct:
            file = os.open(target, os.O_WRONLY)
        else:
            file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except Unwritable:
        raise
    except OSError as error:
        raise Unwritable(path, why(error)) from None
    # A lone surrogate, also one of a file name, is written as JSON escapes it.
    stream = os.fdopen(file, "w", encoding="utf-8", errors="backslashreplace", newline="\n")
    if direct:
        with stream:
            yield stream
        return
    try:
        with stream:
            yield stream
            stream.flush()
            if target.exists() and not is_link:
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno in FULL:
            error.filename = str(path)
        raise
