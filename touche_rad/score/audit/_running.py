"""Run an audit: judges score responses unchanged, and changed by each probe."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from touche_rad import files
from touche_rad.debate import Debate, Maxim, Response
from touche_rad.errors import UserError
from touche_rad.evidence.instructions import warning
from touche_rad.plugins import Judge
from touche_rad.runs.judging import judge_view
from touche_rad.runs.work import Progress
from touche_rad.score.audit._probes import PROBES
from touche_rad.score.audit.figures import Audit, Scores, agreements, flips

Judgement = tuple[str, str, int]
"""The judge, the probe, and the number of the turn."""
_AT_ONCE = 16


def _views(runs: Sequence[Path], bad: files.BadLines | None) -> list[tuple[str, Debate]]:
    """Return the judged turns of all runs, with the debate they are of."""
    return [
        (debate.id or str(number), view)
        for run in runs
        for number, (debate, of_debate) in enumerate(files.read_views(run, bad), 1)
        for view in of_debate
    ]


def _sample(
    views: Sequence[tuple[str, Debate]], most: int | None, seed: int
) -> list[tuple[str, Debate]]:
    """Return a random sample of turns in their order; the same for the same seed."""
    if most is None or len(views) <= most:
        return list(views)
    places = sorted(random.Random(seed).sample(range(len(views)), most))
    return [views[place] for place in places]


def _elsewhere(views: Sequence[tuple[str, Debate]], place: int) -> Response | None:
    """Return the next response of a debate on another claim."""
    own, view = views[place]
    for step in range(1, len(views)):
        key, other = views[(place + step) % len(views)]
        if key != own and other.claim != view.claim and other.last.response:
            return other.last.response
    return None


async def audit(
    runs: Sequence[Path],
    judges: Mapping[str, Judge],
    *,
    most: int | None = None,
    seed: int = 0,
    bad: files.BadLines | None = None,
    progress: Progress | None = None,
    deadline: float | None = None,
) -> Audit:
    """Audit judges on the responses of runs."""
    views = _sample(_views(runs, bad), most, seed)
    if not views:
        raise UserError(f"{runs[0]} contains no response to judge")
    work = []
    for name in judges:
        for place, (_, view) in enumerate(views):
            work.append(((name, "", place), view))
            for probe in PROBES:
                changed = probe.on(view, _elsewhere(views, place))
                if changed is not None:
                    work.append(((name, probe.name, place), changed))
    scores: dict[Judgement, Scores] = {}
    rest = iter(work)

    async def take() -> None:
        for key, view in rest:
            result = await judge_view(judges[key[0]], view, deadline=deadline)
            scores[key] = {
                maxim: None if maxim in result.unscored else result.verdicts[maxim].score
                for maxim in Maxim
            }
            if progress is not None:
                progress(len(scores), len(work))

    async with anyio.create_task_group() as group:
        for _ in range(_AT_ONCE):
            group.start_soon(take)
    # In the order of the work, not of its end, on which the last digit of a mean would depend.
    return _figures(judges, views, {key: scores[key] for key, _ in work})


def _figures(
    judges: Mapping[str, Judge],
    views: Sequence[tuple[str, Debate]],
    scores: Mapping[Judgement, Scores],
) -> Audit:
    rows = []
    for name in judges:
        pairs: dict[tuple[str, Maxim], list[tuple[float, float]]] = defaultdict(list)
        for (judge, probe, place), after in scores.items():
            if judge != name or not probe:
                continue
            before = scores[name, "", place]
            for maxim in Maxim:
                first, second = before[maxim], after[maxim]
                if first is not None and second is not None:
                    pairs[probe, maxim].append((first, second))
        rows += flips(name, pairs)
    plain = {name: [scores[name, "", place] for place in range(len(views))] for name in judges}
    return Audit(
        turns=len(views),
        judges=tuple(judges),
        flips=tuple(rows),
        agreement=tuple(agreements(plain)),
        warning=warning((key, view.turns) for key, view in dict(views).items()),
    )
