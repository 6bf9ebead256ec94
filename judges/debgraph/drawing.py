"""A debate's graph as an HTML fragment with inline SVG, without network or library."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any, Final

from judges.debgraph.export import as_json, from_json
from judges.debgraph.graph import MOTION, SIDES, Edge, SceneGraph, chain
from touche_rad.contest import Side
from touche_rad.text import clean

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


_CUT = 10
"""How much is cut off the corners of con's cards."""


Drawn = SceneGraph | Mapping[str, Any]
"""A graph, or what an outcome's details hold as `graph`."""


def drawing(graph: Drawn, names: Mapping[Side, str] | None = None) -> str:
    """Return a fragment that needs nothing else.

    Args:
        graph: The graph.
        names: Who speaks for each side, for the heads of the columns.
    """
    return f"<style>{style()}</style>\n{figure(graph, names)}<script>{script()}</script>\n"


def figure(graph: Drawn, names: Mapping[Side, str] | None = None) -> str:
    """Return the drawing without style and script, for a page that has them once."""
    whole = graph if isinstance(graph, SceneGraph) else from_json(graph)
    placed = layout(whole)
    told = json.dumps(as_json(whole), sort_keys=True)
    key = hashlib.sha256(told.encode("utf-8")).hexdigest()[:10]
    body = "".join([
        *(_edge(edge, placed, key) for edge in whole.edges()),
        *(_band(number, y) for number, y in placed.bands),
        *_heads(placed, names or {}),
        *(_card(whole, card) for card in placed.cards.values()),
    ])  # fmt: skip
    return (
        f'<figure class="debgraph">\n{_legend()}\n'
        f'<p class="dg-told" aria-live="polite">Point at an argument to follow it; '
        "click to hold it.</p>\n"
        f'<div class="dg-scroll"><svg viewBox="0 0 {WIDTH} {placed.height:.0f}" role="group" '
        f'aria-label="The graph of the debate">{_markers(key)}{body}</svg></div>\n</figure>\n'
    )


def style() -> str:
    """Return the style of every drawing."""
    return _beside("drawing.css")


def script() -> str:
    """Return the script that lets a reader follow an argument in each drawing of a page."""
    return _beside("drawing.js")


