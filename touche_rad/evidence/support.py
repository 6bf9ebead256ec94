"""How far a cited argument supports a sentence of a response."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from touche_rad.evidence.alignment import (
    Alignment,
    Change,
    align,
    contraries,
    contrary_pair,
    exchanged_roles,
)
from touche_rad.evidence.repetition import (
    Quotation,
    content_starts,
    find_quotation,
    without_padding,
)
from touche_rad.evidence.words import (
    Passage,
    Token,
    any_negator,
    coverage,
    lexicon,
    root,
    strict_coverage,
)


def _empty(token: Token) -> bool:
    """Whether a word is generic and adds no claim."""
    known = lexicon()
    return (
        root(known.sense(token.stem)) in known.generic
        and token.word not in known.exaggerators
        and token.word not in known.negators
        and token.word not in known.witnesses
        and not known.counts(token.word)
    )


def unsupported_words(claim: Sequence[Token], source: Sequence[Token]) -> list[Token]:
    """Return the words with meaning that the source does not have, also not as synonyms."""
    known = lexicon()
    there = {token.stem for token in source}
    senses = {known.sense(one) for one in there}
    return [
        token
        for token in claim
        if token.word not in known.harmless
        and not _empty(token)
        and token.stem not in there
        and known.sense(token.stem) not in senses
    ]


NEAR = 0.7
"""Share of common words from which a sentence is a changed quotation."""


CLOSE = 0.65
"""Share of common words from which a reversed sentence is the contrary of its source."""


def find_tampering(
    alignment: Alignment, claim: Sequence[Token], source: Passage
) -> tuple[str, bool] | None:
    """Return how a sentence changes its source, and whether it says the contrary; or None."""
    inside = _turned_inside(alignment, claim)
    turning = inside or _turned_at_an_end(alignment)
    contrary = alignment.share >= CLOSE and bool(inside or _only_negated(alignment))
    covered = coverage(claim, source.tokens)
    if invention := _invention(claim, source, freely=alignment.share < NEAR):
        return invention, contrary
    if turning:
        return turning, contrary
    if swap := alignment.swapped() if covered == 1 else None:
        numbers = any(lexicon().counts(one.word) for one in swap)
        return f"swaps '{swap[0].word}' and '{swap[1].word}'", not numbers
    if covered >= NEAR and (verb := exchanged_roles(claim, source.tokens)):
        return f"swaps the words before and after '{verb.word}'", False
    if alignment.share >= NEAR:
        for change in alignment.changes:
            if distortion := _distortion(change):
                return distortion, contrary
    return None


def _turned_inside(alignment: Alignment, claim: Sequence[Token]) -> str:
    if turned := alignment.turned():
        return f"says the opposite at '{turned.word}'"
    pair = contrary_pair(claim, alignment.source)
    if pair and alignment.as_negative() and lexicon().negators.intersection(pair):
        return ""
    return f"says '{pair[0]}' where the source says '{pair[1]}'" if pair else ""


def _turned_at_an_end(alignment: Alignment) -> str:
    if alignment.share < NEAR and alignment.as_negative():
        return ""
    turned = alignment.turned_at_an_end()
    return f"says the opposite at '{turned.word}'" if turned else ""


def _only_negated(alignment: Alignment) -> bool:
    """Whether a negation was added or removed without other content words."""
    return any(_negates(one) and not _own_matter(one) for one in alignment.changes)


def _own_matter(change: Change) -> bool:
    negators = lexicon().negators
    tokens = (*change.claim, *change.source)
    return any(token.matters and token.word not in negators for token in tokens)


def _negates(change: Change) -> bool:
    known = lexicon()
    claim, source = ({token.word for token in side} for side in (change.claim, change.source))
    return len(claim & known.negators) != len(source & known.negators)


def _invention(claim: Sequence[Token], source: Passage, *, freely: bool) -> str:
    known = lexicon()
    there = {token.stem for token in source.tokens}
    for at, token in enumerate(claim):
        if token.stem in there or (token.word == "any" and any_negator(claim[:at])):
            continue
        if token.word in known.witnesses:
            return f"names evidence, '{token.word}', that is not in the source"
        if known.counts(token.word):
            return f"gives a number, '{token.word}', that is not in the source"
        strong = token.word in known.exaggerators - (known.mild if freely else frozenset())
        if strong and token.word not in known.negators:
            return f"exaggerates with '{token.word}'"
    return ""


def _distortion(change: Change) -> str:
    """Return how one change in a quotation changes its meaning, or an empty text."""
    known = lexicon()
    claim = {token.word for token in change.claim}
    source = {token.word for token in change.source}
    new, gone = claim - source, source - claim
    if pair := contraries(change):
        return f"says '{pair[0]}' where the source says '{pair[1]}'"
    if len(claim & known.negators) != len(source & known.negators):
        word = min((claim ^ source) & known.negators)
        return f"{'adds' if word in claim else 'drops'} '{word}'"
    for word in sorted(new):
        if word in known.exaggerators:
            return f"exaggerates with '{word}'"
    dropped = gone & known.hedges
    if dropped and not new & known.hedges and not _leaves_out_whole(change):
        return f"drops '{min(dropped)}'"
    return ""


def _leaves_out_whole(change: Change) -> bool:
    """Whether the words left out are a clause or reach into another sentence."""
    inside = any(token.before in (".", "…") for token in change.source[1:])
    return inside or (not change.claim and bool(change.source[0].before))


class SupportKind(StrEnum):
    """How a source supports a sentence."""

    QUOTED = "quoted"
    NEAR = "near"
    COVERED = "covered"
    CHANGED = "changed"
    DISTORTED = "distorted"
    NONE = "none"


_SCORES = {
    SupportKind.QUOTED: 0.97,
    SupportKind.NEAR: 0.85,
    SupportKind.CHANGED: 0.35,
    SupportKind.DISTORTED: 0.08,
    SupportKind.NONE: 0.03,
}
_HALF_COVERED, _SLOPE = 0.52, 8.0
"""The coverage that scores 0.5, and how fast the score rises there."""


def logistic(value: float) -> float:
    """Return the logistic function of a value."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))


