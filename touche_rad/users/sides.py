"""Select arguments for a user: new ones, on topic, and of the user's side.

Stance is read from the collection's own fields, never from a model: an argument is of the user's
side by as much as it attacks what the system just said, opposes what that stands on, and supports
the claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from touche_rad.debate import Argument, Debate
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import NEGATIONS, clean, content_words, is_negation, sentences, words

_ALIKE = 0.15
_SURE = 0.3


def own_side(index: ArgumentIndex, claim: str, debate: Debate, k: int) -> list[Argument]:
    """Return the arguments that answer the system's last response for the user, best first.

    Args:
        index: Where they come from.
        claim: What the user defends.
        debate: The debate, which ends with the system's response.
        k: How many are looked at for each way in.
    """
    said = _said(debate)
    cited = debate.last.response.arguments[:2] if debate.last.response else ()
    found = {hit.id: hit for hit in _search(index, claim, said, cited, k)}
    topics, heard = _topics(found.values(), claim), _heard(debate)
    weights = {
        argument.id: weight(argument, claim, said, cited)
        for argument in found.values()
        if (not topics or argument.topic in topics) and not _was_heard(argument, heard)
    }
    ranked = sorted(weights, key=lambda id_: (-weights[id_], id_))
    return [found[id_] for id_ in ranked if weights[id_] >= _SURE]


def weight(argument: Argument, claim: str, said: str, cited: Iterable[Argument]) -> float:
    """Return how surely an argument is of the side of the claim, against what was said."""
    against = alike(argument.attacks, said) - alike(argument.supports, said)
    opposes = 0.0
    for other in cited:
        direct = alike(argument.attacks, other.text) - alike(argument.supports, other.text)
        against = max(against, direct)
        sides = stance(argument, other.attacks) - stance(argument, other.supports)
        opposes = max(opposes, sides / 2, key=abs)
    return against + opposes + stance(argument, claim)


def stance(argument: Argument, text: str) -> float:
    """Return how much an argument speaks for a text or, below 0, against it.

    Both of its fields have a say by their likeness to the text; a field that says the opposite, by
    one negation more or less, has the opposite say.
    """
    for_it = alike(argument.supports, text) * _agreement(argument.supports, text)
    against_it = alike(argument.attacks, text) * _agreement(argument.attacks, text)
    return for_it - against_it


def alike(one: str, other: str) -> float:
    """Return the shared part of the content words of both, negations apart (Jaccard)."""
    first, second = set(content_words(one)) - NEGATIONS, set(content_words(other)) - NEGATIONS
    return len(first & second) / len(first | second) if first and second else 0.0


def _agreement(one: str, other: str) -> int:
    return 1 if _negations(one) % 2 == _negations(other) % 2 else -1


def _negations(text: str) -> int:
    return sum(map(is_negation, words(text)))


def _search(
    index: ArgumentIndex, claim: str, said: str, cited: Iterable[Argument], k: int
) -> Iterator[Argument]:
    ways = [("supports", claim), ("attacks", said)]
    for other in cited:
        ways += [("attacks", other.text), ("attacks", other.supports), ("supports", other.attacks)]
    for field, query in dict.fromkeys(ways):
        if content_words(query):
            for hit in index.search(field, query, k):
                yield hit.argument


def _topics(found: Iterable[Argument], claim: str) -> set[str]:
    """Return the topics nearest to the claim, or none where no topic is near."""
    near: dict[str, float] = {}
    for argument in found:
        fields = (argument.topic, argument.supports, argument.attacks)
        nearness = max(alike(field, claim) for field in fields)
        near[argument.topic] = max(nearness, near.get(argument.topic, 0.0))
    least = max(_ALIKE, 0.8 * max(near.values(), default=0.0))
    return {topic for topic, nearness in near.items() if topic and nearness >= least}


def _said(debate: Debate) -> str:
    response = debate.last.response
    return clean(response.content) if response else ""


def _heard(debate: Debate) -> set[str]:
    """Return the ids that were cited and the sentences that were said, on either side."""
    heard: set[str] = set()
    for turn in debate.turns:
        heard.update(map(_plain, sentences(clean(turn.utterance))))
        if turn.response is not None:
            heard.update(argument.id for argument in turn.response.arguments)
            heard.update(map(_plain, sentences(clean(turn.response.content))))
    return heard


def _was_heard(argument: Argument, heard: set[str]) -> bool:
    return argument.id in heard or any(_plain(part) in heard for part in sentences(argument.text))


def _plain(sentence: str) -> str:
    return " ".join(sentence.lower().split()).rstrip(".!?…\"'”’)")
