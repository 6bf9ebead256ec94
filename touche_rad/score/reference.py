"""The labelled debates, which a run is matched with.

Labels are positions. The labelled debates are known from digests in the labels, from a file, or
from another run that has a line for each label.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from itertools import chain, compress
from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel

from touche_rad import files
from touche_rad.criteria import Criteria, Unit
from touche_rad.debate import Debate
from touche_rad.errors import InputError, UserError
from touche_rad.files.labels import digest, digests
from touche_rad.files.records import read_models
from touche_rad.frozen import frozen
from touche_rad.score.evaluations import DebateKey, JudgedLine, Run, how_to_repair, key_of

Labelled = Sequence[Sequence[Mapping[str, int | None]]]
"""The labels of each turn of each debate, by the key of the criterion."""
NO_TEXTS: Final = "labels have no texts to match by"
NO_TEXTS_FIX: Final = (
    "add --debates FILE with the labelled debates, or put them beside the labels: debates.jsonl, "
    "or X.jsonl of X-labels.jsonl"
)


@frozen
class Policy:
    """How runs are matched to labels; a missing verdict counts as no."""

    strict: bool = False
    """Match by place, and refuse a run that the official scorer refuses."""
    debates: Path | None = None
    """The labelled debates in the labels' order."""


DEFAULT_POLICY = Policy()


