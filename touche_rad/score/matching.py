"""Match a judge's run with labels, and collect what does not fit.

A line finds its labels by its id or its words, if the labelled debates are known. Otherwise lines
are matched by their places, and a run of another shape is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from touche_rad.errors import InputError, UserError, nearest
from touche_rad.files.labels import Labels
from touche_rad.frozen import frozen
from touche_rad.score.confusion import missing_answer
from touche_rad.score.evaluations import (
    NO_SCORE,
    JudgedLine,
    ReadScore,
    Run,
)
from touche_rad.score.measures import says_yes
from touche_rad.score.reference import Labelled, Reference, known_reference
from touche_rad.score.result import OfficialResult, Problem, ProblemKind
from touche_rad.score.words import names_of
from touche_rad.text import count_of

Scored = Sequence[Sequence[Mapping[str, float | None]]]
"""The scores of each turn of each debate, by the key of the criterion."""


@frozen
class Alignment:
    """A run's scores in the shape of the labels, and its problems."""

    scores: Scored
    problems: tuple[Problem, ...]
    official: OfficialResult
    lost: int
    """Labelled debates without any verdict in the run."""
    lengths: Sequence[Sequence[int]]
    """The words of each judged text, if the run has the debates."""
    claims: Sequence[str]
    """The claim of each labelled debate, as far as the run says it."""


def match_strictly(truth: Path, labels: Labelled, lines: Sequence[int], run: Run) -> Alignment:
    """Match by place like the official scorer, which refuses a run if anything is missing."""
    known = known_reference(truth, labels, run.criteria)
    if run.fault:
        raise run.fault
    check_places(run, truth, labels, lines, NO_SCORE if known else "")
    matcher = Matcher(run, labels, lines)
    others = []
    for place, row in enumerate(run.rows):
        # Digests in the labels are proof of what was labelled; a file beside them is not.
        if known and known.source == truth:
            known.check(run.path, row, place)
        if known and row.conversation and set(known.turns[place]).isdisjoint(row.conversation):
            others.append(row.line)
    if others:
        matcher.note(
            ProblemKind.OTHER_DEBATES,
            f"{len(others)} lines are other debates than the labels in their places, "
            "but are scored",
            line=others[0],
        )
    alignment = matcher.match()
    if alignment.official is OfficialResult.REFUSED:
        raise UserError(f"{run.path}: {alignment.problems[0].kind.value}: {NO_SCORE}")
    return alignment


def check_places(run: Run, truth: Path, labels: Labelled, lines: Sequence[int], fix: str) -> None:
    """Refuse a run that only places match and that has another shape than the labels.

    The error ends with `fix`.

    Raises:
        InputError: Its number of lines differs, or the number of turns in a line.
    """
    end = fix and f": {fix}"
    for row, turns, line in zip(run.rows, labels, lines, strict=False):
        # A line has verdicts on all its turns, or on the answered ones only.
        got = len(row.turns)
        if not row.problem and got and len(turns) not in (got, len(row.conversation)):
            raise InputError(
                run.path,
                f"expected {len(turns)} turns as in line {line} of {truth}, got {got}{end}",
                line=row.line,
                field="userTurnsEvaluations",
            )
    if len(run.rows) != len(labels):
        raise InputError(
            run.path,
            f"expected {len(labels)} lines as in {truth}, got {len(run.rows)}: the labels are of "
            f"other debates, or it is unknown which debate is missing{end}",
        )


