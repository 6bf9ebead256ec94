"""Throughput of the judges that need no model (`benchmarks/speed.py judge`)."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence

from touche_rad import files
from touche_rad.criteria import grice
from touche_rad.debate import Debate
from touche_rad.plugins import Services, find
from touche_rad.runs.judging import judge_view


def report(options: argparse.Namespace) -> None:
    """Judge the same turns with all judges in turns; print the least processor time of a turn."""
    views = [
        debate.view(turn)
        for debate in files.read_debates(options.debates)
        for turn in range(len(debate.turns))
    ][: options.turns]
    judges = {name: find("judge", name).make(Services()) for name in options.judges}
    times: dict[str, list[float]] = {name: [] for name in judges}
    for turn in range(options.rounds + 1):
        for name, judge in judges.items():
            spent = asyncio.run(seconds(judge, views))
            if turn:
                times[name].append(spent)
    print(f"{len(views)} turns\n")
    first = min(next(iter(times.values())))
    for name, spent in times.items():
        best = min(spent)
        print(f"- `{name}`: {1000 * best / len(views):.2f} ms a turn, {best / first:.1f}x")


async def seconds(judge: object, views: Sequence[Debate]) -> float:
    """Judge all turns one after the other."""
    begun = time.process_time()
    for view in views:
        await judge_view(judge, view, grice())  # type: ignore[arg-type]
    return time.process_time() - begun