class Reference:
    """The labelled debates in the labels' order; finds the debate of a line by words and by id."""

    def __init__(
        self,
        source: Path,
        turns: Sequence[Sequence[str]],
        keys: Sequence[DebateKey] = (),
        *,
        is_pooled: bool = False,
    ) -> None:
        self.source = source
        self.turns = turns
        self.keys = keys or [("", "")] * len(turns)
        self.is_pooled = is_pooled
        """Whether it may have the debates of several runs."""
        ids = [name for _, name in self.keys]
        count = Counter(ids)
        self._by_id = {name: place for place, name in enumerate(ids) if name and count[name] == 1}
        self._by_turn: dict[str, set[int]] = defaultdict(set)
        for place, of_debate in enumerate(turns):
            for turn in of_debate:
                self._by_turn[turn].add(place)

    @classmethod
    def of_debates(cls, source: Path, debates: Sequence[Debate], unit: Unit) -> Reference:
        """Make it of the labelled debates."""
        texts = [digests(debate, unit) for debate in debates]
        keys = [key_of(debate, number) for number, debate in enumerate(debates, 1)]
        present = list(compress(keys, texts))  # a lost debate has no texts
        is_pooled = len(set(present)) < len(present)
        return cls(source, texts, keys, is_pooled=is_pooled)

    @classmethod
    def of_labels(cls, source: Path, labels: Sequence[Sequence[Mapping[Any, Any]]]) -> Self | None:
        """Make it of the digests in the labels; None if a turn has none.

        Labels of several runs name the criteria; in those of a dataset, a run has all debates.
        """
        turns = [[turn.get("words") or "" for turn in of_debate] for of_debate in labels]
        is_pooled = any("criteria" in turn for turn in chain.from_iterable(labels))
        return cls(source, turns, is_pooled=is_pooled) if all(map(all, turns)) else None

    def expected_of(self, runs: Sequence[Run]) -> Sequence[int]:
        """Return the places of the debates that the runs must have: not those of other runs.

        Of a claim (and id) on which no run has a debate, one debate is lost. So a run does not gain
        by what it leaves out. Without claims, what no run has is of other runs.

        Further debates with the words of a line are copies of other runs, unless a run has a line
        for each labelled debate, and some of them are empty.
        """
        places = range(len(self.turns))
        if not (self.is_pooled and any(run.has_words for run in runs)):
            return places
        known: set[int] = set()
        keys = {("", "")}
        for run in runs:
            matched: set[int] = set()
            # The longest first: a line that lacks turns may be the beginning of several debates.
            for row in sorted(run.rows, key=lambda row: -len(row.conversation)):
                if not row.conversation:
                    continue
                keys.add(row.key)
                place = self.find(run.path, row, -1, matched)
                if place is not None:
                    matched.add(place)
            if len(matched) + run.conversations.count(()) == len(places):
                return places
            known |= matched
        expected = []
        # In the order of the texts, so that the order of the labels does not decide what is lost.
        for place in sorted(places, key=lambda place: tuple(self.turns[place])):
            if place in known or self.keys[place] not in keys:
                expected.append(place)
                keys.add(self.keys[place])
        return sorted(expected)

    def _equal(self, row: JudgedLine) -> Iterator[int]:
        """Yield the debates that have the words of a line, as far as it goes."""
        for place in self._by_turn.get(row.conversation[0], ()):
            pairs = zip(row.conversation, self.turns[place], strict=False)
            if all(words == expected for words, expected in pairs):
                yield place

    def only(self, places: Sequence[int]) -> Reference:
        """Return the reference of some debates."""
        turns = [self.turns[place] for place in places]
        keys = [self.keys[place] for place in places]
        return Reference(self.source, turns, keys, is_pooled=self.is_pooled)

    def find(
        self, path: Path, row: JudgedLine, position: int, matched: Container[int]
    ) -> int | None:
        """Return the debate that shares most turns with a line.

        Of several, that with the line's id is preferred, then the one at the line's own position,
        then one that is not taken. None: the line has no labels, but other lines of the run have.

        Raises:
            InputError: There is none, or a turn differs.
        """
        # A debate gets a vote for each of its turns that the line has.
        votes: Counter[int] = Counter()
        for turn in row.conversation:
            votes.update(self._by_turn.get(turn, ()))
        if self.is_pooled:  # another run's debate may have some of the turns
            votes = Counter(self._equal(row))
            if not votes:
                return None
        most_votes = max(votes.values(), default=0)
        best = sorted(place for place, count in votes.items() if count == most_votes)
        of_same_length = [
            place for place in best if len(self.turns[place]) == len(row.conversation)
        ]
        best = of_same_length or best or [min(position, len(self.turns) - 1)]
        free = [place for place in best if place not in matched]
        free.sort(key=position.__ne__)
        preferred = [self._by_id.get(row.id), *free]
        place = next((place for place in preferred if place in best), best[0])
        self.check(path, row, place)
        return place

    def check(self, path: Path, row: JudgedLine, place: int) -> None:
        """Refuse a line whose words are not those of the debate.

        Raises:
            InputError: It names the first turn that differs.
        """
        pairs = zip(row.conversation, self.turns[place], strict=False)
        for turn, (words, expected) in enumerate(pairs):
            if words == expected:
                continue
            message = (
                f"expected the words of turn {turn + 1} as in debate {place + 1} of "
                f"{self.source}, got others"
            )
            if row.id:
                message += f" in debate {row.id!r}"
            if words in self._by_turn:
                message += ": the run is in another order"
                # The source may be labels, which are no input.
                message += how_to_repair(path, "--input", "JUDGED_DEBATES")
            else:
                message += ": the run is not on the labelled debates"
            raise InputError(path, message, line=row.line, field=f"simulation.userTurns[{turn}]")


def read_truth(
    truth: Path, criteria: Criteria, debates: Path | None
) -> tuple[Labelled, Sequence[int]]:
    """Return the labels of each debate, and the lines that have them.

    With a file of labelled debates, these are the labels of its debates, in its order.

    The file says what had to be judged: labels of several runs have further debates.
    """
    if not debates:
        labels = list(files.read_labels(truth, criteria=criteria))
        return labels, range(1, len(labels) + 1)
    _, of_debates, lines = zip(*files.read_labelled(debates, truth, criteria), strict=True)
    return of_debates, lines


