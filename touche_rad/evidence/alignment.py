"""Align a sentence with a source: common words in order, changes, exchanges and negations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from touche_rad.evidence.words import (
    ENDS,
    Token,
    any_negator,
    clause_before,
    clause_behind,
    lexicon,
    negated_words,
    negates_oddly,
    read_passage,
    split_at,
)


def common_words(claim: Sequence[Token], source: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the longest common subsequence of stems as pairs of positions.

    Content words count more than function words. A function word that matches without its
    neighbours is left out.
    """
    stems = [token.stem for token in source]
    lengths = [[0] * (len(stems) + 1) for _ in range(len(claim) + 1)]
    for at in range(len(claim) - 1, -1, -1):
        token, row, below = claim[at], lengths[at], lengths[at + 1]
        for column in range(len(stems) - 1, -1, -1):
            if stems[column] == token.stem:
                row[column] = below[column + 1] + (3 if token.matters else 1)
            else:
                row[column] = max(below[column], row[column + 1])
    pairs: list[tuple[int, int]] = []
    a = b = 0
    while a < len(claim) and b < len(stems):
        if claim[a].stem == stems[b]:
            pairs.append((a, b))
            a, b = a + 1, b + 1
        elif lengths[a + 1][b] >= lengths[a][b + 1]:
            a += 1
        else:
            b += 1
    joined = {(a + step, b + step) for a, b in pairs for step in (-1, 1)}
    return [(a, b) for a, b in pairs if claim[a].matters or (a, b) in joined]


_BESIDE = 12
"""Content words on each side of a verb that are compared."""
_BE = frozenset(("is", "are", "was", "were"))


def exchanged_roles(claim: Sequence[Token], source: Sequence[Token]) -> Token | None:
    """Return the verb whose subject and object have changed places in the sentence, or None."""
    for at, token in enumerate(claim):
        if token.word not in lexicon().directed:
            continue
        ours = _sides(claim, at)
        theirs = [
            _sides(source, place)
            for place, other in enumerate(source)
            if _same_verb(token, other) and _passive(claim, at) == _passive(source, place)
        ]
        kept = max((_shared(ours, its) for its in theirs), default=0)
        if any(_crossed(ours, its) and _shared(ours, its[::-1]) > kept for its in theirs):
            return token
    return None


_Sides = tuple[frozenset[str], frozenset[str]]


def _sides(tokens: Sequence[Token], at: int) -> _Sides:
    """Return the content stems directly before and after a word that are on one side only."""
    *_, head = split_at(tokens[: at + 1])
    tail = takewhile(lambda one: not one.before, tokens[at + 1 :])
    before = [one.stem for one in head[:-1] if one.matters][-_BESIDE:]
    after = [one.stem for one in tail if one.matters][:_BESIDE]
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
_EDGE = 6
"""Words beyond the common words in which a negation of the source is searched."""


@dataclass(frozen=True)
class Change:
    """The words between two common words, in the sentence and in the source."""

    claim: tuple[Token, ...]
    source: tuple[Token, ...]


