"""Match a sentence with an argument: common words in order, changes, and quotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from touche_rad.evidence.words import (
    Passage,
    Token,
    any_negator,
    join_words,
    lexicon,
    negated_words,
    negates_oddly,
)


def common_words(said: Sequence[Token], written: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the longest common subsequence of stems as pairs of positions.

    Content words count more than function words. A function word that matches without its
    neighbours is left out.
    """
    return list(_anchored(said, _longest_common(said, written)))


def _longest_common(said: Sequence[Token], written: Sequence[Token]) -> list[tuple[int, int]]:
    columns = range(len(written) - 1, -1, -1)
    rows = [[0] * (len(written) + 1)]
    stems = [token.stem for token in written]
    for token in reversed(said):
        below, row, gain = rows[-1], [0] * (len(written) + 1), 3 if token.matters else 1
        for column in columns:
            if stems[column] == token.stem:
                row[column] = below[column + 1] + gain
            else:
                row[column] = max(below[column], row[column + 1])
        rows.append(row)
    rows.reverse()
    return _walk(said, stems, rows)


def _anchored(said: Sequence[Token], pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    there = set(pairs)
    for a, b in pairs:
        if said[a].matters or (a - 1, b - 1) in there or (a + 1, b + 1) in there:
            yield a, b


def _walk(
    said: Sequence[Token], stems: Sequence[str], rows: list[list[int]]
) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    a = b = 0
    while a < len(said) and b < len(stems):
        if said[a].stem == stems[b]:
            pairs.append((a, b))
            a, b = a + 1, b + 1
        elif rows[a + 1][b] >= rows[a][b + 1]:
            a += 1
        else:
            b += 1
    return pairs


_BESIDE = 12
"""Content words on each side of a verb that are compared."""
_BE = frozenset(("is", "are", "was", "were"))


def exchanged_roles(said: Sequence[Token], written: Sequence[Token]) -> Token | None:
    """Return the verb whose subject and object have changed places in the sentence, or None."""
    for at, token in enumerate(said):
        if token.word not in lexicon().directed:
            continue
        ours = _sides(said, at)
        theirs = [
            _sides(written, place)
            for place, other in enumerate(written)
            if _same_verb(token, other) and _passive(said, at) == _passive(written, place)
        ]
        kept = max((_shared(ours, its) for its in theirs), default=0)
        if any(_crossed(ours, its) and _shared(ours, its[::-1]) > kept for its in theirs):
            return token
    return None


_Sides = tuple[frozenset[str], frozenset[str]]


def _sides(tokens: Sequence[Token], at: int) -> _Sides:
    """Return the content stems directly before and after a word that are on one side only."""
    start, end = at, at + 1
    while start > 0 and not tokens[start].before:
        start -= 1
    while end < len(tokens) and not tokens[end].before:
        end += 1
    before = [one.stem for one in tokens[start:at] if one.matters][-_BESIDE:]
    after = [one.stem for one in tokens[at + 1 : end] if one.matters][:_BESIDE]
    return frozenset(before).difference(after), frozenset(after).difference(before)


_MOST = 0.65
"""Share of the words of a side that must stand on the other side."""


def _crossed(ours: _Sides, theirs: _Sides) -> bool:
    """Whether most words of each side stand on the other side."""
    return all(
        one and len(one & other) >= _MOST * len(one)
        for one, other in zip(ours, reversed(theirs), strict=True)
    )


def _shared(ours: Sequence[frozenset[str]], theirs: Sequence[frozenset[str]]) -> int:
    return sum(len(one & other) for one, other in zip(ours, theirs, strict=True))


def _same_verb(one: Token, other: Token) -> bool:
    return one.stem == other.stem or (one.word in _BE and other.word in _BE)


def _passive(tokens: Sequence[Token], at: int) -> bool:
    return at + 1 < len(tokens) and tokens[at + 1].word == "by"


MAX_SENTENCE = 80
MAX_SOURCE = 200
_ENDS = (".", "…", ";")
_EDGE = 6
"""Words beyond the common words in which a negation of the source is searched."""


@dataclass(frozen=True)
class Change:
    """The words between two common words, in the sentence and in the source."""

    said: tuple[Token, ...]
    written: tuple[Token, ...]


@dataclass(frozen=True)
class Alignment:
    """A sentence, a source, and the positions of their common words in order."""

    said: tuple[Token, ...]
    written: tuple[Token, ...]
    pairs: tuple[tuple[int, int], ...]

    @property
    def share(self) -> float:
        """Share of the sentence's words that are common."""
        return len(self.pairs) / len(self.said) if self.said else 0.0

    @property
    def changes(self) -> list[Change]:
        """Changes within and at the ends; the source's words outside the pairs do not count."""
        if not self.pairs:
            return [Change(self.said, ())]
        first, last = self.pairs[0], self.pairs[-1]
        inner = [
            Change(self.said[a + 1 : c], self.written[b + 1 : d])
            for (a, b), (c, d) in zip(self.pairs, self.pairs[1:], strict=False)
        ]
        ends = [Change(self.said[: first[0]], ()), Change(self.said[last[0] + 1 :], ())]
        return [change for change in (*inner, *ends) if change.said or change.written]

    @property
    def stretch(self) -> tuple[Token, ...]:
        """Words of the source from the first to the last common word."""
        return self.written[self.pairs[0][1] : self.pairs[-1][1] + 1] if self.pairs else ()

    def swapped(self) -> tuple[Token, Token] | None:
        """Return two content words that have exchanged their places, or None."""
        ranks = [dict[str, int](), dict[str, int]()]
        for side, tokens in enumerate((self.said, self.written)):
            paired = {pair[side] for pair in self.pairs if self.said[pair[0]].matters}
            rank = 0
            for at, token in enumerate(tokens):
                rank += at in paired
                if at not in paired and token.matters:
                    ranks[side].setdefault(token.stem, rank)
        moved = [
            (ranks[1][token.stem] - ranks[0][token.stem], token)
            for token in self.said
            if token.matters and token.stem in ranks[0] and token.stem in ranks[1]
        ]
        forth = next((token for by, token in moved if by > 0), None)
        back = next((token for by, token in moved if by < 0), None)
        return (forth, back) if forth and back else None

    def as_negative(self) -> bool:
        """Whether both sides have an odd, or both an even, number of negations."""
        if not self.pairs:
            return True
        start, end = self.pairs[0][1], self.pairs[-1][1] + 1
        behind = _clause_behind(self.written[end:][:_EDGE])
        return negates_oddly(self.said) in (
            negates_oddly(self.stretch),
            negates_oddly((*self.written[start:end], *behind)),
        )

    def turned(self) -> Token | None:
        """Return the first content word that only one side negates, or None.

        If both sides have as many negations, one such word is only another wording (`never allowed
        to run`, `may never run`), and two are a negation that has moved.
        """
        said, written = negated_words(self.said), negated_words(self.written)
        found = [
            self.said[a] for a, b in self.pairs if self.said[a].matters and said[a] != written[b]
        ]
        return found[0] if len(found) > self.as_negative() else None

    def turned_at_an_end(self) -> Token | None:
        """Return the content word next to a negation added before or after the common words.

        A negation that the source has elsewhere was moved, not added.
        """
        common = [(a, b) for a, b in self.pairs if self.said[a].matters]
        if not common:
            return None
        (first, at), (last, to) = common[0], common[-1]
        head, tail = self.said[:first], self.said[last + 1 :]
        starts = self.written[at].before in _ENDS
        before = () if starts else _clause_before(self.written[max(0, at - _EDGE) : at])
        behind = _clause_behind(self.written[to + 1 :][:_EDGE])
        if negates_oddly(head) != negates_oddly(before) and not self._moved(head, before):
            return self.said[first]
        if negates_oddly(tail) != negates_oddly(behind) and not self._moved(tail, behind):
            return self.said[last]
        return None

    def _moved(self, head_or_tail: Sequence[Token], edge: Sequence[Token]) -> bool:
        """Whether each side has a negation in another place for that of the other."""
        said, written = ({pair[side] for pair in self.pairs} for side in (0, 1))
        elsewhere = [token for at, token in enumerate(self.written) if at not in written]
        ours = [token for at, token in enumerate(self.said) if at not in said]
        return any_negator(head_or_tail, ours) and any_negator(edge, elsewhere)


def align(said: Sequence[Token], source: Sequence[Token]) -> Alignment:
    """Align at most `MAX_SENTENCE` words with the most similar window of the source."""
    said = tuple(said[:MAX_SENTENCE])
    written = tuple(_window(said, source))
    return Alignment(said, written, tuple(common_words(said, written)))


def _clause_before(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens of the last sentence."""
    start = max((at for at, token in enumerate(tokens) if token.before in _ENDS), default=0)
    return tokens[start:]


def _clause_behind(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens up to the next sentence."""
    end = next((at for at, token in enumerate(tokens) if token.before in _ENDS), len(tokens))
    return tokens[:end]


def _window(said: Sequence[Token], source: Sequence[Token]) -> Sequence[Token]:
    if len(source) <= MAX_SOURCE:
        return source
    stems = {token.stem for token in said if token.matters}
    hits = [token.stem in stems for token in source]
    inside = best = sum(hits[:MAX_SOURCE])
    start = 0
    for end in range(MAX_SOURCE, len(source)):
        inside += hits[end] - hits[end - MAX_SOURCE]
        if inside > best:
            best, start = inside, end - MAX_SOURCE + 1
    return source[start : start + MAX_SOURCE]


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
    found = [0]
    while found[-1] < len(tokens) and len(found) <= MAX_FRAMES:
        behind = _behind_frame(tokens, found[-1])
        if behind is None:
            break
        found.append(behind)
    return found


def without_padding(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Return the tokens without filler such as `generally speaking`."""
    text = join_words([token.word for token in tokens])
    dropped: set[int] = set()
    for match in lexicon().paddings.finditer(text):
        first = text.count(" ", 0, match.start()) - 1
        dropped.update(range(first, first + match.group().count(" ") + 1))
    kept = [token for at, token in enumerate(tokens) if at not in dropped]
    return tuple(token for segment in _said_once(kept) for token in segment)


def _said_once(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the parts between commas, without parts that repeat an earlier one."""
    breaks = [at for at, token in enumerate(tokens) if at and token.before]
    before = ""
    for start, end in zip([0, *breaks], [*breaks, len(tokens)], strict=True):
        said = join_words([token.word for token in tokens[start:end]])
        if said not in before or end - start < _TELLING:
            yield tokens[start:end]
        before += said


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
        phrase = tuple(token.word for token in tokens[at : at + length])
        if phrase in lexicon().connectives:
            return at + length
    return _behind_heading(tokens, at) if at == 0 else None


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
    found = Quotation.NONE
    for tokens, kept in _tried(sentence, source):
        if kept:
            return Quotation.KEPT
        if kept is not None and len(tokens) >= _TELLING:
            found = Quotation.TORN
    return found


def quotation_start(sentence: Passage, source: Passage) -> int:
    """Return the number of the words before the quotation in a sentence; 0 if there is none."""
    found = (len(tokens) for tokens, kept in _tried(sentence, source) if kept)
    return len(sentence.tokens) - next(found, len(sentence.tokens))


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
    """Yield the parts between ellipses."""
    start = 0
    for at, token in enumerate(tokens):
        if token.before == "…" and at > start:
            yield tokens[start:at]
            start = at
    yield tokens[start:]


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
    left = _back_to_sentence_start(span.start, source.tokens)
    words = [token.word for token in left]
    known = lexicon()
    if tuple(words) in known.connectives:
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
    right: list[str] = []
    for token in source.tokens[span.end : span.end + 40]:
        if token.before in (".", ";", "…"):
            break
        right.append(token.word)
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


def _back_to_sentence_start(at: int, tokens: Sequence[Token]) -> Sequence[Token]:
    start = at - 1
    while start > 0 and at - start < 40 and tokens[start].before not in (".", ";", "…"):
        start -= 1
    return tokens[start:at]
