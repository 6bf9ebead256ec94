"""Judging: one verdict per maxim for every response, even if the judge fails.

The official files require a number. If a judge gives none in two tries (one if it needs a model,
whose calls are retried and corrected), the score is 1, that of a judge that always says yes. The
explanation and the status say so.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import anyio
from pydantic import ValidationError

from touche_rad import files
from touche_rad.calls import (
    Calls,
    CallTimeout,
    ModelUse,
    call_context,
    current_context,
    name_of,
)
from touche_rad.debate import MOST_CHARACTERS, Debate, Maxim, Verdict, Verdicts, writable
from touche_rad.evidence.instructions import KIND, flags
from touche_rad.plugins import Judge, JudgesAll
from touche_rad.runs.fallbacks import FailureLog, Fallback, InvalidResult, fallback_for
from touche_rad.runs.journal import Done
from touche_rad.runs.runner import at_turn
from touche_rad.runs.work import Work
from touche_rad.text import clean

log = logging.getLogger("touche_rad")

PRIOR: Final = 1.0
"""The score if the judge has no verdict."""

VERDICTS: Final = "verdicts"
"""The name of the count of verdicts."""

NO_VERDICT: Final = "no verdict"
"""The beginning of the explanation of such a score."""

LOST: Final = "the debate was lost: the line of the run is empty"
"""The explanation of the verdicts on a lost debate."""

Judgeable = tuple[Debate, Sequence[Debate]]
"""A debate with its views, one for each response."""
_ROUNDING = 1e-6
_TRIES = 2
CALLS: Final = Calls()
"""The calls of all judges and panels of this process."""
FAILURES: Final = FailureLog()
"""Their failures outside of runs."""


@dataclass(frozen=True)
class ViewVerdicts:
    """Four valid verdicts, and the reason for each that is not the judge's."""

    verdicts: Verdicts
    unscored: Mapping[Maxim, str] = field(default_factory=dict)
    fallbacks: tuple[Fallback, ...] = ()


async def verdicts_for(judge: Judge, view: Debate, *, deadline: float | None = None) -> Verdicts:
    """Return valid verdicts on the last response of a view; never raises."""
    return (await judge_view(judge, view, deadline=deadline)).verdicts


async def judge_view(judge: Judge, view: Debate, *, deadline: float | None = None) -> ViewVerdicts:
    """Call a judge, perhaps again if a verdict is missing, and fill in what is still missing."""
    view = view.within(MOST_CHARACTERS)
    good: dict[Maxim, Verdict] = {}
    reasons: dict[Maxim, str] = {}
    use = ModelUse()
    raised: list[Exception] = []
    for _ in range(_tries(judge)):
        given = await _ask(judge, view, deadline, use, raised)
        for maxim in Maxim:
            verdict = given if isinstance(given, str) else _verdict(given, maxim)
            if isinstance(verdict, str):
                reasons[maxim] = verdict
            else:
                good.setdefault(maxim, verdict)
        if len(good) == len(Maxim):
            break
    unscored = {maxim: reasons[maxim] for maxim in Maxim if maxim not in good}
    for maxim, reason in unscored.items():
        log.info("%s on %s: %s", NO_VERDICT, maxim, reason)
    filled = {
        maxim: Verdict(score=PRIOR, rationale=f"{NO_VERDICT} ({why}); {PRIOR} stands in for it")
        for maxim, why in unscored.items()
    }
    fallbacks = _fallbacks(judge, view, unscored, use, raised)
    return ViewVerdicts({maxim: (good | filled)[maxim] for maxim in Maxim}, unscored, fallbacks)


def _fallbacks(
    judge: Judge,
    view: Debate,
    unscored: Mapping[Maxim, str],
    use: ModelUse,
    raised: Sequence[Exception],
) -> tuple[Fallback, ...]:
    """Return the fallbacks among the verdicts on a response.

    They are the missing verdicts; if none is missing and the judge worked without its model, all.
    """
    outer = current_context().model_use
    if outer is not None:
        outer.add(use)
    name = f"judge {name_of(judge)}"
    if unscored:
        count, by = len(unscored), f"the fixed score {PRIOR:g}"
        missing = NoVerdict("; ".join(dict.fromkeys(unscored.values())))
        cause = next(iter(raised), None) or use.failure or missing
    elif use.failure is not None:
        count, by, cause = len(Maxim), f"{name_of(judge)} without its model", use.failure
    else:
        return ()
    one = fallback_for(
        name,
        judge,
        cause,
        by=by,
        what=VERDICTS,
        count=count,
        turn=len(view.turns),
        default=FAILURES,
    )
    return (one,)


