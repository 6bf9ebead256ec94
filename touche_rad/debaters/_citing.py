"""Which arguments an answer uses, so that it cites them; and which ones earlier answers cited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from touche_rad.debate import Argument, Debate
from touche_rad.evidence.guard import Sources
from touche_rad.evidence.words import read_words
from touche_rad.frozen import frozen
from touche_rad.plugins import ArgumentIndex
from touche_rad.text import clean, content_words, count_words, plain_words, sentences, spaced_words

NAMED: Final = 0.3
"""Minimum share of a sentence's content words that an argument has, if the model named it."""
UNNAMED: Final = 0.6
"""The same for an argument that the model did not name."""
_MIN_SHARED_WORDS: Final = 2
"""Fewest content words that a sentence shares with an argument that it may use."""
_MIN_QUOTED_WORDS: Final = 5
"""Fewest words of whole sentences of an argument that an answer quotes."""
_TRIED: Final = 2
"""Hits that are compared with an earlier answer."""


@frozen
class EarlierCitations:
    """The arguments that the debater cited in earlier turns, and must not contradict."""

    arguments: Sequence[Argument] = ()

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of the arguments."""
        return frozenset(argument.id for argument in self.arguments)

    def uncited(self, candidates: Iterable[Argument]) -> list[Argument]:
        """Return the candidates that were not cited."""
        return [candidate for candidate in candidates if candidate.id not in self.ids]

    def not_contradicted(self, candidates: Iterable[Argument]) -> list[Argument]:
        """Return the candidates that contradict no earlier citation."""
        return [candidate for candidate in candidates if not self.contradicts(candidate)]

    def contradicts(self, candidate: Argument) -> bool:
        """Whether an argument attacks what an earlier one says or supports, or the reverse."""
        return any(
            _attacks(candidate, argument) or _attacks(argument, candidate)
            for argument in self.arguments
        )


NO_CITATIONS: Final = EarlierCitations()


def earlier_citations(
    debate: Debate, index: ArgumentIndex, *, repeat: bool = False
) -> EarlierCitations:
    """Return the citations of earlier turns; none if a debater may repeat itself.

    The messages of the official client carry none: an argument is then found again by the answer,
    which quotes a sentence of it.
    """
    responses = [turn.response for turn in debate.turns if turn.response and not repeat]
    uncited = [response.content for response in responses if not response.arguments]
    arguments = [argument for response in responses for argument in response.arguments]
    hits_by_answer = index.search_all("text", uncited, _TRIED) if uncited else []
    for answer, hits in zip(uncited, hits_by_answer, strict=True):
        for hit in hits:
            if _quotes(answer, hit.argument):
                arguments.append(hit.argument)
    return EarlierCitations(arguments)


def _quotes(answer: str, argument: Argument) -> bool:
    """Whether an answer has whole sentences of an argument."""
    quoted = " ".join(quoted_from(answer, sentences(argument.text)))
    return count_words(quoted) >= _MIN_QUOTED_WORDS


def quoted_from(text: str, quotations: Iterable[str]) -> list[str]:
    """Return the quotations that a text contains, in plain words."""
    spaced = spaced_words(text)
    plain = dict.fromkeys(map(plain_words, quotations))
    return [quotation for quotation in plain if quotation and spaced_words(quotation) in spaced]


def _attacks(argument: Argument, opposed: Argument) -> bool:
    # Fields of an argument can be empty.
    statements = {plain_words(opposed.text), plain_words(opposed.supports)} - {""}
    return plain_words(argument.attacks) in statements


def cited(
    content: str, named: Sequence[Argument], candidates: Sequence[Argument], most: int
) -> tuple[Argument, ...]:
    """Return at most `most` arguments that a response uses, in the order of their use.

    If it uses none of those that the model named, all candidates are tried with a higher threshold.
    """
    words = content_words(content)
    used = [argument for argument in named if _share(content, argument) >= NAMED]
    if not used:
        # A model can give a wrong number, or quote what it did not name.
        shares = {argument.id: _share(content, argument) for argument in candidates}
        alike = [argument for argument in candidates if shares[argument.id] >= UNNAMED]
        used = sorted(
            alike,
            key=lambda argument: (-shares[argument.id], _first_place(words, argument, alike)),
        )[:most]
    return tuple(sorted(used, key=lambda argument: _first_place(words, argument, used))[:most])


def _share(content: str, argument: Argument) -> float:
    """Return the largest share of the content words of a claim that an argument has.

    A claim that says the contrary of the argument does not count. A quotation in a longer sentence
    counts as all.
    """
    if _quotes(content, argument):
        return 1.0
    source = read_words(clean(argument.text))
    source_words = set(content_words(argument.text))
    sources = Sources([argument.text])
    largest = 0.0
    for sentence in sentences(clean(content)):
        claim = sources.claim_of(sentence)
        enough = len(source_words & set(content_words(claim))) >= _MIN_SHARED_WORDS
        if enough and not sources.is_denied(claim):
            read = read_words(claim)
            known = sum(read.senses[place] in source.senses for place in read.matter)
            # One of several words may only be the topic.
            known -= known < len(read.matter)
            largest = max(largest, known / max(1, len(read.matter)))
    return largest


def _first_place(words: Sequence[str], argument: Argument, used: Sequence[Argument]) -> int:
    """Return the place of the first word of an argument, preferably one only it has."""
    argument_words = set(content_words(argument.text))
    words_of_others: set[str] = set()
    for used_argument in used:
        if used_argument.id != argument.id:
            words_of_others.update(content_words(used_argument.text))
    for telling in (argument_words - words_of_others, argument_words):
        for place, word in enumerate(words):
            if word in telling:
                return place
    return len(words)
