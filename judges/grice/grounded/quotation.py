"""Whether a sentence is a quotation: the argument's own words, in a row, saying what they said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from judges.grice.grounded.frames import starts
from judges.grice.grounded.lexicon import lexicon
from judges.grice.grounded.tokens import Passage, Token, joined

_TRIES = 6
"""At how many places one part is tried, should it occur more than once."""


@dataclass(frozen=True)
class Span:
    """Tokens `start` to `end` of a source."""

    start: int
    end: int


def quotes(sentence: Passage, source: Passage) -> bool:
    """Whether the sentence, or what follows its frame, is quoted from the source.

    Case, punctuation and typographic signs do not matter. An ellipsis joins parts that stand in
    this order in the source. A part of a sentence counts only if what was left out around it does
    not turn its sense: `animals suffer` is no quotation of `it is a myth that animals suffer`.
    """
    return any(
        _quoted(sentence.tokens[start:], source, open_end=sentence.after == "…")
        for start in starts(sentence.tokens)
        if start < len(sentence.tokens)
    )


def _quoted(tokens: Sequence[Token], source: Passage, *, open_end: bool) -> bool:
    if _one_part(tokens, source, open_end=open_end):
        return True
    parts = list(_parts(tokens))
    if len(parts) == 1:
        return False
    spans: list[Span] = []
    for part in parts:
        found = next(_occurrences(part, source, spans[-1].end if spans else 0), None)
        if found is None:
            return False
        spans.append(found)
    return (
        _starts_well(spans[0], source)
        and (open_end or _ends_well(spans[-1], source))
        and all(_gap_is_harmless(one.end, other.start, source) for one, other in pairwise(spans))
    )


def _one_part(tokens: Sequence[Token], source: Passage, *, open_end: bool) -> bool:
    return any(
        _starts_well(span, source) and (open_end or _ends_well(span, source))
        for span in _occurrences(tokens, source, 0)
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
        word in known.negators or word in known.attitudes or word in known.conditions
        for word in words
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
