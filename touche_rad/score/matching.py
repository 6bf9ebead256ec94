"""Match a judge's run with labels, and collect what does not fit.

Labels are positions. The labelled debates are known from digests in the labels, from a file, or
from another run that has a line for each label: then a line finds its labels by its id or its
words. Otherwise lines are matched by their places, and a run of another shape is refused.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel

from touche_rad import files
from touche_rad.debate import Debate, Maxim
from touche_rad.errors import InputError, OtherDebates, UserError, nearest
from touche_rad.files.records import numbered_lines
from touche_rad.score.evaluations import (
    KEYS,
    NO_SCORE,
    REPAIR,
    Read,
    Row,
    digest,
    digests,
    parse_record,
    read_official,
    read_rows,
)
from touche_rad.score.measures import says_yes
from touche_rad.score.result import Problem, ProblemKind

Labelled = Sequence[Sequence[Mapping[Maxim, int | None]]]
ADD_DEBATES = ": add --debates FILE with the labelled debates"
Scored = Sequence[Sequence[Mapping[Maxim, float | None]]]

_NO_TEXTS: Final = "labels have no texts to match by"
_BESIDE: Final = ": put the debates beside the labels: debates.jsonl, or X.jsonl of X-labels.jsonl"


@dataclass(frozen=True)
class Run:
    """A run, without its blank lines."""

    name: str
    path: Path
    rows: Sequence[Row]
    blank: Sequence[int] = ()
    """The numbers of the blank lines."""
    advice: str = ""
    """The end of the error if it does not fit the labels."""

    @property
    def has_words(self) -> bool:
        """Whether any line has a debate to match by."""
        return any(row.conversation for row in self.rows)


@dataclass(frozen=True)
class Alignment:
    """A run's scores in the shape of the labels, and its problems."""

    scores: Scored
    problems: tuple[Problem, ...] = ()
    unofficial: str = ""
    """What the official scorer does with the run, if it does not give the same scores."""
    lost: int = 0
    """Labelled debates without any verdict in the run."""


class Reference:
    """The labelled debates in the labels' order; finds the debate of a line by id and by words."""

    of_runs = False  # whether it is a guess: the order of most runs

    def __init__(self, source: Path, ids: Sequence[str], turns: Sequence[Sequence[str]]) -> None:
        self.source, self.ids, self.turns = source, ids, turns
        count = Counter(ids)
        self._by_id = {name: place for place, name in enumerate(ids) if name and count[name] == 1}
        self._by_turn: dict[str, set[int]] = defaultdict(set)
        for place, of_debate in enumerate(turns):
            for turn in of_debate:
                self._by_turn[turn].add(place)

    @classmethod
    def of_debates(cls, source: Path, debates: Sequence[Debate]) -> Reference:
        """Make it of the labelled debates."""
        return cls(source, [debate.id for debate in debates], [*map(digests, debates)])

    @classmethod
    def of_labels(cls, source: Path, labels: Sequence[Sequence[Mapping[Any, Any]]]) -> Self | None:
        """Make it of the digests in the labels; None if a turn has none."""
        turns = [[turn.get("words") or "" for turn in of_debate] for of_debate in labels]
        return cls(source, [""] * len(turns), turns) if all(map(all, turns)) else None

    def find(self, row: Row, position: int, matched: Container[int]) -> int | None:
        """Return the debate with this id, or the one that shares most turns with the line.

        Of debates with the same words, the one at the line's own position is preferred, then one
        that is not taken.
        """
        if row.id in self._by_id:
            return self._by_id[row.id]
        votes = Counter(place for turn in row.conversation for place in self._by_turn.get(turn, ()))
        if not votes:
            return None
        most = max(votes.values())
        best = sorted(place for place, count in votes.items() if count == most)
        best = [place for place in best if place not in matched] or best
        return position if position in best else best[0]

    def check(self, path: Path, row: Row, place: int, advice: str = "") -> None:
        """Refuse a line whose words are not those of the debate; later turns may differ.

        Raises:
            OtherDebates: It names the first turn that differs.
        """
        turns = self.turns[place]
        of = f" in debate {row.id!r}" * bool(row.id)
        for turn, words in enumerate(row.conversation[: len(turns)]):
            if words not in turns:
                other = "not on the labelled debates"
                other += advice if self.of_runs else advice.removeprefix(ADD_DEBATES)
                if self.find(row, place, ()) not in (None, place):
                    other = f"in another order{REPAIR.format(path)}"
                raise OtherDebates(
                    path,
                    f"expected the words of turn {turn + 1} as in debate {place + 1} of "
                    f"{self.source}, got others{of}: the run is {other}",
                    line=row.line,
                    field=f"simulation.userTurns[{turn}]",
                )


