"""Which labels a debate belongs to, told by its id and its words where its place may be wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass

from touche_rad.debate import Debate
from touche_rad.score.evaluations import Row, digests
from touche_rad.score.result import Problem, Trouble


@dataclass(frozen=True)
class Reference:
    """The debates that the labels belong to, in the labels' order, to find a run's debates by."""

    ids: tuple[str, ...]
    turns: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, debates: Sequence[Debate]) -> Reference:
        """Keep the ids, and a digest of each turn."""
        return cls(
            ids=tuple(debate.id for debate in debates),
            turns=tuple(digests(debate) for debate in debates),
        )


class Finder:
    """Finds the reference debate that a row holds, by id and by the words of its turns."""

    def __init__(self, reference: Reference) -> None:
        ids = Counter(reference.ids)
        self.by_id = {
            name: place for place, name in enumerate(reference.ids) if name and ids[name] == 1
        }
        self.by_turn: dict[str, set[int]] = defaultdict(set)
        for place, turns in enumerate(reference.turns):
            for turn in turns:
                self.by_turn[turn].add(place)

    def find(self, row: Row, position: int, taken: Container[int]) -> int | None:
        """Return the debate with this id, or the one that shares most turns with the row.

        Of debates with the same words the one at the row's own place is taken, else a free one.
        """
        if row.id in self.by_id:
            return self.by_id[row.id]
        votes = Counter(place for turn in row.conversation for place in self.by_turn.get(turn, ()))
        if not votes:
            return None
        most = max(votes.values())
        best = sorted(place for place, count in votes.items() if count == most)
        best = [place for place in best if place not in taken] or best
        return position if position in best else best[0]


def turns_by_words(row: Row, spoken: Sequence[int], known: Sequence[str]) -> dict[int, int]:
    """Match judged turns to known ones by their words: {known place: judged turn}."""
    open_places: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(known):
        open_places[name].append(place)
    found: dict[int, int] = {}
    for judged, place in enumerate(spoken[: len(row.turns)]):
        said = row.conversation[place : place + 1]
        if said and open_places.get(said[0]):
            found[open_places[said[0]].pop(0)] = judged
    return found


def other_order(names: Sequence[str], runs: Sequence[Sequence[Row]]) -> list[Problem]:
    """Tell where runs hold the same debates at different places.

    Without the debates that the labels belong to, nobody can say which of them is right.
    """
    held = [[row for row in rows if row.trouble is not Trouble.BLANK] for rows in runs]
    first = {row.conversation: place for place, row in enumerate(held[0]) if row.conversation}
    return [
        _other_place(name, names[0], row, place, first[row.conversation])
        for name, rows in zip(names[1:], held[1:], strict=True)
        for place, row in enumerate(rows)
        if row.conversation in first
        and (place >= len(held[0]) or held[0][place].conversation != row.conversation)
    ]


def _other_place(name: str, other: str, row: Row, place: int, there: int) -> Problem:
    return Problem(
        run=name,
        kind=Trouble.OTHER_ORDER,
        message=f"it is debate {there + 1} in {other}; with --debates FILE each finds its labels",
        line=row.line,
        debate=place + 1,
    )
