"""The sentences of a response, and what the cited arguments support of each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from touche_rad.evidence.alignment import MAX_SENTENCE
from touche_rad.evidence.repetition import Quotation, claims_nothing, find_quotation
from touche_rad.evidence.support import QUOTED, Support, SupportKind, support
from touche_rad.evidence.words import (
    Passage,
    Token,
    join_words,
    lexicon,
    read_passage,
)
from touche_rad.text import split_sentences


@dataclass(frozen=True)
class Sentence:
    """A sentence of the response, as text and as tokens."""

    text: str
    passage: Passage


def read_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences that have at least one word."""
    for sentence in split_sentences(text):
        read = read_passage(sentence)
        if read.tokens:
            yield Sentence(sentence, read)


class QualityWeights(BaseModel):
    """The score of each kind of support, and the threshold for coverage."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kinds: Mapping[SupportKind, float]
    line: float
    slope: float


@cache
def quality_weights() -> QualityWeights:
    """Return the weights of `quality.json`."""
    return QualityWeights.model_validate_json(
        files(__package__).joinpath("quality.json").read_bytes()
    )


def logistic(value: float) -> float:
    """Return the logistic function of a value."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))


MAX_WEIGHED = 12
"""Sentences without quotation that are checked; further ones count as unsupported."""


@dataclass(frozen=True)
class Finding:
    """A sentence, its best support, and the number of the source from 0, or None."""

    sentence: Sentence
    support: Support
    source: int | None = None


UNCITED = Support(SupportKind.NONE, 0.0, "nothing is cited for it")
RETRACTED = Support(SupportKind.DISTORTED, 1.0, "takes back what was quoted")
UNWEIGHED = Support(SupportKind.NONE, 0.0, "too much is said beside the quotations")


def findings(sentences: Sequence[Sentence], sources: Sequence[Passage]) -> list[Finding]:
    """Return the support of each sentence that claims something."""
    found: list[Finding] = []
    weighed = 0
    before: Finding | None = None
    for sentence in sentences:
        finding = _quoted(sentence, sources)
        if finding is None:
            if claims_nothing(sentence.passage.tokens, sentence.text):
                if before is not None and _retracts(sentence):
                    found.append(Finding(sentence, RETRACTED, before.source))
                before = None
                continue
            weighed += 1
            if weighed > MAX_WEIGHED:
                finding = Finding(sentence, UNWEIGHED)
            else:
                finding = _best(sentence, sources)
        found.append(finding)
        before = finding if score(finding.support) >= 0.5 else None
    return found


def _retracts(sentence: Sentence) -> bool:
    """Whether a sentence denies the one before it, such as `This is wrong.`."""
    tokens = sentence.passage.tokens
    starts = [at for at, token in enumerate(tokens) if at and token.before]
    segments = (
        " ".join(token.word for token in tokens[start:end])
        for start, end in zip([0, *starts], [*starts, len(tokens)], strict=True)
    )
    asked = sentence.text.rstrip().endswith("?")
    return not asked and any(lexicon().retractions.fullmatch(one) for one in segments)


def score(support: Support) -> float:
    """Return the probability that people say the sentence can be deduced."""
    if support.kind is SupportKind.COVERED:
        weights = quality_weights()
        return logistic(weights.slope * (support.covered - weights.line))
    worth = quality_weights().kinds[support.kind]
    return worth * support.covered if support.kind is SupportKind.CHANGED else worth


def _quoted(sentence: Sentence, sources: Sequence[Passage]) -> Finding | None:
    for number, source in enumerate(sources):
        if find_quotation(sentence.passage, source) is Quotation.KEPT:
            return Finding(sentence, QUOTED, number)
    return None


def _best(sentence: Sentence, sources: Sequence[Passage]) -> Finding:
    """Return the support of the whole sentence, or of its clauses if that is better."""
    if len(sentence.passage.tokens) > MAX_SENTENCE:
        return _weakest(sentence, list(_stretches(sentence.passage)), sources)
    whole = _carried(sentence, sentence.passage, sources)
    clauses = list(_clauses(sentence.passage))
    if len(clauses) < 2 or score(whole.support) >= 0.5:
        return whole
    weakest = _weakest(sentence, clauses, sources)
    return max(whole, weakest, key=lambda finding: score(finding.support))


def _weakest(sentence: Sentence, parts: Sequence[Passage], sources: Sequence[Passage]) -> Finding:
    if len(parts) > MAX_WEIGHED:
        return Finding(sentence, UNWEIGHED)
    found = [_carried(sentence, part, sources) for part in parts]
    return min(found, key=lambda finding: score(finding.support))


def _carried(sentence: Sentence, read: Passage, sources: Sequence[Passage]) -> Finding:
    found = [
        Finding(sentence, support(read, source), number) for number, source in enumerate(sources)
    ]
    return max(
        found,
        key=lambda finding: score(finding.support),
        default=Finding(sentence, UNCITED),
    )


def _stretches(read: Passage) -> Iterator[Passage]:
    """Split a long sentence into equal pieces."""
    count = -(-len(read.tokens) // MAX_SENTENCE)
    length = -(-len(read.tokens) // count)
    for start in range(0, len(read.tokens), length):
        tokens = read.tokens[start : start + length]
        yield Passage(tokens, join_words([token.word for token in tokens]))


def _clauses(read: Passage) -> Iterator[Passage]:
    """Yield the clauses between semicolons, colons and dashes that claim something."""
    starts = [0, *(at for at, token in enumerate(read.tokens) if at and token.before == ";")]
    for start, end in zip(starts, [*starts[1:], len(read.tokens)], strict=True):
        tokens: tuple[Token, ...] = read.tokens[start:end]
        if not claims_nothing(tokens, ""):
            after = read.after if end == len(read.tokens) else ";"
            yield Passage(tokens, join_words([token.word for token in tokens]), after)
