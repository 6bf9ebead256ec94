"""Search for arguments against the user's message, and rank them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

from pydantic import Field

from touche_rad.debate import Argument, Debate
from touche_rad.debaters.grounded._polarity import side, sides
from touche_rad.plugins import (
    ArgumentIndex,
    MayNameFile,
    Meaning,
    Retriever,
    arguments_by,
    meaning_of,
)
from touche_rad.text import clean, content_words, cut_to_words

log = logging.getLogger(__name__)

LONGEST: Final = 400
"""Maximum words of an utterance that are searched."""

PHRASES: Final[Mapping[str, str]] = {
    "attacks": "attacks a claim like those of the debate",
    "text": "has words of your message in its text, claims or topic",
    "topic": "is about the topic of the debate",
    "side": "is probably on the other side than you",
    "meaning": "attacks a claim with the meaning of your message",
    "against": "is against you according to the stance model",
    "retriever": "is high in the retriever's list",
}
"""What the features mean, as parts of a sentence that begins with "it". All have the weight 1."""
SIDE: Final = "side"
"""From 2, surely on the other side than the user, to -2."""
AGAINST: Final = "against"
"""The same from a stance model, which replaces `SIDE`."""
_WEIGHT: Final = 2.0
"""Weight of a side beside searches and topic."""
_NEAR: Final = 4
"""One in this many hits of a search may come from vectors."""
_AGREED: Final = 0.7
"""Share of the nearest claims that have one topic, from which the user means this topic."""


@dataclass(frozen=True)
class Queries:
    """The texts of a debate that are searched."""

    message: str
    context: str
    """The first claim, the last answer and the message."""
    user: str
    """All messages of the user that are read."""
    spoken: tuple[str, ...]
    """All messages and responses."""


def read(debate: Debate) -> Queries:
    """Read a debate whose last turn needs an answer."""
    users = [_shortened(turn.utterance) for turn in debate.turns]
    answers = [_shortened(turn.response.content) for turn in debate.turns[:-1] if turn.response]
    context = dict.fromkeys([users[0], *answers[-1:], users[-1]])
    return Queries(users[-1], " ".join(context), " ".join(users), (*users, *answers))


def _shortened(text: str) -> str:
    return cut_to_words(clean(text), LONGEST)


@dataclass(frozen=True)
class Ranked:
    """A candidate with the searches that found it and the parts of its score."""

    argument: Argument
    routes: Mapping[str, float] = field(default_factory=dict)
    """Score in each search, divided by the score of its best hit."""
    features: Mapping[str, float] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    meant: bool = False
    """Whether vectors say that the user means its topic."""

    @property
    def score(self) -> float:
        """The sum of the features."""
        return sum(self.features.values())


def rank(index: ArgumentIndex, queries: Queries, k: int) -> list[Ranked]:
    """Return the candidates of all searches, best first."""
    arguments: dict[str, Argument] = {}
    routes = {
        "attacks": _search(index, "attacks", queries.context, k, arguments),
        "text": _search(index, "all", queries.message, k, arguments),
    }
    meaning = meaning_of(index)
    nearest = _nearest(index, meaning, queries, max(1, k // _NEAR), arguments) if meaning else {}
    # A claim is often near in meaning to claims with which it shares no word.
    topics = _topics([nearest] if nearest else routes.values(), arguments)
    count = Counter(arguments[one].topic for one in nearest)
    agreed = {topic for topic, number in count.items() if number >= _AGREED * len(nearest)}
    likeness = _likeness(meaning, queries, arguments) if meaning else {}
    ranked = []
    for one, argument in arguments.items():
        features = {name: of.get(one, 0.0) for name, of in routes.items()}
        features["topic"] = topics.get(argument.topic, 0.0)
        features |= {"meaning": likeness[one]} if likeness else {}
        searches = {**routes, "meaning": nearest}
        hits = {name: of[one] for name, of in searches.items() if one in of}
        meant = argument.topic in agreed
        ranked.append(Ranked(argument, hits, features, _path(hits), meant))
    return ordered(_with_sides(ranked, queries, topics))


def rank_by(retriever: Retriever, queries: Queries, k: int) -> list[Ranked]:
    """Return the candidates of a retriever for the first claim and the message, in its order."""
    claims = dict.fromkeys((queries.spoken[0], queries.message))
    hits = retriever.search(" ".join(claims), k)
    return [
        Ranked(hit.argument, {}, {"retriever": 1 - rank / len(hits)}, hit.path)
        for rank, hit in enumerate(hits)
    ]


def ordered(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Sort by score, then by id."""
    return sorted(ranked, key=lambda one: (-one.score, one.argument.id))


