"""How far a text repeats another: quotations of a source, and echoes of earlier messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Final

from touche_rad.evidence.alignment import align, contrary_pair
from touche_rad.evidence.words import (
    Passage,
    Token,
    clause_before,
    clause_behind,
    coverage,
    join_words,
    lexicon,
    read_passage,
    share_of_content,
    split_at,
)

MAX_FRAMES = 12
_LONGEST_CONNECTIVE = 5
_LONGEST_STANCE = 18
_LONGEST_HEADING = 5
_TELLING = 3
"""Repetitions of fewer words are ignored."""
_ASKS = frozenset(
    "who what when where why how which whose whom is are was were do does did can could will would"
    " should shall may might must have has had am".split()
)


def content_starts(tokens: Sequence[Token]) -> list[int]:
    """Return where the content may start: at 0 and after each introducing phrase.

    The last value is `len(tokens)` if the sentence has only introducing phrases.
    """
    starts = [0]
    while starts[-1] < len(tokens) and len(starts) <= MAX_FRAMES:
        behind = _behind_frame(tokens, starts[-1])
        if behind is None:
            break
        starts.append(behind)
    return starts


def without_padding(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Return the tokens without filler such as `generally speaking`."""
    text = join_words([token.word for token in tokens])
    dropped: set[int] = set()
    for match in lexicon().paddings.finditer(text):
        first = text.count(" ", 0, match.start()) - 1
        dropped.update(range(first, first + match.group().count(" ") + 1))
    kept = [token for at, token in enumerate(tokens) if at not in dropped]
    return tuple(_once(kept))


