"""The debates of all runs, grouped by claim: equal debates of several runs are one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from touche_rad.debate import Debate, Turn, Verdicts
from touche_rad.files import Labels
from touche_rad.report.calls import Call, Place


@dataclass(frozen=True)
class DebateOfRun:
    """A debate of a run with its verdicts, labels and model calls."""

    run: int
    debate: Debate
    verdicts: Sequence[Verdicts] = ()
    labels: Sequence[Labels] = ()
    calls: Mapping[Place, Sequence[Call]] = field(default_factory=dict)
    fallbacks: frozenset[int] = frozenset()
    """The turns that a fallback debater answered, counted from 0."""


@dataclass
class Conversation:
    """A debate with the verdicts of every run that contains it."""

    id: str
    turns: tuple[Turn, ...]
    runs: list[int] = field(default_factory=list)
    verdicts: list[tuple[int, list[Verdicts]]] = field(default_factory=list)
    """The verdicts by run, for each turn; empty where there is no response or no verdict."""
    labels: list[Labels] = field(default_factory=list)
    """The labels of each turn."""
    calls: list[tuple[int, int, Sequence[Call]]] = field(default_factory=list)
    """Run, turn, and the model calls for it."""
    fallbacks: set[int] = field(default_factory=set)
    repeated: list[int] = field(default_factory=list)  # the runs of equal debates, left out

    @property
    def counted(self) -> Iterator[tuple[int, int, Verdicts]]:
        """Yield run, turn and verdicts of each response."""
        for run, of_turns in self.verdicts:
            for place, verdicts in enumerate(of_turns):
                if self.turns[place].response is not None:
                    yield run, place, verdicts

    def add(self, one: DebateOfRun) -> None:
        """Add the same debate of another run."""
        self.runs.append(one.run)
        self.fallbacks |= one.fallbacks
        for place in range(len(self.turns)):
            if calls := one.calls.get((one.debate.key, place), ()):
                self.calls.append((one.run, place, calls))
        answered = [place for place, turn in enumerate(self.turns) if turn.response]
        if one.verdicts:
            verdicts: list[Verdicts] = [{} for _ in self.turns]
            for place, of_turn in zip(answered, one.verdicts, strict=False):
                verdicts[place] = of_turn
            self.verdicts.append((one.run, verdicts))
        if one.labels:
            self.labels = self.labels or [{} for _ in self.turns]
            for place, of_labels in zip(answered, one.labels, strict=False):
                self.labels[place] = of_labels or self.labels[place]


@dataclass
class ClaimTopic:
    """A claim, and the debates on it: at most one of each run."""

    claim: str
    conversations: list[Conversation] = field(default_factory=list)
    runs: set[int] = field(default_factory=set)


def topics(debates: Iterable[DebateOfRun]) -> list[ClaimTopic]:
    """Group debates by their claims; a run's further debate on a claim makes another topic."""
    by_claim: dict[str, list[ClaimTopic]] = {}
    by_content: dict[tuple[object, ...], list[tuple[ClaimTopic, Conversation]]] = {}
    for one in debates:
        turns = one.debate.turns
        claim = one.debate.claim or (turns[0].utterance if turns else one.debate.id)
        equal = by_content.setdefault((claim, *map(_content, turns)), [])
        if first := next((pair[1] for pair in equal if one.run in pair[1].runs), None):
            first.repeated.append(one.run)
            continue
        same = next((pair for pair in equal if one.run not in pair[0].runs), None)
        if same is None:
            of_claim = by_claim.setdefault(claim, [])
            topic = next((one_ for one_ in of_claim if one.run not in one_.runs), None)
            if topic is None:
                topic = ClaimTopic(claim)
                of_claim.append(topic)
            same = topic, Conversation(one.debate.id, turns)
            topic.conversations.append(same[1])
            equal.append(same)
        same[0].runs.add(one.run)
        same[1].add(one)
    return [topic for of_claim in by_claim.values() for topic in of_claim]


def _content(turn: Turn) -> tuple[object, ...]:
    """Return what makes two turns equal."""
    if turn.response is None:
        return (turn.utterance,)
    cited = tuple((one.id, one.text) for one in turn.response.arguments)
    return turn.utterance, turn.response.content, cited
