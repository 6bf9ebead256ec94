"""Recognise a collection by its content and read its debates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.contest import Contest
from touche_rad.contests.foreign import _debateart as debateart
from touche_rad.contests.foreign import _panelbench as panelbench
from touche_rad.errors import InputError
from touche_rad.files.records import BadLines, FieldError, parse, read_whole, short_repr

FORMS: Final = "DebateArt, PanelBench, contests, or debates of the shared task"

Record = tuple[str, int | None, Any]
"""A record's name, its line in a JSONL file, and the record or the error in its place."""


def contests(source: Path, bad: BadLines | None = None) -> Iterator[Contest]:
    """Read the debates of a collection in any supported format.

    Raises:
        InputError: The format is unknown, or a record does not follow it.
    """
    if source.is_dir():
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
        records: list[Record] = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    record = parse(line)
                except FieldError as error:
                    record = error
                records.append((str(number), number, record))
    else:
        several = whole if isinstance(whole, list) else [whole]
        records = [(str(number), None, one) for number, one in enumerate(several, 1)]
    return records if any(debateart.is_debate(one) for _, _, one in records) else None


def _convert(source: Path, records: Sequence[Record], bad: BadLines) -> Iterator[Contest]:
    ids: set[str] = set()
    for name, line, record in records:
        try:
            if isinstance(record, FieldError):
                raise record
            if not debateart.is_debate(record):
                raise FieldError("", f"expected a debate ({FORMS})")
            contest = debateart.contest_of(record, name)
            if contest.id in ids:
                raise FieldError("id", f"the debate {short_repr(contest.id)} is not unique")
            ids.add(contest.id)
            yield contest
        except FieldError as error:
            where = "" if line else f"number {name}: "
            field = error.field or None
            bad.report(InputError(source, f"{where}{error.expected}", line=line, field=field))
