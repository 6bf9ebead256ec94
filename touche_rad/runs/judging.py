"""Judging: one verdict per criterion for every response, even if the judge fails.

The official files require a number. If a judge gives none, the score is 1, that of a judge that
always says yes. The explanation and the status say so.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import anyio
from pydantic import ValidationError

from touche_rad import files
from touche_rad.calls import (
    Caller,
    Calls,
    CallTimeout,
    ModelUse,
    Observe,
    begin_use,
    call_context,
    current_context,
)
from touche_rad.criteria import Criteria, Criterion
from touche_rad.debate import Debate, Verdict, Verdicts, writable
from touche_rad.errors import describe
from touche_rad.events import Event, EventKind, Place, log
from touche_rad.evidence.instructions import flags
from touche_rad.files.formats import Judgeable
from touche_rad.frozen import frozen, frozen_by_name
from touche_rad.plugins import Configured, LoadedJudge, LoadedPanel, Services
from touche_rad.runs.fallbacks import FailureLog, Fallback, InvalidResult, fallback_for, uncited
from touche_rad.runs.jobs import JobSpec
from touche_rad.runs.work import Done, Work
from touche_rad.text import clean

VERDICTS: Final = "verdicts"
"""The name of the count of verdicts."""

LOST: Final = "the debate was lost: the line of the run is empty or cannot be read"
"""The explanation of the verdicts on a lost debate."""

_ROUNDING: Final = 1e-6
"""A score may be so far outside of 0 to 1: sums of floats are not exact."""
CALLS: Final = Calls()
"""The calls of all judges and panels of this process."""
FAILURES: Final = FailureLog()
"""Their failures outside of runs."""


@frozen
class ViewVerdicts:
    """A valid verdict on each criterion, and the reason for each that is not the judge's."""

    verdicts: Verdicts
    unscored: Mapping[str, str] = field(default_factory=dict)
    fallbacks: tuple[Fallback, ...] = ()

    def score(self, key: str) -> float | None:
        """Return the judge's own score on a criterion; None if it gave none."""
        return None if key in self.unscored else self.verdicts[key].score


class NoVerdict(InvalidResult):
    """A judge or a panel gave no valid verdict."""


def fallback_verdict(criterion: Criterion, reason: str) -> Verdict:
    """Return the verdict if a judge has none: yes, the middle of a scale, or the first category."""
    answer = criterion.answers.fallback
    score = criterion.answers.score(answer)
    value = answer if score is None else f"score {score}"
    return Verdict(score=score, answer=answer, rationale=f"no verdict ({reason}); fallback {value}")


def report_fallback(
    kind: str,
    plugin: LoadedJudge | LoadedPanel,
    failure: Exception | None,
    use: ModelUse,
    failures: FailureLog,
    *,
    by: str,
    count: int = 1,
    turn: int = 0,
) -> tuple[Fallback, ...]:
    """Report the fallback of a judge or a panel, if there is one.

    `failure` is why `by` gave verdicts instead; without it the plugin gave all of them, perhaps
    without its model. If another plugin called it, its model calls and its fallback are also that
    plugin's, and whoever called that one reports them.
    """
    outer = current_context().use
    if outer:
        outer.add(use)
    else:
        for of_other_plugin in use.fallbacks:
            failures.add(*of_other_plugin)
    cause = failure or use.failure
    if not cause:
        return ()
    fallback = fallback_for(
        f"{kind} {plugin.name}",
        plugin.module,
        cause,
        by=by if failure else plugin.name,
        without_model=failure is None,
        what=VERDICTS,
        count=count,
        turn=turn,
    )
    if outer:
        outer.fallbacks.append((fallback, cause))
    else:
        failures.add(fallback, cause)
    return (fallback,)


