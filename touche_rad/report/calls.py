"""The model calls of a run and their costs, from its trace and status files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from touche_rad.files.outputs import read_status
from touche_rad.files.traces import TRACE, answer_text, read_trace
from touche_rad.report.boards import Board, BoardTable, number

_LONGEST: Final = 6_000
"""Maximum characters of a prompt or an answer in the report."""
_MOST: Final = 5_000
"""Maximum calls of a run in the report."""

Place = tuple[str, int]
"""A debate's key, and the turn."""


Call = Mapping[str, Any]
"""A model call as the page shows it."""


@dataclass(frozen=True)
class Cost:
    """The cost of one step of a plugin in a run."""

    run: str
    plugin: str
    step: str
    counts: Mapping[str, Any]

    @property
    def served(self) -> float | None:
        """Share of the prompts' tokens from the server's prefix cache."""
        tokens = self.counts.get("prompt_tokens") or 0
        return self.counts.get("cached_tokens", 0) / tokens if tokens else None


def costs(name: str, run: Path) -> list[Cost]:
    """Return the cost of each step of a run's plugins, from its status file."""
    plugins = (read_status(run).get("usage") or {}).get("plugins") or {}
    return [
        Cost(name, plugin, step, counts)
        for plugin, steps in plugins.items()
        for step, counts in steps.items()
    ]


_COSTS: Final = {
    "calls": "calls",
    "from cache": "from_cache",
    "tokens in": "prompt_tokens",
    "tokens out": "completion_tokens",
    "served": None,
    "repaired": "repairs",
    "failed": "failures",
}


def cost_board(steps: Sequence[Cost]) -> Board | None:
    """Show the model calls of the runs; None without any."""
    if not steps:
        return None
    rows = [
        [
            one.run,
            one.plugin,
            one.step,
            *(
                str(one.counts.get(name, 0)) if name else number(one.served, 2)
                for name in _COSTS.values()
            ),
            number(one.counts.get("seconds"), 1),
        ]
        for one in steps
    ]
    heads = ["run", "plugin", "step", *_COSTS, "seconds"]
    return Board(
        "Model calls",
        [],
        "Served: part of the prompt tokens from the server's prefix cache. "
        "Cache hits need no call.",
        [BoardTable("Model calls by step", heads, rows)],
    )


def calls(run: Path) -> dict[Place, list[Call]]:
    """Return a run's calls by debate and turn, without unreadable lines."""
    by_place: dict[Place, list[Call]] = {}
    name = run.name + TRACE
    trace = run.parent / "trace" / name  # TIRA
    trace = trace if trace.is_file() else run.with_name(name)
    for row in islice(read_trace(trace), _MOST) if trace.is_file() else ():
        turn = row.get("turn")
        place = (str(row.get("debate", "")), turn if isinstance(turn, int) else -1)
        by_place.setdefault(place, []).append(_call(row))
    return by_place


def _call(row: Mapping[str, Any]) -> Call:
    request, answer = row.get("asked") or {}, row.get("answer") or {}
    usage = answer.get("usage") if isinstance(answer, dict) else None
    tokens = ""
    if isinstance(usage, dict):
        tokens = f"{usage.get('prompt_tokens')} + {usage.get('completion_tokens')} tokens"
    seconds = row.get("seconds")
    return {
        "step": str(row.get("step", "")),
        "cached": bool(row.get("cached")),
        "seconds": float(seconds) if isinstance(seconds, int | float) else None,
        "tokens": tokens,
        "fault": str(row.get("fault", "")),
        "messages": [
            (str(one.get("role")), _short(str(one.get("content"))))
            for one in request.get("messages", ())
            if isinstance(one, dict)
        ],
        "answer": _short(answer_text(answer)),
    }


def _short(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]} … ({len(text) - _LONGEST} letters more)"
