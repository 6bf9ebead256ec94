"""What an encoder learns from: each argument's two claims, beside its text.

A claim's argument must score above the others of the batch. Arguments on the same claim (whichever
side they are on) and those whose text is the claim itself are no wrong answers: they are left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

from retrieval.analyser import analyse
from retrieval.fields import ALL, content
from touche_rad.debate import Argument

FIELDS: Final = ("text", ALL)
"""What is encoded of an argument in turns, since the pipelines search both."""
_HIDDEN: Final = {"attacks": "", "supports": ""}


def shown(argument: Argument, field: str) -> str:
    """Return what an index whose claims are hidden holds in a field: the answer is not told."""
    return content(argument.model_copy(update=_HIDDEN), field)


def claims(argument: Argument) -> list[str]:
    """Return an argument's claims, each once."""
    found = (argument.attacks.strip(), argument.supports.strip())
    return list(dict.fromkeys(claim for claim in found if claim))


def usable(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that have a text and a claim."""
    return [one for one in arguments if one.text.strip() and claims(one)]


def batches(
    arguments: Sequence[Argument], size: int, group: int, seed: str
) -> Iterator[list[Argument]]:
    """Yield the arguments by batches, in an order of the seed's.

    Up to `group` arguments of a topic stay together: they are what is hardest to tell apart.
    """
    chance = random.Random(seed)
    by_topic: dict[str, list[Argument]] = {}
    for one in arguments:
        by_topic.setdefault(one.topic, []).append(one)
    groups: list[list[Argument]] = []
    for held in by_topic.values():
        chance.shuffle(held)
        groups += [held[at : at + group] for at in range(0, len(held), group)]
    chance.shuffle(groups)
    order = [one for held in groups for one in held]
    yield from (order[at : at + size] for at in range(0, len(order), size))


def asked(part: Sequence[Argument]) -> list[tuple[str, int]]:
    """Return a batch's claims, each with the place of its argument."""
    return [(claim, place) for place, one in enumerate(part) for claim in claims(one)]


def left_out(part: Sequence[Argument]) -> list[list[bool]]:
    """Return for each claim of a batch which arguments are no wrong answers to it."""
    about = [set(map(analyse, claims(one))) for one in part]
    said = [analyse(one.text) for one in part]
    return [
        [
            at != place and (bool(about[place] & about[at]) or said[at] in about[place])
            for at in range(len(part))
        ]
        for _, place in asked(part)
    ]


def passages(part: Sequence[Argument], step: int) -> list[str]:
    """Return what is encoded of a batch's arguments at a step."""
    return [shown(one, FIELDS[step % len(FIELDS)]) for one in part]
