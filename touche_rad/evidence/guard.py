"""Which sentences of an answer cannot stay, as far as a program can see.

It sees a number, a name, a source, a quotation or a negation that no cited argument and no message
has, and a sentence with mostly other words. A clause before the first words of an argument names
what is answered: its words are free.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, Protocol

import anyio

from touche_rad.events import log
from touche_rad.evidence.quotable import missing_context
from touche_rad.evidence.support import find_support, findings_in
from touche_rad.evidence.words import lexicon, read_words, stem
from touche_rad.frozen import frozen
from touche_rad.lists import runs_of
from touche_rad.text import (
    NEGATIONS,
    clean,
    content_words,
    count_words,
    plain_words,
    sentences,
    spaced_words,
    stopwords,
)

LONGEST: Final = 600
"""Maximum letters of a sentence that is checked for entailment."""
_RUN: Final = 4
"""Words in a row that are a quotation of an argument."""
_MIN_NEW_WORDS: Final = 3
"""Fewest new content words of a sentence that says something else than the arguments."""

FaultKind = Literal["length", "number", "source", "name", "quotation", "negation", "support"]
_PROBLEMS: Final[Mapping[FaultKind, str]] = {
    "length": "It is too long.",
    "number": "No argument and no message has the number “{}”. Leave the number out.",
    "source": "No argument and no message names the source “{}”. Leave the source out.",
    "name": "No argument and no message has the name “{}”. Leave the name out.",
    "quotation": "Nobody wrote “{}”. Quote exactly, or write it without quotation marks.",
    "negation": "An argument says the opposite.",
    "support": "No argument says this.",
}


@frozen
class SentenceFault:
    """A sentence that cannot stay, and why."""

    sentence: str
    kind: FaultKind
    words: str = ""
    """The words at fault, if it is not the whole sentence."""
    nearest: str = ""
    """The sentence of an argument that is nearest to it."""

    @property
    def problem(self) -> str:
        """The sentence, and what is wrong with it."""
        return f'"{self.sentence}" {_PROBLEMS[self.kind].format(self.words)}'


@frozen
class CheckedAnswer:
    """The sentences of an answer, and what is wrong with some of them."""

    sentences: Sequence[str] = ()
    faults: Sequence[SentenceFault] = ()
    entailed: bool = False
    """Whether a sentence stays that only follows from the arguments."""

    @property
    def faultless(self) -> str:
        """The answer without the faulty sentences, and without those that refer to one of them."""
        faulty = {fault.sentence for fault in self.faults}
        kept = []
        removed = False
        for sentence in self.sentences:
            removed = sentence in faulty or (removed and bool(missing_context(sentence)))
            if not removed:
                kept.append(sentence)
        return " ".join(kept)


_NO_NUMBERS: Final = frozenset(
    "both,double,majority,minority,percent,percentage,the two,these two,those two".split(",")
)
_NO_SOURCES: Final = frozenset(
    "shown demonstrates demonstrated documented official finding trial trials reported proof "
    "published science".split()
)
"""Words of the lexicon's witnesses that also say something else."""
_ASKED_FOR: Final = NEGATIONS | frozenset("any your what which where whether".split())
_NAME: Final = re.compile(
    r"\b(?P<name>[A-ZÀ-ÖØ-Þ][^\W\d_]*)(?P<past>['’]s\s|\s(?:was|had|did|found|lost|said|says|\w+ed)\b)?"
)
_ALIKE: Final = 5
"""Letters with which alike names begin, such as "America" and "American"."""
_MARKED: Final = re.compile(r"[“\"]([^“”\"]+\s[^“”\"]+)[”\"]")
_JOINT: Final = re.compile(
    r"[,;:]\s*(?:(?:and|but|so|because|since)\b)?|\s(?:and|but|so|because|since)\s", re.IGNORECASE
)
_CLAUSE: Final = re.compile(r"[:;]\s+|,?\s+(?=(?:but|yet)\b)")
_ANSWERING: Final = re.compile(
    r"\W*(?:(?:\w+\W+){0,3}?your?|while|although|though|even)\b", re.IGNORECASE
)
_SHORT_CLAUSE: Final = re.compile(r",\s+|\s+that\b\s*")


