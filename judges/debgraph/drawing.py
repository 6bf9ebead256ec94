"""A debate's graph as an HTML figure with inline SVG; it needs no network and no library.

This module computes the places of the cards and lines; `drawing.html.jinja` has the markup.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from jinja2 import Environment, StrictUndefined, Template

from judges.debgraph.export import as_json
from judges.debgraph.graph import MOTION, SIDES, SceneGraph, chain
from touche_rad.contest import Side
from touche_rad.text import clean

WIDTH: Final = 1160
CARD: Final = 400
OUTER: Final = 70
"""Space at both edges for supporting lines that run past other cards."""
HEAD: Final = 17
LINE: Final = 14
_INDENT, _DEEPEST = 20, 4
_GAP, _BAND_GAP, _BAND_HEAD = 8, 22, 24
_LETTER: Final = 6.6
_MOST_LINES: Final = 3


@dataclass(frozen=True)
class Card:
    """The place of an argument, and its text in lines."""

    id: int
    side: Side | None
    x: float
    y: float
    width: float
    lines: tuple[str, ...]

    @property
    def height(self) -> float:
        """The height for all lines."""
        return HEAD + LINE * len(self.lines) + 10

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """The vertical middle."""
        return self.y + self.height / 2

    @property
    def inner(self) -> float:
        """The edge towards the other side."""
        return self.x + (self.width if self.side == "pro" else 0)

    @property
    def outer(self) -> float:
        """The edge away from the other side."""
        return self.x + (0 if self.side == "pro" else self.width)


@dataclass(frozen=True)
class Layout:
    """All cards, the top of each round, and the height of the drawing."""

    cards: dict[int, Card]
    bands: tuple[tuple[int, float], ...]
    height: float


def layout(graph: SceneGraph) -> Layout:
    """Place every argument of a graph: pro on the left, con on the right, round below round."""
    motion = Card(MOTION, None, (WIDTH - 640) / 2, 8, 640, wrapped(graph.motion, 620))
    cards = {MOTION: motion}
    y = motion.bottom + _BAND_GAP + 14
    bands: list[tuple[int, float]] = []
    for number in sorted({node.origin.round for node in graph.arguments()}):
        bands.append((number, y))
        y += _BAND_HEAD
        y = max(_column(graph, number, side, y, cards) for side in SIDES) + _BAND_GAP
    return Layout(cards, tuple(bands), y)


def _column(graph: SceneGraph, number: int, side: Side, y: float, cards: dict[int, Card]) -> float:
    """Place one side's arguments of a round, and return the lower end of the column."""
    for id_, depth in _ordered(graph, number, side, cards):
        indent = _INDENT * min(depth, _DEEPEST)
        width = CARD - indent
        x = OUTER + indent if side == "pro" else WIDTH - OUTER - CARD
        cards[id_] = Card(id_, side, x, y, width, wrapped(graph.node(id_).text, width - 24))
        y = cards[id_].bottom + _GAP
    return y


def _ordered(
    graph: SceneGraph, number: int, side: Side, cards: dict[int, Card]
) -> list[tuple[int, int]]:
    """Return a side's arguments of a round with their depths, each below what it supports."""
    here = [node.id for node in graph.arguments(side) if node.origin.round == number]
    supports = graph.supports().subgraph(here)

    def place(id_: int) -> tuple[float, int]:
        """Order rebuttals like the arguments they attack, after arguments that attack none."""
        targets = [
            cards[edge.target].y
            for edge in graph.outgoing(id_)
            if edge.relation.attacks and edge.target in cards
        ]
        return (sum(targets) / len(targets) if targets else -1.0, id_)

    depths: dict[int, int] = {}
    roots = sorted((id_ for id_ in here if not supports.out_degree(id_)), key=place)
    for root in [*roots, *here]:  # arguments in a circle have no root
        waiting = [(root, 0)]
        while waiting:
            id_, depth = waiting.pop()
            if id_ not in depths:
                depths[id_] = depth
                below = sorted(supports.predecessors(id_), key=here.index, reverse=True)
                waiting += [(child, depth + 1) for child in below]
    return list(depths.items())


