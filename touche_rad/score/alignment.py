"""Align runs with labels, by id and text where positions may differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touche_rad.debate import Maxim
from touche_rad.errors import InputError, UserError
from touche_rad.score.evaluations import NO_SCORE, Read, Row, read_official
from touche_rad.score.matching import Reference, Run
from touche_rad.score.official import says_yes
from touche_rad.score.result import Problem, ProblemKind


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


Labelled = Sequence[Sequence[Mapping[Maxim, int | None]]]
Scored = Sequence[Sequence[Mapping[Maxim, float | None]]]


@dataclass(frozen=True)
class Alignment:
    """A run's scores in the shape of the labels, and its problems."""

    scores: Scored
    problems: tuple[Problem, ...] = ()
    official: bool = True
    """Whether the official scorer accepts the run."""
    lost: int = 0
    """Labelled debates without any verdict in the run."""


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
    """Aligns one run with the labels, and collects its problems."""

    def __init__(
        self, run: Run, labels: Labelled, reference: Reference | None = None, *, skip: bool = False
    ) -> None:
        """Prepare.

        Args:
            run: The run.
            labels: The labels.
            reference: The labelled debates; without them lines are matched by place.
            skip: Leave missing verdicts out instead of counting them as no.
        """
        self.run = run
        self.labels = labels
        self.reference = reference
        self.skip = skip
        self.problems: list[Problem] = []

    def align(self) -> Alignment:
        """Find the labels of each line, and return the scores in the labels' shape."""
        for line in self.run.blank:
            self._note(ProblemKind.BLANK, "left out", line=line)
        places = (
            self._by_position()
            if self.reference is None or not self.run.has_words
            else self._by_words(self.reference)
        )
        scores = [
            self._debate(position, places.get(position)) for position in range(len(self.labels))
        ]
        present = sum(row.trouble is None and bool(row.turns) for row in places.values())
        lost = len(self.labels) - present
        return Alignment(
            scores,
            tuple(self.problems),
            self._is_official(),
            lost,
        )

    def _is_official(self) -> bool:
        """Whether the official scorer accepts the run and gives the same scores."""
        shape = [len(row.turns) for row in self.run.rows]
        return (
            not self.run.blank
            and shape == [len(turns) for turns in self.labels]
            and all(row.official for row in self.run.rows)
            and not any(one.kind is ProblemKind.REORDERED for one in self.problems)
        )

    def _by_position(self) -> dict[int, Row]:
        rows = self.run.rows
        for position, row in enumerate(rows):
            if position >= len(self.labels):
                self._note(ProblemKind.EXTRA_DEBATE, "left out", line=row.line, debate=position + 1)
        return dict(enumerate(rows[: len(self.labels)]))

    def _by_words(self, reference: Reference) -> dict[int, Row]:
        places: dict[int, Row] = {}
        homeless: list[tuple[int, Row]] = []
        for position, row in enumerate(self.run.rows):
            if row.trouble is not None:
                self._note(row.trouble, "its verdicts are missing", line=row.line)
                continue
            place = reference.find(row, position, places)
            if place is None:
                homeless.append((position, row))
                continue
            reference.check(self.run, row, place)
            if place in places:
                self._note(
                    ProblemKind.TWICE, "the first one counts", line=row.line, debate=place + 1
                )
            else:
                places[place] = row
        for place, ordered in zip(places, sorted(places), strict=True):
            if place != ordered:
                line = places[place].line
                message = f"stands in line {line}, matched to debate {place + 1}"
                self._note(ProblemKind.REORDERED, message, line=line, debate=place + 1)
        self._refuse_strangers(homeless, places, reference)
        for position, row in homeless:
            self._keep_in_place(row, position, places)
        return places

    def _refuse_strangers(
        self, homeless: Sequence[tuple[int, Row]], places: Mapping[int, Row], reference: Reference
    ) -> None:
        """Refuse a run with other debates where labelled debates are missing.

        Other debates are left out if no labelled one is missing, but for lost ones.
        """
        strangers = [(position, row) for position, row in homeless if row.conversation]
        lost = sum(row.trouble is not None for row in self.run.rows)
        missing = [place for place in range(len(self.labels)) if place not in places]
        if strangers and len(missing) > lost:
            position, row = strangers[0]
            place = position if position in missing else missing[0]
            raise reference.difference(self.run, row, place)

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
            self._note_missing(kind, count, {"line": line, "debate": position + 1})
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
            self._note_missing(ProblemKind.MISSING_TURN, count, where)
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
            place = {**where, "maxim": maxim}
            self._note_missing(read.trouble, int(labelled), place, read.said)

    def _note_missing(
        self, kind: ProblemKind, count: int, where: Mapping[str, Any], said: str = ""
    ) -> None:
        what = "left out" if self.skip else "counted as no"
        verdicts = f"{count} verdict{'s' if count > 1 else ''} {what}"
        message = verdicts if count else "nothing is labelled there"
        counted = {"left_out" if self.skip else "counted_as_no": count}
        self._note(kind, ", ".join(filter(None, (said, message))), **where, **counted)

    def _note(self, kind: ProblemKind, message: str, **where: int | Maxim | None) -> None:
        fields = {"run": self.run.name, "kind": kind, "message": message, **where}
        self.problems.append(Problem.model_validate(fields))


def _labelled(labels: Mapping[Maxim, int | None]) -> int:
    return sum(value is not None for value in labels.values())


def without_missing(labels: Labelled, runs: Sequence[Scored]) -> Labelled:
    """Remove each label for which any run has no verdict, so that all runs are scored alike."""
    return [
        [
            {
                maxim: None if any(run[at][turn].get(maxim) is None for run in runs) else label
                for maxim, label in of_turn.items()
            }
            for turn, of_turn in enumerate(turns)
        ]
        for at, turns in enumerate(labels)
    ]


def refuse_missing(path: Path, aligned: Alignment) -> None:
    """Refuse a run with missing verdicts.

    Raises:
        InputError: It names the first one.
    """
    for problem in aligned.problems:
        if problem.counted_as_no:
            places = {name: getattr(problem, name) for name in ("debate", "turn")}
            where = [f"{name} {number}" for name, number in places.items() if number]
            missing = sum(one.counted_as_no for one in aligned.problems)
            raise InputError(
                path,
                f"{problem.kind} ({', '.join([*where, *filter(None, [problem.maxim])])}): expected "
                f"a verdict for each label, {missing} are missing; --missing no counts them as no",
                line=problem.line,
            )
