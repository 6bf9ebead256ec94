"""Match a judge's run with labels, and collect what does not fit.

A line finds its labels by its id or its words, if the labelled debates are known. Otherwise lines
are matched by their places, and a run of another shape is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.criteria import Criteria
from touche_rad.errors import InputError, UserError, nearest
from touche_rad.score.evaluations import (
    NO_SCORE,
    JudgedLine,
    ReadScore,
    Run,
    read_evaluated,
    read_official,
)
from touche_rad.score.measures import says_yes
from touche_rad.score.reference import NO_TEXTS, Labelled, Reference, known_reference
from touche_rad.score.result import OfficialResult, Problem, ProblemKind

Scored = Sequence[Sequence[Mapping[str, float | None]]]
"""The scores of each turn of each debate, by the key of the criterion."""


@dataclass(frozen=True)
class Alignment:
    """A run's scores in the shape of the labels, and its problems."""

    scores: Scored
    problems: tuple[Problem, ...] = ()
    official: OfficialResult = OfficialResult.SAME
    lost: int = 0
    """Labelled debates without any verdict in the run."""


def match_strictly(
    truth: Path, labels: Labelled, criteria: Criteria, tag: str, path: Path
) -> Alignment:
    """Match by place like the official scorer, which refuses a run if anything is missing."""
    known = known_reference(truth, labels)
    run = read_evaluated(tag, path, criteria, files.BadLines(skip=True))
    scores = read_official(path)
    shapes = [("debates", len(scores), len(labels))] + [
        (f"turns in debate {number}", len(own), len(turns))
        for number, (own, turns) in enumerate(zip(scores, labels, strict=False), 1)
    ]
    for what, own, expected in shapes:
        if own != expected:
            fix = f": {NO_SCORE}" if known and scores else ""
            raise UserError(f"{path}: {own} {what}, and {truth} has {expected}{fix}")
    if known and known.source == truth:
        for place, row in enumerate(run.rows):
            known.check(path, row, place)
    matcher = Matcher(run, labels, known, True)
    matcher.note_copies()
    return Alignment(scores, tuple(matcher.problems))


def check_places(run: Run, truth: Path, labels: Labelled, fix: str) -> None:
    """Refuse a run that only places match and that has another shape than the labels.

    The error ends with `fix`.

    Raises:
        InputError: Its number of lines differs, or the number of turns in a line.
    """
    end = fix and f": {fix}"
    for number, (row, turns) in enumerate(zip(run.rows, labels, strict=False), 1):
        got = len(row.turns)
        if row.trouble is None and got and len(turns) not in (got, len(row.conversation)):
            raise InputError(
                run.path,
                f"expected {len(turns)} turns as in line {number} of {truth}, got {got}{end}",
                line=row.line,
                field="userTurnsEvaluations",
            )
    if len(run.rows) != len(labels):
        raise InputError(
            run.path,
            f"expected {len(labels)} lines as in {truth}, got {len(run.rows)}: it is unknown "
            f"which debate has no labels or no verdicts{end}",
        )


