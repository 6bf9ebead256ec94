"""Recognise a collection by its content and read its debates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from touche_rad import files
from touche_rad.contest import Contest
from touche_rad.contests.foreign import debateart, debateorg, panelbench
from touche_rad.errors import InputError
from touche_rad.files.records import BadLines, FieldError, parse, short_repr

FORMS: Final = "DebateArt, Debate.org, PanelBench, contests, or debates of the shared task"

Reader = Callable[[Mapping[str, Any], str], Contest]


def contests(source: Path, bad: BadLines | None = None) -> Iterator[Contest]:
    """Read the debates of a collection in any supported format.

    Raises:
        InputError: The format is unknown, or a record does not follow it.
    """
    if source.is_dir():
        if not panelbench.is_one(source):
            raise InputError(source, "expected a folder with motion/ and speech/ (PanelBench)")
        return panelbench.contests(source)
    bad = bad or BadLines()
    named = _named(source)
    if named is None:
        return files.read_contests(source, bad)
    return _made(source, named, bad)


def _named(source: Path) -> list[tuple[str, str, Any]] | None:
    """Return the records of another collection with names and places; None for our contests."""
    try:
        text = source.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    try:
        whole = parse(text)
    except FieldError:
        return _by_line(text)
    if isinstance(whole, list):
        listed = [(str(n), f"number {n}", one) for n, one in enumerate(whole, 1)]
        return listed if any(_reader(one) for one in whole) else None
    if isinstance(whole, dict) and _reader(whole):
        return [(source.stem, "", whole)]
    if isinstance(whole, dict) and any(_reader(one) for one in whole.values()):
        return [(name, name, one) for name, one in whole.items()]
    return None


def _by_line(text: str) -> list[tuple[str, str, Any]] | None:
    found: list[tuple[str, str, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append((str(number), f"line {number}", parse(line)))
        except FieldError as miss:
            found.append((str(number), f"line {number}", miss))
    return found if any(_reader(one) for _, _, one in found) else None


def _reader(record: Any) -> Reader | None:
    if not isinstance(record, dict):
        return None
    if debateorg.is_one(record):
        return debateorg.contest_of
    return debateart.contest_of if debateart.is_one(record) else None


def _made(source: Path, named: list[tuple[str, str, Any]], bad: BadLines) -> Iterator[Contest]:
    seen: set[str] = set()
    for name, place, record in named:
        try:
            if isinstance(record, FieldError):
                raise record
            reader = _reader(record)
            if reader is None:
                raise FieldError("", f"expected a debate ({FORMS})")
            contest = reader(record, name)
            if contest.id in seen:
                raise FieldError("id", f"the debate {short_repr(contest.id)} is not unique")
            seen.add(contest.id)
            yield contest
        except FieldError as miss:
            bad.report(_located(source, place, miss))
        except ValidationError as error:
            told = error.errors()[0]
            field = ".".join(map(str, told["loc"]))
            said = told["msg"].removeprefix("Value error, ")
            bad.report(_located(source, place, FieldError(field, said)))


def _located(source: Path, place: str, miss: FieldError) -> InputError:
    line = int(place.removeprefix("line ")) if place.startswith("line ") else None
    where = f"{place}: " if place and line is None else ""
    return InputError(source, f"{where}{miss.expected}", line=line, field=miss.field or None)
