"""Judge whole debates with a panel, optionally also with swapped sides."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from touche_rad import __version__, files
from touche_rad.calls import Caller, CallTimeout, begin_use, call_context
from touche_rad.contest import INCOMPLETE, TIE, Contest, Outcome
from touche_rad.errors import describe
from touche_rad.events import Event, EventKind, Place, log
from touche_rad.evidence.instructions import flagged_sentences
from touche_rad.files.append_log import AppendLog, LogKind
from touche_rad.files.contests import Judgement, words_digest
from touche_rad.files.outputs import Result
from touche_rad.files.records import dump, parse
from touche_rad.frozen import frozen_by_name
from touche_rad.lists import T
from touche_rad.plugins import Configured, LoadedPanel, Services
from touche_rad.runs.fallbacks import FailureLog, Fallback
from touche_rad.runs.journal import Journal
from touche_rad.runs.judging import (
    CALLS,
    FAILURES,
    VERDICTS,
    JudgingJob,
    NoVerdict,
    report_fallback,
)
from touche_rad.runs.work import Done, Work
from touche_rad.text import digest_of_text, excerpt

GAMES: Final = LogKind(
    "games",
    1,
    fix="start again with --restart, or name another folder",
    damaged="its debate is played or judged again",
)


class Recorded:
    """The finished units of a folder by key, in a log that must be closed."""

    def __init__(self, path: Path) -> None:
        self._log = AppendLog(path, GAMES)
        self._journal = Journal[str](self._log)

    async def __call__(
        self, key: Mapping[str, Any], work: Callable[[T], Awaitable[Done]], item: T
    ) -> Done:
        """Return the recorded result of a unit, or do its work and record it, unless it failed."""
        text = json.dumps({**key, "version": __version__}, sort_keys=True, default=str)
        digest = digest_of_text(text)
        if digest in self._journal.places:
            return next(self._journal.read([digest]))
        done = await work(item)
        if not any(fallback.what == VERDICTS for fallback in done.fallbacks):
            self._journal.append(digest, done)
        return done  # after a failed verdict, the same command judges this debate again

    def close(self) -> None:
        """Close the log."""
        self._log.close()


async def judge_contest(
    panel: LoadedPanel,
    contest: Contest,
    *,
    deadline: float | None = None,
    failures: FailureLog = FAILURES,
) -> tuple[Outcome, tuple[Fallback, ...]]:
    """Return the panel's verdict, and why it is missing or made without the panel's model."""
    use = begin_use()
    failure: Exception | None = None
    try:
        with call_context(caller=Caller(panel.name, contest.id), use=use):
            outcome = await CALLS(panel.judge, contest, seconds=deadline)
        if not isinstance(outcome, Outcome):
            raise NoVerdict(f"the panel gave {type(outcome).__name__}, no outcome")
        if outcome.winner not in (None, TIE, *contest.sides):
            raise NoVerdict("the panel named a winner who did not speak")
        try:
            Outcome.model_validate(parse(dump(outcome.model_dump(mode="json"))))
        except (ValueError, TypeError) as error:
            raise NoVerdict(excerpt(f"the outcome cannot be written: {error}", 300)) from error
        if outcome.winner is None:
            if outcome.details.get(INCOMPLETE):
                use.failures.clear()
            failure = use.failure
            if not outcome.reason:
                outcome = outcome.replace(reason="the panel named no winner")
    except (CallTimeout, NoVerdict) as error:
        outcome = Outcome(winner=None, reason=str(error))
        failure = NoVerdict(str(error))
    except Exception as error:
        log.debug("the panel failed", exc_info=error)
        outcome = Outcome(winner=None, reason=describe(error))
        failure = error
    return outcome, report_fallback("panel", panel, failure, use, failures, by="")


def work(
    source: Path,
    panel: LoadedPanel,
    *,
    identity: Mapping[str, Any],
    swap: bool = False,
    deadline: float | None = None,
    recorded: Recorded | None = None,
) -> Work[Contest]:
    """Return the work of judging every debate in a file as a whole: one verdict per line."""

    def read(bad: files.BadLines) -> Iterator[Contest]:
        for number, contest in enumerate(files.read_contests(source, bad), 1):
            yield contest if contest.id else contest.replace(id=str(number))

    async def judge(failures: FailureLog, contest: Contest) -> Done:
        contests = [contest, contest.swapped()] if swap else [contest]
        results = await asyncio.gather(
            *(
                judge_contest(panel, version, deadline=deadline, failures=failures)
                for version in contests
            )
        )
        outcomes: list[Outcome] = []
        all_fallbacks: list[Fallback] = []
        events: list[Event] = []
        for outcome, fallbacks in results:
            all_fallbacks += failures.check(*fallbacks)
            outcomes.append(outcome)
            if outcome.reason:
                kind = EventKind.UNJUDGED if outcome.decision is None else EventKind.JUDGED_IN_PART
                events.append(
                    Event(kind=kind, place=Place(debate=contest.id), detail=outcome.reason)
                )
        for turn, speech in enumerate(contest.speeches):
            for sentence in flagged_sentences(speech.text):
                events.append(EventKind.INSTRUCTION.event(sentence).at(contest.id, turn))

        decisions = [outcome.decision for outcome in outcomes]
        counts: dict[Result, int] = {
            VERDICTS: len(outcomes),
            "without a winner": decisions.count(None),
        }
        sides = sum(outcome.winner is None for outcome in outcomes) - decisions.count(None)
        if sides:
            counts["naming only a side"] = sides
        judgement = Judgement(
            id=contest.id,
            judge=str(identity["judge"]),
            outcome=outcomes[0],
            swapped=outcomes[1] if swap else None,
            words=words_digest(contest),
        )
        return Done((files.judgement_line(judgement),), counts, tuple(events), tuple(all_fallbacks))

    async def do(contest: Contest, failures: FailureLog) -> Done:
        """Judge one debate, or return the recorded verdict on the same words by the same panel."""
        if not recorded:
            return await judge(failures, contest)
        key = {"judging": identity, "swap": swap, "contest": contest.model_dump(mode="json")}
        return await recorded(key, partial(judge, failures), contest)

    return Work("judge", source, read, do, {**identity, "swap": swap})


@frozen_by_name
class PanelJob(JudgingJob):
    """Judge recorded debates as a whole."""

    judge: Configured[LoadedPanel]
    swap: bool = False
    """Judge each debate a second time with its sides swapped."""

    def open(self, services: Services) -> Work[Contest]:
        """Make the panel."""
        return work(
            self.source,
            self.judge.make(services),
            swap=self.swap,
            identity=self.identity(services),
            deadline=self.deadline,
        )
