"""Find the labelled debate of each line of a run, by its id and its words.

Labels are positions without words. What they belong to is known from a file of the labelled
debates, or from another run that has a line for each label. A line that fits no labelled debate, or
one in another place where nothing but the place is known, is refused with the first difference.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from touche_rad import files
from touche_rad.debate import Debate
from touche_rad.errors import InputError, UserError
from touche_rad.score.evaluations import Row, debate_at, digests

_SHOWN = 60
BY_PLACE = "--by-place takes the lines in their order"


@dataclass(frozen=True)
class Run:
    """A run, without its blank lines."""

    name: str
    path: Path
    rows: Sequence[Row]
    blank: Sequence[int] = ()
    """The numbers of the blank lines."""

    @property
    def has_words(self) -> bool:
        """Whether any line has a debate to match by."""
        return any(row.conversation for row in self.rows)

    def fits(self, labelled: Sequence[int]) -> bool:
        """Whether every line has as many turns as the labels in its place."""
        counts = [len(row.conversation) for row in self.rows]
        return counts == list(labelled)


class Reference:
    """The labelled debates in the labels' order; finds the debate of a line by id and by words."""

    def __init__(
        self,
        source: Path,
        ids: Sequence[str],
        turns: Sequence[Sequence[str]],
        debate: Callable[[int], Debate],
    ) -> None:
        self.source, self.ids, self.turns, self.debate = source, ids, turns, debate
        count = Counter(ids)
        self._by_id = {name: place for place, name in enumerate(ids) if name and count[name] == 1}
        self._by_turn: dict[str, set[int]] = defaultdict(set)
        for place, of_debate in enumerate(turns):
            for turn in of_debate:
                self._by_turn[turn].add(place)

    @classmethod
    def of_debates(cls, source: Path, debates: Sequence[Debate]) -> Reference:
        """Make it of the labelled debates."""
        turns = [digests(debate) for debate in debates]
        return cls(source, [debate.id for debate in debates], turns, debates.__getitem__)

    @classmethod
    def of_run(cls, run: Run) -> Reference:
        """Make it of a run that has a line for each label."""
        ids, turns = [row.id for row in run.rows], [row.conversation for row in run.rows]
        lines = [row.line for row in run.rows]
        return cls(run.path, ids, turns, lambda place: debate_at(run.path, lines[place]))

    def find(self, row: Row, position: int, taken: Container[int]) -> int | None:
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
        best = [place for place in best if place not in taken] or best
        return position if position in best else best[0]

    def check(self, run: Run, row: Row, place: int) -> None:
        """Refuse a line whose words are not those of the debate.

        Raises:
            InputError: It names the first text that differs.
        """
        known = self.turns[place]
        if not set(row.conversation[: len(known)]) <= set(known):  # later turns are left out
            raise self.difference(run, row, place)

    def difference(self, run: Run, row: Row, place: int) -> InputError:
        """Return the error that names the first difference of a line and a labelled debate."""
        field, wanted, got = _first_difference(self.debate(place), debate_at(run.path, row.line))
        pairs = enumerate(zip(wanted, got, strict=False))
        same = next((at for at, (one, other) in pairs if one != other), min(len(wanted), len(got)))
        wanted, got = _quoted(wanted, same), _quoted(got, same)
        return InputError(
            run.path,
            f"expected {wanted} as in debate {place + 1} of {self.source}, got "
            f"{got}: score a judge's run on the labelled debates ({BY_PLACE})",
            line=row.line,
            field=field,
        )


def _first_difference(wanted: Debate, got: Debate) -> tuple[str, str, str]:
    for number, turn in enumerate(got.turns):
        field = f"simulation.userTurns[{number}]"
        if number >= len(wanted.turns):
            break
        other = wanted.turns[number]
        if turn.utterance.split() != other.utterance.split():
            return f"{field}.utterance", other.utterance, turn.utterance
        said, known = (one.response.content if one.response else "" for one in (turn, other))
        if said.split() != known.split():
            return f"{field}.systemResponse.utterance", known, said
    return "simulation.userTurns", f"{len(wanted.turns)} turns", f"{len(got.turns)} turns"


