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
from touche_rad.labelling.exchanges import Exchanges, JudgeVerdicts, Place


class Selection(StrEnum):
    """Why a turn is in the queue."""

    RANDOM = "random"
    AUDIT = "audit"
    """The judges disagree most on it, or the only judge is least certain."""


class Item(NamedTuple):
    """A turn in the queue."""

    place: Place
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
) -> list[Item]:
    """Return the turns of a run in the order in which they are labelled."""
    shuffled = sorted(exchanges.views)
    random.Random(seed).shuffle(shuffled)
    ranked = _ranked(shuffled, judges, criteria) if judges else []
    ranks = {place: rank for rank, place in enumerate(ranked)}
    share = random_share if judges else 1.0
    queued: set[Place] = set()
    randoms = (place for place in shuffled if place not in queued)
    audited = (place for place in ranked if place not in queued)
    queue: list[Item] = []
    random_turns = 0
    while True:
        wants_random = int((len(queue) + 1) * share + 1e-9) > random_turns
        sources = ((randoms, Selection.RANDOM), (audited, Selection.AUDIT))
        for source, sample in sources if wants_random else sources[::-1]:
            place = next(source, None) if sample is Selection.AUDIT or share > 0 else None
            if place is not None:
                break
        else:
            return queue
        queued.add(place)
        random_turns += sample is Selection.RANDOM
        queue.append(Item(place, sample, ranks.get(place)))


def samples(queue: Sequence[Item], labelled: Mapping[Place, str]) -> dict[Place, Selection]:
    """Return why turns have a label, and which others the labels of chosen turns stand for."""
    audited = {place for place, sample in labelled.items() if sample == Selection.AUDIT}
    deepest = max((item.rank or 0 for item in queue if item.place in audited), default=-1)
    reasons = {place: Selection(sample) for place, sample in labelled.items()}
    return reasons | {
        item.place: Selection.AUDIT
        for item in queue
        if item.rank is not None and item.rank <= deepest
    }


def _ranked(places: Sequence[Place], judges: JudgeVerdicts, criteria: Criteria) -> list[Place]:
    """Return the turns that judges scored; the most disputed, or least certain, first."""
    keys: dict[Place, tuple[float, float]] = {}
    for place in places:
        for key in criteria.keys:
            verdicts = (of_judge.get(place, {}).get(key) for of_judge in judges.values())
            scores = [one.score for one in verdicts if one is not None and one.score is not None]
            if not scores:
                continue
            # The difference of the scores, or the uncertainty of a single score.
            apart = max(scores) - min(scores)
            if len(scores) == 1:
                apart = 1 - 2 * abs(scores[0] - 0.5)
            disputed = (-apart, -pstdev(scores))
            keys[place] = min(keys.get(place, disputed), disputed)
    return sorted(keys, key=keys.__getitem__)
