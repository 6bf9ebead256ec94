"""Where the arguments of a drawing stand: a flow sheet, as debaters take notes.

Pro stands left and con right, a band a round; what supports a point stands below it, a little
further out. So rebuttals cross the middle and supports run along the outer edge.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

from judges.debgraph.graph import MOTION, SIDES, SceneGraph
from touche_rad.contest import Side

WIDTH: Final = 1160
CARD: Final = 400
OUTER: Final = 70
"""Room at either edge for supports that run past other cards."""
HEAD: Final = 17
LINE: Final = 14
_INDENT, _DEEPEST = 20, 4
_GAP, _BAND_GAP, _BAND_HEAD = 8, 22, 24
_LETTER: Final = 6.6
_MOST_LINES: Final = 3


@dataclass(frozen=True)
class Card:
    """An argument's place and its text in lines."""

    id: int
    side: Side | None
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]

    @property
    def middle(self) -> float:
        """Its height's middle."""
        return self.y + self.height / 2

    @property
    def inner(self) -> float:
        """The edge that faces the other side."""
        return self.x + (self.width if self.side == "pro" else 0)

    @property
    def outer(self) -> float:
        """The edge that faces away from it."""
        return self.x + (0 if self.side == "pro" else self.width)


@dataclass(frozen=True)
class Layout:
    """All cards, and where each round begins."""

    cards: dict[int, Card]
    bands: tuple[tuple[int, float], ...]
    height: float


def layout(graph: SceneGraph) -> Layout:
    """Place every argument of a graph; circles and ends that are missing do no harm."""
    lines = wrapped(graph.motion, 620)
    cards = {
        MOTION: Card(MOTION, None, (WIDTH - 640) / 2, 8, 640, HEAD + LINE * len(lines) + 10, lines)
    }
    y = cards[MOTION].y + cards[MOTION].height + _BAND_GAP + 14
    bands: list[tuple[int, float]] = []
    for number in sorted({node.stamp.round for node in graph.arguments()}):
        bands.append((number, y))
        y += _BAND_HEAD
        y = max(_column(graph, number, side, y, cards) for side in SIDES) + _BAND_GAP
    return Layout(cards, tuple(bands), y)


def _column(graph: SceneGraph, number: int, side: Side, y: float, cards: dict[int, Card]) -> float:
    """Place one side's arguments of a round, and return where they end."""
    for id_, depth in _in_order(graph, number, side, cards):
        indent = _INDENT * min(depth, _DEEPEST)
        width = CARD - indent
        x = OUTER + indent if side == "pro" else WIDTH - OUTER - CARD
        lines = wrapped(graph.node(id_).text, width - 24)
        height = HEAD + LINE * len(lines) + 10
        cards[id_] = Card(id_, side, x, y, width, height, lines)
        y += height + _GAP
    return y


def _in_order(
    graph: SceneGraph, number: int, side: Side, cards: dict[int, Card]
) -> list[tuple[int, int]]:
    """Return a side's arguments of a round with their depths, each below what it supports."""
    here = [node.id for node in graph.arguments(side) if node.stamp.round == number]
    inside = set(here)
    parents = {
        id_: [
            edge.target for edge in graph.leaving(id_)
            if edge.target in inside and not edge.relation.attacks and edge.target != id_
        ]
        for id_ in here
    }  # fmt: skip
    found: list[tuple[int, int]] = []
    seen: set[int] = set()
    roots = sorted(
        (id_ for id_ in here if not parents[id_]), key=lambda id_: _near(graph, id_, cards)
    )
    for root in [*roots, *here]:
        left = [(root, 0)]
        while left:
            id_, depth = left.pop()
            if id_ in seen:
                continue
            seen.add(id_)
            found.append((id_, depth))
            left += [(child, depth + 1) for child in reversed(here) if id_ in parents[child]]
    return found


def _near(graph: SceneGraph, id_: int, cards: dict[int, Card]) -> tuple[float, int]:
    """What is against something stands in the order of what it is against, after what is not."""
    targets = [
        cards[edge.target].y for edge in graph.leaving(id_)
        if edge.relation.attacks and edge.target in cards
    ]  # fmt: skip
    return (sum(targets) / len(targets) if targets else -1.0, id_)


def wrapped(text: str, width: float) -> tuple[str, ...]:
    """Break a text into at most three lines of a width; what is left out shows as an ellipsis."""
    room = int(width / _LETTER)
    lines: list[str] = [""]
    for word in text.split():
        for piece in _pieces(word, room):
            joined = f"{lines[-1]} {piece}".strip()
            if _wide(joined) <= room:
                lines[-1] = joined
            else:
                lines.append(piece)
    if len(lines) <= _MOST_LINES:
        return tuple(lines)
    last = lines[_MOST_LINES - 1]
    while last and _wide(last) > room - 1:
        last = last[:-1]
    return (*lines[: _MOST_LINES - 1], f"{last}…")


def _pieces(word: str, room: int) -> list[str]:
    """Cut a word that is wider than a line."""
    pieces = [""]
    for letter in word:
        if _wide(pieces[-1] + letter) > room:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def _wide(text: str) -> int:
    """How many narrow letters a text is wide."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