def _quoted(text: str, same: int) -> str:
    """Quote the part of a text around the first `same` characters, which are not different."""
    start = max(0, same - _SHOWN // 2)
    part = " ".join(text[start : start + _SHOWN].split())
    before, after = "…" if start else "", "…" if start + _SHOWN < len(text) else ""
    return repr(f"{before}{part}{after}")


def find_reference(
    runs: Sequence[Run], truth: Path, labelled: Sequence[int], debates: Path | None
) -> Reference | None:
    """Return the labelled debates: the given ones, those beside the labels, or those of a run.

    Args:
        runs: The runs.
        truth: The labels.
        labelled: The number of turns of each labelled debate.
        debates: The labelled debates in the labels' order.
    """
    if debates is not None:
        return _given(debates, truth, labelled)
    if not any(run.has_words for run in runs):
        return None
    beside = _beside(truth, labelled)
    if beside is not None:
        return beside
    whole = next((run for run in runs if run.fits(labelled)), None)
    if whole is None or len(runs) == 1:
        return None
    reference = Reference.of_run(whole)
    for run in runs:
        if run.fits(labelled):
            _same_order(run, whole, reference)
    return reference


def _given(debates: Path, truth: Path, labelled: Sequence[int]) -> Reference:
    known = list(files.read_debates(debates))
    got = [len(debate.turns) for debate in known]
    advice = "give the labelled debates in the labels' order"
    if len(got) != len(labelled):
        raise UserError(
            f"--debates {debates} has {len(got)} debates, and {truth} has labels for "
            f"{len(labelled)}: {advice}"
        )
    for number, (turns, wanted) in enumerate(zip(got, labelled, strict=True), 1):
        if turns != wanted:
            raise UserError(
                f"--debates {debates}: debate {number} has {turns} turns, and {truth} has labels"
                f" for {wanted}: {advice}"
            )
    return Reference.of_debates(debates, known)


def _beside(truth: Path, labelled: Sequence[int]) -> Reference | None:
    """Return the debates in the labels' folder: `X.jsonl` of `X-labels.jsonl`, or `debates.jsonl`.

    A file of another shape is not theirs.
    """
    stem = truth.name.removesuffix(".gz").removesuffix(".jsonl")
    name = stem.removesuffix("labels").rstrip("-_.") or "debates"
    for path in (truth.with_name(f"{name}{ending}") for ending in (".jsonl", ".jsonl.gz")):
        if stem.endswith("labels") and path.is_file():
            try:
                known = list(files.read_debates(path))
            except InputError:
                continue
            if [len(debate.turns) for debate in known] == list(labelled):
                return Reference.of_debates(path, known)
    return None


def _same_order(run: Run, whole: Run, reference: Reference) -> None:
    """Refuse two runs that have a line for each label in different orders."""
    for place, row in enumerate(run.rows):
        found = reference.find(row, place, ())
        if found is not None and found != place:
            raise InputError(
                run.path,
                f"expected debate {place + 1} of {whole.path}, got its debate {found + 1}: labels "
                f"have no words, so add --debates FILE with the labelled debates ({BY_PLACE})",
                line=row.line,
            )


def check_places(run: Run, truth: Path, labelled: Sequence[int]) -> None:
    """Refuse a run that nothing but places match and that has another shape than the labels.

    Raises:
        InputError: Its number of lines differs, or the number of turns in a line.
    """
    advice = f"add --debates FILE with the labelled debates ({BY_PLACE})"
    for row, wanted in zip(run.rows, labelled, strict=False):
        got = len(row.turns)
        if row.trouble is None and got and got != wanted and len(row.conversation) != wanted:
            raise InputError(
                run.path,
                f"expected {wanted} turns as in line {run.rows.index(row) + 1} of {truth}, got "
                f"{got}: {advice}",
                line=row.line,
                field="userTurnsEvaluations",
            )
    if len(run.rows) != len(labelled):
        raise InputError(
            run.path,
            f"expected {len(labelled)} lines as in {truth}, got {len(run.rows)}: it is unknown "
            f"which debate has no labels or no verdicts; {advice}",
        )
