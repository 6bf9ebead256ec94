"""Recognise a collection by its content and read its debates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

from touche_rad import files
from touche_rad.contest import Contest
from touche_rad.contests.foreign import _debateart as debateart
from touche_rad.contests.foreign import _panelbench as panelbench
from touche_rad.errors import InputError
from touche_rad.files.records import (
    BadLines,
    FieldError,
    Line,
    at_line,
    parse,
    read_whole,
    records,
    short_repr,
)

FORMS: Final = "DebateArt, PanelBench, contests, or debates of the shared task"


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
    debates: list[Any] | None = None
    with suppress(FieldError):  # of a file of JSON lines
        content = parse(text)
        debates = content if isinstance(content, list) else [content]

    def read(bad: BadLines) -> Iterator[Line]:
        return records(source, bad) if debates is None else map(Line, count(1), debates)

    if any(debateart.is_debate(line.value) for line in read(BadLines(skip=True))):
        return _convert(source, read(bad), bad, is_one_value=debates is not None)
    return files.read_contests(source, bad)


def _convert(
    source: Path, lines: Iterable[Line], bad: BadLines, *, is_one_value: bool
) -> Iterator[Contest]:
    ids: set[str] = set()
    for number, record in lines:
        try:
            if not debateart.is_debate(record):
                raise FieldError("", f"expected a debate ({FORMS})")
            contest = debateart.contest_of(record, str(number))
            if contest.id in ids:
                raise FieldError("id", f"the debate {short_repr(contest.id)} is not unique")
            ids.add(contest.id)
            yield contest
        except FieldError as error:
            if is_one_value:
                error.expected = f"number {number}: {error.expected}"
            bad.report(at_line(source, None if is_one_value else number, error))
