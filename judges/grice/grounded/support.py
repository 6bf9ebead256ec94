"""How far one sentence of a response is carried by one cited argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from judges.grice.grounded.alignment import Alignment, Change, align
from judges.grice.grounded.coverage import evidence, unknown
from judges.grice.grounded.frames import starts, unpadded
from judges.grice.grounded.lexicon import lexicon
from judges.grice.grounded.quotation import Quotation, quotation
from judges.grice.grounded.tampering import NEAR, spoilt
from judges.grice.grounded.tokens import Passage, Token


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
    contrary: bool = False
    """Whether it is the source's own words made to say the contrary."""


ADDED = 3
"""So many words of matter in a row that the source does not have are a claim of their own."""
QUOTED = Support(Manner.QUOTED, 1.0, "quoted")


def support(sentence: Passage, source: Passage) -> Support:
    """Weigh a sentence against one source."""
    found = quotation(sentence, source)
    if found is Quotation.KEPT:
        return QUOTED
    if found is Quotation.TORN:
        return Support(Manner.SPOILT, 1.0, "torn out of a sentence that says otherwise")
    matter = unpadded(sentence.tokens[starts(sentence.tokens)[-1] :] or sentence.tokens)
    alignment = align(matter, source.tokens)
    covered = evidence(matter, source.tokens)
    if found_out := spoilt(alignment, matter, source):
        return Support(Manner.SPOILT, covered, found_out.told, found_out.contrary)
    if alignment.share >= NEAR:
        return _near_quotation(alignment, source, covered)
    if new := _addition(matter, source):
        return Support(Manner.CHANGED, covered, f"adds a claim of its own from '{new}' on")
    return Support(Manner.COVERED, covered, f"{covered:.0%} of its matter is borne out")


def _near_quotation(alignment: Alignment, source: Passage, covered: float) -> Support:
    light = lexicon().light
    if new := [one for one in unknown(alignment.said, source.tokens) if one.word not in light]:
        return Support(Manner.CHANGED, covered, f"puts '{new[0].word}' into a quotation")
    for change in alignment.changes:
        if pair := _exchanged(change):
            why = f"puts '{pair[0]}' for '{pair[1]}' in a quotation"
            return Support(Manner.CHANGED, covered, why)
    return Support(Manner.NEAR, covered, "quoted with small changes")


def _exchanged(change: Change) -> tuple[str, str] | None:
    """A word of matter that stands in the place of another of another sense."""
    known = lexicon()
    said = [token for token in change.said if _weighs(token)]
    written = [token for token in change.written if _weighs(token)]
    if not said or not written:
        return None
    senses = {known.sense(token.stem) for token in written}
    new = next((token for token in said if known.sense(token.stem) not in senses), None)
    return (new.word, written[0].word) if new else None


def _weighs(token: Token) -> bool:
    return token.matters and token.word not in lexicon().harmless


def _addition(said: Sequence[Token], source: Passage) -> str:
    """The first of `ADDED` words of matter in a row that the source does not have, or nothing."""
    new = {id(token) for token in unknown(said, source.tokens)}
    row: list[Token] = []
    for token in said:
        if id(token) in new:
            row.append(token)
        elif token.matters and token.word not in lexicon().harmless:
            row = []
        if len(row) == ADDED:
            return row[0].word
    return ""