@dataclass(frozen=True)
class Support:
    """How a sentence is supported, its coverage, and the reason."""

    kind: SupportKind
    covered: float
    why: str
    contrary: bool = False
    """Whether the sentence says the contrary in the words of the source."""

    @property
    def score(self) -> float:
        """The probability that people say the sentence can be deduced."""
        if self.kind is SupportKind.COVERED:
            return logistic(_SLOPE * (self.covered - _HALF_COVERED))
        worth = _SCORES[self.kind]
        return worth * self.covered if self.kind is SupportKind.CHANGED else worth

    @property
    def supported(self) -> bool:
        """Whether the sentence counts as supported."""
        return self.score >= 0.5


ADDED = 3
"""Number of new content words in a row that make a new claim."""
QUOTED = Support(SupportKind.QUOTED, 1.0, "quoted")


def support(sentence: Passage, source: Passage) -> Support:
    """Return how one source supports a sentence."""
    quotation = find_quotation(sentence, source)
    if quotation is Quotation.KEPT:
        return QUOTED
    if quotation is Quotation.TORN:
        return Support(SupportKind.DISTORTED, 1.0, "torn out of a sentence that says otherwise")
    matter = without_padding(
        sentence.tokens[content_starts(sentence.tokens)[-1] :] or sentence.tokens
    )
    alignment = align(matter, source.tokens)
    covered = strict_coverage(matter, source.tokens)
    if tampering := find_tampering(alignment, matter, source):
        return Support(SupportKind.DISTORTED, covered, *tampering)
    if alignment.share >= NEAR:
        return _near_quotation(alignment, source, covered)
    if new := _addition(matter, source):
        return Support(
            SupportKind.CHANGED, covered, f"adds a claim that is not in the source, from '{new}' on"
        )
    return Support(
        SupportKind.COVERED, covered, f"{covered:.0%} of its content words are in the source"
    )


def _near_quotation(alignment: Alignment, source: Passage, covered: float) -> Support:
    light = lexicon().light
    if new := [
        one for one in unsupported_words(alignment.claim, source.tokens) if one.word not in light
    ]:
        return Support(SupportKind.CHANGED, covered, f"adds '{new[0].word}' to a quotation")
    for change in alignment.changes:
        if pair := _exchanged(change):
            why = f"quotes '{pair[1]}' as '{pair[0]}'"
            return Support(SupportKind.CHANGED, covered, why)
    return Support(SupportKind.NEAR, covered, "quoted with small changes")


def _exchanged(change: Change) -> tuple[str, str] | None:
    """Return a content word that replaces one with another meaning, or None."""
    known = lexicon()
    claim = [token for token in change.claim if _weighs(token)]
    source = [token for token in change.source if _weighs(token)]
    if not claim or not source:
        return None
    senses = {known.sense(token.stem) for token in source}
    new = next((token for token in claim if known.sense(token.stem) not in senses), None)
    return (new.word, source[0].word) if new else None


def _weighs(token: Token) -> bool:
    return token.matters and token.word not in lexicon().harmless


def _addition(claim: Sequence[Token], source: Passage) -> str:
    """Return the first of `ADDED` new content words in a row, or an empty text."""
    new = {id(token) for token in unsupported_words(claim, source.tokens)}
    row: list[Token] = []
    for token in claim:
        if id(token) in new:
            row.append(token)
        elif token.matters and token.word not in lexicon().harmless:
            row = []
        if len(row) == ADDED:
            return row[0].word
    return ""
