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
    try:
        text = read_whole(source)
    except InputError:
        return files.read_contests(source, bad)
    records: list[Record] = []
    try:
        content = parse(text)
    except FieldError:
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    record = parse(line)
                except FieldError as error:
                    record = error
                records.append((str(number), number, record))
    else:
        debates = content if isinstance(content, list) else [content]
        records = [(str(number), None, debate) for number, debate in enumerate(debates, 1)]
    if any(debateart.is_debate(record) for _, _, record in records):
        return _convert(source, records, bad)
    return files.read_contests(source, bad)


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
            text = error.expected if line else f"number {name}: {error.expected}"
            bad.report(InputError(source, text, line=line, field=error.field or None))