@dataclass(frozen=True)
class Alignment:
    """A sentence, a source, and the positions of their common words in order."""

    claim: tuple[Token, ...]
    source: tuple[Token, ...]
    pairs: tuple[tuple[int, int], ...]

    @property
    def share(self) -> float:
        """Share of the sentence's words that are common."""
        return len(self.pairs) / len(self.claim) if self.claim else 0.0

    @property
    def changes(self) -> list[Change]:
        """Changes within and at the ends; the source's words outside the pairs do not count."""
        if not self.pairs:
            return [Change(self.claim, ())]
        first, last = self.pairs[0], self.pairs[-1]
        inner = [
            Change(self.claim[a + 1 : c], self.source[b + 1 : d])
            for (a, b), (c, d) in zip(self.pairs, self.pairs[1:], strict=False)
        ]
        ends = [Change(self.claim[: first[0]], ()), Change(self.claim[last[0] + 1 :], ())]
        return [change for change in (*inner, *ends) if change.claim or change.source]

    @property
    def stretch(self) -> tuple[Token, ...]:
        """Words of the source from the first to the last common word."""
        return self.source[self.pairs[0][1] : self.pairs[-1][1] + 1] if self.pairs else ()

    def swapped(self) -> tuple[Token, Token] | None:
        """Return two content words that have exchanged their places, or None."""
        ranks = [dict[str, int](), dict[str, int]()]
        for side, tokens in enumerate((self.claim, self.source)):
            paired = {pair[side] for pair in self.pairs if self.claim[pair[0]].matters}
            rank = 0
            for at, token in enumerate(tokens):
                rank += at in paired
                if at not in paired and token.matters:
                    ranks[side].setdefault(token.stem, rank)
        moved = [
            (ranks[1][token.stem] - ranks[0][token.stem], token)
            for token in self.claim
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
        behind = clause_behind(self.source[end:][:_EDGE])
        return negates_oddly(self.claim) in (
            negates_oddly(self.stretch),
            negates_oddly((*self.source[start:end], *behind)),
        )

    def turned(self) -> Token | None:
        """Return the first content word that only one side negates, or None.

        If both sides have as many negations, one such word is only another wording (`never allowed
        to run`, `may never run`), and two are a negation that has moved.
        """
        claim, source = negated_words(self.claim), negated_words(self.source)
        words = [
            self.claim[a] for a, b in self.pairs if self.claim[a].matters and claim[a] != source[b]
        ]
        return words[0] if len(words) > self.as_negative() else None

    def turned_at_an_end(self) -> Token | None:
        """Return the content word next to a negation added before or after the common words.

        A negation that the source has elsewhere was moved, not added.
        """
        common = [(a, b) for a, b in self.pairs if self.claim[a].matters]
        if not common:
            return None
        (first, at), (last, to) = common[0], common[-1]
        head, tail = self.claim[:first], self.claim[last + 1 :]
        starts = self.source[at].before in ENDS
        before = () if starts else clause_before(self.source[max(0, at - _EDGE) : at])
        behind = clause_behind(self.source[to + 1 :][:_EDGE])
        if negates_oddly(head) != negates_oddly(before) and not self._moved(head, before):
            return self.claim[first]
        if negates_oddly(tail) != negates_oddly(behind) and not self._moved(tail, behind):
            return self.claim[last]
        return None

    def _moved(self, head_or_tail: Sequence[Token], edge: Sequence[Token]) -> bool:
        """Whether each side has a negation in another place for that of the other."""
        claim, source = ({pair[side] for pair in self.pairs} for side in (0, 1))
        elsewhere = [token for at, token in enumerate(self.source) if at not in source]
        ours = [token for at, token in enumerate(self.claim) if at not in claim]
        return any_negator(head_or_tail, ours) and any_negator(edge, elsewhere)


def contrary_pair(claim: Sequence[Token], source: Sequence[Token]) -> tuple[str, str] | None:
    """Return a word of the sentence and its contrary in the source, or None."""
    ours, theirs = {token.stem for token in claim}, {token.stem for token in source}
    new = tuple(token for token in claim if token.stem not in theirs)
    return contraries(Change(new, tuple(token for token in source if token.stem not in ours)))


def contraries(change: Change) -> tuple[str, str] | None:
    """Return a new word and the contrary word that it replaces, or None."""
    known = lexicon()
    for new in change.claim:
        for gone in change.source:
            if known.contrary(new.stem, gone.stem):
                return new.word, gone.word
    return None


def align(claim: Sequence[Token], source: Sequence[Token]) -> Alignment:
    """Align at most `MAX_SENTENCE` words with the most similar window of the source."""
    words = tuple(claim[:MAX_SENTENCE])
    window = tuple(_window(words, source))
    return Alignment(words, window, tuple(common_words(words, window)))


def _window(claim: Sequence[Token], source: Sequence[Token]) -> Sequence[Token]:
    if len(source) <= MAX_SOURCE:
        return source
    stems = {token.stem for token in claim if token.matters}
    hits = [token.stem in stems for token in source]
    inside = best = sum(hits[:MAX_SOURCE])
    start = 0
    for end in range(MAX_SOURCE, len(source)):
        inside += hits[end] - hits[end - MAX_SOURCE]
        if inside > best:
            best, start = inside, end - MAX_SOURCE + 1
    return source[start : start + MAX_SOURCE]


def supporting_spans(sentence: str, text: str) -> list[tuple[int, int]]:
    """Return the parts of an argument's text, as positions, that have the sentence's words."""
    words = [
        (token, match.span())
        for match in re.finditer(r"\S+", text)
        for token in read_passage(match.group()).tokens
    ][:MAX_SOURCE]
    claim = read_passage(sentence).tokens[:MAX_SENTENCE]
    spans: list[tuple[int, int]] = []
    before = -2
    for _, at in common_words(claim, [token for token, _ in words]):
        start, end = words[at][1]
        if at == before + 1:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
        before = at
    return spans
