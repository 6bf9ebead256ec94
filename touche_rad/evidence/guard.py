"""Which sentences of an answer its cited arguments support."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

import anyio

from touche_rad.debate import Argument
from touche_rad.evidence.support import findings_in
from touche_rad.evidence.words import Words, lexicon, read_words
from touche_rad.text import clean, content_words, count_words, sentences, stopwords, words

log = logging.getLogger(__name__)

LONGEST: Final = 600
"""Maximum letters of a sentence that is checked for entailment."""
LEAST_CONTENT: Final = 2 / 3
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
        answer = sentences(clean(content))
        texts = [clean(argument.text) for argument in arguments if argument.text.strip()]
        if not answer or not texts:
            return GuardResult(unsupported=tuple(answer))
        claims = [without_attribution(sentence, message) for sentence in answer]

        def check_words() -> list[WordCheck]:
            return [
                read(claim, tuple(arguments), message)
                if count_words(claim) <= self._longest
                else WordCheck.DISTORTED
                for claim in claims
            ]

        checks = await anyio.to_thread.run_sync(check_words)

        # Only what the words leave open is checked for entailment, all of it at once.
        doubtful = [
            claim
            for claim, check in zip(claims, checks, strict=True)
            if check is WordCheck.OPEN and len(claim) <= LONGEST
        ]
        entailed = set()
        if self._entails is not None and doubtful:
            try:
                answers = await self._entails.of(doubtful, texts)
                pairs = zip(doubtful, answers, strict=True)
                entailed = {claim for claim, follows in pairs if follows is True}
            except Exception as error:  # a local model may raise anything, and the answer goes on
                log.info("no sentence counts as entailed because the check failed: %s", error)

        supported: list[str] = []
        unsupported: list[str] = []
        for sentence, claim, check in zip(answer, claims, checks, strict=True):
            is_open = check is WordCheck.OPEN
            if check is WordCheck.SUPPORTED or (is_open and claim in entailed):
                supported.append(sentence)
            else:
                unsupported.append(sentence)
        return GuardResult(tuple(supported), tuple(unsupported), entailed=bool(entailed))


def without_attribution(sentence: str, message: str) -> str:
    """Return a sentence without first clauses that only name what the opponent said.

    "You praise zoos, but cages harm animals." becomes "cages harm animals." if the opponent praised
    zoos; "which contradicts your thesis:" says nothing of its own either. The result is empty if
    there is no other clause.
    """
    known = read_words(clean(message))
    while message and (match := _ATTRIBUTION.match(sentence)):
        clause = read_words(match["clause"])
        new = {clause.words[at] for at in clause.missing_in(known)}
        if len(new - lexicon().harmless - _OF_CONTRADICTION) > _MAX_NEW_WORDS:
            break
        sentence = sentence[match.end() :]
    return sentence


_ATTRIBUTION: Final = re.compile(
    r"(?P<clause>(?:Your?|(?:(?:and |so )?(?:[Tt]his|[Tt]hat|which|you) )?contradict(?:s|ing)? your"
    r")\b[^,:;.!?]*)(?:[,:;]\s*(?:(?:but|yet|however|still)\b,?\s*)?|[.!?]+$)"
)
_OF_CONTRADICTION: Final = frozenset(
    "contradict contradicts contradicting contradiction own thesis claim".split()
)
_MAX_NEW_WORDS: Final = 1
"""Words of such a clause that need not be in the message: its verb, such as "claim"."""


def _readings(sentence: str, arguments: Sequence[Argument], message: str = "") -> list[str]:
    """Return the texts of arguments, and each as a faithful sentence may repeat it.

    A doubled letter is not doubled or the reverse, the part "not A but" of "not A but B" is left
    out, or a pronoun is replaced by words of the opponent.
    """
    texts: list[str] = []
    spelled = {_DOUBLED.sub(r"\1", word): word for word in words(sentence)}
    message_words = set(content_words(message))
    for argument in arguments:
        text = argument.text
        texts.append(text)
        for word in dict.fromkeys(words(text)):
            spelling = spelled.get(_DOUBLED.sub(r"\1", word), word)
            if spelling != word:
                text = re.sub(rf"\b{re.escape(word)}\b", spelling, text, flags=re.IGNORECASE)
        for pronoun in _PRONOUN.finditer(text):
            named = re.search(rf"((?:[\w-]+ ){{1,4}}){re.escape(pronoun[1])}\b", sentence)
            if named and message_words.issuperset(content_words(named[1])):
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
    supports = [finding.support for finding in findings_in(sentence, texts)]
    if all(support.supported and support.content_share >= LEAST_CONTENT for support in supports):
        return WordCheck.SUPPORTED
    if any(support.distorted for support in supports):
        return WordCheck.DISTORTED
    # A number or a study that no argument has is invented, whoever finds the sentence entailed.
    known = lexicon()
    claim = read_words(sentence)
    new = (claim.words[at] for at in _missing_in_all(claim, texts))
    invents = any(known.counts(word) or word in known.witnesses for word in new)
    return WordCheck.DISTORTED if invents else WordCheck.OPEN


def _missing_in_all(claim: Words, texts: Sequence[str]) -> set[int]:
    """Return the places of the words that no text has."""
    missing = set(range(len(claim.words)))
    return missing.intersection(*(claim.missing_in(read_words(text)) for text in texts))


def describe_unsupported(sentence: str, arguments: Sequence[Argument], message: str = "") -> str:
    """Return what in a sentence the arguments do not say, as an instruction for a model."""
    sentence = without_attribution(sentence, message)
    texts = _readings(sentence, arguments, message)
    claim = read_words(sentence)
    absent = [
        at
        for at in sorted(_missing_in_all(claim, texts))
        if claim.words[at] not in lexicon().harmless
    ]
    # Small words between two absent ones belong to the phrase.
    phrases: list[range] = []
    for at in absent:
        if phrases and stopwords().issuperset(claim.words[phrases[-1].stop : at]):
            phrases[-1] = range(phrases[-1].start, at + 1)
        else:
            phrases.append(range(at, at + 1))
    if phrases:
        quoted = (f'"{" ".join(claim.words[part.start : part.stop])}"' for part in phrases)
        return "drop " + ", ".join(quoted)
    for finding in findings_in(sentence, texts):
        if finding.support.distorted:
            return f"changes an argument: it {finding.support.why}"
    return "use an argument's words"