class NoVerdict(InvalidResult):
    """The judge gave no valid verdict."""


def _tries(judge: Judge) -> int:
    """Return how often a judge is called: calls of a model have retries and corrections already."""
    return 1 if "model" in getattr(judge, "needs", ()) else _TRIES


async def _ask(
    judge: Judge, view: Debate, deadline: float | None, use: ModelUse, raised: list[Exception]
) -> Mapping[Any, Any] | str:
    """Return the judge's verdicts, or the reason of its failure; add what it raised to `raised`."""
    try:
        with call_context(
            plugin=name_of(judge), debate=view.key, turn=len(view.turns) - 1, model_use=use
        ):
            given: Any = await CALLS(judge.judge, view, seconds=deadline)
        if isinstance(given, Mapping):
            return given
        return f"the judge gave {type(given).__name__}, not verdicts"
    except CallTimeout:
        return f"the judge gave nothing within {deadline:g} seconds"
    except Exception as error:
        log.debug("the judge failed", exc_info=error)
        raised.append(error)
        return f"{type(error).__name__}: {error}"[:300]


def _verdict(given: Mapping[Any, Any], maxim: Maxim) -> Verdict | str:
    """Return the valid verdict on a maxim, or what is wrong with it."""
    found = given.get(maxim, given.get(maxim.key))
    if found is None:
        return "the judge left it out"
    try:
        verdict = Verdict.model_validate(
            dict(found.__dict__) if isinstance(found, Verdict) else found
        )
    except TypeError as error:
        return str(error)
    except ValidationError as error:
        return f"not a verdict: {error.errors()[0]['msg']}"
    score = verdict.score
    if score is None:
        return clean(verdict.rationale) or "the judge gave no score"
    if not -_ROUNDING <= score <= 1 + _ROUNDING:  # so is NaN
        return f"a score of {score:g} is not between 0 and 1"
    return Verdict(
        score=min(max(score, 0.0), 1.0),
        rationale=clean(verdict.rationale),
        extra=writable(verdict.extra),
    )


def work(
    source: Path,
    judge: Judge,
    *,
    identity: Mapping[str, Any],
    deadline: float | None = None,
) -> Work[Judgeable]:
    """Return the work of judging every response in a file: one official evaluation per debate.

    A lost debate, for which the official client wrote an empty record, keeps its line. If all
    other debates have the same number of responses, each of as many of its verdicts is no.
    """
    cached = CachedJudge(judge, deadline)
    turns_if_equal = cache(partial(_turns_if_equal, source))

    def read(bad: files.BadLines) -> Iterator[Judgeable]:
        return files.read_views(source, bad, keep_lost=True)

    async def do(unit: Judgeable) -> Done:
        debate, views = unit
        if not debate.turns and not debate.wire:
            return _lost(await anyio.to_thread.run_sync(turns_if_equal))
        turns = await _judge_whole(judge, views, deadline)
        return _done(debate, turns or await asyncio.gather(*map(cached.judge, views)))

    return Work("judge", source, read, do, identity)


def _done(debate: Debate, turns: Sequence[ViewVerdicts]) -> Done:
    notes = tuple(
        at_turn(f"unscored {maxim}: {reason}", debate, turn)
        for turn, of_turn in enumerate(turns)
        for maxim, reason in of_turn.unscored.items()
    )
    notes += tuple(at_turn(f"{KIND}: {where}", debate, turn) for turn, where in flags(debate.turns))
    verdicts = tuple(of_turn.verdicts for of_turn in turns)
    line = files.evaluation_line(files.Evaluation(debate, verdicts, {}))
    fallbacks = tuple(one for of_turn in turns for one in of_turn.fallbacks)
    return Done((line,), {VERDICTS: len(Maxim) * len(turns)}, notes, fallbacks)


