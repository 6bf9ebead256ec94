"""Align runs with labels, by id and text where positions may differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from touche_rad.debate import Debate, Maxim
from touche_rad.errors import UserError
from touche_rad.score.evaluations import NO_SCORE, Read, Row, digests, read_official
from touche_rad.score.official import says_yes
from touche_rad.score.result import Problem, ProblemKind


class Reference:
    """The labelled debates in the labels' order; finds the debate of a row by id and by words."""

    def __init__(self, debates: Sequence[Debate]) -> None:
        self.ids = tuple(debate.id for debate in debates)
        self.turns = tuple(digests(debate) for debate in debates)
        count = Counter(self.ids)
        self._by_id = {
            name: place for place, name in enumerate(self.ids) if name and count[name] == 1
        }
        self._by_turn: dict[str, set[int]] = defaultdict(set)
        for place, turns in enumerate(self.turns):
            for turn in turns:
                self._by_turn[turn].add(place)

    def find(self, row: Row, position: int, taken: Container[int]) -> int | None:
        """Return the debate with this id, or the one that shares most turns with the row.

        Of debates with the same words, the one at the row's own position is preferred, then one
        that is not taken.
        """
        if row.id in self._by_id:
            return self._by_id[row.id]
        votes = Counter(place for turn in row.conversation for place in self._by_turn.get(turn, ()))
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
    matches: dict[int, int] = {}
    for judged, place in enumerate(spoken[: len(row.turns)]):
        words = row.conversation[place : place + 1]
        if words and open_places.get(words[0]):
            matches[open_places[words[0]].pop(0)] = judged
    return matches


def other_order(names: Sequence[str], runs: Sequence[Sequence[Row]]) -> list[Problem]:
    """Report where runs have the same debates at different positions.

    Without the debates that the labels belong to, it is unknown which run is right.
    """
    held = [[row for row in rows if row.trouble is not ProblemKind.BLANK] for rows in runs]
    first = {row.conversation: place for place, row in enumerate(held[0]) if row.conversation}
    return [
        Problem(
            run=name, kind=ProblemKind.OTHER_ORDER, line=row.line, debate=place + 1,
            message=f"it is debate {first[row.conversation] + 1} in {names[0]}; "
            "with --debates FILE each finds its labels",
        )
        for name, rows in zip(names[1:], held[1:], strict=True)
        for place, row in enumerate(rows)
        if row.conversation in first
        and (place >= len(held[0]) or held[0][place].conversation != row.conversation)
    ]  # fmt: skip


Labelled = Sequence[Sequence[Mapping[Maxim, int | None]]]
Scored = Sequence[Sequence[Mapping[Maxim, float | None]]]


@dataclass(frozen=True)
class Alignment:
    """A run's scores in the shape of the labels, and its problems."""

    scores: Scored
    problems: tuple[Problem, ...] = ()
    official: bool = True
    """Whether the official scorer accepts the run."""


def align_strict(path: Path, truth: Path, labels: Labelled) -> Alignment:
    """Align by position like the official scorer, which refuses a run if anything is missing."""
    scores = read_official(path)
    _same_number("debates", path, len(scores), truth, len(labels))
    for number, (given, wanted) in enumerate(zip(scores, labels, strict=True), 1):
        _same_number(f"turns in debate {number}", path, len(given), truth, len(wanted))
    return Alignment(scores)


def _same_number(what: str, path: Path, got: int, truth: Path, wanted: int) -> None:
    if got != wanted:
        raise UserError(f"{path}: {got} {what}, and {truth} has {wanted}: {NO_SCORE}")