async def judge_view(
    judge: LoadedJudge,
    view: Debate,
    criteria: Criteria,
    *,
    deadline: float | None = None,
    failures: FailureLog = FAILURES,
    observe: Observe | None = None,
) -> ViewVerdicts:
    """Call a judge, and fill in the verdicts that are missing.

    `failures` gets a fallback with its cause, `observe` each search and model call.
    """
    view = view.as_served()
    use = begin_use(observe)
    turn = len(view.turns)
    verdicts: dict[str, Verdict] = {}
    unscored: dict[str, str] = {}
    result: object = None
    failure: Exception | None = None
    try:
        with call_context(caller=Caller(judge.name, view.key, turn - 1), use=use):
            result = await CALLS(judge.judge, view, seconds=deadline)
        reason = f"the judge gave {type(result).__name__}, not verdicts"
    except CallTimeout:
        reason = f"the judge gave nothing within {deadline:g} seconds"
    except Exception as error:
        log.debug("the judge failed", exc_info=error)
        failure = error
        reason = describe(error)
    for criterion in criteria:
        verdict: Verdict | str = reason
        if isinstance(result, Mapping):
            verdict = _verdict(result, criteria, criterion)
        if isinstance(verdict, str):
            log.info("no verdict on %s: %s", criterion.key, verdict)
            unscored[criterion.key] = verdict
            verdict = fallback_verdict(criterion, verdict)
        verdicts[criterion.key] = verdict
    if unscored:
        reasons = dict.fromkeys(unscored.values())
        failure = failure or use.failure or NoVerdict("; ".join(reasons))
    fallbacks = report_fallback(
        "judge",
        judge,
        failure,
        use,
        failures,
        by="the fallback that always says yes" if criteria.official else "a fixed answer",
        count=len(unscored or verdicts),
        turn=turn,
    )
    for fallback in fallbacks:
        for key in unscored or verdicts:
            verdicts[key] = verdicts[key].model_copy(update=fallback.mark)
    return ViewVerdicts(verdicts, unscored, fallbacks)


def _verdict(
    verdicts: Mapping[Any, Any], criteria: Criteria, criterion: Criterion
) -> Verdict | str:
    """Return the valid verdict on a criterion, or what is wrong with it.

    A verdict on other criteria than the task's has a score, unless it is a category, and an answer.
    """
    value = verdicts.get(criterion.key, verdicts.get(criterion.title))
    if value is None:
        return "the judge left it out"
    try:
        verdict = Verdict.model_validate(vars(value) if isinstance(value, Verdict) else value)
    except TypeError as error:
        return str(error)
    except ValidationError as error:
        return f"not a verdict: {error.errors()[0]['msg']}"
    answers = criterion.answers
    answer = None
    score = verdict.score
    if verdict.answer is not None:
        if str(verdict.answer) not in answers.names:
            return f"the answer {verdict.answer!r:.60} is none of {', '.join(answers.names)}"
        if score is None:
            score = answers.score(verdict.answer)
        if not criteria.official:
            answer = answers.parse(verdict.answer)
    if score is not None:
        if not -_ROUNDING <= score <= 1 + _ROUNDING:  # so is NaN
            return f"a score of {score:g} is not between 0 and 1"
        score = min(max(score, 0.0), 1.0)
        if answer is None and not criteria.official:
            answer = answers.nearest(score)
    if (score if criteria.official else answer) is None:
        return clean(verdict.rationale) or "the judge gave no score"
    return Verdict(
        score=None if answers.kind == "categories" else score,
        answer=answer,
        rationale=clean(verdict.rationale),
        extra=writable(verdict.extra),
    )