def wrapped(text: str, width: float) -> tuple[str, ...]:
    """Break a text into at most three lines of a width; an ellipsis stands for the rest."""
    room = int(width / _LETTER)
    lines: list[str] = [""]
    for word in text.split():
        for piece in _pieces(word, room):
            longer = f"{lines[-1]} {piece}".strip()
            if _columns(longer) <= room:
                lines[-1] = longer
            else:
                lines.append(piece)
    if len(lines) <= _MOST_LINES:
        return tuple(lines)
    last = lines[_MOST_LINES - 1]
    while last and _columns(last) > room - 1:
        last = last[:-1]
    return (*lines[: _MOST_LINES - 1], f"{last}…")


def _pieces(word: str, room: int) -> list[str]:
    """Cut a word that is wider than a line."""
    pieces = [""]
    for letter in word:
        if _columns(pieces[-1] + letter) > room:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def _columns(text: str) -> int:
    """Return the width of a text, in narrow letters."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def figure(graph: SceneGraph, names: Mapping[Side, str] | None = None) -> str:
    """Return the drawing, for a page that contains `style()` and `script()` once.

    Args:
        graph: The graph.
        names: The speaker of each side, for the heads of the columns.
    """
    placed = layout(graph)
    whole = json.dumps(as_json(graph), sort_keys=True)
    return _template().render(
        key=hashlib.sha256(whole.encode("utf-8")).hexdigest()[:10],
        width=WIDTH,
        height=round(placed.height),
        bands=placed.bands,
        edges=_lines(graph, placed),
        nodes=[_node(graph, card) for card in placed.cards.values()],
        heads=[
            (
                OUTER if side == "pro" else WIDTH - OUTER - CARD,
                placed.bands[0][1] - 8,
                side.capitalize(),
                clean((names or {}).get(side, "")),
            )
            for side in SIDES
            if placed.bands
        ],
    )


def style() -> str:
    """Return the CSS of all drawings."""
    return _file("drawing.css")


def script() -> str:
    """Return the JavaScript that highlights what belongs to an argument."""
    return _file("drawing.js")


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


@cache
def _template() -> Template:
    jinja = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return jinja.from_string(_file("drawing.html.jinja"))


def _node(graph: SceneGraph, card: Card) -> dict[str, object]:
    """Return what the template shows of a card."""
    motion = card.id == MOTION
    text = graph.motion if motion else graph.node(card.id).text
    kind = "the motion" if motion else graph.kind(card.id).value
    return {
        "id": card.id,
        "card": card,
        "kind": kind.split()[0],
        "head": kind if motion else f"{card.id} · {kind}",
        "label": f"{kind}: {text}" if motion else f"{card.id}, {card.side}, {kind}: {text}",
        "chain": " ".join(map(str, chain(graph, card.id))),
        "lines": [
            (card.y + HEAD + LINE * number, line) for number, line in enumerate(card.lines, 1)
        ],
    }


def _lines(graph: SceneGraph, placed: Layout) -> list[dict[str, object]]:
    """Return what the template shows of each relation."""
    return [
        {
            "edge": edge,
            "form": "attack" if edge.relation.attacks else "support",
            "far": edge.target == MOTION,
            "path": _line(placed.cards[edge.source], placed.cards[edge.target]),
        }
        for edge in graph.edges()
    ]


def _line(source: Card, target: Card) -> str:
    if target.side is None:
        x, y = WIDTH / 2, target.bottom
        return _curve(source.inner, source.y + 9, x, source.y - 40, x, y + 60, x, y)
    down = 1 if target.y >= source.y else -1
    if source.side != target.side:
        begin, end = source.middle + 5 * down, target.middle - 5 * down
        reach = (target.inner - source.inner) * 0.45
        return _curve(
            source.inner,
            begin,
            source.inner + reach,
            begin,
            target.inner - reach,
            end,
            target.inner,
            end,
        )
    begin, end = source.middle, target.middle - (target.height / 4) * down
    away = min(OUTER - 8, 12 + 0.16 * abs(end - begin)) * (-1 if source.side == "pro" else 1)
    edge = min(source.outer, target.outer) if away < 0 else max(source.outer, target.outer)
    return _curve(source.outer, begin, edge + away, begin, edge + away, end, target.outer, end)


def _curve(x: float, y: float, *points: float) -> str:
    return f"M{x:.0f} {y:.0f}C" + " ".join(f"{point:.0f}" for point in points)
