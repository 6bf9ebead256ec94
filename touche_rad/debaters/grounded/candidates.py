"""Retrieve candidates with several searches (routes) of the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from touche_rad.debate import Argument, Hit
from touche_rad.debaters.grounded.reading import Reading
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import content_words

CHAINED = 4
"""Arguments similar to the user's message whose attackers are searched."""

_Route = tuple[str, str, str, tuple[str, ...]]
"""Name of a route, the field and the words to search, and a description for the user."""


@dataclass
class Candidate:
    """An argument that may be quoted, and the routes that found it."""

    argument: Argument
    routes: dict[str, float] = field(default_factory=dict)
    """Score per route, divided by the best score of that search."""
    paths: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Description per route of how it leads to the argument."""

    @property
    def path(self) -> tuple[str, ...]:
        """Description of the route with the best score; the first of equal ones."""
        best = max(self.routes, key=lambda route: self.routes[route], default="")
        return self.paths.get(best, ())


def gather(index: ArgumentIndex, reading: Reading, k: int) -> list[Candidate]:
    """Return the candidates of all routes, in a fixed order.

    Args:
        index: The index.
        reading: The debate as read.
        k: Hits per search.
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
        ("attacks", "attacks", reading.message, ("attacks a claim like yours",)),
        *(
            ("clause", "attacks", text, ("attacks a claim like a part of yours",))
            for text in mains[:3]
        ),
        *(
            ("denied", "supports", text, ("supports a claim like one you deny",))
            for text in denied[:2]
        ),
        ("alike", "text", reading.assertion, ("says like you",)),
        ("context-attacks", "attacks", context, ("attacks a claim like what was said so far",)),
        ("context-text", "text", context, ("says like what was said so far",)),
        ("claim", "attacks", reading.claim, ("attacks a claim like your first",)),
    ]


def _chained(alike: Sequence[Hit]) -> list[_Route]:
    """Return searches for attackers of a text like the user's, and of the claim it supports."""
    routes: list[_Route] = []
    for hit in alike[:CHAINED]:
        said = f"{hit.argument.id} says like you: {hit.argument.text}"
        routes.append(("chain", "attacks", hit.argument.text, (said, "attacks the like of that")))
        routes.append(
            (
                "sibling",
                "attacks",
                hit.argument.supports,
                (said, "attacks the like of what that supports"),
            )
        )
    return routes


def _broad(reading: Reading) -> list[_Route]:
    """Return searches for all words of the debate, if no other search has hits."""
    everything = " ".join((reading.claim, *reading.earlier, *reading.own, reading.message))
    told = ("shares words with the debate",)
    return [("broad", name, everything, told) for name in ("attacks", "text", "supports")]


def _search(
    index: ArgumentIndex, routes: Iterable[_Route], k: int, found: dict[str, Candidate]
) -> dict[str, list[Hit]]:
    by_field: dict[str, list[_Route]] = {}
    for one in dict.fromkeys(routes):
        if content_words(one[2]):
            by_field.setdefault(one[1], []).append(one)
    hits: dict[str, list[Hit]] = {}
    for name, asked in by_field.items():
        answers = index.search_all(name, [words for _, _, words, _ in asked], k)
        for (route, _, _, path), answer in zip(asked, answers, strict=True):
            _note(found, route, path, answer)
            hits.setdefault(route, []).extend(answer)
    return hits


def _note(
    found: dict[str, Candidate], route: str, path: tuple[str, ...], answer: Sequence[Hit]
) -> None:
    best = max((hit.score for hit in answer), default=0.0)
    for hit in answer:
        candidate = found.setdefault(hit.argument.id, Candidate(hit.argument))
        share = hit.score / best if best > 0 else 1.0
        if share > candidate.routes.get(route, -1.0):
            candidate.routes[route], candidate.paths[route] = share, path
