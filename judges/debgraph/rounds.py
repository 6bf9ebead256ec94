"""A contest as rounds: one speech of each side, in the order in which they are read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from judges.debgraph.graph import SIDES, Stamp
from touche_rad.contest import Contest, Side
from touche_rad.text import clean


@dataclass(frozen=True)
class Heard:
    """A speech, and where in the debate it stands."""

    text: str
    stamp: Stamp


def rounds_of(contest: Contest, order: Literal["time", "pro"]) -> list[list[Heard]]:
    """Return the speeches by rounds; one that says nothing is left out.

    With `time`, a round ends when a side that has spoken in it speaks again, so that whoever spoke
    first is read first. With `pro`, the paper's loop: each side's first speeches are a round, then
    the second ones, pro before con. A half that is missing is left out.
    """
    said = [
        (contest.sides[speech.speaker], speech.speaker, clean(speech.text))
        for speech in contest.speeches
    ]
    said = [one for one in said if one[2]]
    grouped: list[list[tuple[Side, str, str]]] = []
    if order == "pro":
        pros, cons = ([one for one in said if one[0] == side] for side in SIDES)
        grouped = [[one for one in pair if one] for pair in zip_longest(pros, cons)]
    else:
        for one in said:
            if not grouped or any(one[0] == before[0] for before in grouped[-1]):
                grouped.append([])
            grouped[-1].append(one)
    return [
        [Heard(text, Stamp(side, number, speaker)) for side, speaker, text in group]
        for number, group in enumerate(grouped, 1)
    ]


def at_once(rounds: list[list[Heard]]) -> list[list[Heard]]:
    """Return one round with all that each side said, for a graph that is not grown by rounds."""
    heard = [one for group in rounds for one in group]
    sides: dict[Side, list[Heard]] = {}
    for one in heard:
        sides.setdefault(one.stamp.side, []).append(one)
    return [
        [
            Heard(
                "\n\n".join(one.text for one in said),
                Stamp(side, 1, _only({one.stamp.speaker for one in said})),
            )
            for side, said in sides.items()
        ]
    ] if heard else []  # fmt: skip


def _only(speakers: set[str]) -> str:
    return speakers.pop() if len(speakers) == 1 else ""
