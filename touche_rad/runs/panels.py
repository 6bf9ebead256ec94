"""Judge whole debates with a panel, optionally also with swapped sides."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from touche_rad import files
from touche_rad.contest import TIE, Contest, Outcome
from touche_rad.files.contests import Judgement
from touche_rad.models.context import Calls, call_context, deadline_in
from touche_rad.plugins import Panel, name_of
from touche_rad.runs.journal import Done
from touche_rad.runs.runner import DEFAULT_OPTIONS, RunOptions, Status, Work, run_work

log = logging.getLogger("touche_rad")

_calls = Calls()


async def judge_contest(
    panel: Panel, contest: Contest, *, deadline: float | None = None
) -> Outcome:
    """Return the panel's verdict; it has no winner if the panel fails or times out."""
    try:
        with (
            anyio.move_on_after(deadline),
            call_context(plugin=name_of(panel), debate=contest.id, deadline=deadline_in(deadline)),
        ):
            given: Any = await _calls(panel.judge, contest)
            return _checked(given, contest)
        return Outcome(winner=None, reason=f"no verdict within {deadline:g} seconds")
    except Exception as error:
        log.debug("the panel failed", exc_info=error)
        return Outcome(winner=None, reason=f"{type(error).__name__}: {error}"[:300])


def _checked(given: Any, contest: Contest) -> Outcome:
    if not isinstance(given, Outcome):
        return Outcome(winner=None, reason=f"the panel gave {type(given).__name__}, no outcome")
    if given.winner not in (None, TIE, *contest.sides):
        return Outcome(winner=None, reason="the panel named a winner who did not speak")
    if given.winner is None and not given.reason:
        return given.model_copy(update={"reason": "the panel named no winner"})
    return given


@dataclass(frozen=True)
class _Bench:
    panel: Panel
    judge: str
    swap: bool
    deadline: float | None

    async def sit(self, contest: Contest) -> Done:
        swapped: list[Outcome] = []

        async def other() -> None:
            swapped.append(
                await judge_contest(self.panel, contest.swapped(), deadline=self.deadline)
            )

        async with anyio.create_task_group() as group:
            if self.swap:
                group.start_soon(other)
            outcome = await judge_contest(self.panel, contest, deadline=self.deadline)
        found = [outcome, *swapped]
        lost = [one.reason for one in found if one.winner is None]
        line = files.judgement_line(Judgement(contest.id, self.judge, *found))
        counts = {"verdicts": len(found), "without a winner": len(lost)}
        notes = tuple(f"unjudged: {reason} ({contest.id})" for reason in lost)
        return Done((line,), counts, notes)


async def judge_contests(
    source: Path,
    out: Path,
    panel: Panel,
    *,
    identity: Mapping[str, Any],
    swap: bool = False,
    deadline: float | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
) -> Status:
    """Judge every debate in a file as a whole, and write one verdict per line.

    Args:
        source: Contests, or debates of the shared task.
        out: The outcomes to write.
        panel: The panel.
        identity: What determines the output.
        swap: Also judge each debate with swapped sides, to test for a bias towards a side.
        deadline: Time limit for a debate in seconds.
        options: Settings that do not change the output.
    """
    bench = _Bench(panel, str(identity["judge"]), swap, deadline)

    def read(bad: files.BadLines) -> Iterator[Contest]:
        return (
            one if one.id else one.model_copy(update={"id": str(number)})
            for number, one in enumerate(files.read_contests(source, bad), 1)
        )

    work = Work("judge", source, out, read, bench.sit, {**identity, "swap": swap})
    return await run_work(work, options)
