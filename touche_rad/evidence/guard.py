"""Which sentences of an answer its cited arguments support."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import compress
from operator import not_
from typing import Final, Protocol

import anyio

from touche_rad.debate import Argument
from touche_rad.evidence.support import findings_in
from touche_rad.evidence.words import Words, lexicon, read_words
from touche_rad.text import clean, content_words, count_words, sentences, stopwords, words

log = logging.getLogger(__name__)

LONGEST: Final = 600
"""Maximum letters of a sentence that is checked for entailment."""


TOLD: Final = 2 / 3
"""Share of its content words that the arguments must have of a sentence without quotation."""


class WordCheck(Enum):
    """Result of the check of a sentence by its words."""

    SUPPORTED = "the arguments say it, or it claims nothing"
    OPEN = "it is no quotation"
    DISTORTED = "it changes the meaning of an argument"


class Entails(Protocol):
    """Decides whether arguments entail sentences."""

    async def of(self, claims: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Return for each sentence whether it follows; raise an error on failure."""
        ...


@dataclass(frozen=True)
class GuardResult:
    """The sentences of an answer in order: supported and unsupported."""

    supported: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    entailed: bool = False
    """Whether a supported sentence is no quotation."""


class Guard:
    """Separates supported from unsupported sentences."""

    def __init__(self, entails: Entails | None = None, longest: int = 60) -> None:
        """Without `entails` only quotations are supported; longer sentences are not."""
        self._entails = entails
        self._longest = longest

    async def checked(
        self, content: str, arguments: Sequence[Argument], message: str = ""
    ) -> GuardResult:
        """Return the supported and the unsupported sentences of an answer.

        A first clause that only names what the opponent said needs no support.
        """
        claims = sentences(clean(content))
        texts = [clean(one.text) for one in arguments if one.text.strip()]
        if not claims or not texts:
            return GuardResult(unsupported=tuple(claims))
        own = [without_attribution(claim, message) for claim in claims]
        checks = await anyio.to_thread.run_sync(self._read, own, tuple(arguments), message)
        doubtful = [claim for claim, one in zip(own, checks, strict=True) if one is WordCheck.OPEN]
        entailed = await self._entailed(doubtful, texts)
        supported = [
            one is WordCheck.SUPPORTED or (one is WordCheck.OPEN and claim in entailed)
            for claim, one in zip(own, checks, strict=True)
        ]
        return GuardResult(
            tuple(compress(claims, supported)),
            tuple(compress(claims, map(not_, supported))),
            entailed=bool(entailed),
        )

    async def _entailed(self, claims: Sequence[str], texts: Sequence[str]) -> set[str]:
        """Return the sentences that are entailed; on an error, none is."""
        short = [one for one in claims if len(one) <= LONGEST]
        if self._entails is None or not short:
            return set()
        try:
            answers = await self._entails.of(short, texts)
            return {one for one, follows in zip(short, answers, strict=True) if follows is True}
        except Exception as error:  # a local model may raise anything, and the answer goes on
            log.info("no sentence counts as entailed because the check failed: %s", error)
            return set()

    def _read(
        self, claims: Sequence[str], arguments: tuple[Argument, ...], message: str
    ) -> list[WordCheck]:
        return [
            read(one, arguments, message)
            if count_words(one) <= self._longest
            else WordCheck.DISTORTED
            for one in claims
        ]


def without_attribution(sentence: str, message: str) -> str:
    """Return a sentence without a first clause that only names what the opponent said.

    "You praise zoos, but cages harm animals." becomes "cages harm animals." if the opponent praised
    zoos. The result is empty if there is no other clause.
    """
    match = _ATTRIBUTION.match(sentence) if message else None
    if match is None:
        return sentence
    clause = read_words(match["clause"])
    missing = clause.missing_in(read_words(clean(message)))
    new = {clause.words[at] for at in missing} - lexicon().harmless
    return sentence if len(new) > _MAX_NEW else sentence[match.end() :]