def _turns_if_equal(source: Path) -> int:
    """Return the number of responses of each debate, or 0 if the debates differ."""
    counts = {len(views) for _, views in files.read_views(source, files.BadLines(skip=True))}
    return counts.pop() if len(counts) == 1 else 0


def _lost(turns: int) -> Done:
    """Return the line of a lost debate: its verdicts are no."""
    verdicts = dict.fromkeys(Maxim, Verdict(score=0.0, rationale=LOST))
    line = files.evaluation_line(files.Evaluation(Debate(), (verdicts,) * turns, {}))
    note = f"lost debate: {turns} turns, all verdicts no" if turns else "lost debate: no verdicts"
    return Done((line,), {"verdicts": len(Maxim) * turns}, (note,))


class CachedJudge:
    """Judges views; equal views share one computation, also while it is running."""

    def __init__(self, judge: Judge, deadline: float | None = None, size: int = 2_000) -> None:
        """Keep the verdicts on at most `size` views, of about 5 kB each.

        The task's client asks for the four maxims of a response one after the other, so a server
        needs those of the debates that are judged at the same time.
        """
        self._ask, self.size = partial(judge_view, judge, deadline=deadline), size
        self._tasks: OrderedDict[bytes, asyncio.Task[ViewVerdicts]] = OrderedDict()

    async def judge(self, view: Debate) -> ViewVerdicts:
        """Return the verdicts on the last response of a view."""
        key = view_key(view)
        if key not in self._tasks:
            task = self._tasks[key] = asyncio.ensure_future(self._ask(view))
            # If the run stops, nobody waits for it, and asyncio would print its error.
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            while len(self._tasks) > self.size and next(iter(self._tasks.values())).done():
                self._tasks.popitem(last=False)
        # Shielded: a client that closes its connection must not cancel it for the others.
        return await asyncio.shield(self._tasks[key])


def view_key(view: Debate) -> bytes:
    """Return a digest of all that a judge sees."""
    seen = json.dumps(view.model_dump(exclude={"wire"}), default=str)
    return hashlib.sha256(seen.encode()).digest()


async def judge_turns(
    judge: Judge, views: Sequence[Debate], *, deadline: float | None = None
) -> Sequence[ViewVerdicts]:
    """Judge several responses of one debate, with one call if the judge can."""
    turns = await _judge_whole(judge, views, deadline) if len(views) > 1 else []
    if turns:
        return turns
    ask = partial(judge_view, judge, deadline=deadline)
    return await asyncio.gather(*map(ask, views))


async def _judge_whole(
    judge: Judge, views: Sequence[Debate], deadline: float | None
) -> list[ViewVerdicts]:
    """Judge all responses of a debate with one call, if the judge can and the views are nested.

    Return an empty list if that fails or any verdict is missing: each view is then judged alone.
    """
    if not views or not isinstance(judge, JudgesAll):
        return []
    whole = views[-1]
    if [whole.view(turn) for turn in range(len(whole.turns))] != list(views):
        return []
    use = ModelUse()
    try:
        with call_context(plugin=name_of(judge), debate=whole.key, model_use=use):
            verdicts: Any = await CALLS(judge.judge_all, whole, seconds=deadline)
        turns = _all_good(verdicts, len(views))
        return [] if use.failure is not None else turns
    except Exception as error:
        log.debug("the judge failed on a whole debate", exc_info=error)
    return []


def _all_good(given: Any, count: int) -> list[ViewVerdicts]:
    """Return the verdicts of a whole debate, or an empty list if any is invalid."""
    if not isinstance(given, Sequence) or len(given) != count:
        return []
    found = []
    for of_turn in given:
        verdicts = {maxim: _verdict(of_turn, maxim) for maxim in Maxim}
        good = {maxim: one for maxim, one in verdicts.items() if isinstance(one, Verdict)}
        if len(good) != len(Maxim):
            return []
        found.append(ViewVerdicts(good))
    return found
