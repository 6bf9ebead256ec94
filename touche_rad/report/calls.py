"""The model calls of a run and their costs, from its trace and status files."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from touche_rad.files.outputs import read_status
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
        for plugin, steps in read_status(path).get("usage", {}).get("plugins", {}).items():
            for step, counts in steps.items():
                rows.append(
                    [run, plugin, step, *[round(counts.get(name) or 0) for name in _COSTS.values()]]
                )
    return ["run", "plugin", "step", *_COSTS], rows


def calls(run: Path) -> dict[Place, list[Call]]:
    """Return a run's calls by debate and turn, without unreadable lines."""
    by_place: dict[Place, list[Call]] = {}
    name = run.name + TRACE
    trace = run.parent / "trace" / name  # TIRA
    if not trace.is_file():
        trace = run.with_name(name)
    if not trace.is_file():
        return by_place
    for row in islice(read_trace(trace), _MOST_CALLS):
        answer = row.get("answer")
        usage = object_of(object_of(answer).get("usage"))
        tokens: dict[str, int | None] = {}
        for key in ("prompt_tokens", "completion_tokens"):
            count = usage.get(key)
            tokens[key] = count if isinstance(count, int) else None
        seconds = row.get("seconds")
        messages = []
        for message in (row.get("asked") or {}).get("messages", ()):
            if isinstance(message, dict):
                messages.append((str(message.get("role")), _short(str(message.get("content")))))
        call = {
            "step": str(row.get("step", "")),
            "cached": bool(row.get("cached")),
            "seconds": float(seconds) if isinstance(seconds, int | float) else None,
            "tokens": f"{' + '.join(map(str, tokens.values()))} tokens" if usage else "",
            **tokens,
            "fault": str(row.get("fault", "")),
            "messages": messages,
            "answer": _short(answer_text(answer)),
        }
        turn = row.get("turn")
        place = (str(row.get("debate", "")), turn if isinstance(turn, int) else -1)
        by_place.setdefault(place, []).append(call)
    return by_place


def _short(text: str) -> str:
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[:_LONGEST_TEXT]} … ({len(text) - _LONGEST_TEXT} letters more)"
