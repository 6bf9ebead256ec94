"""The sentences of a response, and what the cited arguments support of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from touche_rad.evidence.alignment import MAX_SENTENCE
from touche_rad.evidence.repetition import Quotation, claims_nothing, find_quotation
from touche_rad.evidence.support import QUOTED, Support, SupportKind, support
from touche_rad.evidence.words import Passage, lexicon, read_passage, split_at
from touche_rad.text import split_sentences


@dataclass(frozen=True)
class Sentence:
    """A sentence of the response, as text and as tokens."""

    text: str
    passage: Passage


def read_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences that have at least one word."""
    for sentence in split_sentences(text):
        passage = read_passage(sentence)
        if passage.tokens:
            yield Sentence(sentence, passage)


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
TOO_LONG = Support(SupportKind.NONE, 0.0, f"has more than {MAX_SENTENCE} words")
UNWEIGHED = Support(SupportKind.NONE, 0.0, "too much is said beside the quotations")


def findings_in(content: str, texts: Iterable[str]) -> list[Finding]:
    """Return the support of each sentence of a response that claims something."""
    return findings(tuple(read_sentences(content)), [read_passage(text) for text in texts])


def findings(sentences: Sequence[Sentence], sources: Sequence[Passage]) -> list[Finding]:
    """Return the support of each sentence that claims something."""
    results: list[Finding] = []
    weighed = 0
    before: Finding | None = None
    for sentence in sentences:
        finding = _quoted(sentence, sources)
        if finding is None:
            if claims_nothing(sentence.passage.tokens, sentence.text):
                if before is not None and _retracts(sentence):
                    results.append(Finding(sentence, RETRACTED, before.source))
                before = None
                continue
            weighed += 1
            if weighed > MAX_WEIGHED:
                finding = Finding(sentence, UNWEIGHED)
            else:
                finding = _best(sentence, sources)
        results.append(finding)
        before = finding if finding.support.supported else None
    return results


def _retracts(sentence: Sentence) -> bool:
    """Whether a sentence denies the one before it, such as `This is wrong.`."""
    parts = (" ".join(one.word for one in part) for part in split_at(sentence.passage.tokens))
    asks = sentence.text.rstrip().endswith("?")
    return not asks and any(lexicon().retractions.fullmatch(part) for part in parts)


def _quoted(sentence: Sentence, sources: Sequence[Passage]) -> Finding | None:
    for number, source in enumerate(sources):
        if find_quotation(sentence.passage, source) is Quotation.KEPT:
            return Finding(sentence, QUOTED, number)
    return None


def _best(sentence: Sentence, sources: Sequence[Passage]) -> Finding:
    """Return the support of the whole sentence, or of its clauses if that is better."""
    if len(sentence.passage.tokens) > MAX_SENTENCE:
        return Finding(sentence, TOO_LONG)
    whole = _strongest(sentence, sentence.passage, sources)
    clauses = list(_clauses(sentence.passage))
    if len(clauses) < 2 or whole.support.supported:
        return whole
    return max(whole, _weakest(sentence, clauses, sources), key=_score)


def _weakest(sentence: Sentence, parts: Sequence[Passage], sources: Sequence[Passage]) -> Finding:
    if len(parts) > MAX_WEIGHED:
        return Finding(sentence, UNWEIGHED)
    return min((_strongest(sentence, part, sources) for part in parts), key=_score)


def _strongest(sentence: Sentence, part: Passage, sources: Sequence[Passage]) -> Finding:
    supports = (support(part, source) for source in sources)
    results = [Finding(sentence, one, number) for number, one in enumerate(supports)]
    return max(results, key=_score, default=Finding(sentence, UNCITED))


def _score(finding: Finding) -> float:
    return finding.support.score


def _clauses(passage: Passage) -> Iterator[Passage]:
    """Yield the clauses between semicolons, colons and dashes that claim something."""
    parts = [tuple(part) for part in split_at(passage.tokens, [";"])]
    for part in parts:
        if not claims_nothing(part, ""):
            yield Passage(part, passage.after if part is parts[-1] else ";")