def _search(
    index: ArgumentIndex, name: str, query: str, k: int, arguments: dict[str, Argument]
) -> dict[str, float]:
    hits = index.search(name, query, k) if content_words(query) else []
    best = max((hit.score for hit in hits), default=0.0)
    for hit in hits:
        arguments.setdefault(hit.argument.id, hit.argument)
    return {hit.argument.id: hit.score / best if best > 0 else 1.0 for hit in hits}


def _topics(
    routes: Iterable[Mapping[str, float]], arguments: Mapping[str, Argument]
) -> dict[str, float]:
    """Return the share of each topic in the hits; the best topic has 1."""
    weights: Counter[str] = Counter()
    for route in routes:
        for one, score in route.items():
            weights[arguments[one].topic] += score  # type: ignore[assignment]
    best = max(weights.values(), default=0) or 1
    return {topic: weight / best for topic, weight in weights.items()}


def _path(hits: Mapping[str, float]) -> tuple[str, ...]:
    if hits.get("attacks", 0.0) >= hits.get("text", 0.0) and "attacks" in hits:
        return ("attacks a claim similar to what was said",)
    if "text" in hits:
        return ("shares words with your message",)
    return ("attacks a claim near in meaning to what you say",)


def _with_sides(
    ranked: Sequence[Ranked], queries: Queries, topics: Mapping[str, float]
) -> list[Ranked]:
    """Prefer arguments on the other side of the topic that most hits are about."""
    topic = max(topics, key=topics.__getitem__, default="")
    votes = sides([one.argument for one in ranked if one.argument.topic == topic], topic)
    user = side(queries.message, topic)
    return [
        replace(
            one, features={**one.features, SIDE: -_WEIGHT * user * votes.get(one.argument.id, 0.0)}
        )
        for one in ranked
    ]


def _nearest(
    index: ArgumentIndex,
    meaning: Meaning,
    queries: Queries,
    most: int,
    arguments: dict[str, Argument],
) -> dict[str, float]:
    """Add the arguments that attack what is near in meaning to the message; the nearest has 1."""
    (nearest,) = meaning.nearest("attacks", [queries.message], most)
    new = arguments_by(index, [one for one in nearest if one not in arguments])
    arguments |= {argument.id: argument for argument in new if argument is not None}
    return {one: 1 - place / most for place, one in enumerate(nearest)}


def _likeness(
    meaning: Meaning, queries: Queries, arguments: Mapping[str, Argument]
) -> dict[str, float]:
    (row,) = meaning.likeness("attacks", [queries.message], list(arguments)) if arguments else ([],)
    return dict(zip(arguments, row, strict=True))


StanceName = Annotated[str, Field(pattern=r"^(words|nli:.+)$"), MayNameFile(after="nli:")]
STANCE: Final = "how the side of an argument is found: words, nli:MODEL or nli:URL#MODEL"
RETRIEVER: Final = "retriever of arguments against the user, NAME or NAME(KEY=VALUE,...)"


class StanceRanking:
    """Ranks the best candidates with a stance model."""

    def __init__(self, name: str, most: int) -> None:
        from retrieval.stance.backend import backend

        self._backend = backend(name)
        self._name = name
        self._most = most

    def rank(self, ranked: Sequence[Ranked], queries: Queries) -> list[Ranked]:
        """Rank again with the stance model; if it fails, keep the ranking."""
        best, rest = ranked[: self._most], ranked[self._most :]
        try:
            stances = self._backend.stances(queries.message, [one.argument for one in best])
        except Exception as error:  # a local model may raise anything, and the answer goes on
            log.warning("grounded ranks without %s: %s", self._name, error)
            return list(ranked)
        again = [
            replace(one, features={**one.features, SIDE: 0.0, AGAINST: _WEIGHT * stance.against})
            for one, stance in zip(best, stances, strict=True)
        ]
        return ordered([*again, *rest])
