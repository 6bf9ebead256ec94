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
from touche_rad.text import count_of

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
    # The official scorer has no ids: only a run of the labels' shape can be matched by place.
    shapes = [("debates", len(scores), len(labels))]
    for number, (of_debate, turns) in enumerate(zip(scores, labels, strict=False), 1):
        shapes.append((f"turns in debate {number}", len(of_debate), len(turns)))
    for what, count, expected in shapes:
        if count != expected:
            fix = f": {NO_SCORE}" if known and scores else ""
            raise UserError(f"{path}: {count} {what}, and {truth} has {expected}{fix}")
    # Digests in the labels are proof of what was labelled; a file beside them is not.
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
        # A line has verdicts on all its turns, or on the answered ones only.
        got = len(row.turns)
        if row.problem is None and got and len(turns) not in (got, len(row.conversation)):
            raise InputError(
                run.path,
                f"expected {len(turns)} turns as in line {number} of {truth}, got {got}{end}",
                line=row.line,
                field="userTurnsEvaluations",
            )
    if len(run.rows) != len(labels):
        raise InputError(
            run.path,
            f"expected {len(labels)} lines as in {truth}, got {len(run.rows)}: the labels are of "
            f"other debates, or it is unknown which debate is missing{end}",
        )


class Matcher:
    """Matches one run with the labels, and collects its problems."""

    def __init__(self, run: Run, labels: Labelled, known: Reference | None, by_place: bool) -> None:
        self.run = run
        self.labels = labels
        self.reference = None if by_place else known
        self.problems: list[Problem] = []
        if known is None or not by_place:
            return
        lines = [
            row.line
            for row, turns in zip(run.rows, known.turns, strict=False)
            if row.conversation and set(turns).isdisjoint(row.conversation)
        ]
        # Who asks for places gets them, but is told of lines that share no turn with their debate.
        if lines:
            message = f"{len(lines)} lines are other debates than the labels in their places"
            self._note(ProblemKind.OTHER_DEBATES, f"{message}, but are scored", line=lines[0])

    def match(self) -> Alignment:
        """Find the labels of each line, and return the scores in the labels' shape."""
        rows = self.run.rows
        count = len(self.labels)
        for line in self.run.blank:
            self._note(ProblemKind.BLANK, "left out", line=line)
        if self.reference is not None and self.run.has_words:
            places = self._by_words(self.reference)
        else:
            for position, row in enumerate(rows[count:], count + 1):
                self._note(ProblemKind.EXTRA_DEBATE, "left out", line=row.line, debate=position)
            self.note_copies()
            places = dict(enumerate(rows[:count]))
        scores = [self._scores_of(number, places.get(number)) for number in range(count)]

        kinds = {problem.kind for problem in self.problems}
        if ProblemKind.MISSING_VERDICT in kinds:  # maybe because of a wrong name
            for name in sorted({name for row in rows for name in row.unknown}):
                hint = nearest(name, self.run.criteria.titles)
                self._note(ProblemKind.UNKNOWN_KEY, f"{name!r} is no maxim{hint}")
        accepted = (
            not self.run.blank
            and [len(row.turns) for row in rows] == [len(turns) for turns in self.labels]
            and all(row.official for row in rows)
        )
        official = OfficialResult.SAME
        if not accepted:
            official = OfficialResult.REFUSED
        elif ProblemKind.REORDERED in kinds:
            official = OfficialResult.WRONG
        present = sum(row.problem is None and bool(row.turns) for row in places.values())
        return Alignment(scores, tuple(self.problems), official, count - present)

    def note_copies(self) -> None:
        """Note each line with the words of an earlier one."""
        first: dict[tuple[str, ...], int] = {}
        for row in self.run.rows:
            words = row.conversation
            if words and first.setdefault(words, row.line) != row.line:
                message = f"has the words of line {first[words]}, scored in its place"
                self._note(ProblemKind.TWICE, message, line=row.line)

    def _by_words(self, reference: Reference) -> dict[int, JudgedLine]:
        """Return the line of each labelled debate, by its id or its words."""
        places: dict[int, JudgedLine] = {}
        unknown: list[tuple[int, JudgedLine]] = []
        lost: list[tuple[int, ProblemKind, JudgedLine]] = []
        # Lines that are sure of their debate come first; lost and unknown ones get what is left.
        for position, row in enumerate(self.run.rows):
            if row.problem is not None:
                lost.append((position, row.problem, row))
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

        # The official scorer matches by place only: it would score these lines wrongly.
        for place, ordered in zip(places, sorted(places), strict=True):
            if place == ordered:
                continue
            line = places[place].line
            if reference.of_runs:
                raise InputError(
                    self.run.path,
                    f"expected debate {ordered + 1} of {reference.source}, as in most runs, "
                    f"got {place + 1}; {NO_TEXTS}: {reference.fix}",
                    line=line,
                )
            message = "matched by its id or texts, without effect on the score"
            self._note(ProblemKind.REORDERED, message, line=line, debate=place + 1)

        # A line is lost where the official client wrote an empty record for a debate that failed.
        # Other debates are left out only if no labelled one is missing, but for lost lines.
        missing = [place for place in range(len(self.labels)) if place not in places]
        for position, row in unknown:
            if row.conversation and len(missing) > len(lost):
                place = position if position in missing else missing[0]
                reference.check(self.run.path, row, place)
            if position < len(self.labels) and position not in places and not row.conversation:
                places[position] = row
                message = "has no texts to match by; kept in its place"
                self._note(ProblemKind.UNMATCHED, message, line=row.line, debate=position + 1)
            else:
                self._note(ProblemKind.UNMATCHED, "left out", line=row.line)
        for position, problem, row in lost:  # each is the nearest debate that is missing
            missing = [place for place in range(len(self.labels)) if place not in places]
            if missing:
                places[min(missing, key=lambda place: abs(place - position))] = row
            else:
                self._note(problem, "no debate is missing", line=row.line)
        return places

    def _scores_of(self, position: int, row: JudgedLine | None) -> list[Mapping[str, float | None]]:
        """Return the scores of a line on each labelled turn of a debate, and note what is odd."""
        labels_of_turns = self.labels[position]
        where: dict[str, Any] = {"debate": position + 1}
        if row is not None:
            where["line"] = row.line
        if row is None or row.problem is not None:
            kind = ProblemKind.MISSING_DEBATE
            detail = ""
            if row is not None and row.problem is not None:
                kind = row.problem
            elif self.reference is None:
                count = len(self.labels)
                detail = f"{len(self.run.rows)} lines for {count} debates, maybe shifted"
            labelled = sum(map(self._count_labels, labels_of_turns))
            self._note_missing(kind, labelled, detail, **where)
            return [{} for _ in labels_of_turns]

        verdicts_of_turns = self._place_turns(position, row)
        scores: list[Mapping[str, float | None]] = []
        for turn, labels in enumerate(labels_of_turns):
            where["turn"] = turn + 1
            verdicts = verdicts_of_turns.get(turn)
            if verdicts is None:
                count = self._count_labels(labels)
                self._note_missing(ProblemKind.MISSING_TURN, count, **where)
                scores.append({})
                continue
            for key, read in verdicts.items():
                if read.problem is ProblemKind.ODD_SCORE:
                    meant = "yes" if says_yes(read.score) else "no"
                    message = f"{read.detail} counts as {meant}"
                    self._note(read.problem, message, maxim=key, **where)
                elif read.problem is not None:
                    count = int(labels.get(key) is not None)
                    self._note_missing(read.problem, count, read.detail, maxim=key, **where)
            scores.append({key: read.score for key, read in verdicts.items()})
        return scores

    def _place_turns(self, position: int, row: JudgedLine) -> dict[int, Mapping[str, ReadScore]]:
        """Find the labels' place of each judged turn, by its words where they are known."""
        count = len(self.labels[position])
        words = tuple(self.reference.turns[position][:count]) if self.reference else ()
        judged: Sequence[int] = range(len(row.turns))
        # The official client judges answered turns only.
        if len(row.turns) == len(row.answered) < len(row.conversation) and len(row.turns) != count:
            judged = row.answered
        places: dict[int, Mapping[str, ReadScore]] = {}
        for turn, verdicts in zip(judged, row.turns, strict=True):
            # Equal turns may occur twice in a debate: a turn whose own place fits stays there.
            text = row.conversation[turn : turn + 1]
            place = turn
            if text and text[0] in words and words[turn : turn + 1] != text:
                place = words.index(text[0])
            where = {"line": row.line, "debate": position + 1, "turn": place + 1}
            if place >= count or place in places:
                self._note(ProblemKind.EXTRA_TURN, "left out", **where)
                continue
            places[place] = verdicts
            if place != turn:
                message = f"turn {turn + 1} of the run, matched by its words"
                self._note(ProblemKind.REORDERED, message, **where)
        return places

    def _note_missing(
        self, kind: ProblemKind, count: int, detail: str = "", **where: object
    ) -> None:
        message = "nothing is labelled there"
        if count:
            message = f"{count_of(count, 'verdict')} counted as no"
        if detail:
            message = f"{detail}, {message}"
        self._note(kind, message, counted_as_no=count, **where)

    def _note(self, kind: ProblemKind, message: str, **where: object) -> None:
        self.problems.append(Problem(run=self.run.name, kind=kind, message=message, **where))

    def _count_labels(self, labels: Mapping[str, int | None]) -> int:
        return sum(labels.get(key) is not None for key in self.run.criteria.keys)