def _beside(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _markers(key: str) -> str:
    """The ends of lines: a filled arrow for a support, a bar across for an attack."""
    return (
        f'<defs><marker id="dg-{key}-support" class="dg-end" viewBox="0 0 10 10" refX="9" refY="5" '
        'markerWidth="8" markerHeight="8" orient="auto"><path class="dg-fill" d="M0 0 10 5 0 10z"/>'
        f'</marker><marker id="dg-{key}-attack" class="dg-end" viewBox="0 0 10 12" refX="8" '
        'refY="6" markerWidth="9" markerHeight="11" orient="auto">'
        '<path class="dg-bar" d="M8 0V12M0 6H8"/></marker></defs>'
    )


def _legend() -> str:
    rows = (
        ('<rect class="dg-pro" x="1" y="2" width="26" height="14" rx="7"/>', "pro: blue, rounded"),
        (f'<path class="dg-con" d="{_cut_corners(1, 2, 26, 14, 4)}"/>', "con: orange, cut corners"),
        ('<path class="dg-support" d="M1 9H20"/><path class="dg-fill" d="M18 5 27 9 18 13z"/>',
         "supports: green, whole line, arrow"),
        ('<path class="dg-attack" d="M1 9H24"/><path class="dg-bar" d="M25 3V15"/>',
         "attacks: red, broken line, bar"),
        ('<rect class="dg-thick" x="2" y="3" width="24" height="12"/>', "thick: a claim"),
    )  # fmt: skip
    samples = "".join(
        f'<li><svg viewBox="0 0 28 18" width="28" height="18" aria-hidden="true">{form}</svg>'
        f"{told}</li>"
        for form, told in rows
    )
    return f'<ul class="dg-legend">{samples}</ul>'


def _heads(placed: Layout, names: Mapping[Side, str]) -> list[str]:
    """The names of the columns, above the first round."""
    if not placed.bands:
        return []
    y = placed.bands[0][1] - 8
    places: dict[Side, float] = {"pro": OUTER, "con": WIDTH - OUTER - CARD}
    return [
        f'<text class="dg-head" x="{places[side]}" y="{y:.0f}">'
        f"{escape(_head(side, names.get(side, '')))}</text>"
        for side in SIDES
    ]


def _head(side: Side, name: str) -> str:
    return f"{side.capitalize()}: {clean(name)}" if name else side.capitalize()


def _band(number: int, y: float) -> str:
    return (
        f'<path class="dg-band" d="M0 {y:.0f}H{WIDTH}"/>'
        f'<text class="dg-round" x="{WIDTH / 2:.0f}" y="{y + 15:.0f}">Round {number}</text>'
    )


def _card(graph: SceneGraph, card: Card) -> str:
    motion = card.id == MOTION
    text = graph.motion if motion else graph.node(card.id).text
    kind = "the motion" if motion else graph.kind(card.id).value
    head = kind if motion else f"{card.id} · {kind}"
    told = f"{head}: {text}" if motion else f"{card.id}, {card.side}, {kind}: {text}"
    tone = card.side or "motion"
    lines = "".join(
        f'<text x="{card.x + 12:.0f}" y="{card.y + HEAD + LINE * number:.0f}">{escape(line)}</text>'
        for number, line in enumerate(card.lines, 1)
    )
    followed = " ".join(map(str, chain(graph, card.id)))
    return (
        f'<g class="dg-node dg-{tone} dg-{kind.split()[0]}" data-id="{card.id}" '
        f'data-chain="{followed}" tabindex="0" role="button" aria-label="{escape(told)}">'
        f"<title>{escape(told)}</title>{_outline(card)}"
        f'<text class="dg-kind" x="{card.x + 12:.0f}" y="{card.y + 14:.0f}">{escape(head)}</text>'
        f"{lines}</g>"
    )


def _outline(card: Card) -> str:
    if card.side == "con":
        path = _cut_corners(card.x, card.y, card.width, card.height, _CUT)
        return f'<path class="dg-card" d="{path}"/>'
    return (
        f'<rect class="dg-card" x="{card.x:.0f}" y="{card.y:.0f}" width="{card.width:.0f}" '
        f'height="{card.height:.0f}" rx="{12 if card.side else 0}"/>'
    )


def _cut_corners(x: float, y: float, width: float, height: float, cut: float) -> str:
    return (
        f"M{x + cut:.0f} {y:.0f}h{width - 2 * cut:.0f}l{cut} {cut}v{height - 2 * cut:.0f}"
        f"l-{cut} {cut}h-{width - 2 * cut:.0f}l-{cut} -{cut}v-{height - 2 * cut:.0f}z"
    )


def _edge(edge: Edge, placed: Layout, key: str) -> str:
    source, target = placed.cards[edge.source], placed.cards[edge.target]
    form = "attack" if edge.relation.attacks else "support"
    far = " dg-far" if edge.target == MOTION else ""
    return (
        f'<path class="dg-edge dg-{form}{far}" data-from="{edge.source}" data-to="{edge.target}" '
        f'marker-end="url(#dg-{key}-{form})" d="{_line(source, target)}"><title>'
        f"{edge.source} {escape(edge.relation.value)} {edge.target}</title></path>"
    )


def _line(source: Card, target: Card) -> str:
    if target.side is None:
        x, y = WIDTH / 2, target.y + target.height
        return _curve(source.inner, source.y + 9, x, source.y - 40, x, y + 60, x, y)
    down = 1 if target.y >= source.y else -1
    if source.side != target.side:
        begin, end = source.middle + 5 * down, target.middle - 5 * down
        reach = (target.inner - source.inner) * 0.45
        return _curve(
            source.inner, begin, source.inner + reach, begin, target.inner - reach, end,
            target.inner, end,
        )  # fmt: skip
    begin, end = source.middle, target.middle - (target.height / 4) * down
    away = min(OUTER - 8, 12 + 0.16 * abs(end - begin)) * (-1 if source.side == "pro" else 1)
    edge = min(source.outer, target.outer) if away < 0 else max(source.outer, target.outer)
    return _curve(source.outer, begin, edge + away, begin, edge + away, end, target.outer, end)


def _curve(*at: float) -> str:
    x, y, *rest = at
    return f"M{x:.0f} {y:.0f}C" + " ".join(f"{one:.0f}" for one in rest)
