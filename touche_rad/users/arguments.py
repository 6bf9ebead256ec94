"""Arguments for a user's next utterance: new ones, on the topic, and on the user's side.

The stance is read from the fields of the collection, without a model: an argument is on the user's
side if it attacks the system's last response, opposes what this cites, or supports the claim.
"""

from __future__ import annotations

from collections.abc import Iterable

from touche_rad.debate import Argument, Debate, Response
from touche_rad.events import log
from touche_rad.lists import overlap
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import (
    NEGATIONS,
    clean,
    content_words,
    is_negation,
    plain_words,
    sentences,
    words,
)

_MIN_OVERLAP = 0.15
"""Minimum overlap of a topic with the claim to which it is near."""
_MIN_SCORE = 0.3
"""Minimum score of an argument with which the user answers."""


def arguments_for_user(index: ArgumentIndex, claim: str, debate: Debate, k: int) -> list[Argument]:
    """Return arguments with which the user can answer the system's last response, best first.

    There are none if the index fails.
    """
    response = debate.last.response or Response(content="")
    answer = clean(response.content)
    cited = response.arguments[:2]
    queries = [("supports", claim), ("attacks", answer)]
    for argument in cited:
        queries += [
            ("attacks", argument.text),
            ("attacks", argument.supports),
            ("supports", argument.attacks),
        ]
    candidates: dict[str, Argument] = {}
    try:
        for field, query in dict.fromkeys(queries):
            if content_words(query):
                candidates |= {
                    hit.argument.id: hit.argument for hit in index.search(field, query, k)
                }
    except Exception as error:
        log.info("the user speaks without arguments because the search failed: %s", error)
        return []

    # The topics nearest to the claim; all topics if none is near.
    overlaps: dict[str, float] = {}
    for argument in candidates.values():
        fields = (argument.topic, argument.supports, argument.attacks)
        overlap = max(word_overlap(text, claim) for text in fields)
        overlaps[argument.topic] = max(overlap, overlaps.get(argument.topic, 0.0))
    least = max(_MIN_OVERLAP, 0.8 * max(overlaps.values(), default=0.0))
    topics = {topic for topic, overlap in overlaps.items() if topic and overlap >= least}

    # What was cited, and what was said by either side.
    used_ids: set[str] = set()
    used_sentences: set[str] = set()
    for _, text in debate.spoken:
        used_sentences.update(map(plain_words, sentences(clean(text))))
    for turn in debate.turns:
        if turn.response:
            used_ids.update(argument.id for argument in turn.response.arguments)

    scores: dict[str, float] = {}
    for argument in candidates.values():
        is_near = not topics or argument.topic in topics
        if not is_near or argument.id in used_ids:
            continue
        if used_sentences.isdisjoint(map(plain_words, sentences(argument.text))):
            score = score_for_user(argument, claim, answer, cited)
            if score >= _MIN_SCORE:
                scores[argument.id] = score
    ranked = sorted(scores, key=lambda argument_id: (-scores[argument_id], argument_id))
    return [candidates[argument_id] for argument_id in ranked]


def score_for_user(argument: Argument, claim: str, answer: str, cited: Iterable[Argument]) -> float:
    """Return how clearly an argument supports the claim and opposes the system's answer."""
    against = word_overlap(argument.attacks, answer) - word_overlap(argument.supports, answer)
    opposes = 0.0
    for cited_argument in cited:
        attacks = word_overlap(argument.attacks, cited_argument.text)
        against = max(against, attacks - word_overlap(argument.supports, cited_argument.text))
        difference = stance(argument, cited_argument.attacks)
        difference -= stance(argument, cited_argument.supports)
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


def word_overlap(text: str, other_text: str) -> float:
    """Return the Jaccard similarity of the content words of two texts, without negations."""
    return overlap(set(content_words(text)) - NEGATIONS, set(content_words(other_text)) - NEGATIONS)


def _agreement(field: str, text: str) -> int:
    negations = sum(map(is_negation, words(field)))
    return 1 if negations == sum(map(is_negation, words(text))) else -1
