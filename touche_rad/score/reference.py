"""The labelled debates, which a run is matched with.

Labels are positions. The labelled debates are known from digests in the labels, from a file, or
from another run that has a line for each label.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel

from touche_rad import files
from touche_rad.debate import Debate
from touche_rad.errors import InputError, OtherDebates, UserError
from touche_rad.files.labels import digest, digests
from touche_rad.files.records import read_models
from touche_rad.score.evaluations import REPAIR, JudgedLine, Run

Labelled = Sequence[Sequence[Mapping[str, int | None]]]
"""The labels of each turn of each debate, by the key of the criterion."""
NO_TEXTS: Final = "labels have no texts to match by"


@dataclass(frozen=True)
class Policy:
    """How runs are matched to labels; a missing verdict counts as no."""

    strict: bool = False
    """Refuse a run that the official scorer refuses."""
    debates: Path | None = None
    """The labelled debates in the labels' order."""
    by_place: bool = False
    """Match by place only, whatever the words are."""
    no_texts_fix: str = (
        "put the debates beside the labels: debates.jsonl, or X.jsonl of X-labels.jsonl"
    )
    """What to do if the texts of the labelled debates are unknown."""
    other_debates_fix: str = ""
    """What to do about a run on other debates."""


DEFAULT_POLICY = Policy()


class Reference:
    """The labelled debates in the labels' order; finds the debate of a line by id and by words."""

    of_runs = False  # whether it is a guess: the order of most runs
    fix = ""  # what to do about a line with other words

    def __init__(self, source: Path, ids: Sequence[str], turns: Sequence[Sequence[str]]) -> None:
        self.source = source
        self.ids = ids
        self.turns = turns
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

    def find(self, row: JudgedLine, position: int, matched: Container[int]) -> int | None:
        """Return the debate with this id, or the one that shares most turns with the line.

        Of debates with the same words, the one at the line's own position is preferred, then one
        that is not taken.
        """
        place = self._by_id.get(row.id)
        return self._find_by_words(row, position, matched) if place is None else place

    def _find_by_words(self, row: JudgedLine, position: int, matched: Container[int]) -> int | None:
        # A debate gets a vote for each of its turns that the line has.
        votes: Counter[int] = Counter()
        for turn in row.conversation:
            votes.update(self._by_turn.get(turn, ()))
        if not votes:
            return None
        most_votes = max(votes.values())
        best = sorted(place for place, count in votes.items() if count == most_votes)
        best = [place for place in best if place not in matched] or best
        return position if position in best else best[0]

    def check(self, path: Path, row: JudgedLine, place: int) -> None:
        """Refuse a line whose words are not those of the debate; later turns may differ.

        Raises:
            OtherDebates: It names the first turn that differs.
        """
        turns = self.turns[place]
        for turn, words in enumerate(row.conversation[: len(turns)]):
            if words in turns:
                continue
            message = (
                f"expected the words of turn {turn + 1} as in debate {place + 1} of "
                f"{self.source}, got others"
            )
            if row.id:
                message += f" in debate {row.id!r}"
            if self._find_by_words(row, place, ()) not in (None, place):
                message += f": the run is in another order{REPAIR.format(path)}"
            else:
                message += ": the run is not on the labelled debates"
                message += self.fix and f": {self.fix}"
            raise OtherDebates(path, message, line=row.line, field=f"simulation.userTurns[{turn}]")


def find_reference(
    runs: Sequence[Run], truth: Path, labels: Labelled, policy: Policy
) -> Reference | None:
    """Return the labelled debates: of --debates, of the labels, beside them, or of most runs."""
    if policy.debates is not None:
        pairs = files.read_labelled(policy.debates, truth)
        reference = Reference.of_debates(policy.debates, [debate for debate, _ in pairs])
        reference.fix = policy.other_debates_fix
        return reference
    if not any(run.has_words for run in runs):
        return None
    known = known_reference(truth, labels)
    if known is not None:
        known.fix = policy.other_debates_fix
        return known
    if len(runs) < 2:
        return None

    # The debates of most runs that have a line for each label.
    sizes = [len(turns) for turns in labels]
    orders: dict[Path, tuple[tuple[str, ...], ...]] = {}
    for run in runs:
        orders[run.path] = tuple(row.conversation for row in run.rows)
    complete = Counter(order for order in orders.values() if [*map(len, order)] == sizes)
    if not complete:
        return None
    (order, count), *others = complete.most_common()
    if others and others[0][1] == count and not policy.by_place:
        problem = f"runs have different debates or orders, and {NO_TEXTS}"
        raise UserError(f"{truth}: {problem}: {policy.no_texts_fix}")
    source = next(path for path in orders if orders[path] == order)
    guess = Reference(source, [""] * len(order), order)
    guess.of_runs = True
    guess.fix = policy.no_texts_fix
    return guess


def known_reference(truth: Path, labels: Labelled) -> Reference | None:
    """Return the labelled debates of the digests in the labels, or of the file beside them.

    That is `X.jsonl` of `X-labels.jsonl`, or `debates.jsonl`; a file of another shape is not
    theirs.
    """
    of_labels = Reference.of_labels(truth, labels)
    stem = truth.name.removesuffix(".gz").removesuffix(".jsonl")
    if of_labels is not None or not stem.endswith("labels"):
        return of_labels
    name = stem.removesuffix("labels").rstrip("-_.") or "debates"
    sizes = [len(turns) for turns in labels]
    for ending in (".jsonl", ".jsonl.gz"):
        path = truth.with_name(name + ending)
        if not path.is_file():
            continue
        try:
            debates = list(files.read_debates(path))
        except InputError:
            continue
        if [len(debate.turns) for debate in debates] == sizes:
            return Reference.of_debates(path, debates)
    return None


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
    examples = list(read_models(path, _Example))
    words = {digest(example.user, example.system) for example in examples}
    places = {
        (example.debate, example.turn) for example in examples if example.debate and example.turn
    }
    result = [list(turns) for turns in labels]
    count = 0
    for at, turns in enumerate(result):
        name = ""
        conversation: Sequence[str] = ()
        if reference is not None:
            name = reference.ids[at]
            conversation = reference.turns[at]
        else:  # the lines of all runs are in the labels' order
            for run in runs:
                if at < len(run.rows) and run.rows[at].conversation:
                    name = run.rows[at].id
                    conversation = run.rows[at].conversation
                    break
        for turn, labels_of_turn in enumerate(turns):
            if (name, turn + 1) in places or words & {*conversation[turn : turn + 1]}:
                turns[turn] = dict.fromkeys(labels_of_turn)
                count += 1
    if not count:
        raise UserError(
            f"--exclude {path}: none of its {len(examples)} examples is among the labelled turns"
        )
    return result, count
