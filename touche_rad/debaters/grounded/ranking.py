"""Search for arguments against the user's message, and rank them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import field, replace
from itertools import chain
from math import sqrt
from typing import Annotated, Final

from pydantic import Field

from touche_rad.debate import Argument, Debate, Hit
from touche_rad.debaters.grounded._polarity import side, sides
from touche_rad.events import log
from touche_rad.evidence.words import NO_WORDS, common_topic, topic_of
from touche_rad.frozen import frozen
from touche_rad.plugins import (
    ArgumentIndex,
    MayNameFile,
    Retriever,
    arguments_by,
    find_topics,
    meaning_of,
    topics_of,
)
from touche_rad.text import clean, content_words, cut_to_words

LONGEST: Final = 400
"""Maximum words of an utterance that are searched."""

PHRASES: Final[Mapping[str, str]] = {
    "attacks": "attacks a claim like those of the debate",
    "text": "has words of your message or topic in its text, claims or topic",
    "debate": "has words of all your messages in its text, claims or topic",
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
_SIDE_WEIGHT: Final = 2.0
"""Weight of a side beside searches."""
_TOPIC_WEIGHT: Final = 8.0
"""Weight of a topic that words find, beside searches."""
_NEAR: Final = 4
"""One in this many hits of a search may come from vectors."""
_MOST_TOPICS: Final = 4
"""Most topics with a word that says something about the topic."""
_AGREED: Final = 0.7
"""Share of the nearest claims that have one topic, from which the user means this topic."""


@frozen
class Queries:
    """The texts of a debate that are searched."""

    message: str
    thesis: str
    """The first message."""
    later: str
    """The other messages of the user."""
    context: str
    """The first message and the last one."""
    user: str
    """All messages of the user that are read."""
    spoken: tuple[str, ...]
    """All messages and responses."""


def read(debate: Debate) -> Queries:
    """Read a debate whose last turn needs an answer."""
    users = [cut_to_words(clean(turn.utterance), LONGEST) for turn in debate.turns]
    answers = [
        cut_to_words(clean(turn.response.content), LONGEST)
        for turn in debate.turns[:-1]
        if turn.response
    ]
    return Queries(
        users[-1],
        users[0],
        " ".join(users[1:]),
        " ".join(dict.fromkeys([users[0], users[-1]])),
        " ".join(users),
        (*users, *answers),
    )


@frozen
class RankedCandidate:
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


def rank(index: ArgumentIndex, queries: Queries, k: int) -> list[RankedCandidate]:
    """Return the candidates of all searches, best first."""
    # Search by words: for the message with the name of the debate's topic, and for all messages of
    # the user. The best hit of each search has 1.
    topics = find_topics(index, (queries.thesis, queries.user, queries.later))
    main_topic = max(topics, key=topics.__getitem__, default="")
    searches = {
        "attacks": ("attacks", queries.context),
        "text": ("all", f"{queries.message} {main_topic}"),
    }
    if queries.user != queries.message:
        searches["debate"] = "all", queries.user
    arguments: dict[str, Argument] = {}
    routes: dict[str, dict[str, float]] = {}
    for route, (searched_field, query) in searches.items():
        hits = index.search(searched_field, query, k) if content_words(query) else []
        best_score = max((hit.score for hit in hits), default=0.0)
        for hit in hits:
            arguments.setdefault(hit.argument.id, hit.argument)
        routes[route] = {
            hit.argument.id: hit.score / best_score if best_score > 0 else 1.0 for hit in hits
        }

    # Search by meaning, if the index has vectors: what attacks claims near to the message.
    nearest: dict[str, float] = {}
    likeness: dict[str, float] = {}
    meaning = meaning_of(index)
    if meaning is not None:
        most = max(1, k // _NEAR)
        (nearest_ids,) = meaning.nearest("attacks", [queries.message], most)
        new = arguments_by(
            index, [argument_id for argument_id in nearest_ids if argument_id not in arguments]
        )
        arguments |= {argument.id: argument for argument in new if argument}
        nearest = {argument_id: 1 - place / most for place, argument_id in enumerate(nearest_ids)}
        if arguments:
            (row,) = meaning.likeness("attacks", [queries.message], list(arguments))
            likeness = dict(zip(arguments, row, strict=True))

    # A claim is often near in meaning to claims with which it shares no word, so that vectors know
    # the topic better.
    topic_weight = _TOPIC_WEIGHT
    if nearest:
        topic_weight = 1.0
        topics = topics_of(
            Hit(argument=arguments[argument_id], score=score)
            for argument_id, score in nearest.items()
        )
    nearest_topics = Counter(arguments[argument_id].topic for argument_id in nearest)
    agreed = {topic for topic, count in nearest_topics.items() if count >= _AGREED * len(nearest)}

    # Prefer arguments on the other side of the topic that most hits are about.
    main_topic = max(topics, key=topics.__getitem__, default="")
    on_topic = [argument for argument in arguments.values() if argument.topic == main_topic]
    votes = sides(on_topic, main_topic)
    user_side = side(queries.message, main_topic)

    ranked: list[RankedCandidate] = []
    for argument_id, argument in arguments.items():
        features = {route: scores.get(argument_id, 0.0) for route, scores in routes.items()}
        features["topic"] = topic_weight * topics.get(argument.topic, 0.0)
        if likeness:
            features["meaning"] = likeness[argument_id]
        features[SIDE] = -_SIDE_WEIGHT * user_side * votes.get(argument_id, 0.0)
        found_by = {
            route: scores[argument_id]
            for route, scores in {**routes, "meaning": nearest}.items()
            if argument_id in scores
        }
        if "attacks" in found_by and found_by["attacks"] >= found_by.get("text", 0.0):
            path = "attacks a claim similar to what was said"
        elif "text" in found_by:
            path = "shares words with your message or its topic"
        elif "debate" in found_by:
            path = "shares words with what you said before"
        else:
            path = "attacks a claim near in meaning to what you say"
        ranked.append(
            RankedCandidate(argument, found_by, features, (path,), argument.topic in agreed)
        )
    return ordered(ranked)


def rank_by(retriever: Retriever, queries: Queries, k: int) -> list[RankedCandidate]:
    """Return the candidates of a retriever for the first claim and the message, in its order."""
    hits = retriever.search(queries.context, k)
    return [
        RankedCandidate(hit.argument, {}, {"retriever": 1 - rank / len(hits)}, hit.path)
        for rank, hit in enumerate(hits)
    ]


def ordered(candidates: Iterable[RankedCandidate]) -> list[RankedCandidate]:
    """Sort by score, then by id."""
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.argument.id))


def likeness_of(user: str, arguments: Sequence[Argument]) -> dict[str, float]:
    """Return how much of the topic words of a user and each argument are the same, by its id.

    The arguments are those that a search has found: they say which words are on one topic only.
    """
    asked = topic_of(user)
    texts: dict[str, frozenset[str]] = {}
    documents: defaultdict[str, set[str]] = defaultdict(set)
    for argument in arguments:
        texts[argument.id] = topic_of(f"{argument.topic} {argument.attacks} {argument.text}")
        documents[argument.topic] |= texts[argument.id]
    counts = Counter(chain.from_iterable(documents.values()))
    counts_of_texts = Counter(chain.from_iterable(texts.values()))
    widespread = {word for word in asked if counts[word] > _MOST_TOPICS}

    # What names a topic alone: its only word, or words that arguments on other topics do not have.
    names: dict[str, Set[str]] = {}
    for topic in documents:
        in_name = topic_of(topic)
        telling = {word for word in in_name if counts[word] == 1}
        names[topic] = in_name if len(in_name) == 1 else telling

    likeness: dict[str, float] = {}
    for argument in arguments:
        topic = argument.topic
        text = texts[argument.id]
        shared = common_topic(
            asked,
            text,
            document=documents[topic] if topic else NO_WORDS,
            names=names[topic],
            widespread=widespread,
        )
        # Where the user's only word is in this argument alone, it is there by chance.
        if topic and len(asked) == 1 and all(counts_of_texts[word] == 1 for word in shared):
            shared = NO_WORDS
        likeness[argument.id] = len(shared) / sqrt(len(asked) * len(text)) if shared else 0.0
    return likeness


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

    def rank(self, ranked: Sequence[RankedCandidate], queries: Queries) -> list[RankedCandidate]:
        """Rank again with the stance model; if it fails, keep the ranking."""
        best = ranked[: self._most]
        try:
            stances = self._backend.stances(
                queries.message, [candidate.argument for candidate in best]
            )
        except Exception as error:  # a local model may raise anything, and the answer goes on
            log.warning("grounded ranks without %s: %s", self._name, error)
            return list(ranked)
        again = [
            replace(
                candidate,
                features={
                    **candidate.features,
                    SIDE: 0.0,
                    AGAINST: _SIDE_WEIGHT * stance.against,
                },
            )
            for candidate, stance in zip(best, stances, strict=True)
        ]
        return ordered([*again, *ranked[self._most :]])