class Sources:
    """The cited arguments and the messages of a debate, with which an answer is compared."""

    def __init__(self, arguments: Sequence[str], messages: Sequence[str] = ()) -> None:
        """Read the texts; without arguments only additions to the messages are faults."""
        self.texts = [clean(text) for text in arguments if text.strip()]
        known_texts = [*self.texts, *map(clean, messages)]
        self._plain_texts = list(map(spaced_words, known_texts))
        self._arguments = [read_words(text) for text in self.texts]
        self._runs = {run for text in self._arguments for run in runs_of(text.stems, _RUN)}
        known = read_words(" ; ".join(known_texts))
        self._known = set(known.senses)
        self._beginnings = {word[:_ALIKE] for word in known.words}

    def fault_of(self, sentence: str, longest: int) -> SentenceFault | None:
        """Return the first fault of a sentence."""
        if count_words(sentence) > longest:
            return SentenceFault(sentence, "length")
        for kind, words in self._additions(sentence):
            return SentenceFault(sentence, kind, words)

        claim = self.claim_of(sentence)
        if self.is_denied(claim):
            return SentenceFault(sentence, "negation", nearest=self._nearest(claim))
        spoken = read_words(claim)
        generic = lexicon().generic
        content = [spoken.words[at] for at in spoken.matter if spoken.senses[at] not in generic]
        new = [word for word in content if not self._has(word)]
        says_other = len(new) >= _MIN_NEW_WORDS and 2 * len(new) > len(content)
        if self.texts and says_other and not sentence.endswith("?"):
            return SentenceFault(sentence, "support", nearest=self._nearest(claim))
        return None

    def claim_of(self, sentence: str) -> str:
        """Return a sentence without the clauses that name what it answers.

        They end before the first clause with words of an argument: "You praise zoos, but cages harm
        animals." becomes "cages harm animals." What is only about the opponent claims nothing. A
        last clause that ties the argument to the debate ("..., so zoos are wrong") is left out too.
        """
        ends = [
            end
            for end in _CLAUSE.finditer(sentence)
            if self._quoted_in(sentence[end.end() :])
            and not self._quoted_in(sentence[: end.start()])
        ]
        if not ends and _ANSWERING.match(sentence):
            ends = list(_SHORT_CLAUSE.finditer(sentence))[:1]
            if not ends and not self._quoted_in(sentence):
                return ""
        claim = sentence[ends[-1].end() :] if ends else sentence
        body, _, link = claim.rpartition(", so ")
        return claim if self._quoted_in(link) else body or claim

    def is_denied(self, claim: str) -> bool:
        """Whether the nearest argument says the opposite of a claim."""
        words = read_words(claim)
        opening, _, quoted = claim.partition(" that ")
        if lexicon().denials.fullmatch(read_words(opening).joined) and self._quoted_in(quoted):
            return True
        supports = [find_support(words, text) for text in self._arguments]
        nearest = max(
            supports, key=lambda support: (support.share, not support.denies), default=None
        )
        if not nearest or not nearest.denies:
            return False
        # Clauses of an argument in another order do not change it.
        written = " ; ".join(self._plain_texts[: len(self.texts)])
        clauses = filter(plain_words, _JOINT.split(claim))
        return not all(spaced_words(clause) in written for clause in clauses)

    def _has(self, word: str) -> bool:
        return lexicon().sense(stem(word)) in self._known

    def _quoted_in(self, text: str) -> bool:
        return not self._runs.isdisjoint(runs_of(read_words(text).stems, _RUN))

    def _additions(self, sentence: str) -> Iterator[tuple[FaultKind, str]]:
        """Yield what only the sentence has: numbers, sources, names and quotations."""
        known = lexicon()
        words = read_words(sentence).words
        for at, word in enumerate(words):
            if self._has(word):
                continue
            if known.counts(word) and _NO_NUMBERS.isdisjoint(
                (word, " ".join(words[at - 1 : at + 1]))
            ):
                yield "number", word
            # "You give no evidence" and "your evidence" name no source.
            asked_for = not _ASKED_FOR.isdisjoint(words[max(0, at - 3) : at])
            if word in known.witnesses and word not in _NO_SOURCES and not asked_for:
                yield "source", word
        for match in _NAME.finditer(sentence):
            # Each first word has a capital letter: it is a name if it is what did something.
            before = sentence[: match.start()].rstrip(" \"'“‘(")
            begins = not before or before[-1] in ":.!?…–—-"
            is_name = match["past"] or not begins
            name = match["name"].lower()
            if is_name and name not in stopwords() and name[:_ALIKE] not in self._beginnings:
                yield "name", match["name"]
        for match in _MARKED.finditer(sentence):
            if spaced_words(match[1]) not in " ; ".join(self._plain_texts):
                yield "quotation", match[1]

    def _nearest(self, claim: str) -> str:
        content = set(content_words(claim))
        return max(
            (sentence for text in self.texts for sentence in sentences(text)),
            key=lambda sentence: len(content.intersection(content_words(sentence))),
            default="",
        )


class Entails(Protocol):
    """Decides whether arguments entail sentences."""

    async def of(self, claims: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Return for each sentence whether it follows; raise an error on failure."""


def compare(content: str, sources: Sources, longest: int = 60) -> CheckedAnswer:
    """Find the faults of an answer by its words."""
    answer = sentences(clean(content))
    faults = [sources.fault_of(sentence, longest) for sentence in answer]
    return CheckedAnswer(answer, list(filter(None, faults)))


@frozen
class Guard:
    """Finds the faults of answers."""

    entails: Entails | None = None
    """With it, what is no quotation must follow from the arguments."""
    longest: int = 60

    async def checked(
        self, content: str, arguments: Sequence[str], messages: Sequence[str] = ()
    ) -> CheckedAnswer:
        """Compare an answer with the arguments that it cites, and with the messages."""

        def compared() -> tuple[CheckedAnswer, dict[str, str]]:
            sources = Sources(arguments, messages)
            checked = compare(content, sources, self.longest)
            if self.entails is None:
                return checked, {}
            # What the words leave open is decided by entailment.
            faults = [fault for fault in checked.faults if fault.kind != "support"]
            faulty = {fault.sentence for fault in faults}
            unquoted = {}
            for sentence in checked.sentences:
                claim = sources.claim_of(sentence)
                findings = findings_in(claim, sources.texts)
                quotes = all(finding.support.supported for finding in findings)
                if sentence not in faulty and not quotes:
                    unquoted[sentence] = claim
            return replace(checked, faults=faults), unquoted

        checked, unquoted = await anyio.to_thread.run_sync(compared)
        if self.entails is None or not unquoted:
            return checked
        claims = [claim for claim in unquoted.values() if len(claim) <= LONGEST]
        follows: dict[str, bool] = {}
        try:
            follows = dict(zip(claims, await self.entails.of(claims, arguments), strict=True))
        except Exception as error:  # a local model may raise anything, and the answer goes on
            log.info("no sentence counts as entailed because the check failed: %s", error)
        unsupported = [
            SentenceFault(sentence, "support")
            for sentence, claim in unquoted.items()
            if follows.get(claim) is not True
        ]
        return replace(
            checked,
            faults=[*checked.faults, *unsupported],
            entailed=any(follows.values()),
        )
