"""Where candidates come from: several ways into the index, each remembered with what it found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from touche_rad.debate import Argument, Hit
from touche_rad.debaters.grounded.reading import Reading
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import content_words

CHAINED = 4
"""How many arguments that speak like the user are followed to what attacks them."""

_Route = tuple[str, str, str]
"""A route's name, the field it searches, and the words it searches for."""


@dataclass
class Candidate:
    """An argument that may be quoted, the routes that led to it, and how well each led there."""

    argument: Argument
    routes: dict[str, float] = field(default_factory=dict)
    """For each route the score, as a share of the best score of that search."""


def gather(index: ArgumentIndex, reading: Reading, k: int) -> list[Candidate]:
    """Return what every route finds, in a fixed order.

    Args:
        index: Where to search.
        reading: What the debate asks for.
        k: How many hits of each search are looked at.
    """
    found: dict[str, Candidate] = {}
    first = _search(index, _direct(reading), k, found)
    _search(index, _chained(first.get("alike", [])), k, found)
    if not found:
        _search(index, _broad(reading), k, found)
    return list(found.values())


def _direct(reading: Reading) -> list[_Route]:
    mains = [part.text for part in reading.parts if not part.denied and part.weight >= 0.5]
    denied = [part.text for part in reading.parts if part.denied]
    context = f"{reading.claim} {reading.answered} {reading.assertion}"
    return [
        ("attacks", "attacks", reading.message),
        *(("clause", "attacks", text) for text in mains[:3]),
        *(("denied", "supports", text) for text in denied[:2]),
        ("alike", "text", reading.assertion),
        ("context-attacks", "attacks", context),
        ("context-text", "text", context),
        ("claim", "attacks", reading.claim),
    ]


def _chained(alike: Sequence[Hit]) -> list[_Route]:
    """What attacks a text like the user's, and what attacks the claim which that text supports."""
    routes: list[_Route] = []
    for hit in alike[:CHAINED]:
        routes.append(("chain", "attacks", hit.argument.text))
        routes.append(("sibling", "attacks", hit.argument.supports))
    return routes


def _broad(reading: Reading) -> list[_Route]:
    """Every word of the whole debate, for a message that none of the index's words is in."""
    everything = " ".join((reading.claim, *reading.earlier, *reading.own, reading.message))
    return [("broad", name, everything) for name in ("attacks", "text", "supports")]


def _search(
    index: ArgumentIndex, routes: Iterable[_Route], k: int, found: dict[str, Candidate]
) -> dict[str, list[Hit]]:
    by_field: dict[str, list[tuple[str, str]]] = {}
    for route, name, words in dict.fromkeys(routes):
        if content_words(words):
            by_field.setdefault(name, []).append((route, words))
    hits: dict[str, list[Hit]] = {}
    for name, asked in by_field.items():
        answers = index.search_all(name, [words for _, words in asked], k)
        for (route, _), answer in zip(asked, answers, strict=True):
            _note(found, route, answer)
            hits.setdefault(route, []).extend(answer)
    return hits


def _note(found: dict[str, Candidate], route: str, answer: Sequence[Hit]) -> None:
    best = max((hit.score for hit in answer), default=0.0)
    for hit in answer:
        candidate = found.setdefault(hit.argument.id, Candidate(hit.argument))
        share = hit.score / best if best > 0 else 1.0
        candidate.routes[route] = max(share, candidate.routes.get(route, 0.0))
