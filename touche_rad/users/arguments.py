"""Arguments for a user's next utterance: new ones, on the topic, and on the user's side.

The stance is read from the fields of the collection, without a model: an argument is on the user's
side if it attacks the system's last response, opposes what this cites, or supports the claim.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from touche_rad.debate import Argument, Debate, Response
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import NEGATIONS, clean, content_words, is_negation, sentences, words

log = logging.getLogger(__name__)

_MIN_OVERLAP = 0.15
_MIN_SCORE = 0.3


def arguments_for_user(index: ArgumentIndex, claim: str, debate: Debate, k: int) -> list[Argument]:
    """Return arguments with which the user can answer the system's last response, best first.

    There are none if the index fails.
    """
    response = debate.last.response or Response(content="")
    answer, cited = clean(response.content), response.arguments[:2]
    try:
        candidates = {hit.id: hit for hit in _search(index, claim, answer, cited, k)}
    except Exception as error:
        log.info("the user speaks without arguments because the search failed: %s", error)
        return []
    topics, used = _nearest_topics(candidates.values(), claim), _already_used(debate)
    scores = {
        argument.id: score_for_user(argument, claim, answer, cited)
        for argument in candidates.values()
        if (not topics or argument.topic in topics) and not _is_used(argument, used)
    }
    ranked = sorted(scores, key=lambda id_: (-scores[id_], id_))
    return [candidates[id_] for id_ in ranked if scores[id_] >= _MIN_SCORE]


def score_for_user(argument: Argument, claim: str, answer: str, cited: Iterable[Argument]) -> float:
    """Return how clearly an argument supports the claim and opposes the system's answer."""
    against = word_overlap(argument.attacks, answer) - word_overlap(argument.supports, answer)
    opposes = 0.0
    for other in cited:
        attacks = word_overlap(argument.attacks, other.text)
        against = max(against, attacks - word_overlap(argument.supports, other.text))
        difference = stance(argument, other.attacks) - stance(argument, other.supports)
        opposes = max(opposes, difference / 2, key=abs)
    return against + opposes + stance(argument, claim)


def stance(argument: Argument, text: str) -> float:
    """Return how much an argument supports a text; below 0 it opposes the text.

    Each field of the argument counts by its overlap with the text. A field that contradicts the
    text, by more or fewer negations, counts for the other side.
    """
    supports = word_overlap(argument.supports, text) * _agreement(argument.supports, text)
    attacks = word_overlap(argument.attacks, text) * _agreement(argument.attacks, text)
    return supports - attacks


def word_overlap(one: str, other: str) -> float:
    """Return the Jaccard similarity of the content words of two texts, without negations."""
    first, second = set(content_words(one)) - NEGATIONS, set(content_words(other)) - NEGATIONS
    return len(first & second) / len(first | second) if first and second else 0.0


def _agreement(one: str, other: str) -> int:
    return 1 if _negations(one) == _negations(other) else -1


def _negations(text: str) -> int:
    return sum(map(is_negation, words(text)))


def _search(
    index: ArgumentIndex, claim: str, answer: str, cited: Iterable[Argument], k: int
) -> Iterator[Argument]:
    queries = [("supports", claim), ("attacks", answer)]
    for one in cited:
        queries += [("attacks", one.text), ("attacks", one.supports), ("supports", one.attacks)]
    for field, query in dict.fromkeys(queries):
        if content_words(query):
            for hit in index.search(field, query, k):
                yield hit.argument


def _nearest_topics(candidates: Iterable[Argument], claim: str) -> set[str]:
    """Return the topics nearest to the claim; an empty set if no topic is near."""
    overlaps: dict[str, float] = {}
    for argument in candidates:
        fields = (argument.topic, argument.supports, argument.attacks)
        overlap = max(word_overlap(field, claim) for field in fields)
        overlaps[argument.topic] = max(overlap, overlaps.get(argument.topic, 0.0))
    least = max(_MIN_OVERLAP, 0.8 * max(overlaps.values(), default=0.0))
    return {topic for topic, overlap in overlaps.items() if topic and overlap >= least}


def _already_used(debate: Debate) -> set[str]:
    """Return the ids of all cited arguments, and all sentences of both sides."""
    used: set[str] = set()
    for turn in debate.turns:
        used.update(map(_plain, sentences(clean(turn.utterance))))
        if turn.response is not None:
            used.update(argument.id for argument in turn.response.arguments)
            used.update(map(_plain, sentences(clean(turn.response.content))))
    return used


def _is_used(argument: Argument, used: set[str]) -> bool:
    return argument.id in used or any(_plain(part) in used for part in sentences(argument.text))


def _plain(sentence: str) -> str:
    return " ".join(sentence.lower().split()).rstrip(".!?…\"'”’)")