@dataclass
class Matcher:
    """Matches one run with the labels, and collects its problems."""

    run: Run
    labels: Labelled
    lines: Sequence[int]
    """The lines of the labels."""
    reference: Reference | None = None
    is_part: bool = False
    """Whether there are labels on debates of other runs, too: these have an order of their own."""
    unsure: Mapping[int, str] = field(default_factory=dict)
    """What is known of the debates of which some are lost and some are missing."""
    problems: list[Problem] = field(default_factory=list)

    def match(self) -> Alignment:
        """Find the labels of each line, and return the scores in the labels' shape."""
        for line in self.run.blank:
            self.note(ProblemKind.BLANK, "left out", line=line)
        if self.reference and self.run.has_words:
            places = self._by_words(self.reference)
        else:
            # Each line with the words of an earlier one is noted.
            first: dict[tuple[str, ...], int] = {}
            for row in self.run.rows:
                words = row.conversation
                if words and first.setdefault(words, row.line) != row.line:
                    self.note(
                        ProblemKind.TWICE,
                        f"has the words of line {first[words]}, scored in its place",
                        line=row.line,
                    )
            places = dict(enumerate(self.run.rows))
        numbers = range(len(self.labels))
        scores = [self._scores_of(number, places.get(number)) for number in numbers]
        if self._has(ProblemKind.MISSING_VERDICT):
            # Note the names of verdicts that are none of the criteria: they may be misspelt.
            for name in sorted({name for row in self.run.rows for name in row.unknown}):
                hint = nearest(name, self.run.criteria.names)
                self.note(ProblemKind.UNKNOWN_KEY, f"{name!r} is no maxim{hint}")

        present = sum(not row.problem and bool(row.turns) for row in places.values())
        lost = len(numbers) - present
        lengths: Sequence[Sequence[int]] = ()
        if self.run.has_words and len(places) == len(numbers):
            lengths = [places[number].words for number in numbers]
        claims = [places[number].key[0] if number in places else "" for number in numbers]
        return Alignment(
            scores, tuple(self.problems), self._official_result(), lost, lengths, claims
        )

    def _has(self, kind: ProblemKind) -> bool:
        return any(problem.kind is kind for problem in self.problems)

    def _official_result(self) -> OfficialResult:
        """Return what the official scorer, which matches by place only, does with the run."""
        shape = [len(row.turns) for row in self.run.rows]
        if self.run.fault or shape != list(map(len, self.labels)):
            return OfficialResult.REFUSED
        if self._has(ProblemKind.REORDERED) or (self.reference and self._has(ProblemKind.TWICE)):
            return OfficialResult.WRONG
        return OfficialResult.SAME

    def _by_words(self, reference: Reference) -> dict[int, JudgedLine]:
        """Return the line of each labelled debate, by its words or its id."""
        places: dict[int, JudgedLine] = {}
        for position, row in enumerate(self.run.rows):
            if not row.conversation:
                continue
            place = reference.find(self.run.path, row, position, places)
            if place is None:
                self.note(ProblemKind.UNMATCHED, "has no labels, and is left out", line=row.line)
                continue
            if place in places:
                self.note(
                    ProblemKind.TWICE,
                    "the first one counts",
                    line=row.line,
                    debate=self.lines[place],
                )
            places.setdefault(place, row)
        if not places:
            raise InputError(self.run.path, f"none of its debates is in {reference.source}")
        # Note each line in another place than its labels, which the official scorer takes.
        for place, ordered in zip(places, sorted(places), strict=True):
            if place != ordered and not self.is_part:
                self.note(
                    ProblemKind.REORDERED,
                    "matched by its id or texts, without effect on the score",
                    line=places[place].line,
                    debate=self.lines[place],
                )
        # Add lines in their own places, such as the empty records of lost debates.
        # In the place of another line, they had a debate that no line has: lost, and not missing.
        free = [place for place in range(len(self.labels)) if place not in places]
        absent = [*free]
        for position, row in enumerate(self.run.rows):
            if row.conversation:
                continue
            if position in free:
                place = position
            elif free and row.problem:
                place = free[0]
            else:
                self.note(row.problem or ProblemKind.UNMATCHED, "left out", line=row.line)
                continue
            free.remove(place)
            places[place] = row
            if not row.problem:
                absent.remove(place)
                self.note(
                    ProblemKind.UNMATCHED,
                    "has no texts to match by; kept in its place",
                    line=row.line,
                    debate=self.lines[place],
                )
        # Places tell which debate a line lost only in the labels' order, without any gap.
        if len(absent) > max(1, len(free)) and (
            free or self.is_part or self._has(ProblemKind.REORDERED)
        ):
            lines = names_of(
                [
                    str(self.lines[place])
                    for place in absent
                    if any(map(self._count_labels, self.labels[place]))
                ]
            )
            self.unsure = dict.fromkeys(
                absent, f"one of the labels' lines {lines}, which all count as no"
            )
        return places

    def _scores_of(self, position: int, row: JudgedLine | None) -> list[Mapping[str, float | None]]:
        """Return the scores of a line on each labelled turn of a debate, and note what is odd."""
        labels_of_turns = self.labels[position]
        where: dict[str, Any] = {"debate": self.lines[position]}
        if row:
            where["line"] = row.line
        if not row or row.problem:
            problem = (row and row.problem) or ProblemKind.MISSING_DEBATE
            labelled = sum(map(self._count_labels, labels_of_turns))
            unsure = self.unsure.get(position)
            if unsure:
                where["debate"] = None
            if unsure and labelled:
                self.note(problem, unsure, counted_as_no=labelled, **where)
            else:
                self._note_missing(problem, labelled, **where)
            return [{} for _ in labels_of_turns]

        count = len(labels_of_turns)
        # The official client judges answered turns only, so a line with as many verdicts has those
        # of these turns, unless it has one for each labelled turn.
        turns: Sequence[int] = range(len(row.turns))
        is_of_answered = len(row.turns) == len(row.answered) < len(row.conversation)
        if is_of_answered and len(row.turns) != count:
            turns = row.answered
        verdicts_of = dict(zip(turns, row.turns, strict=True))
        for turn in verdicts_of:
            if turn >= count:
                self.note(ProblemKind.EXTRA_TURN, "left out", turn=turn + 1, **where)
        scores: list[Mapping[str, float | None]] = []
        for turn, labels in enumerate(labels_of_turns):
            where["turn"] = turn + 1
            verdicts = verdicts_of.get(turn)
            if verdicts is None:
                self._note_missing(ProblemKind.MISSING_TURN, self._count_labels(labels), **where)
                scores.append({})
                continue
            self._note_odd_scores(verdicts, labels, **where)
            scores.append({key: read.score for key, read in verdicts.items()})
        return scores

    def _note_odd_scores(
        self, verdicts: Mapping[str, ReadScore], labels: Labels, **where: object
    ) -> None:
        """Note what is odd about the verdicts on a turn, and which are missing."""
        for key, read in verdicts.items():
            if read.problem is ProblemKind.ODD_SCORE:
                meant = "yes" if says_yes(read.score) else "no"
                self.note(read.problem, f"{read.detail} counts as {meant}", maxim=key, **where)
            elif read.problem:
                labelled = int(labels.get(key) is not None)
                self._note_missing(read.problem, labelled, read.detail, maxim=key, **where)

    def _note_missing(
        self, kind: ProblemKind, count: int, detail: str = "", **where: object
    ) -> None:
        message = "nothing is labelled there"
        if count:
            message = f"{count_of(count, 'verdict')} counted as {missing_answer(self.run.criteria)}"
        if detail:
            message = f"{detail}, {message}"
        self.note(kind, message, counted_as_no=count, **where)

    def note(self, kind: ProblemKind, message: str, **where: object) -> None:
        """Add a problem of the run."""
        self.problems.append(Problem(run=self.run.name, kind=kind, message=message, **where))

    def _count_labels(self, labels: Mapping[str, int | None]) -> int:
        return sum(labels.get(key) is not None for key in self.run.criteria.keys)
