"""How far one sentence of a response is carried by one cited argument."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from judges.grice.grounded.alignment import Alignment, Change, align
from judges.grice.grounded.frames import starts, unpadded
from judges.grice.grounded.lexicon import lexicon
from judges.grice.grounded.quotation import quotes
from judges.grice.grounded.tokens import Passage, Token

NEAR = 0.7
"""From this share of words in common on, a sentence is a quotation, and each change counts."""


class Manner(StrEnum):
    """In what manner a source carries a sentence."""

    QUOTED = "quoted"
    NEAR = "near"
    COVERED = "covered"
    CHANGED = "changed"
    SPOILT = "spoilt"
    NONE = "none"


@dataclass(frozen=True)
class Support:
    """In what manner a sentence is carried, how much of its matter is found, and why."""

    manner: Manner
    covered: float
    why: str


QUOTED = Support(Manner.QUOTED, 1.0, "quoted")


def support(sentence: Passage, source: Passage) -> Support:
    """Weigh a sentence against one source."""
    if quotes(sentence, source):
        return QUOTED
    matter = unpadded(sentence.tokens[starts(sentence.tokens)[-1] :] or sentence.tokens)
    alignment = align(matter, source.tokens)
    spoilt = _spoilt(alignment, matter, source)
    covered = coverage(matter, source.tokens)
    if spoilt:
        return Support(Manner.SPOILT, covered, spoilt)
    if alignment.share >= NEAR:
        return _near_quotation(alignment, source, covered)
    return Support(Manner.COVERED, covered, f"{covered:.0%} of its matter is in what is cited")


def coverage(said: Sequence[Token], written: Sequence[Token]) -> float:
    """The share of the sentence's words of matter that the source has, or has a like of."""
    known = lexicon()
    there = {token.stem for token in written}
    senses = {known.sense(one) for one in there}
    matter = [token for token in said if token.matters and token.word not in known.negators]
    if not matter:
        return 0.0
    found = sum(token.stem in there or known.sense(token.stem) in senses for token in matter)
    return found / len(matter)


def _near_quotation(alignment: Alignment, source: Passage, covered: float) -> Support:
    new = [token.word for token in _new_words(alignment.said, source)]
    if not new:
        return Support(Manner.NEAR, covered, "quoted with small changes")
    return Support(Manner.CHANGED, covered, f"puts '{new[0]}' into a quotation")


def _spoilt(alignment: Alignment, said: Sequence[Token], source: Passage) -> str:
    """What makes a sentence say something else than its source, or nothing."""
    if witness := _invented(said, source):
        return witness
    turned = alignment.turned()
    if turned:
        return f"turns '{turned.word}' into its contrary"
    if pair := contrary_pair(said, alignment.written):
        return f"says '{pair[0]}' where the source says '{pair[1]}'"
    if alignment.share >= NEAR:
        return next(filter(None, map(_spoiling, alignment.changes)), "")
    return ""


def _invented(said: Sequence[Token], source: Passage) -> str:
    known = lexicon()
    there = {token.stem for token in source.tokens}
    for token in said:
        if token.stem in there:
            continue
        if token.word in known.witnesses:
            return f"calls a witness, '{token.word}', that the source does not call"
        if known.counts(token.word):
            return f"gives a number, '{token.word}', that the source does not give"
        if token.word in known.exaggerators and token.word not in known.negators:
            return f"exaggerates with '{token.word}'"
    return ""


def contrary_pair(said: Sequence[Token], written: Sequence[Token]) -> tuple[str, str] | None:
    """A word of the sentence that the source lacks, and its contrary that the sentence lacks."""
    known = lexicon()
    ours, theirs = {token.stem for token in said}, {token.stem for token in written}
    for new in _only(said, theirs):
        for gone in _only(written, ours):
            if known.contrary(new.stem, gone.stem) or known.contrary(new.word, gone.word):
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


def _new_words(said: Sequence[Token], source: Passage) -> list[Token]:
    known = lexicon()
    there = {token.stem for token in source.tokens}
    senses = {known.sense(one) for one in there}
    return [
        token
        for token in said
        if token.word not in known.harmless
        and token.stem not in there
        and known.sense(token.stem) not in senses
    ]