class Aligner:
    """Aligns one run with the labels by the policy `report`, and collects its problems."""

    def __init__(self, run: str, labels: Labelled, reference: Reference | None = None) -> None:
        self.run = run
        self.labels = labels
        self.reference = reference
        self.problems: list[Problem] = []

    def align(self, rows: Sequence[Row]) -> Alignment:
        """Find the labels of each row, and return the scores in the labels' shape."""
        places = self._places(rows)
        scores = [
            self._debate(position, places.get(position)) for position in range(len(self.labels))
        ]
        official = all(row.official for row in rows) and not any(
            problem.kind is not ProblemKind.ODD_SCORE for problem in self.problems
        )
        return Alignment(scores, tuple(self.problems), official)

    def _places(self, rows: Sequence[Row]) -> dict[int, Row]:
        """Find the labels' place of each row."""
        for row in rows:
            if row.trouble is ProblemKind.BLANK:
                self._note(ProblemKind.BLANK, "left out", line=row.line)
        held = [row for row in rows if row.trouble is not ProblemKind.BLANK]
        if self.reference is None:
            return self._by_position(held)
        return self._by_words(held, self.reference)

    def _by_position(self, rows: Sequence[Row]) -> dict[int, Row]:
        for position, row in enumerate(rows):
            if position >= len(self.labels):
                self._note(ProblemKind.EXTRA_DEBATE, "left out", line=row.line, debate=position + 1)
        return dict(enumerate(rows[: len(self.labels)]))

    def _by_words(self, rows: Sequence[Row], reference: Reference) -> dict[int, Row]:
        places: dict[int, Row] = {}
        homeless: list[tuple[int, Row]] = []
        for position, row in enumerate(rows):
            if row.trouble is not None:
                self._note(row.trouble, "its verdicts are missing", line=row.line)
                continue
            place = reference.find(row, position, places)
            if place is None:
                homeless.append((position, row))
            elif place in places:
                self._note(
                    ProblemKind.TWICE, "the first one counts", line=row.line, debate=place + 1
                )
            else:
                places[place] = row
                if place != position:
                    message = f"stands at place {position + 1}, matched to debate {place + 1}"
                    self._note(ProblemKind.REORDERED, message, line=row.line, debate=place + 1)
        for position, row in homeless:
            self._keep_in_place(row, position, places)
        return places

    def _keep_in_place(self, row: Row, position: int, places: dict[int, Row]) -> None:
        free = position < len(self.labels) and position not in places and not row.conversation
        if free:
            places[position] = row
        message = "holds no words to match by, kept in its place" if free else "left out"
        self._note(
            ProblemKind.UNMATCHED, message, line=row.line, debate=position + 1 if free else None
        )

    def _debate(self, position: int, row: Row | None) -> list[Mapping[Maxim, float | None]]:
        labels = self.labels[position]
        if row is None or row.trouble is not None:
            kind = row.trouble if row and row.trouble else ProblemKind.MISSING_DEBATE
            count = sum(_labelled(turn) for turn in labels)
            line = row.line if row else None
            self._note(kind, _as_no(count), line=line, debate=position + 1, counted_as_no=count)
            return [{} for _ in labels]
        turns = self._turn_places(position, row)
        return [self._turn(position, turn, row, turns.get(turn)) for turn in range(len(labels))]

    def _turn_places(self, position: int, row: Row) -> dict[int, Mapping[Maxim, Read]]:
        """Find the labels' place of each judged turn of a debate."""
        wanted = len(self.labels[position])
        spoken = self._spoken_turns(row, wanted)
        known = self.reference.turns[position] if self.reference else ()
        matches = turns_by_words(row, spoken, known[:wanted])
        for judged in range(len(row.turns)):
            place = spoken[judged]
            if judged in matches.values():
                continue
            if place < wanted and place not in matches:
                matches[place] = judged
            else:
                where = {"line": row.line, "debate": position + 1, "turn": place + 1}
                self._note(ProblemKind.EXTRA_TURN, "left out", **where)
        for place, judged in matches.items():
            if place != spoken[judged]:
                message = f"turn {spoken[judged] + 1} of the run, matched by its words"
                where = {"line": row.line, "debate": position + 1, "turn": place + 1}
                self._note(ProblemKind.REORDERED, message, **where)
        return {place: row.turns[judged] for place, judged in matches.items()}

    @staticmethod
    def _spoken_turns(row: Row, wanted: int) -> Sequence[int]:
        """Return the user turn of each verdict: the official client skips unanswered ones."""
        skipped = len(row.turns) == len(row.answered) < len(row.conversation)
        if skipped and len(row.turns) != wanted:
            return row.answered
        return range(len(row.turns))

    def _turn(
        self, position: int, turn: int, row: Row, given: Mapping[Maxim, Read] | None
    ) -> Mapping[Maxim, float | None]:
        where = {"line": row.line, "debate": position + 1, "turn": turn + 1}
        labels = self.labels[position][turn]
        if given is None:
            count = _labelled(labels)
            self._note(ProblemKind.MISSING_TURN, _as_no(count), **where, counted_as_no=count)
            return {}
        for maxim, read in given.items():
            self._note_verdict(maxim, read, labels.get(maxim) is not None, where)
        return {maxim: read.score for maxim, read in given.items()}

    def _note_verdict(
        self, maxim: Maxim, read: Read, labelled: bool, where: Mapping[str, int]
    ) -> None:
        if read.trouble is ProblemKind.ODD_SCORE:
            meant = "yes" if says_yes(read.score) else "no"
            message = f"{read.said} is taken as {read.score}, which means {meant}"
            self._note(read.trouble, message, **where, maxim=maxim)
        elif read.trouble is not None:
            count = int(labelled)
            message = ", ".join(part for part in (read.said, _as_no(count)) if part)
            self._note(read.trouble, message, **where, maxim=maxim, counted_as_no=count)

    def _note(self, kind: ProblemKind, message: str, **where: int | Maxim | None) -> None:
        fields = {"run": self.run, "kind": kind, "message": message, **where}
        self.problems.append(Problem.model_validate(fields))


def _labelled(labels: Mapping[Maxim, int | None]) -> int:
    return sum(value is not None for value in labels.values())


def _as_no(count: int) -> str:
    if not count:
        return "nothing is labelled there"
    return f"{count} verdict{'s' if count > 1 else ''} counted as no"