def find_reference(
    runs: Sequence[Run], truth: Path, labels: Labelled, debates: Path | None, *, by_place: bool
) -> Reference | None:
    """Return the labelled debates: of --debates, of the labels, beside them, or of most runs."""
    if debates is not None:
        return labelled_debates(debates, truth, labels)
    if not any(run.has_words for run in runs):
        return None
    labelled = [*map(len, labels)]
    beside = Reference.of_labels(truth, labels) or _beside(truth, labelled)
    if beside is not None or len(runs) == 1:
        return beside
    orders = {run.path: tuple(row.conversation for row in run.rows) for run in runs}
    whole = Counter(order for order in orders.values() if [*map(len, order)] == labelled)
    if not whole:
        return None
    (order, most), *others = whole.most_common()
    if others and others[0][1] == most and not by_place:
        problem = f"runs have different debates or orders, and {_NO_TEXTS}"
        raise UserError(f"{truth}: {problem}{runs[0].advice or _BESIDE}")
    source = next(path for path in orders if orders[path] == order)
    result = Reference(source, [""] * len(order), order)
    result.of_runs = True
    return result


def labelled_debates(path: Path, truth: Path, labels: Any) -> Reference:
    """Read the labelled debates; they have as many turns as the labels, and their digests."""
    result, none = Reference.of_debates(path, [*files.read_debates(path)]), list[Any]()
    for number, (turns, of) in enumerate(zip_longest(result.turns, labels, fillvalue=none), 1):
        other = any(
            one.get("words") not in (None, own) for own, one in zip(turns, of, strict=False)
        )
        if other or len(turns) != len(of):
            fix = f"{' with other texts' * other}: give the labelled debates in the labels' order"
            problem = f"has {len(turns)} turns, and {truth} has labels for {len(of)}{fix}"
            raise UserError(f"--debates {path}: debate {number} {problem}")
    return result


def _beside(truth: Path, labelled: Sequence[int]) -> Reference | None:
    """Return the debates in the labels' folder: `X.jsonl` of `X-labels.jsonl`, or `debates.jsonl`.

    A file of another shape is not theirs.
    """
    stem = truth.name.removesuffix(".gz").removesuffix(".jsonl")
    name = stem.removesuffix("labels").rstrip("-_.") or "debates"
    for path in (truth.with_name(f"{name}{ending}") for ending in (".jsonl", ".jsonl.gz")):
        if stem.endswith("labels") and path.is_file():
            try:
                debates = list(files.read_debates(path))
            except InputError:
                continue
            if [len(debate.turns) for debate in debates] == list(labelled):
                return Reference.of_debates(path, debates)
    return None


def match_strictly(truth: Path, labels: Labelled, tag: str, path: Path) -> Alignment:
    """Match by place like the official scorer, which refuses a run if anything is missing."""
    known = Reference.of_labels(truth, labels) or _beside(truth, [*map(len, labels)])
    scores = read_official(path)
    shapes = [("debates", len(scores), len(labels))] + [
        (f"turns in debate {number}", len(own), len(turns))
        for number, (own, turns) in enumerate(zip(scores, labels, strict=False), 1)
    ]
    for what, own, expected in shapes:
        if own != expected:
            fix = f": {NO_SCORE}" if known and scores else ""
            raise UserError(f"{path}: {own} {what}, and {truth} has {expected}{fix}")
    rows = read_rows(path)
    if known and known.source == truth:
        for place, row in enumerate(rows):
            known.check(path, row, place)
    return Alignment(scores, tuple(Matcher(Run(tag, path, rows), labels, known, True).problems))


