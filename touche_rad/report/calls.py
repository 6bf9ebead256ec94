"""The model calls of a run and their costs, from its trace and status files."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from touche_rad.files.outputs import known_status
from touche_rad.files.records import refuse_links_out
from touche_rad.files.traces import TRACE, answer_text, read_trace
from touche_rad.score.conversations import Call, Place
from touche_rad.score.evaluations import object_of

_LONGEST_TEXT: Final = 6_000
"""Maximum characters of a prompt or an answer in the report."""
_MOST_CALLS: Final = 5_000
"""Maximum calls of a run in the report."""


_COSTS: Final = {
    "calls": "calls",
    "from cache": "from_cache",
    "tokens in": "prompt_tokens",
    "from the server's cache": "cached_tokens",
    "tokens out": "completion_tokens",
    "repaired": "repairs",
    "failed": "failures",
    "seconds, summed": "seconds",
}


def costs_of(runs: Mapping[str, Path]) -> tuple[list[str], list[list[Any]]]:
    """Return the model calls of each step of the runs, by their status files, with heads."""
    rows = []
    for run, path in runs.items():
        for plugin, steps in known_status(path).get("usage", {}).get("plugins", {}).items():
            for step, counts in steps.items():
                rows.append(
                    [run, plugin, step, *[round(counts.get(name) or 0) for name in _COSTS.values()]]
                )
    return ["run", "plugin", "step", *_COSTS], rows


class _Message(BaseModel):
    role: str
    content: object


class _Asked(BaseModel):
    messages: list[_Message]


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _TracedCall(BaseModel):
    """What a line of a trace says of a call."""

    debate: str
    turn: int
    step: str = ""
    cached: bool = False
    seconds: float | None = None
    fault: str = ""
    asked: _Asked | None = None
    answer: object = None


def calls(run: Path) -> dict[Place, list[Call]]:
    """Return a run's calls by debate and turn, without unreadable lines."""
    by_place: dict[Place, list[Call]] = {}
    name = run.name + TRACE
    trace = run.parent / "trace" / name  # TIRA
    if not trace.is_file():
        trace = run.with_name(name)
    refuse_links_out(run.parent, [trace])
    if not trace.is_file():
        return by_place
    for record in islice(read_trace(trace), _MOST_CALLS):
        with suppress(ValidationError):
            row = _TracedCall.model_validate(record)
            used = object_of(object_of(row.answer).get("usage"))
            usage = _Usage.model_validate(used)
            tokens = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
            messages = row.asked.messages if row.asked else []
            call = {
                **row.model_dump(include={"step", "cached", "seconds", "fault"}),
                "tokens": tokens if used else "",
                **usage.model_dump(),
                "messages": [(message.role, _short(str(message.content))) for message in messages],
                "answer": _short(answer_text(row.answer)),
            }
            by_place.setdefault((row.debate, row.turn), []).append(call)
    return by_place


def _short(text: str) -> str:
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[:_LONGEST_TEXT]} … ({len(text) - _LONGEST_TEXT} letters more)"
