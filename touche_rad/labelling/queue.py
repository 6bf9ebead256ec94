"""The order in which turns are labelled: what an audit would label next, mixed with random turns.

The random turns are a prefix of one random order of all turns. So, whatever the audit chooses,
those of them that it did not choose are a random sample of all turns that it did not choose.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterator, Sequence
from enum import StrEnum
from statistics import pstdev
from typing import NamedTuple

from touche_rad.debate import Maxim
from touche_rad.labelling.exchanges import Exchanges, JudgeVerdicts, Place
from touche_rad.score.audit.figures import apart


class Sample(StrEnum):
    """Why a turn is in the queue."""

    RANDOM = "random"
    AUDIT = "audit"
    """The judges disagree most on it, or the only judge is least certain."""
    CHOSEN = "chosen"
    """The annotator chose its debate."""


class Item(NamedTuple):
    """A turn in the queue."""

    place: Place
    sample: Sample


def make_queue(
    exchanges: Exchanges,
    judges: Sequence[JudgeVerdicts],
    *,
    random_share: float,
    seed: int,
    disagreements: bool = False,
) -> list[Item]:
    """Return the turns of a run in the order in which they are labelled.

    Args:
        exchanges: The run.
        judges: Verdicts; without them all turns are in random order.
        random_share: Share of random turns.
        seed: Random seed of the random order.
        disagreements: The audit chooses only turns where one judge says yes and another one no.
    """
    shuffled = sorted(exchanges.views)
    random.Random(seed).shuffle(shuffled)
    ranked = _ranked(shuffled, judges, disagreements) if judges else []
    share = random_share if judges else 1.0
    taken: set[Place] = set()
    randoms, audited = _left(shuffled, taken), _left(ranked, taken)
    queue: list[Item] = []
    drawn = 0
    while True:
        wants_random = int((len(queue) + 1) * share + 1e-9) > drawn
        sources = ((randoms, Sample.RANDOM), (audited, Sample.AUDIT))
        for source, sample in sources if wants_random else sources[::-1]:
            place = next(source, None) if sample is Sample.AUDIT or share > 0 else None
            if place is not None:
                break
        else:
            return queue
        taken.add(place)
        drawn += sample is Sample.RANDOM
        queue.append(Item(place, sample))


def chosen_queue(exchanges: Exchanges, ids: Sequence[str]) -> list[Item]:
    """Return the turns of some debates in their order."""
    wanted = {number for number, debate in enumerate(exchanges.debates) if debate.id in ids}
    return [
        Item(place, Sample.CHOSEN) for place in sorted(exchanges.views) if place.debate in wanted
    ]


def _left(places: Sequence[Place], taken: Container[Place]) -> Iterator[Place]:
    return (place for place in places if place not in taken)


def _ranked(
    places: Sequence[Place], judges: Sequence[JudgeVerdicts], disagreements: bool
) -> list[Place]:
    """Return the turns that judges scored; the most disputed, or least certain, first."""
    keys: dict[Place, tuple[float, float]] = {}
    for place in places:
        worst = [
            (-apart(scores), -pstdev(scores))
            for maxim in Maxim
            if (scores := _scores(place, maxim, judges))
            and (not disagreements or len({score >= 0.5 for score in scores}) > 1)
        ]
        if worst:
            keys[place] = min(worst)
    return sorted(keys, key=keys.__getitem__)


def _scores(place: Place, maxim: Maxim, judges: Sequence[JudgeVerdicts]) -> list[float]:
    verdicts = (judge.verdicts.get(place, {}).get(maxim) for judge in judges)
    return [one.score for one in verdicts if one is not None and one.score is not None]
