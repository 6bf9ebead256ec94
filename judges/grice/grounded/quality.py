"""Quality: can everything in the response be deduced from the arguments it cites?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from judges.grice.grounded.scene import Sentence
from judges.grice.grounded.scoring import QualityWeights, logistic, short
from touche_rad.debate import Verdict
from touche_rad.evidence.alignment import MAX_SENTENCE
from touche_rad.evidence.quotation import Quotation, claims_nothing, quotation
from touche_rad.evidence.support import QUOTED, Manner, Support, support
from touche_rad.evidence.words import Passage, Token, joined

MAX_WEIGHED = 12
"""How many sentences that are no quotations are weighed; what follows counts as unsupported."""


@dataclass(frozen=True)
class Finding:
    """A sentence, and what carries it best: which of the sources, counted from 0, or none."""

    sentence: Sentence
    support: Support
    source: int | None = None


UNCITED = Support(Manner.NONE, 0.0, "nothing is cited for it")
UNWEIGHED = Support(Manner.NONE, 0.0, "too much is said beside the quotations")


def findings(
    sentences: Sequence[Sentence], sources: Sequence[Passage], weights: QualityWeights
) -> list[Finding]:
    """Weigh each sentence that claims something; sentences that claim nothing are left out."""
    found: list[Finding] = []
    weighed = 0
    for sentence in sentences:
        finding = _quoted(sentence, sources)
        if finding is None:
            if claims_nothing(sentence.read.tokens, sentence.text):
                continue
            weighed += 1
            if weighed > MAX_WEIGHED:
                finding = Finding(sentence, UNWEIGHED)
            else:
                finding = _best(sentence, sources, weights)
        found.append(finding)
    return found


def score(support: Support, weights: QualityWeights) -> float:
    """How likely people find that a sentence so carried can be deduced."""
    if support.manner is Manner.COVERED:
        return logistic(weights.slope * (support.covered - weights.line))
    worth = weights.manners[support.manner]
    return worth * support.covered if support.manner is Manner.CHANGED else worth


def verdict(
    found: Sequence[Finding], cited: int, weights: QualityWeights, aside: Sequence[Sentence] = ()
) -> Verdict:
    """The weakest sentence decides; what is said to a judge, aside, no argument carries."""
    if aside:
        told = f"{short(aside[0].text)} speaks to whoever judges it"
        return Verdict(score=weights.manners[Manner.NONE], rationale=told)
    if not found:
        return Verdict(score=weights.manners[Manner.NONE], rationale="nothing is claimed")
    if not cited:
        told = f"no argument is cited for {short(found[0].sentence.text)}"
        return Verdict(score=weights.manners[Manner.NONE], rationale=told)
    weakest = min(found, key=lambda finding: score(finding.support, weights))
    return Verdict(
        score=round(score(weakest.support, weights), 4),
        rationale=f"{short(weakest.sentence.text)}: {weakest.support.why}",
    )


def _quoted(sentence: Sentence, sources: Sequence[Passage]) -> Finding | None:
    for number, source in enumerate(sources):
        if quotation(sentence.read, source) is Quotation.KEPT:
            return Finding(sentence, QUOTED, number)
    return None


def _best(sentence: Sentence, sources: Sequence[Passage], weights: QualityWeights) -> Finding:
    """The sentence as a whole, or clause by clause where it has clauses of several sources."""
    if len(sentence.read.tokens) > MAX_SENTENCE:
        return _weakest(sentence, list(_stretches(sentence.read)), sources, weights)
    whole = _carried(sentence, sentence.read, sources, weights)
    clauses = list(_clauses(sentence.read))
    if len(clauses) < 2 or score(whole.support, weights) >= 0.5:
        return whole
    weakest = _weakest(sentence, clauses, sources, weights)
    return max(whole, weakest, key=lambda finding: score(finding.support, weights))


def _weakest(
    sentence: Sentence,
    parts: Sequence[Passage],
    sources: Sequence[Passage],
    weights: QualityWeights,
) -> Finding:
    if len(parts) > MAX_WEIGHED:
        return Finding(sentence, UNWEIGHED)
    found = [_carried(sentence, part, sources, weights) for part in parts]
    return min(found, key=lambda finding: score(finding.support, weights))


def _carried(
    sentence: Sentence, read: Passage, sources: Sequence[Passage], weights: QualityWeights
) -> Finding:
    found = [
        Finding(sentence, support(read, source), number) for number, source in enumerate(sources)
    ]
    return max(
        found,
        key=lambda finding: score(finding.support, weights),
        default=Finding(sentence, UNCITED),
    )


def _stretches(read: Passage) -> Iterator[Passage]:
    """A sentence too long to be looked at whole, in even pieces."""
    count = -(-len(read.tokens) // MAX_SENTENCE)
    length = -(-len(read.tokens) // count)
    for start in range(0, len(read.tokens), length):
        tokens = read.tokens[start : start + length]
        yield Passage(tokens, joined([token.word for token in tokens]))


def _clauses(read: Passage) -> Iterator[Passage]:
    """The stretches between semicolons, colons and dashes, but those that claim nothing."""
    starts = [0, *(at for at, token in enumerate(read.tokens) if at and token.before == ";")]
    for start, end in zip(starts, [*starts[1:], len(read.tokens)], strict=True):
        tokens: tuple[Token, ...] = read.tokens[start:end]
        if not claims_nothing(tokens, ""):
            after = read.after if end == len(read.tokens) else ";"
            yield Passage(tokens, joined([token.word for token in tokens]), after)
