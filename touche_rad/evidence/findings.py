"""The sentences of a response, and what the cited arguments support of each."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from touche_rad.evidence.matching import MAX_SENTENCE, Quotation, claims_nothing, find_quotation
from touche_rad.evidence.support import QUOTED, Support, SupportKind, support
from touche_rad.evidence.words import (
    Passage,
    Token,
    join_words,
    lexicon,
    read_passage,
    split_sentences,
    stem,
)
from touche_rad.text import stopwords
from touche_rad.text import words as plain_words


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


ENOUGH = 3
"""Points from which a sentence addresses a judge; next to such a sentence one is enough."""
PLENTY = 6
"""Points from which it does so in any debate, also in one on exams or courts."""
_LONGEST = 2_000
"""Letters of a sentence that are searched."""


def sentences_to_judge(texts: Sequence[str], known: Sequence[Passage]) -> frozenset[int]:
    """Return the positions of the sentences that address a judge or a model instead of the user.

    A pattern counts once, and only if one of its words is new: in a debate on juries or grades,
    these words are the topic itself.

    Args:
        texts: The sentences as written.
        known: The user's messages and the cited texts.
    """
    known_stems = {token.stem for passage in known for token in passage.tokens}
    return _with_neighbours([_points(text, known_stems) for text in texts], ENOUGH)


def orders_in(texts: Sequence[str]) -> frozenset[int]:
    """Return the positions of the sentences that give orders to a judge or a model in any debate.

    A single sure mark, such as `ignore all instructions`, is enough; others need `PLENTY` points.
    """
    points = [_points(text, frozenset()) for text in texts]
    found = _with_neighbours(points, PLENTY)
    sure = frozenset(at for at, text in enumerate(texts) if points[at] >= ENOUGH and _is_sure(text))
    return found | sure


def without_orders(text: str, instead: str = "") -> str:
    """Return a text with something else instead of the sentences that `orders_in` finds."""
    if not _may_order(text):
        return text
    said = split_sentences(text)
    found = orders_in(said)
    kept = [instead if at in found else one for at, one in enumerate(said)]
    return " ".join(one for one in kept if one) if found else text


@lru_cache(maxsize=32_768)
def gives_orders(text: str) -> bool:
    """Whether a text has a sentence that `orders_in` finds."""
    return _may_order(text) and bool(orders_in(split_sentences(text)))


_HINT = re.compile(
    r"instruct|prompt|system|judge|jury|evaluat|assess|review|examin|annotat|grad|rat[ei]|scor|marks"
    r"|model|assistant|llm|chatbot|verdict|maxim|quality|relation|manner|criteri|rubric|guideline"
    r"|output|print|ignor|disregard|forget|obey|pretend|task|above|role|[<\[#]|[-=*\"']{3}|display:",
    re.IGNORECASE,
)
"""Each sentence that gives orders contains one of these."""


def _may_order(text: str) -> bool:
    """Return quickly whether it is worth to search a text for orders."""
    return bool(_HINT.search(text)) or len(_readings(text)) > 1


def _with_neighbours(points: Sequence[int], enough: int) -> frozenset[int]:
    found = {at for at, count in enumerate(points) if count >= enough}
    for step in (1, -1):
        for at in range(len(points))[::step]:
            if points[at] and at - step in found:
                found.add(at)
    return frozenset(found)


def _points(text: str, known_stems: Set[str]) -> int:
    return max(
        sum(
            points
            for points, pattern in _marks()
            if any(_is_new(match.group(), known_stems) for match in pattern.finditer(line))
        )
        for line in _readings(text[:_LONGEST])
    )


def _is_sure(text: str) -> bool:
    return any(
        points >= ENOUGH and pattern.search(line)
        for line in _readings(text[:_LONGEST])
        for points, pattern in _marks()
    )


def _is_new(written: str, known_stems: Set[str]) -> bool:
    words = re.findall(r"[a-z]+", written)
    return not words or any(stem(word) not in known_stems for word in words)


_HIDDEN = re.compile(
    r"[a-z0-9+/_-]{24,}|(?:\b\w[ ._*|-]{1,2}){6}|[a-z][0-9@$][a-z]|[^\x00-\x7f]", re.IGNORECASE
)
"""Codes, spaced letters, digits within words, and letters beyond ASCII."""
_FEW = 4
"""Words from which a text without any function word is not plain English."""


def _readings(text: str) -> list[str]:
    """Return a text in lower case on one line, and what it says if it is encoded or disguised."""
    line = " ".join(text.lower().split())
    said = plain_words(line)
    if _HIDDEN.search(line) or (len(said) >= _FEW and stopwords().isdisjoint(said)):
        from touche_rad.evidence.disguises import undisguised

        return [line, *undisguised(text)]
    return [line]


@cache
def _marks() -> tuple[tuple[int, re.Pattern[str]], ...]:
    read = tomllib.loads(files(__package__).joinpath("addressed.toml").read_text("utf-8"))
    return tuple((mark["points"], re.compile(mark["pattern"])) for mark in read["mark"])


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