def check_places(run: Run, truth: Path, labels: Labelled) -> None:
    """Refuse a run that only places match and that has another shape than the labels.

    Raises:
        InputError: Its number of lines differs, or the number of turns in a line.
    """
    for number, (row, turns) in enumerate(zip(run.rows, labels, strict=False), 1):
        got = len(row.turns)
        if row.trouble is None and got and len(turns) not in (got, len(row.conversation)):
            raise InputError(
                run.path,
                f"expected {len(turns)} turns as in line {number} of {truth}, got {got}"
                f"{run.advice}",
                line=row.line,
                field="userTurnsEvaluations",
            )
    if len(run.rows) != len(labels):
        raise InputError(
            run.path,
            f"expected {len(labels)} lines as in {truth}, got {len(run.rows)}: it is unknown "
            f"which debate has no labels or no verdicts{run.advice}",
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
            for key in sorted({key for row in rows for key in row.unknown}):
                self._note(ProblemKind.UNKNOWN_KEY, f"{key!r} is no maxim{nearest(key, KEYS)}")
        present = sum(row.trouble is None and bool(row.turns) for row in places.values())
        accepted = (
            not self.run.blank
            and [len(row.turns) for row in rows] == [len(turns) for turns in self.labels]
            and all(row.official for row in rows)
        )
        moved = any(one.kind is ProblemKind.REORDERED for one in self.problems)
        other = "score wrongly (another order):" * moved if accepted else "refuse"
        return Alignment(scores, tuple(self.problems), other, len(self.labels) - present)

    def _by_place(self) -> dict[int, Row]:
        rows, count = self.run.rows, len(self.labels)
        for position, row in enumerate(rows[count:], count + 1):
            self._note(ProblemKind.EXTRA_DEBATE, "left out", line=row.line, debate=position)
        first: dict[tuple[str, ...], int] = {}
        for words, row in ((row.conversation, row) for row in rows):
            if words and first.setdefault(words, row.line) != row.line:
                message = f"has the words of line {first[words]}, scored in its place"
                self._note(ProblemKind.TWICE, message, line=row.line)
        return dict(enumerate(rows[:count]))

    def _by_words(self, reference: Reference) -> dict[int, Row]:
        """Return the line of each labelled debate, by its id or its words."""
        places: dict[int, Row] = {}
        unknown: list[tuple[int, Row]] = []
        lost: list[tuple[int, ProblemKind, Row]] = []
        for position, row in enumerate(self.run.rows):
            if row.trouble is not None:
                lost.append((position, row.trouble, row))
                continue
            place = reference.find(row, position, places)
            if place is None:
                unknown.append((position, row))
                continue
            reference.check(self.run.path, row, place, self.run.advice)
            if place in places:
                message = "the first one counts"
                self._note(ProblemKind.TWICE, message, line=row.line, debate=place + 1)
            else:
                places[place] = row
        for place, ordered in zip(places, sorted(places), strict=True):
            if place != ordered:
                line = places[place].line
                if reference.of_runs:
                    got = f"got {place + 1}; {_NO_TEXTS}{self.run.advice or _BESIDE}"
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
                reference.check(self.run.path, row, place, self.run.advice)
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

    def _debate(self, position: int, row: Row | None) -> list[Mapping[Maxim, float | None]]:
        labels = self.labels[position]
        if row is None or row.trouble is not None:
            kind = row.trouble if row and row.trouble else ProblemKind.MISSING_DEBATE
            count = sum(_labelled(turn) for turn in labels)
            few = f"{len(self.run.rows)} lines for {len(self.labels)} debates, maybe shifted"
            text, line = ("", row.line) if row else ("" if self.reference else few, None)
            self._note_missing(kind, count, text, line=line, debate=position + 1)
            return [{} for _ in labels]
        turns = self._turns(position, row)
        return [self._turn(position, turn, row, turns.get(turn)) for turn in range(len(labels))]

    def _turns(self, position: int, row: Row) -> dict[int, Mapping[Maxim, Read]]:
        """Find the labels' place of each judged turn, by its words where they are known."""
        count = len(self.labels[position])
        words = tuple(self.reference.turns[position][:count]) if self.reference else ()
        # The official client judges answered turns only.
        skipped = len(row.turns) == len(row.answered) < len(row.conversation)
        answered = row.answered if skipped and len(row.turns) != count else range(len(row.turns))
        places: dict[int, Mapping[Maxim, Read]] = {}
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
                message = f"turn {own + 1} of the run, matched by its words"
                self._note(ProblemKind.REORDERED, message, **where)
        return places

    def _turn(
        self, position: int, turn: int, row: Row, verdicts: Mapping[Maxim, Read] | None
    ) -> Mapping[Maxim, float | None]:
        where: dict[str, Any] = {"line": row.line, "debate": position + 1, "turn": turn + 1}
        labels = self.labels[position][turn]
        if verdicts is None:
            self._note_missing(ProblemKind.MISSING_TURN, _labelled(labels), **where)
            return {}
        for maxim, read in verdicts.items():
            if read.trouble is ProblemKind.ODD_SCORE:
                meant = "yes" if says_yes(read.score) else "no"
                odd = f"{read.text} is no number from 0 to 1, and counts as {meant}"
                quoted = f"a score in quotes, read as the number {read.score}, counts as {meant}"
                self._note(read.trouble, quoted if "'" in read.text else odd, **where, maxim=maxim)
            elif read.trouble is not None:
                count = int(labels.get(maxim) is not None)
                self._note_missing(read.trouble, count, read.text, maxim=maxim, **where)
        return {maxim: read.score for maxim, read in verdicts.items()}

    def _note_missing(self, kind: ProblemKind, count: int, text: str = "", **where: Any) -> None:
        message = "nothing is labelled there"
        if count:
            message = f"{count} verdict{'s' if count > 1 else ''} counted as no"
        self._note(kind, f"{text}, {message}" if text else message, counted_as_no=count, **where)

    def _note(self, kind: ProblemKind, message: str, **where: Any) -> None:
        self.problems.append(Problem(run=self.run.name, kind=kind, message=message, **where))


def _labelled(labels: Mapping[Maxim, int | None]) -> int:
    return sum(labels.get(maxim) is not None for maxim in Maxim)


class _Example(BaseModel):
    """The fields of an example that name its turn; other fields are ignored."""

    debate: str = ""
    turn: int | None = None
    user: str
    system: str


def exclude_examples(
    labels: Labelled, runs: Sequence[Run], reference: Reference | None, path: Path
) -> tuple[Labelled, int]:
    """Remove the labels of the turns that a file has as examples; return also how many turns.

    A judge that is scored on the examples in its prompts scores too high. `touche-rad train
    examples` writes the debate and the turn of each example; a turn is found by them or by its
    words.

    Raises:
        UserError: No example of the file is among the labelled turns.
    """
    examples = [parse_record(_Example, path, number, line) for number, line in numbered_lines(path)]
    words = {digest(one.user, one.system) for one in examples}
    places = {(one.debate, one.turn) for one in examples if one.debate and one.turn}
    result = [list(turns) for turns in labels]
    count = 0
    for at, turns in enumerate(result):
        if reference is not None:
            name, conversation = reference.ids[at], reference.turns[at]
        else:
            rows = [run.rows[at] for run in runs if at < len(run.rows)]
            own = ((row.id, row.conversation) for row in rows if row.conversation)
            name, conversation = next(own, ("", ()))
        for turn, of_turn in enumerate(turns):
            if (name, turn + 1) in places or words & {*conversation[turn : turn + 1]}:
                turns[turn] = dict.fromkeys(of_turn)
                count += 1
    if not count:
        raise UserError(
            f"--exclude {path}: none of its {len(examples)} examples is among the labelled turns"
        )
    return result, count