def find_reference(
    runs: Sequence[Run], truth: Path, labels: Labelled, policy: Policy, criteria: Criteria
) -> Reference | None:
    """Return the labelled debates: of --debates, of the labels, beside them, or of the runs.

    Raises:
        UserError: Only the runs have them, and in different orders.
    """
    known = known_reference(truth, labels, criteria, policy.debates)
    if known or len(runs) < 2:
        return known
    # A run that has a line for each label has the order of the labels.
    sizes = [len(turns) for turns in labels]
    orders = {
        run.conversations: run.path for run in runs if [*map(len, run.conversations)] == sizes
    }
    if len(orders) > 1:
        problem = f"runs have different debates or orders, and {NO_TEXTS}"
        raise UserError(f"{truth}: {problem}: {NO_TEXTS_FIX}")
    for conversations, path in orders.items():
        return Reference(path, conversations)
    return None


def known_reference(
    truth: Path, labels: Labelled, criteria: Criteria, debates: Path | None = None
) -> Reference | None:
    """Return the labelled debates: of a file, of the digests in the labels, or of the file beside.

    The labels are those of `read_truth`. The file beside is `X.jsonl` of `X-labels.jsonl`, or
    `debates.jsonl`; a file of another shape is not theirs.
    """
    if debates:
        return Reference.of_debates(
            debates, list(files.read_debates(debates, lost=Debate())), criteria.unit
        )
    of_labels = Reference.of_labels(truth, labels)
    stem = truth.name.removesuffix(".gz").removesuffix(".jsonl")
    if of_labels or not stem.endswith("labels"):
        return of_labels
    name = stem.removesuffix("labels").rstrip("-_.") or "debates"
    sizes = [len(turns) for turns in labels]
    for ending in (".jsonl", ".jsonl.gz"):
        path = truth.with_name(name + ending)
        if not path.is_file():
            continue
        try:
            labelled = list(files.read_debates(path, lost=Debate()))
        except InputError:
            continue
        if [len(digests(debate, criteria.unit)) for debate in labelled] == sizes:
            return Reference.of_debates(path, labelled, criteria.unit)
    return None


def order_by_texts(
    labels: Labelled,
    runs: Sequence[Run],
    scores: Collection[Sequence[object]],
    reference: Reference | None,
) -> list[int]:
    """Return the places of the labels in the order of the debates' texts.

    So the bootstrap samples are the same, whatever the order of the debates in the files. Labels
    and runs without texts stay in their order. Without a reference, the lines of all runs are in
    the labels' order; of a debate that one of them lost, others may have the texts. Debates with
    equal texts are in the order of their labels and scores.
    """
    texts: Sequence[Sequence[str]]
    if reference:
        texts = reference.turns
    else:
        texts = list(map(max, zip(*[run.conversations for run in runs], strict=True)))

    def key(place: int) -> tuple[Sequence[str], str]:
        tied = [labels[place], *(of_run[place] for of_run in scores)] if texts[place] else ()
        return tuple(texts[place]), str(tied)

    return sorted(range(len(labels)), key=key)


class _Example(BaseModel):
    """The fields of an example that have the words of its turn; other fields are ignored."""

    user: str
    system: str
    labels: Mapping[str, object]


def exclude_examples(
    labels: Labelled, runs: Sequence[Run], reference: Reference | None, path: Path
) -> tuple[Labelled, int]:
    """Remove the labels that a file has examples of; return also of how many turns.

    A judge that is scored on the examples in its prompts scores too high. An example of one
    criterion stays among the labels of the others.

    Raises:
        UserError: No example of the file is among the labelled turns.
    """
    criteria_of: dict[str, set[str]] = defaultdict(set)
    for example in read_models(path, _Example):
        criteria_of[digest(example.user, example.system)].update(example.labels)
    if reference:
        conversations = reference.turns
    else:  # the lines of all runs are in the labels' order
        conversations = next((run.conversations for run in runs if run.has_words), ())
    result = [list(turns) for turns in labels]
    count = 0
    for turns, conversation in zip(result, conversations, strict=False):
        for turn, words in enumerate(conversation[: len(turns)]):
            if words in criteria_of:
                turns[turn] = {**turns[turn], **dict.fromkeys(criteria_of[words])}
                count += 1
    if not count:
        raise UserError(
            f"--exclude {path}: none of its {len(criteria_of)} examples is among the labelled turns"
        )
    return result, count
