"""Whether a sentence is a quotation: the argument's own words, in a row, saying what they said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from judges.grice.grounded.frames import starts
from judges.grice.grounded.lexicon import lexicon
from judges.grice.grounded.tokens import Passage, Token, joined

_TRIES = 6
"""At how many places one part is tried, should it occur more than once."""

_TELLING = 3
"""Fewer words in a row are no quotation that could be torn out of anything."""


@dataclass(frozen=True)
class Span:
    """Tokens `start` to `end` of a source."""

    start: int
    end: int


class Quotation(Enum):
    """What becomes of the sense when a sentence's words are found in a row."""

    KEPT = "kept"
    TORN = "torn"
    NONE = "none"


def quotation(sentence: Passage, source: Passage) -> Quotation:
    """Whether the sentence, or what follows its frame, is quoted from the source.

    Case, punctuation and typographic signs do not matter. An ellipsis joins parts that stand in
    this order in the source. A part of a sentence is torn out of it if what was left out around it
    turns its sense: `animals suffer` is no fair quotation of `it is a myth that animals suffer`.
    """
    found = Quotation.NONE
    for start in starts(sentence.tokens):
        tokens = sentence.tokens[start:]
        if not tokens:
            break
        kept = _kept(tokens, source, open_end=sentence.after == "…")
        if kept:
            return Quotation.KEPT
        if kept is not None and len(tokens) >= _TELLING:
            found = Quotation.TORN
    return found


def _kept(tokens: Sequence[Token], source: Passage, *, open_end: bool) -> bool | None:
    """Whether a quotation keeps its sense; None where it is no quotation."""
    spans = list(_occurrences(tokens, source, 0))
    if spans:
        return any(_fair([span], source, open_end=open_end) for span in spans)
    parts = _spans_of_parts(tokens, source)
    return _fair(parts, source, open_end=open_end) if parts else None


def _spans_of_parts(tokens: Sequence[Token], source: Passage) -> list[Span]:
    """Where the stretches between ellipses stand, in order; empty where one is missing."""
    spans: list[Span] = []
    for part in _parts(tokens):
        found = next(_occurrences(part, source, spans[-1].end if spans else 0), None)
        if found is None:
            return []
        spans.append(found)
    return spans


def _fair(spans: Sequence[Span], source: Passage, *, open_end: bool) -> bool:
    return (
        _starts_well(spans[0], source)
        and (open_end or _ends_well(spans[-1], source))
        and all(_gap_is_harmless(one.end, other.start, source) for one, other in pairwise(spans))
    )


def _parts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The stretches between ellipses."""
    start = 0
    for at, token in enumerate(tokens):
        if token.before == "…" and at > start:
            yield tokens[start:at]
            start = at
    yield tokens[start:]


def _occurrences(tokens: Sequence[Token], source: Passage, start: int) -> Iterator[Span]:
    sought = joined([token.word for token in tokens])
    at = len(joined([token.word for token in source.tokens[:start]])) - 1 if start else 0
    for _ in range(_TRIES):
        at = source.joined.find(sought, at)
        if at < 0:
            return
        first = source.joined.count(" ", 0, at + 1) - 1
        yield Span(first, first + len(tokens))
        at += 1


def _starts_well(span: Span, source: Passage) -> bool:
    """Whether what was left out before the span, in the same sentence, leaves its sense alone."""
    if span.start == 0 or source.tokens[span.start].before in ("…", ".", ";"):
        return True
    left = _back_to_sentence_start(span.start, source.tokens)
    words = [token.word for token in left]
    if source.tokens[span.start].before == ",":
        return not lexicon().conditions.intersection(words)
    known = lexicon()
    return not any(
        word in known.negators
        or word in known.conditions
        or (word in known.attitudes and before not in ("i", "we"))
        for before, word in pairwise(["", *words])
    )


def _ends_well(span: Span, source: Passage) -> bool:
    """Whether what was left out behind the span sets no condition and takes nothing back."""
    right: list[str] = []
    for token in source.tokens[span.end : span.end + 40]:
        if token.before in (".", ";", "…"):
            break
        right.append(token.word)
    if lexicon().conditions.intersection(right):
        return False
    return not right or source.tokens[span.end].before == "," or not _takes_back(right)


def _takes_back(words: Sequence[str]) -> bool:
    return bool(lexicon().negators.intersection(words[:4]))


def _gap_is_harmless(start: int, end: int, source: Passage) -> bool:
    """Whether the words left out at an ellipsis are a whole clause, or turn nothing."""
    if start == end:
        return True
    tokens = source.tokens
    cut_at_marks = bool(tokens[start].before) and bool(tokens[end].before)
    if cut_at_marks:
        return True
    known = lexicon()
    return not any(
        token.word in known.negators or token.word in known.conditions
        for token in tokens[start:end]
    )


def _back_to_sentence_start(at: int, tokens: Sequence[Token]) -> Sequence[Token]:
    start = at - 1
    while start > 0 and at - start < 40 and tokens[start].before not in (".", ";", "…"):
        start -= 1
    return tokens[start:at]
