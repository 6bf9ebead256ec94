"""The order in which turns are labelled: what an audit would label next, mixed with random turns.

Both orders, the audit's and the random one, are fixed before anybody labels. At any time the
audit's turns are the first turns of its order, whether or not they are random turns too; the other
random turns are a random sample of all turns that are not the audit's.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from enum import StrEnum
from statistics import pstdev
from typing import NamedTuple

from touche_rad.criteria import Criteria
from touche_rad.labelling.exchanges import Exchanges, JudgeVerdicts, TurnPlace


class Selection(StrEnum):
    """Why a turn is in the queue."""

    RANDOM = "random"
    AUDIT = "audit"
    """The judges disagree most on it, or the only judge is least certain."""


class QueuedTurn(NamedTuple):
    """A turn in the queue."""

    place: TurnPlace
    sample: Selection
    rank: int | None = None
    """The turn's place in the audit's order; None if the audit does not choose it."""


def make_queue(
    exchanges: Exchanges,
    judges: JudgeVerdicts,
    criteria: Criteria,
    *,
    random_share: float,
    seed: int,
) -> list[QueuedTurn]:
    """Return the turns of a run in the order in which they are labelled."""
    shuffled = sorted(exchanges.views)
    random.Random(seed).shuffle(shuffled)
    ranked = _ranked(shuffled, judges, criteria) if judges else []
    ranks = {place: rank for rank, place in enumerate(ranked)}
    share = random_share if judges else 1.0
    randoms = shuffled if share > 0 else []

    # Each order is gone through once, without the turns that the other one has brought.
    queued: set[TurnPlace] = set()
    sources = {
        Selection.RANDOM: (place for place in randoms if place not in queued),
        Selection.AUDIT: (place for place in ranked if place not in queued),
    }
    queue: list[QueuedTurn] = []
    random_turns = 0
    while True:
        # 1e-9, because a product such as 100 * 0.29 is less than 29.
        wants_random = int((len(queue) + 1) * share + 1e-9) > random_turns
        sample = Selection.RANDOM if wants_random else Selection.AUDIT
        place = next(sources[sample], None)
        if place is None:
            sample = Selection.AUDIT if wants_random else Selection.RANDOM
            place = next(sources[sample], None)
        if place is None:
            return queue
        queued.add(place)
        random_turns += sample is Selection.RANDOM
        queue.append(QueuedTurn(place, sample, ranks.get(place)))


def samples(
    queue: Sequence[QueuedTurn], labelled: Mapping[TurnPlace, str]
) -> dict[TurnPlace, Selection]:
    """Return why turns have a label, and which others the labels of chosen turns stand for."""
    reasons = {place: Selection(sample) for place, sample in labelled.items()}
    audited = [turn for turn in queue if reasons.get(turn.place) is Selection.AUDIT]
    deepest = max((turn.rank or 0 for turn in audited), default=-1)
    for turn in queue:
        if turn.rank is not None and turn.rank <= deepest:
            reasons[turn.place] = Selection.AUDIT
    return reasons


def _ranked(
    places: Sequence[TurnPlace], judges: JudgeVerdicts, criteria: Criteria
) -> list[TurnPlace]:
    """Return the turns that judges scored; the most disputed, or least certain, first."""
    order: dict[TurnPlace, tuple[float, float]] = {}
    for place in places:
        for key in criteria.keys:
            verdicts = [of_judge.get(place, {}).get(key) for of_judge in judges.values()]
            scores = [
                verdict.score
                for verdict in verdicts
                if verdict is not None and verdict.score is not None
            ]
            if not scores:
                continue
            # The difference of the scores, or the uncertainty of a single score.
            apart = max(scores) - min(scores)
            if len(scores) == 1:
                apart = 1 - 2 * abs(scores[0] - 0.5)
            disputed = (-apart, -pstdev(scores))
            order[place] = min(order.get(place, disputed), disputed)
    return sorted(order, key=order.__getitem__)
