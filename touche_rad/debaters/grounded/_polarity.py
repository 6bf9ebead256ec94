"""On which side of a topic a short claim is, and with it an argument, without a model.

Each negation, negative action and negative evaluation turns the side of a clause. The rule fails
where a claim is against something in other words than these, so a side is a vote, not a fact.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence, Set
from functools import lru_cache
from typing import Final

from touche_rad.debate import Argument
from touche_rad.evidence.words import NO_WORDS, lexicon, read_words, remembered, stem
from touche_rad.text import packaged_table, sentences, stopwords

_LONGEST_CLAIM: Final = 25
"""Maximum words of a claim that is read: longer ones are arguments of their own."""
_ASIDE: Final = re.compile(
    r"^.{10,}(?:(?:[,;]|\band) so|\b(?:therefore|thus|hence))\b,?\s+(?=\w+ \w+ \w+)"
    r"|^(?:while|whilst|although|though|even (?:if|though)|despite|granted|admittedly)\b[^,]*,"
    r"|,?\s\b(?:although|even (?:if|though)|despite|in spite of)\b.*$"
    r"|(?:,|(?<!\s))\s*\b(?:because|since|so that|due to|thanks to|in order to)\b.*$"
    r"|,\s+(?:as|for) \w+ .*$",
    re.IGNORECASE,
)
"""Premises, concessions and reasons: they are about something else."""
_RELATIVE: Final = re.compile(r"(?<=.{20})\b(?:that|who|whose|which)\b")
_CLAUSE: Final = re.compile(r"[;:]|,?\s\b(?:and|but|while|whereas)\b", re.IGNORECASE)
_TURN: Final = re.compile(
    r"\b(?:(?:keep(?:s|ing)?|kept|kick|push|throw)\b.{0,60}\b(?:out|off|away|from)|get\b.{0,60}\boff"
    r"|(?:tak(?:es?|en|ing)|took|do|does)\b.{0,60}\baway|g(?:ives?|iving|ave) up"
    r"|(?:must|should|ought to|ha(?:s|ve) to) go(?!\s\w)|(?:a?m|are|is|be|vote) (?:\w+ly )?against"
    r"|(?:cut|reduc|limit)\w*(?!.{0,60}\bto (?:\d+|two|three|four|five|six|\w+teen)\b)|minimum age"
    r"|rid of|\w+-free|free (?:from|of(?! charge))|instead|rather than|had enough|get around"
    r"|too far|phas(?:e|ed|ing) out|belongs? (?:in|to) the past|rip-off|reserved for"
    r"|(?:so|too|very|do|does|makes?|ha(?:s|ve)) (?:little|few))\b",
    re.IGNORECASE,
)
"""Phrases that turn a clause as a negative action does."""


_LISTS: Final = {
    name: frozenset(text.split())
    for name, text in packaged_table(__package__, "polarity.toml").items()
}
_TURNING_STEMS: Final = frozenset(map(stem, lexicon().actions | _LISTS["evaluations"]))
"""The stems of negative actions and evaluations."""
_NO_SUBJECT: Final = stopwords() | _LISTS["negations"]


_read: Final = remembered(read_words)
"""Reads a clause, which is asked for its subject and for its sign."""


@remembered
def content(text: str) -> frozenset[str]:
    """Return the stems of the content words.

    Words of debating itself, such as "believe", are left out, and so are negations.
    """
    read = read_words(text)
    generic = lexicon().generic
    return frozenset(read.stems[at] for at in read.matter if read.senses[at] not in generic)


@lru_cache(maxsize=4_096)
def side(text: str, topic: str) -> float:
    """Return the side of a text, from -1 (against the topic as a proposition) to 1 (for it).

    It is the mean of the clauses; those that share words with the topic weigh more. A question is
    read as a doubt. Reasons and relative clauses are not read: they are about something else.
    """
    topic_subject = _subject(topic)
    topic_words = set(read_words(topic).words)
    # A clause on freedom is against a topic about a duty, and the other way round.
    duties = lexicon().duties | lexicon().charges
    contrary = NO_WORDS
    if topic_words & duties:
        contrary = lexicon().freedoms
    elif topic_words & lexicon().freedoms:
        contrary = duties
    weights = 0
    weighted_signs = 0
    for sentence in sentences(text) or [text]:
        claim = _ASIDE.sub("", sentence)
        main_clause = _RELATIVE.split(claim, maxsplit=1)[0]
        if _subject(main_clause) & topic_subject:
            claim = main_clause
        sentence_sign = -1 if sentence.endswith("?") else 1
        for clause in filter(str.strip, _CLAUSE.split(claim)):
            weight = 1 + 2 * len(_subject(clause) & topic_subject)
            weights += weight
            weighted_signs += weight * _sign(clause, contrary) * sentence_sign
    return _sign(topic, NO_WORDS) * weighted_signs / (weights or 1)


@remembered
def _subject(clause: str) -> frozenset[str]:
    """Return the stems that say what a clause is about."""
    read = _read(clause)
    return frozenset(
        root
        for word, root in zip(read.words, read.stems, strict=True)
        if word not in _NO_SUBJECT and root not in _TURNING_STEMS
    )


def _sign(clause: str, contrary: Set[str]) -> int:
    """Return -1 for a clause against its subject, else 1: two turns cancel each other."""
    read = _read(clause)
    turns = len(_TURN.findall(clause))
    turns += not contrary.isdisjoint(read.words)
    next_words = (*read.words[1:], "")
    for word, root, next_word in zip(read.words, read.stems, next_words, strict=False):
        negates = word in _LISTS["negations"] and next_word not in _LISTS["not_negated"]
        turns += negates or root in _TURNING_STEMS
    return -1 if turns % 2 else 1


def sides(arguments: Sequence[Argument], topic: str) -> dict[str, float]:
    """Return the sides of arguments on one topic by id, from -1 to 1; 0 is unknown.

    An argument is against the claim that it attacks and for the one that it supports. Arguments
    that attack each other or the same claim vote together. The text of an argument says nothing
    about its side.
    """
    by_text = {argument.text: argument for argument in arguments}
    root_and_sign: dict[str, tuple[str, int]] = {}
    votes: dict[str, list[float]] = defaultdict(list)
    for argument in arguments:
        # Follow the attacks to the claim that is no argument itself; each one turns the side.
        root = argument
        sign = 1
        seen = {argument.id}
        while (attacked := by_text.get(root.attacks)) and attacked.id not in seen:
            root = attacked
            sign = -sign
            seen.add(root.id)
        root_and_sign[argument.id] = root.attacks, sign
        for claim, relation in ((argument.supports, sign), (argument.attacks, -sign)):
            if claim and len(claim.split()) <= _LONGEST_CLAIM:
                votes[root.attacks].append(relation * side(claim, topic))
    means = {claim: sum(claim_votes) / len(claim_votes) for claim, claim_votes in votes.items()}
    return {
        argument_id: sign * means.get(claim, 0.0)
        for argument_id, (claim, sign) in root_and_sign.items()
    }
