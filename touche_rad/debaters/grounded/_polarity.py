"""On which side of a topic a short claim is, and with it an argument, without a model.

The rule is plain: each negation, negative action and negative evaluation turns the side of a
clause. It fails where a claim is against something in other words than these, so a side is a vote,
not a fact.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from touche_rad.debate import Argument
from touche_rad.evidence.words import lexicon, read_words, stem
from touche_rad.text import sentences, stopwords

CLEAR: Final = 0.5
"""Votes from which a side counts as known. Below, arguments of the demo were right by chance."""

_LONGEST: Final = 25
"""Maximum words of a claim that is read: longer ones are arguments of their own."""
_ABOUT: Final = 2
"""Weight of a word that a clause and the topic share, beside 1 for the clause itself."""
_FACT: Final = 0.25
"""Size of the side of a clause without a word of opinion."""
_REASON: Final = re.compile(
    r"(?:,|(?<!\s))\s*\b(?:because|since|so that|due to|thanks to|in order to)\b.*$"
    r"|,\s+(?:as|for) \w+ .*$",
    re.IGNORECASE,
)
_PREMISE: Final = re.compile(
    r"^.{10,}\b(?:so|therefore|thus|hence)\b,?\s+(?=\w+ \w+ \w+)", re.IGNORECASE
)
_CONCEDED: Final = re.compile(
    r"^(?:while|whilst|although|though|even (?:if|though)|despite|granted|admittedly)\b[^,]*,"
    r"|,?\s\b(?:although|even though|despite)\b.*$",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(r"[;:]|,?\s\b(?:and|but|while|whereas)\b", re.IGNORECASE)
_TURN: Final = re.compile(
    r"\b(?:(?:keep|keeps|kept|keeping|lock|locks|locked|locking)\b(?=.*\bout\b)"
    r"|take[sn]? away|took away|taking away|instead of|rather than|more important"
    r"|(?:must|should|ought to) go|had enough|free of|get around)",
    re.IGNORECASE,
)
"""Phrases that turn a clause as a negative action does."""


@cache
def _words() -> Mapping[str, frozenset[str]]:
    lists = tomllib.loads(files(__package__).joinpath("polarity.toml").read_text("utf-8"))
    return {name: frozenset(text.split()) for name, text in lists.items()}


@cache
def _turning() -> frozenset[str]:
    """Return the stems of negative actions and evaluations."""
    return frozenset(map(stem, _words()["actions"] | _words()["evaluations"]))


@lru_cache(maxsize=32_768)
def content(text: str) -> frozenset[str]:
    """Return the stems of the content words.

    Words of debating itself, such as "believe", are left out, and so are negations.
    """
    lists, read = lexicon(), read_words(text)
    return frozenset(
        root
        for word, root in zip(read.words, read.stems, strict=True)
        if word not in stopwords() | lists.negators and lists.sense(root) not in lists.generic
    )


@lru_cache(maxsize=4_096)
def side(text: str, topic: str) -> float:
    """Return the side of a text, from -1 (against the topic as a proposition) to 1 (for it).

    It is the mean of the clauses; those that share words with the topic weigh more. Reasons are
    not read, because they are about something else.
    """
    about = _subject(topic)
    weights = turned = 0.0
    for sentence in sentences(text) or [text]:
        claim = _PREMISE.sub("", _REASON.sub("", _CONCEDED.sub("", sentence)))
        for clause in _CLAUSE.split(claim):
            words = _subject(clause)
            if words:
                weight = 1 + _ABOUT * len(words & about)
                turned += weight * _sign(clause, about)
                weights += weight
    return (-1 if _sign(topic) < 0 else 1) * turned / weights if weights else 0.0


def _subject(clause: str) -> frozenset[str]:
    """Return the stems that say what a clause is about."""
    read = read_words(clause)
    return frozenset(
        root
        for word, root in zip(read.words, read.stems, strict=True)
        if word not in stopwords() | _words()["negations"] and root not in _turning()
    )


def _sign(clause: str, about: frozenset[str] = frozenset()) -> float:
    """Return a negative number for a clause against its subject; below 1 if it hardly says so."""
    read = read_words(clause)
    turns = len(_TURN.findall(clause))
    following = (*read.words[1:], "")
    for word, root, behind in zip(read.words, read.stems, following, strict=False):
        negates = word in _words()["negations"] and behind not in _words()["not_negated"]
        turns += negates or root in _turning()
    better, *worse = re.split(r"\bthan\b", clause, maxsplit=1)
    # "Paper is better than plastic" is against plastic.
    turns += bool(worse and _subject(worse[0]) & about and not _subject(better) & about)
    opinion = turns or not _words()["opinions"].isdisjoint(read.words)
    size = 1.0 if opinion else _FACT
    return -size if turns % 2 else size


def sides(arguments: Sequence[Argument], topic: str) -> dict[str, float]:
    """Return the sides of arguments on one topic by id, from -1 to 1; 0 is unknown.

    An argument is against the claim that it attacks and for the one that it supports. Arguments
    that attack each other or the same claim vote together. The text of an argument says nothing
    about its side.
    """
    by_text = {argument.text: argument for argument in arguments}
    places: dict[str, tuple[str, int]] = {}
    votes: dict[str, list[float]] = defaultdict(list)
    for argument in arguments:
        root, sign, seen = argument, 1, {argument.id}
        while (attacked := by_text.get(root.attacks)) is not None and attacked.id not in seen:
            root, sign = attacked, -sign
            seen.add(root.id)
        places[argument.id] = root.attacks, sign
        for claim, relation in ((argument.supports, sign), (argument.attacks, -sign)):
            if claim and len(claim.split()) <= _LONGEST:
                votes[root.attacks].append(relation * side(claim, topic))
    means = {claim: sum(of) / len(of) for claim, of in votes.items()}
    return {one: sign * means.get(claim, 0.0) for one, (claim, sign) in places.items()}