_ATTRIBUTION: Final = re.compile(
    r"(?P<clause>(?:You|Your)\b[^,:;.!?]*)(?:[,:;]\s*(?:(?:but|yet|however|still)\b,?\s*)?|[.!?]+$)"
)
_MAX_NEW: Final = 1
"""Words of such a clause that need not be in the message: its verb, such as "claim"."""


def _readings(sentence: str, arguments: Sequence[Argument], message: str = "") -> list[str]:
    """Return the texts of arguments, and each as a faithful sentence may repeat it.

    A doubled letter is not doubled or the reverse, the part "not A but" of "not A but B" is left
    out, or a pronoun is replaced by words of the opponent.
    """
    texts: list[str] = []
    spelled = {_DOUBLED.sub(r"\1", word): word for word in words(sentence)}
    theirs = set(content_words(message))
    for text in (one.text for one in arguments):
        texts.append(text)
        same = {one: spelled.get(_DOUBLED.sub(r"\1", one), one) for one in words(text)}
        for word, spelling in same.items():
            if spelling != word:
                text = re.sub(rf"\b{re.escape(word)}\b", spelling, text, flags=re.IGNORECASE)
        for pronoun in _PRONOUN.finditer(text):
            named = re.search(rf"((?:[\w-]+ ){{1,4}}){re.escape(pronoun[1])}\b", sentence)
            if named and set(content_words(named[1])) <= theirs:
                text = f"{text[: pronoun.start()]}{named[1]}{text[pronoun.start(1) :]}"
                break
        texts.append(_CONTRAST.sub("", text))
    return list(dict.fromkeys(texts))


_DOUBLED: Final = re.compile(r"(\w)\1")
_PRONOUN: Final = re.compile(r"\b(?:they|it) (\w+)", re.IGNORECASE)
_CONTRAST: Final = re.compile(
    r"\bnot (?!only\b|just\b|merely\b|simply\b)[^,.;:!?]{1,60},? "
    r"(?:but (?!also\b)|(?:they|it) (?:are|is) )",
    re.IGNORECASE,
)


def read(sentence: str, arguments: tuple[Argument, ...], message: str = "") -> WordCheck:
    """Check one sentence by its words, as if it were the whole answer."""
    texts = _readings(sentence, arguments, message)
    supports = [one.support for one in findings_in(sentence, texts)]
    if all(one.supported and one.told >= TOLD for one in supports):
        return WordCheck.SUPPORTED
    own, known = read_words(sentence), lexicon()
    new = (own.words[at] for at in _missing_in_all(own, texts))
    # A number or a study that no argument has is invented, whoever finds the sentence entailed.
    invents = any(known.counts(word) or word in known.witnesses for word in new)
    distorted = invents or any(one.distorted for one in supports)
    return WordCheck.DISTORTED if distorted else WordCheck.OPEN


def _missing_in_all(own: Words, texts: Sequence[str]) -> set[int]:
    """Return the places of the words that no text has."""
    new = [set(own.missing_in(read_words(text))) for text in texts]
    return set.intersection(*new) if new else set(range(len(own.words)))


def describe_unsupported(sentence: str, arguments: Sequence[Argument], message: str = "") -> str:
    """Return what in a sentence the arguments do not say, as an instruction for a model."""
    sentence = without_attribution(sentence, message)
    texts = _readings(sentence, arguments, message)
    own = read_words(sentence)
    absent = _missing_in_all(own, texts)
    absent -= {at for at in absent if own.words[at] in lexicon().harmless}
    if absent:
        phrases = _phrases(own.words, sorted(absent))
        return "drop " + ", ".join(f'"{one}"' for one in phrases)
    changed = [one.support.why for one in findings_in(sentence, texts) if one.support.distorted]
    return f"changes an argument: it {changed[0]}" if changed else "use an argument's words"


def _phrases(words: Sequence[str], places: Sequence[int]) -> list[str]:
    """Return the words at some places; small words between two of them belong to the phrase."""
    runs: list[tuple[int, int]] = []
    for at in places:
        if runs and stopwords().issuperset(words[runs[-1][1] + 1 : at]):
            runs[-1] = (runs[-1][0], at)
        else:
            runs.append((at, at))
    return [" ".join(words[start : end + 1]) for start, end in runs]
