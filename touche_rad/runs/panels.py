"""Judge whole debates with a panel, optionally also with swapped sides."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.calls import CallTimeout, ModelUse, call_context, current_context, name_of
from touche_rad.contest import TIE, Contest, Outcome
from touche_rad.evidence.instructions import KIND, flagged_sentences
from touche_rad.files.contests import Judgement
from touche_rad.files.records import dump, parse
from touche_rad.plugins import Panel
from touche_rad.runs.fallbacks import Fallback, InvalidResult, fallback_for
from touche_rad.runs.journal import Done
from touche_rad.runs.judging import CALLS, FAILURES, VERDICTS
from touche_rad.runs.recorded import Recorded
from touche_rad.runs.work import Work

log = logging.getLogger("touche_rad")


async def judge_contest(
    panel: Panel, contest: Contest, *, deadline: float | None = None
) -> Outcome:
    """Return the panel's verdict; it has no winner if the panel fails or times out."""
    return (await _judge_contest(panel, contest, deadline))[0]


async def _judge_contest(
    panel: Panel, contest: Contest, deadline: float | None
) -> tuple[Outcome, Fallback | None]:
    """Return the panel's verdict, and why it is missing or made without the panel's model."""
    use = ModelUse()
    cause: Exception | None = None
    try:
        with call_context(plugin=name_of(panel), debate=contest.id, model_use=use):
            given: Any = await CALLS(panel.judge, contest, seconds=deadline)
        outcome, cause = _checked(given, contest), use.failure
    except (CallTimeout, NoOutcome) as error:
        outcome, cause = Outcome(winner=None, reason=str(error)), NoOutcome(str(error))
    except Exception as error:
        log.debug("the panel failed", exc_info=error)
        reason = f"{type(error).__name__}: {error}"[:300]
        outcome, cause = Outcome(winner=None, reason=reason), error
    outer = current_context().model_use
    if outer is not None:
        outer.add(use)
    return outcome, None if cause is None else _fallback(panel, outcome, cause)


def _fallback(panel: Panel, outcome: Outcome, cause: Exception) -> Fallback:
    name = name_of(panel)
    by = "nobody" if outcome.winner is None else f"{name} without its model"
    return fallback_for(f"panel {name}", panel, cause, by=by, what=VERDICTS, default=FAILURES)


class NoOutcome(InvalidResult):
    """The panel gave no valid verdict."""


def _checked(given: Any, contest: Contest) -> Outcome:
    if not isinstance(given, Outcome):
        raise NoOutcome(f"the panel gave {type(given).__name__}, no outcome")
    if given.winner not in (None, TIE, *contest.sides):
        raise NoOutcome("the panel named a winner who did not speak")
    try:
        Outcome.model_validate(parse(dump(given.model_dump(mode="json"))))
    except (ValueError, TypeError) as error:
        raise NoOutcome(f"the outcome cannot be written: {error}"[:300]) from error
    if given.winner is None and not given.reason:
        return given.model_copy(update={"reason": "the panel named no winner"})
    return given


@dataclass(frozen=True)
class Bench:
    """A panel with the settings of its verdicts."""

    panel: Panel
    judge: str
    swap: bool
    deadline: float | None

    async def sit(self, contest: Contest) -> Done:
        """Judge one debate."""
        both = [contest, contest.swapped()] if self.swap else [contest]
        given = await asyncio.gather(
            *(_judge_contest(self.panel, one, self.deadline) for one in both)
        )
        found = [outcome for outcome, _ in given]
        lost = [one.reason for one in found if one.winner is None]
        line = files.judgement_line(Judgement(contest.id, self.judge, *found))
        counts = {VERDICTS: len(found), "without a winner": len(lost)}
        notes = tuple(
            f"{'unjudged' if one.winner is None else 'judged in part'}: {one.reason} ({contest.id})"
            for one in found
            if one.reason
        )
        notes += tuple(
            f"{KIND}: debate {contest.id}, speech {number}: {sentence}"
            for number, speech in enumerate(contest.speeches, 1)
            for sentence in flagged_sentences(speech.text)
        )
        fallbacks = tuple(fallback for _, fallback in given if fallback is not None)
        return Done((line,), counts, notes, fallbacks)


def work(
    source: Path,
    panel: Panel,
    *,
    identity: Mapping[str, Any],
    swap: bool = False,
    deadline: float | None = None,
    recorded: Recorded | None = None,
) -> Work[Contest]:
    """Return the work of judging every debate in a file as a whole: one verdict per line."""
    bench = Bench(panel, str(identity["judge"]), swap, deadline)

    def read(bad: files.BadLines) -> Iterator[Contest]:
        return (
            one if one.id else one.model_copy(update={"id": str(number)})
            for number, one in enumerate(files.read_contests(source, bad), 1)
        )

    async def sit(contest: Contest) -> Done:
        """Judge one debate, or return the recorded verdict on the same words by the same panel."""
        if recorded is None:
            return await bench.sit(contest)
        key = {"judging": identity, "swap": swap, "contest": contest.model_dump(mode="json")}
        return await recorded(key, bench.sit, contest)

    return Work("judge", source, read, sit, {**identity, "swap": swap})
