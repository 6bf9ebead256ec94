"""Recognise a collection by its content and read its debates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.contest import Contest
from touche_rad.contests.foreign import panelbench, sites
from touche_rad.errors import InputError
from touche_rad.files.records import BadLines, FieldError, parse, read_whole, short_repr

FORMS: Final = "DebateArt, Debate.org, PanelBench, contests, or debates of the shared task"

Record = tuple[str, str, Any]
"""A record's name, its place in the file, and the record or the error in its place."""


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
    records = _foreign_records(source)
    if records is None:
        return files.read_contests(source, bad)
    return _convert(source, records, bad)


def _foreign_records(source: Path) -> list[Record] | None:
    """Return the records of another collection; None for our contests and debates."""
    try:
        text = read_whole(source)
    except InputError:
        return None
    try:
        whole = parse(text)
    except FieldError:
        records = list(_by_line(text))
    else:
        if sites.is_debate(whole):
            return [(source.stem, "", whole)]
        if isinstance(whole, list):
            records = [(str(n), f"number {n}", one) for n, one in enumerate(whole, 1)]
        else:
            items = whole.items() if isinstance(whole, dict) else ()
            records = [(name, name, one) for name, one in items]
    return records if any(sites.is_debate(one) for _, _, one in records) else None


def _by_line(text: str) -> Iterator[Record]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield str(number), f"line {number}", parse(line)
            except FieldError as miss:
                yield str(number), f"line {number}", miss


def _convert(source: Path, records: Sequence[Record], bad: BadLines) -> Iterator[Contest]:
    seen: set[str] = set()
    for name, place, record in records:
        try:
            if isinstance(record, FieldError):
                raise record
            if not sites.is_debate(record):
                raise FieldError("", f"expected a debate ({FORMS})")
            contest = sites.contest_of(record, name)
            if contest.id in seen:
                raise FieldError("id", f"the debate {short_repr(contest.id)} is not unique")
            seen.add(contest.id)
            yield contest
        except FieldError as miss:
            bad.report(_located(source, place, miss))


def _located(source: Path, place: str, miss: FieldError) -> InputError:
    line = int(place.removeprefix("line ")) if place.startswith("line ") else None
    where = f"{place}: " if place and line is None else ""
    return InputError(source, f"{where}{miss.expected}", line=line, field=miss.field or None)