class Matcher:
    """Matches one run with the labels, and collects its problems."""

    def __init__(self, run: Run, labels: Labelled, known: Reference | None, by_place: bool) -> None:
        self.run, self.labels, self.reference = run, labels, None if by_place else known
        self.problems: list[Problem] = []
        rows = zip(run.rows, known.turns if known and by_place else (), strict=False)
        pairs = ((row, {*turns}) for row, turns in rows if row.conversation)
        if lines := [row.line for row, turns in pairs if turns.isdisjoint(row.conversation)]:
            message = f"{len(lines)} lines are other debates than the labels in their places"
            self._note(ProblemKind.OTHER_DEBATES, f"{message}, but are scored", line=lines[0])

    def match(self) -> Alignment:
        """Find the labels of each line, and return the scores in the labels' shape."""
        for line in self.run.blank:
            self._note(ProblemKind.BLANK, "left out", line=line)
        rows = self.run.rows
        by_words = self.reference if self.run.has_words else None
        places = self._by_place() if by_words is None else self._by_words(by_words)
        scores = [self._debate(number, places.get(number)) for number in range(len(self.labels))]
        if any(one.kind is ProblemKind.MISSING_VERDICT for one in self.problems):
            for name in sorted({name for row in rows for name in row.unknown}):
                hint = nearest(name, self.run.criteria.titles)
                self._note(ProblemKind.UNKNOWN_KEY, f"{name!r} is no maxim{hint}")
        present = sum(row.trouble is None and bool(row.turns) for row in places.values())
        accepted = (
            not self.run.blank
            and [len(row.turns) for row in rows] == [len(turns) for turns in self.labels]
            and all(row.official for row in rows)
        )
        moved = any(one.kind is ProblemKind.REORDERED for one in self.problems)
        official = OfficialResult.SAME
        if not accepted:
            official = OfficialResult.REFUSED
        elif moved:
            official = OfficialResult.WRONG
        return Alignment(scores, tuple(self.problems), official, len(self.labels) - present)

    def _by_place(self) -> dict[int, JudgedLine]:
        rows, count = self.run.rows, len(self.labels)
        for position, row in enumerate(rows[count:], count + 1):
            self._note(ProblemKind.EXTRA_DEBATE, "left out", line=row.line, debate=position)
        self.note_copies()
        return dict(enumerate(rows[:count]))

    def note_copies(self) -> None:
        """Note each line with the words of an earlier one."""
        first: dict[tuple[str, ...], int] = {}
        for words, row in ((row.conversation, row) for row in self.run.rows):
            if words and first.setdefault(words, row.line) != row.line:
                self._note(
                    ProblemKind.TWICE,
                    f"has the words of line {first[words]}, scored in its place",
                    line=row.line,
                )

    def _by_words(self, reference: Reference) -> dict[int, JudgedLine]:
        """Return the line of each labelled debate, by its id or its words."""
        places: dict[int, JudgedLine] = {}
        unknown: list[tuple[int, JudgedLine]] = []
        lost: list[tuple[int, ProblemKind, JudgedLine]] = []
        for position, row in enumerate(self.run.rows):
            if row.trouble is not None:
                lost.append((position, row.trouble, row))
                continue
            place = reference.find(row, position, places)
            if place is None:
                unknown.append((position, row))
                continue
            reference.check(self.run.path, row, place)
            if place in places:
                message = "the first one counts"
                self._note(ProblemKind.TWICE, message, line=row.line, debate=place + 1)
            else:
                places[place] = row
        for place, ordered in zip(places, sorted(places), strict=True):
            if place != ordered:
                line = places[place].line
                if reference.of_runs:
                    got = f"got {place + 1}; {NO_TEXTS}: {reference.fix}"
                    expected = (
                        f"expected debate {ordered + 1} of {reference.source}, as in most runs"
                    )
                    raise InputError(self.run.path, f"{expected}, {got}", line=line)
                message = "matched by its id or texts, without effect on the score"
                self._note(ProblemKind.REORDERED, message, line=line, debate=place + 1)
        # Other debates are left out only if no labelled one is missing, but for lost lines.
        missing = [place for place in range(len(self.labels)) if place not in places]
        for position, row in unknown:
            if row.conversation and len(missing) > len(lost):
                place = position if position in missing else missing[0]
                reference.check(self.run.path, row, place)
            debate, message = None, "left out"
            if position < len(self.labels) and position not in places and not row.conversation:
                places[position] = row
                debate, message = position + 1, "has no texts to match by; kept in its place"
            self._note(ProblemKind.UNMATCHED, message, line=row.line, debate=debate)
        for position, trouble, row in lost:  # each is the nearest debate that is missing
            missing = [place for place in range(len(self.labels)) if place not in places]
            if missing:
                places[min(missing, key=lambda place: abs(place - position))] = row
            else:
                self._note(trouble, "no debate is missing", line=row.line)
        return places

    def _debate(self, position: int, row: JudgedLine | None) -> list[Mapping[str, float | None]]:
        labels = self.labels[position]
        if row is None or row.trouble is not None:
            kind = row.trouble if row and row.trouble else ProblemKind.MISSING_DEBATE
            count = sum(self._labelled(turn) for turn in labels)
            few = f"{len(self.run.rows)} lines for {len(self.labels)} debates, maybe shifted"
            text, line = ("", row.line) if row else ("" if self.reference else few, None)
            self._note_missing(kind, count, text, line=line, debate=position + 1)
            return [{} for _ in labels]
        turns = self._turns(position, row)
        return [self._turn(position, turn, row, turns.get(turn)) for turn in range(len(labels))]

    def _turns(self, position: int, row: JudgedLine) -> dict[int, Mapping[str, ReadScore]]:
        """Find the labels' place of each judged turn, by its words where they are known."""
        count = len(self.labels[position])
        words = tuple(self.reference.turns[position][:count]) if self.reference else ()
        # The official client judges answered turns only.
        skipped = len(row.turns) == len(row.answered) < len(row.conversation)
        answered = row.answered if skipped and len(row.turns) != count else range(len(row.turns))
        places: dict[int, Mapping[str, ReadScore]] = {}
        for own, verdicts in zip(answered, row.turns, strict=True):
            text = row.conversation[own : own + 1]
            place = own
            if text and text[0] in words and words[own : own + 1] != text:
                place = words.index(text[0])
            where = {"line": row.line, "debate": position + 1, "turn": place + 1}
            if place >= count or place in places:
                self._note(ProblemKind.EXTRA_TURN, "left out", **where)
                continue
            places[place] = verdicts
            if place != own:
                self._note(
                    ProblemKind.REORDERED,
                    f"turn {own + 1} of the run, matched by its words",
                    **where,
                )
        return places

    def _turn(
        self, position: int, turn: int, row: JudgedLine, verdicts: Mapping[str, ReadScore] | None
    ) -> Mapping[str, float | None]:
        where: dict[str, Any] = {"line": row.line, "debate": position + 1, "turn": turn + 1}
        labels = self.labels[position][turn]
        if verdicts is None:
            self._note_missing(ProblemKind.MISSING_TURN, self._labelled(labels), **where)
            return {}
        for key, read in verdicts.items():
            if read.trouble is ProblemKind.ODD_SCORE:
                meant = "yes" if says_yes(read.score) else "no"
                self._note(read.trouble, f"{read.text} counts as {meant}", **where, maxim=key)
            elif read.trouble is not None:
                count = int(labels.get(key) is not None)
                self._note_missing(read.trouble, count, read.text, maxim=key, **where)
        return {key: read.score for key, read in verdicts.items()}

    def _note_missing(self, kind: ProblemKind, count: int, text: str = "", **where: object) -> None:
        message = "nothing is labelled there"
        if count:
            message = f"{count} verdict{'s' if count > 1 else ''} counted as no"
        self._note(kind, f"{text}, {message}" if text else message, counted_as_no=count, **where)

    def _note(self, kind: ProblemKind, message: str, **where: object) -> None:
        self.problems.append(Problem(run=self.run.name, kind=kind, message=message, **where))

    def _labelled(self, labels: Mapping[str, int | None]) -> int:
        return sum(labels.get(key) is not None for key in self.run.criteria.keys)
