"""The longest run of words that two texts have in common, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from judges.grice.grounded.tokens import Token


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
