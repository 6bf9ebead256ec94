"""Decide whether a sentence quotes an argument, with or without an introducing phrase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from touche_rad.evidence.words import Passage, Token, joined, lexicon

MAX_FRAMES = 12
_LONGEST_CONNECTIVE = 5
_LONGEST_STANCE = 18
_LONGEST_HEADING = 5
_TELLING = 3
"""Fewer words than these said twice are a matter of grammar."""
_ASKS = frozenset("who what when where why how which whose whom".split())
_ASKS_BEFORE_SUBJECT = frozenset(
    "is are was were do does did can could will would should shall may might must have has had"
    " am".split()
)


def starts(tokens: Sequence[Token]) -> list[int]:
    """Where the sentence's matter may start: at 0, and behind each frame in front of it.

    The last one is `len(tokens)` where the sentence is nothing but frames.
    """
    found = [0]
    while found[-1] < len(tokens) and len(found) <= MAX_FRAMES:
        behind = _behind_frame(tokens, found[-1])
        if behind is None:
            break
        found.append(behind)
    return found


def unpadded(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """The tokens without phrases that say nothing, such as `generally speaking`."""
    text = joined([token.word for token in tokens])
    dropped: set[int] = set()
    for match in lexicon().paddings.finditer(text):
        first = text.count(" ", 0, match.start()) - 1
        dropped.update(range(first, first + match.group().count(" ") + 1))
    kept = [token for at, token in enumerate(tokens) if at not in dropped]
    return tuple(token for segment in _said_once(kept) for token in segment)


def _said_once(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The stretches between commas, but those whose words a stretch before them has in a row."""
    breaks = [at for at, token in enumerate(tokens) if at and token.before]
    heard = ""
    for start, end in zip([0, *breaks], [*breaks, len(tokens)], strict=True):
        said = joined([token.word for token in tokens[start:end]])
        if said not in heard or end - start < _TELLING:
            yield tokens[start:end]
        heard += said


def claims_nothing(tokens: Sequence[Token], text: str) -> bool:
    """Whether a sentence is only a stance, a pure question, or says that a thing is itself."""
    at = starts(tokens)
    if at[-1] == len(tokens):
        return True
    rest = tokens[at[-1] :]
    return _asks(rest, text) or _is_itself(rest)


def _is_itself(tokens: Sequence[Token]) -> bool:
    """Whether `rules are rules` is all that is said."""
    matter = [token.stem for token in unpadded(tokens) if token.matters]
    return len(matter) > 1 and len(set(matter)) == 1


def _asks(tokens: Sequence[Token], text: str) -> bool:
    if not text.rstrip("\"'”’)] ").endswith("?"):
        return False
    return tokens[0].word in _ASKS or tokens[0].word in _ASKS_BEFORE_SUBJECT


def _behind_heading(tokens: Sequence[Token], at: int) -> int | None:
    """Behind a few words and a colon that announce and claim nothing: `not everyone:`."""
    known = lexicon()
    for end in range(at + 1, min(at + _LONGEST_HEADING + 1, len(tokens))):
        if tokens[end].before == ";":
            words = tokens[at:end]
            telling = [
                one for one in words if one.matters and known.sense(one.stem) not in known.generic
            ]
            called = any(known.counts(one.word) or one.word in known.witnesses for one in words)
            negates = [one for one in telling if one.word in known.negators]
            return end if len(telling) - len(negates) <= 1 and not called else None
    return None


def _behind_frame(tokens: Sequence[Token], at: int) -> int | None:
    end = at + 1
    while end < len(tokens) and not tokens[end].before and end - at <= _LONGEST_STANCE:
        end += 1
    segment = " ".join(token.word for token in tokens[at:end])
    if end - at <= _LONGEST_STANCE and lexicon().stances.fullmatch(segment):
        return end
    for length in range(min(_LONGEST_CONNECTIVE, end - at), 0, -1):
        phrase = tuple(token.word for token in tokens[at : at + length])
        if phrase in lexicon().connectives:
            return at + length
    return _behind_heading(tokens, at) if at == 0 else None


_TRIES = 6
"""At how many places one part is tried, should it occur more than once."""

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
