"""What makes a sentence say something else than the source that it draws on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from judges.grice.grounded.alignment import Alignment, Change
from judges.grice.grounded.coverage import coverage
from judges.grice.grounded.lexicon import lexicon
from judges.grice.grounded.negation import any_negator
from judges.grice.grounded.tokens import Passage, Token

NEAR = 0.7
"""From this share of words in common on, a sentence is a quotation, and each change counts."""


class Tampering(NamedTuple):
    """What was done to a source."""

    told: str
    contrary: bool = False
    """Whether the sentence, near as it is to the source, says the contrary of it."""


CLOSE = 0.65
"""From this share on, a sentence that turns its source's sense says the contrary of it."""


def spoilt(alignment: Alignment, said: Sequence[Token], source: Passage) -> Tampering | None:
    """What makes a sentence say something else than its source, or nothing."""
    inside = _turned_inside(alignment, said)
    turning = inside or _turned_at_an_end(alignment)
    contrary = alignment.share >= CLOSE and bool(inside or _only_negated(alignment))
    if witness := _invented(said, source, freely=alignment.share < NEAR):
        return Tampering(witness, contrary)
    if turning:
        return Tampering(turning, contrary)
    if swap := alignment.swapped() if coverage(said, source.tokens) == 1 else None:
        told = f"makes '{swap[0].word}' and '{swap[1].word}' change places"
        return Tampering(told, contrary=not any(lexicon().counts(one.word) for one in swap))
    if alignment.share >= NEAR:
        for change in alignment.changes:
            if told := _spoiling(change):
                return Tampering(told, contrary)
    return None


def _turned_inside(alignment: Alignment, said: Sequence[Token]) -> str:
    if turned := alignment.turned():
        return f"turns '{turned.word}' into its contrary"
    pair = contrary_pair(said, alignment.written)
    if pair and alignment.as_negative() and lexicon().negators.intersection(pair):
        return ""
    return f"says '{pair[0]}' where the source says '{pair[1]}'" if pair else ""


def _turned_at_an_end(alignment: Alignment) -> str:
    if alignment.share < NEAR and alignment.as_negative():
        return ""
    turned = alignment.turned_at_an_end()
    return f"turns '{turned.word}' into its contrary" if turned else ""


def _only_negated(alignment: Alignment) -> bool:
    """Whether a negation came or went alone: with words of its own, it took its matter along."""
    return any(_negates(one) and not _own_matter(one) for one in alignment.changes)


def _own_matter(change: Change) -> bool:
    negators = lexicon().negators
    tokens = (*change.said, *change.written)
    return any(token.matters and token.word not in negators for token in tokens)


def _negates(change: Change) -> bool:
    known = lexicon()
    said, written = ({token.word for token in side} for side in (change.said, change.written))
    return len(said & known.negators) != len(written & known.negators)


def _invented(said: Sequence[Token], source: Passage, *, freely: bool) -> str:
    known = lexicon()
    there = {token.stem for token in source.tokens}
    for at, token in enumerate(said):
        if token.stem in there or (token.word == "any" and any_negator(said[:at])):
            continue
        if token.word in known.witnesses:
            return f"calls a witness, '{token.word}', that the source does not call"
        if known.counts(token.word):
            return f"gives a number, '{token.word}', that the source does not give"
        strong = token.word in known.exaggerators - (known.mild if freely else frozenset())
        if strong and token.word not in known.negators:
            return f"exaggerates with '{token.word}'"
    return ""


def contrary_pair(said: Sequence[Token], written: Sequence[Token]) -> tuple[str, str] | None:
    """A word of the sentence that the source lacks, and its contrary that the sentence lacks."""
    ours, theirs = {token.stem for token in said}, {token.stem for token in written}
    return _contraries(Change(tuple(_only(said, theirs)), tuple(_only(written, ours))))


def _contraries(change: Change) -> tuple[str, str] | None:
    known = lexicon()
    for new in change.said:
        for gone in change.written:
            if known.contrary(new.stem, gone.stem):
                return new.word, gone.word
    return None


def _only(tokens: Sequence[Token], without: set[str]) -> Iterator[Token]:
    return (token for token in tokens if token.stem not in without)


def _spoiling(change: Change) -> str:
    """What one change inside a quotation spoils, or nothing."""
    known = lexicon()
    said = {token.word for token in change.said}
    written = {token.word for token in change.written}
    new, gone = said - written, written - said
    if pair := _contraries(change):
        return f"says '{pair[0]}' where the source says '{pair[1]}'"
    if len(said & known.negators) != len(written & known.negators):
        word = min((said ^ written) & known.negators)
        return f"{'adds' if word in said else 'drops'} '{word}'"
    for word in sorted(new):
        if word in known.exaggerators:
            return f"exaggerates with '{word}'"
    dropped = gone & known.hedges
    if dropped and not new & known.hedges and not _leaves_out_whole(change):
        return f"drops '{min(dropped)}'"
    return ""


def _leaves_out_whole(change: Change) -> bool:
    """Whether what is left out is a clause of its own, or reaches into another sentence."""
    inside = any(token.before in (".", "…") for token in change.written[1:])
    return inside or (not change.said and bool(change.written[0].before))