def _once(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens without parts between commas that repeat an earlier one."""
    before = ""
    for part in split_at(tokens):
        text = join_words([token.word for token in part])
        if text not in before or len(part) < _TELLING:
            yield from part
        before += text


def claims_nothing(tokens: Sequence[Token], text: str) -> bool:
    """Whether a sentence is only a stance, a question or a tautology."""
    at = content_starts(tokens)
    if at[-1] == len(tokens):
        return True
    rest = tokens[at[-1] :]
    return _asks(rest, text) or _is_itself(rest)


def _is_itself(tokens: Sequence[Token]) -> bool:
    """Whether the sentence is a tautology such as `rules are rules`."""
    matter = [token.stem for token in without_padding(tokens) if token.matters]
    return len(matter) > 1 and len(set(matter)) == 1


def _asks(tokens: Sequence[Token], text: str) -> bool:
    return text.rstrip("\"'”’)] ").endswith("?") and tokens[0].word in _ASKS


def _behind_heading(tokens: Sequence[Token], at: int) -> int | None:
    """Return the end of a heading of a few words and a colon (`not everyone:`), or None."""
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
        if " ".join(token.word for token in tokens[at : at + length]) in lexicon().connectives:
            return at + length
    return _behind_heading(tokens, at) if at == 0 else None


_EDGE = 40
"""Words around a quotation that are read."""
_TRIES = 6
"""Occurrences of a part that are tried."""


@dataclass(frozen=True)
class Span:
    """Tokens `start` to `end` of a source."""

    start: int
    end: int


class Quotation(Enum):
    """Whether a quotation keeps the meaning, is taken out of context, or is no quotation."""

    KEPT = "kept"
    TORN = "torn"
    NONE = "none"


def find_quotation(sentence: Passage, source: Passage) -> Quotation:
    """Return whether the sentence, or its part after an introducing phrase, is a quotation.

    Case and punctuation do not matter. An ellipsis joins parts that have this order in the source.
    A part is out of context if the words left out around it change its meaning: `animals suffer`
    is no fair quotation of `it is a myth that animals suffer`.
    """
    result = Quotation.NONE
    for tokens, kept in _tried(sentence, source):
        if kept:
            return Quotation.KEPT
        if kept is not None and len(tokens) >= _TELLING:
            result = Quotation.TORN
    return result


def quotation_start(sentence: Passage, source: Passage) -> int:
    """Return the number of the words before the quotation in a sentence; 0 if there is none."""
    lengths = (len(tokens) for tokens, kept in _tried(sentence, source) if kept)
    return len(sentence.tokens) - next(lengths, len(sentence.tokens))


def _tried(sentence: Passage, source: Passage) -> Iterator[tuple[Sequence[Token], bool | None]]:
    """Yield the sentence without more and more introducing phrases, and if it is a quotation."""
    for start in content_starts(sentence.tokens):
        tokens = sentence.tokens[start:]
        if not tokens:
            return
        yield tokens, _kept(tokens, source, open_end=sentence.after == "…")


def _kept(tokens: Sequence[Token], source: Passage, *, open_end: bool) -> bool | None:
    """Whether a quotation keeps its meaning; None if it is no quotation."""
    spans = list(_occurrences(tokens, source, 0))
    if spans:
        return any(_fair([span], source, open_end=open_end) for span in spans)
    parts = _spans_of_parts(tokens, source)
    return _fair(parts, source, open_end=open_end) if parts else None


def _spans_of_parts(tokens: Sequence[Token], source: Passage) -> list[Span]:
    """Return the spans of the parts between ellipses in order; empty if one is missing."""
    spans: list[Span] = []
    for part in split_at(tokens, ["…"]):
        span = next(_occurrences(part, source, spans[-1].end if spans else 0), None)
        if span is None:
            return []
        spans.append(span)
    return spans


def _fair(spans: Sequence[Span], source: Passage, *, open_end: bool) -> bool:
    return (
        _starts_well(spans[0], source)
        and (open_end or _ends_well(spans[-1], source))
        and all(_gap_is_harmless(one.end, other.start, source) for one, other in pairwise(spans))
    )


def _occurrences(tokens: Sequence[Token], source: Passage, start: int) -> Iterator[Span]:
    sought = join_words([token.word for token in tokens])
    at = len(join_words([token.word for token in source.tokens[:start]])) - 1 if start else 0
    for _ in range(_TRIES):
        at = source.joined.find(sought, at)
        if at < 0:
            return
        first = source.joined.count(" ", 0, at + 1) - 1
        yield Span(first, first + len(tokens))
        at += 1


def _starts_well(span: Span, source: Passage) -> bool:
    """Whether the words left out before the span do not change its meaning."""
    if span.start == 0 or source.tokens[span.start].before in ("…", ".", ";"):
        return True
    left = clause_before(source.tokens[max(0, span.start - _EDGE) : span.start])
    words = [token.word for token in left]
    known = lexicon()
    if " ".join(words) in known.connectives:
        return True
    if source.tokens[span.start].before == ",":
        return not known.conditions.intersection(words)
    return not any(
        word in known.negators
        or word in known.conditions
        or (word in known.attitudes and before not in ("i", "we"))
        for before, word in pairwise(["", *words])
    )


def _ends_well(span: Span, source: Passage) -> bool:
    """Whether the words left out after the span add no condition and no negation."""
    right = [token.word for token in clause_behind(source.tokens[span.end : span.end + _EDGE])]
    if lexicon().conditions.intersection(right):
        return False
    comma = not right or source.tokens[span.end].before == ","
    return comma or not lexicon().negators.intersection(right[:4])


def _gap_is_harmless(start: int, end: int, source: Passage) -> bool:
    """Whether the words left out at an ellipsis are a clause or change no meaning."""
    if start == end:
        return True
    tokens = source.tokens
    if tokens[start].before and tokens[end].before:
        return True
    known = lexicon()
    return not any(
        token.word in known.negators or token.word in known.conditions
        for token in tokens[start:end]
    )


ECHO: Final = 0.7
"""Share of earlier words from which a text is an echo."""
_SHORTEST: Final = 2
"""Content words of a clause that is compared alone."""


class Earlier:
    """The messages of a debate so far, to find texts that only repeat them."""

    def __init__(self, messages: Iterable[str]) -> None:
        self._messages = [read_passage(message) for message in messages]
        self._senses = {
            sense
            for message in self._messages
            for token in message.tokens
            for sense in _senses(token)
        }

    def has(self, text: str) -> bool:
        """Whether the messages say a text already, whole or nearly so."""
        read = read_passage(text)
        content = [token for token in read.tokens if token.matters]
        known = sum(not self._senses.isdisjoint(_senses(token)) for token in content)
        if known < ECHO * len(content):  # a quick check that rules out most texts
            return False
        return (
            echo_share(
                [Passage(tuple(one)) for one in split_at(read.tokens, (".", "…"))], self._messages
            )
            >= ECHO
        )


def echo_share(sentences: Sequence[Passage], earlier: Sequence[Passage]) -> float:
    """Return the share of the sentences that earlier messages say with the same meaning.

    Each sentence is compared with the message that it repeats most.
    """
    return share_of_content(
        [one.tokens for one in sentences],
        lambda tokens: max((echoed(tokens, message) for message in earlier), default=0.0),
    )


def echoed(tokens: Sequence[Token], message: Passage) -> float:
    """Return the share of a sentence's content words in a message; 0 if the meaning is reversed.

    Words count also as synonyms. An opening such as "On the contrary:" does not count.
    """
    tokens = tokens[content_starts(tokens)[-1] :] or tokens
    covered = coverage(tokens, message.tokens)
    if covered < 0.5:
        return covered
    return 0.0 if is_reversed(tokens, message.tokens) else covered


def is_reversed(claim: Sequence[Token], source: Sequence[Token]) -> bool:
    """Whether a sentence reverses a text in the same words; the order of clauses does not count."""
    if not _reverses(claim, source):
        return False
    clauses = list(_clauses(claim))
    return len(clauses) < 2 or any(_reverses(one, source) for one in clauses)


def _senses(token: Token) -> tuple[str, str]:
    return token.stem, lexicon().sense(token.stem)


def _reverses(claim: Sequence[Token], source: Sequence[Token]) -> bool:
    aligned = align(claim, source)
    if aligned.turned() or contrary_pair(claim, aligned.stretch):
        return True
    negators = lexicon().negators
    ours = sum(token.word in negators for token in claim)
    return ours != 0 and ours != sum(token.word in negators for token in aligned.stretch)


def _clauses(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the clauses between commas and stronger marks; short ones belong to the one before."""
    held: list[Token] = []
    for clause in split_at(tokens):
        if held and sum(token.matters for token in clause) >= _SHORTEST:
            yield held
            held = []
        held.extend(clause)
    if held:
        yield held
