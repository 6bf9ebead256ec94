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

    def find(self, row: JudgedLine, position: int, matched: Container[int]) -> int | None:
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

    def check(self, path: Path, row: JudgedLine, place: int) -> None:
        """Refuse a line whose words are not those of the debate; later turns may differ.

        Raises:
            OtherDebates: It names the first turn that differs.
        """
        turns = self.turns[place]
        of = f" in debate {row.id!r}" * bool(row.id)
        for turn, words in enumerate(row.conversation[: len(turns)]):
            if words not in turns:
                other = f"not on the labelled debates{self.fix and f': {self.fix}'}"
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
    runs: Sequence[Run], truth: Path, labels: Labelled, policy: Policy
) -> Reference | None:
    """Return the labelled debates: of --debates, of the labels, beside them, or of most runs."""
    if policy.debates is not None:
        pairs = files.read_labelled(policy.debates, truth)
        result = Reference.of_debates(policy.debates, [debate for debate, _ in pairs])
    elif not any(run.has_words for run in runs):
        return None
    elif known := known_reference(truth, labels):
        result = known
    else:
        return _of_runs(runs, truth, labels, policy) if len(runs) > 1 else None
    result.fix = policy.other_debates_fix
    return result


def _of_runs(
    runs: Sequence[Run], truth: Path, labels: Labelled, policy: Policy
) -> Reference | None:
    """Return the debates of most runs that have a line for each label."""
    labelled = [*map(len, labels)]
    orders = {run.path: tuple(row.conversation for row in run.rows) for run in runs}
    whole = Counter(order for order in orders.values() if [*map(len, order)] == labelled)
    if not whole:
        return None
    (order, most), *others = whole.most_common()
    if others and others[0][1] == most and not policy.by_place:
        problem = f"runs have different debates or orders, and {NO_TEXTS}"
        raise UserError(f"{truth}: {problem}: {policy.no_texts_fix}")
    source = next(path for path in orders if orders[path] == order)
    result = Reference(source, [""] * len(order), order)
    result.of_runs, result.fix = True, policy.no_texts_fix
    return result


def known_reference(truth: Path, labels: Labelled) -> Reference | None:
    """Return the labelled debates of the digests in the labels, or of the file beside them.

    That is `X.jsonl` of `X-labels.jsonl`, or `debates.jsonl`; a file of another shape is not
    theirs.
    """
    if (own := Reference.of_labels(truth, labels)) is not None:
        return own
    stem = truth.name.removesuffix(".gz").removesuffix(".jsonl")
    name = stem.removesuffix("labels").rstrip("-_.") or "debates"
    for path in (truth.with_name(f"{name}{ending}") for ending in (".jsonl", ".jsonl.gz")):
        if stem.endswith("labels") and path.is_file():
            try:
                debates = list(files.read_debates(path))
            except InputError:
                continue
            if [len(debate.turns) for debate in debates] == [*map(len, labels)]:
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
