"""Align a sentence with a source: shared runs of words, and the changes between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from touche_rad.evidence.words import Token, any_negator, negated, odd


def common_run(said: Sequence[Token], written: Sequence[Token]) -> list[tuple[int, int]]:
    """The longest common subsequence of stems, as pairs of places.

    Words of matter weigh more than function words, and a function word that matches alone, away
    from its neighbours, is left out: it matches by chance.
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


MAX_SENTENCE = 80
MAX_SOURCE = 200
_ENDS = (".", "…", ";")
_EDGE = 6
"""How far beyond the common words the source is searched for a negation that a sentence adds."""


@dataclass(frozen=True)
class Change:
    """What the sentence has between two words that run together, and what the source has there."""

    said: tuple[Token, ...]
    written: tuple[Token, ...]


@dataclass(frozen=True)
class Alignment:
    """The longest run of common stems, in order; and the changes within and at its two ends."""

    said: tuple[Token, ...]
    written: tuple[Token, ...]
    pairs: tuple[tuple[int, int], ...]

    @property
    def share(self) -> float:
        """How much of the sentence runs together with the source."""
        return len(self.pairs) / len(self.said) if self.said else 0.0

    @property
    def changes(self) -> list[Change]:
        """The changes. What the source has before the first and behind the last pair is no part."""
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
        """The source from the first to the last common word."""
        return self.written[self.pairs[0][1] : self.pairs[-1][1] + 1] if self.pairs else ()

    def swapped(self) -> tuple[Token, Token] | None:
        """Two words of matter that have changed places around what is in common."""
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
        """Whether both sides negate equally often, or both an odd or an even number of times."""
        if not self.pairs:
            return True
        start, end = self.pairs[0][1], self.pairs[-1][1] + 1
        behind = _clause_behind(self.written[end:][:_EDGE])
        return odd(self.said) in (odd(self.stretch), odd((*self.written[start:end], *behind)))

    def turned(self) -> Token | None:
        """The first word of matter that one side negates and the other does not.

        Where both sides negate as often, a single such word shows another turn of phrase (`never
        allowed to run`, `may never run`), and two show a negation that has changed its place.
        """
        said, written = negated(self.said), negated(self.written)
        found = [
            self.said[a] for a, b in self.pairs if self.said[a].matters and said[a] != written[b]
        ]
        return found[0] if len(found) > self.as_negative() else None

    def turned_at_an_end(self) -> Token | None:
        """A word of matter next to a negation put before or behind all that is in common.

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
        if odd(head) != odd(before) and not self._moved(head, before):
            return self.said[first]
        if odd(tail) != odd(behind) and not self._moved(tail, behind):
            return self.said[last]
        return None

    def _moved(self, head_or_tail: Sequence[Token], edge: Sequence[Token]) -> bool:
        """Whether each side has a negation that stands for the other's, if in another place."""
        said, written = ({pair[side] for pair in self.pairs} for side in (0, 1))
        elsewhere = [token for at, token in enumerate(self.written) if at not in written]
        ours = [token for at, token in enumerate(self.said) if at not in said]
        return any_negator(head_or_tail, ours) and any_negator(edge, elsewhere)


def align(said: Sequence[Token], source: Sequence[Token]) -> Alignment:
    """Align at most `MAX_SENTENCE` words with the window of the source that shares most."""
    said = tuple(said[:MAX_SENTENCE])
    written = tuple(_window(said, source))
    return Alignment(said, written, tuple(common_run(said, written)))


def _clause_before(tokens: Sequence[Token]) -> Sequence[Token]:
    """The last of the tokens, from the last sentence's beginning on."""
    start = max((at for at, token in enumerate(tokens) if token.before in _ENDS), default=0)
    return tokens[start:]


def _clause_behind(tokens: Sequence[Token]) -> Sequence[Token]:
    """The first of the tokens, up to the next sentence."""
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