def work(
    source: Path,
    judge: LoadedJudge,
    criteria: Criteria,
    *,
    identity: Mapping[str, Any],
    deadline: float | None = None,
) -> Work[Judgeable]:
    """Return the work of judging every response in a file: one official evaluation per debate.

    A lost debate (an empty record of the official client, or a line that is skipped) keeps its
    place. If all other debates have the same number of responses, it gets as many noes.
    """
    cached = CachedJudge(judge, criteria, deadline)

    @cache
    def turns_if_equal() -> int:
        """Return the number of verdicts on each debate, or 0 if the debates differ."""
        debates = files.read_views(source, files.BadLines(skip=True), unit=criteria.unit)
        counts = {len(views) for _, views in debates}
        return counts.pop() if len(counts) == 1 else 0

    read = partial(files.read_views, source, keep_lost=True, unit=criteria.unit)

    async def do(unit: Judgeable, failures: FailureLog) -> Done:
        """Judge the responses of one debate."""
        debate, views = unit
        if not debate.turns and not debate.wire:
            count = await anyio.to_thread.run_sync(turns_if_equal)
            noes = {}
            for criterion in criteria:
                worst = criterion.answers.values[0].value
                noes[criterion.key] = Verdict(
                    score=criterion.answers.score(worst), answer=worst, rationale=LOST
                )
            line = files.evaluation_line(files.Evaluation(Debate(), (noes,) * count, criteria))
            detail = f"{count} turns, all verdicts no" if count else "no verdicts"
            return Done(
                (line,),
                {VERDICTS: len(criteria) * count},
                (EventKind.LOST_DEBATE.event(detail),),
            )

        turns = await asyncio.gather(*(cached.judge(view, failures) for view in views))
        events: list[Event] = []
        fallbacks: list[Fallback] = []
        for view, of_turn in zip(views, turns, strict=True):
            fallbacks += of_turn.fallbacks
            for key, reason in of_turn.unscored.items():
                events.append(
                    Event(
                        kind=EventKind.UNSCORED,
                        place=Place(debate=debate.id, turn=len(view.turns), maxim=key),
                        detail=reason,
                    )
                )
        for turn, sentence in flags(debate.turns):
            events.append(EventKind.INSTRUCTION.event(sentence).at(debate.id, turn))
        verdicts = tuple(of_turn.verdicts for of_turn in turns)
        line = files.evaluation_line(files.Evaluation(debate, verdicts, criteria))
        counts = {
            VERDICTS: sum(map(len, verdicts)),
            **uncited(turn.response for turn in debate.turns),
        }
        return Done((line,), counts, tuple(events), tuple(fallbacks))

    return Work("judge", source, read, do, identity, cached.end)


@dataclass
class CachedJudge:
    """Judges views; equal views share one computation, also while it is running.

    Verdicts with a fallback are not kept: the next call asks the judge again.
    """

    plugin: LoadedJudge
    criteria: Criteria
    deadline: float | None = None
    size: int = 2_000
    """The most views whose verdicts are kept, of about 5 kB each.

    The task's client asks for the four maxims of a response one after the other, so a server needs
    those of the debates that are judged at the same time."""
    _tasks: OrderedDict[bytes, asyncio.Task[ViewVerdicts]] = field(default_factory=OrderedDict)

    async def judge(self, view: Debate, failures: FailureLog = FAILURES) -> ViewVerdicts:
        """Return the verdicts on the last response of a view, unless a fallback stops the run."""
        seen = json.dumps(view.model_dump(exclude={"wire"}), default=str)
        key = hashlib.sha256(seen.encode()).digest()
        task = self._tasks.get(key)
        if not task or (task.done() and task.result().fallbacks):
            judging = judge_view(
                self.plugin, view, self.criteria, deadline=self.deadline, failures=failures
            )
            task = self._tasks[key] = asyncio.create_task(judging)
            # If the run stops, nobody waits for it, and asyncio would print its error.
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            while len(self._tasks) > self.size and next(iter(self._tasks.values())).done():
                self._tasks.popitem(last=False)
        # Shielded: a client that closes its connection must not cancel it for the others.
        verdicts = await asyncio.shield(task)
        if verdicts.fallbacks:
            failures.check(*verdicts.fallbacks)
        return verdicts

    async def end(self) -> None:
        """Cancel what still runs, and wait for its end."""
        running = [task for task in self._tasks.values() if not task.done()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


@frozen_by_name
class JudgingJob(JobSpec):
    """Judge recorded debates."""

    verb = "judge"
    title = "judging"
    judge: Configured[object]
    """A judge of responses, or a panel."""

    @property
    def plugins(self) -> Sequence[Configured[object]]:
        """The judge."""
        return (self.judge,)

    @property
    def settings(self) -> dict[str, Any]:
        """The judge."""
        return {"judge": self.judge.tag}


@frozen_by_name
class JudgeJob(JudgingJob):
    """Judge each response of recorded debates."""

    judge: Configured[LoadedJudge]

    def open(self, services: Services) -> Work[Judgeable]:
        """Make the judge, with the index only if it says that it reads one."""
        index = services.index if self.needs_index or self.uses_index else None
        return work(
            self.source,
            self.judge.make(replace(services, index=index)),
            services.criteria,
            identity=self.identity(services),
            deadline=self.deadline,
        )
