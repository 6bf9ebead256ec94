"""Read the traces of runs: one line per model call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from touche_rad.errors import refuse_newer
from touche_rad.files.records import BadLines, FieldError, numbered_lines, parse

TRACE: Final = ".trace.jsonl"
"""The suffix of a trace file, which is written beside the run."""
TRACE_FORMAT: Final = 1
"""The format of a trace, in each of its lines."""


def read_trace(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a trace; an incomplete line of a killed run is skipped."""
    for _, line in numbered_lines(path, BadLines(skip=True)):
        with suppress(FieldError):
            row = parse(line)
            if isinstance(row, dict):
                refuse_newer(path, row, TRACE_FORMAT)
                yield row


def answer_text(answer: object) -> str:
    """Return the model's text in a row's answer, from the server or from the cache."""
    if not isinstance(answer, Mapping):
        return ""
    if "said" in answer:
        return str(answer["said"])
    try:
        return str(answer["choices"][0]["message"]["content"])
    except (LookupError, TypeError):
        return ""
