"""The debates of all runs, grouped by claim: equal debates of several runs are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from touche_rad.criteria import Unit
from touche_rad.debate import Debate, Turn, Verdicts
from touche_rad.files import Labels, configured
from touche_rad.files.simulations import planned_turns
from touche_rad.frozen import frozen
from touche_rad.lists import T

Place = tuple[str, int]
"""A debate's key, and the turn."""
Content = tuple[str | tuple[str, str], ...]
"""The texts of a turn, and the ids and texts that it cites."""
Call = Mapping[str, Any]
"""A model call as a page shows it."""


@frozen
class DebateOfRun:
    """A debate of a run with its verdicts, labels and model calls."""

    run: int
    debate: Debate
    verdicts: Sequence[Verdicts] = ()
    labels: Sequence[Labels] = ()
    calls: Mapping[Place, Sequence[Call]] = field(default_factory=dict)
    fallbacks: frozenset[int] = frozenset()
    """The turns that a fallback debater answered, counted from 0."""
    unit: Unit = "response"
    """What the verdicts and labels are on."""
    line: int = 0
    """The place of the debate in its run, from 1; lost debates count."""

    @property
    def places(self) -> list[int]:
        """The turns that have verdicts; that on a whole debate is at its last turn."""
        turns = self.debate.turns
        if self.unit == "response":
            return [place for place, turn in enumerate(turns) if turn.response]
        return list(range(len(turns)))[-1 if self.unit == "debate" else 0 :]

    @property
    def expected(self) -> Sequence[int]:
        """The turns that must have verdicts: also those that lost their response, or are missing.

        Only the last message of a recorded debate has none yet; `simulate` plays and answers all.
        """
        if self.unit != "response":
            return self.places
        if configured(self.debate, "maxTurns") is None:
            return range(max(self.places, default=-1) + 1)
        return range(max(len(self.debate.turns), planned_turns(self.debate)))

    def by_turn(self, values: Sequence[T]) -> Iterator[tuple[int, T]]:
        """Yield values with their turns: all turns, or only those that have verdicts."""
        turns = range(len(self.debate.turns))
        return zip(turns if len(values) == len(turns) else self.places, values, strict=False)


@dataclass
class Conversation:
    """A debate with the verdicts of every run that contains it."""

    id: str
    turns: tuple[Turn, ...]
    runs: dict[int, int] = field(default_factory=dict)
    """The place of the debate in each run."""
    verdicts: dict[int, list[Verdicts]] = field(default_factory=dict)
    """The verdicts by run, for each turn; empty where there is no response or no verdict."""
    labels: list[Labels] = field(default_factory=list)
    """The labels of each turn."""
    calls: list[tuple[int, int, Sequence[Call]]] = field(default_factory=list)
    """Run, turn, and the model calls for it."""
    fallbacks: set[int] = field(default_factory=set)
    places: Sequence[int] = ()
    """The turns that must have verdicts."""
    repeated: list[int] = field(default_factory=list)  # the runs of equal debates, left out

    def add(self, debate_of_run: DebateOfRun) -> None:
        """Add the same debate of another run."""
        run = debate_of_run.run
        self.runs[run] = debate_of_run.line
        self.fallbacks |= debate_of_run.fallbacks
        for place in range(len(self.turns)):
            calls = debate_of_run.calls.get((debate_of_run.debate.key, place), ())
            if calls:
                self.calls.append((run, place, calls))
        self.places = max(self.places, debate_of_run.expected, key=len)
        if debate_of_run.verdicts:
            verdicts: list[Verdicts] = [{} for _ in self.turns]
            for place, of_turn in debate_of_run.by_turn(debate_of_run.verdicts):
                verdicts[place] = of_turn
            self.verdicts[run] = verdicts
        if debate_of_run.labels:
            self.labels = self.labels or [{} for _ in self.turns]
            for place, labels in debate_of_run.by_turn(debate_of_run.labels):
                self.labels[place] = labels or self.labels[place]


@dataclass
class ClaimTopic:
    """A claim, and the debates on it: at most one of each run."""

    claim: str
    conversations: list[Conversation] = field(default_factory=list)
    runs: set[int] = field(default_factory=set)
    line: int = 0
    """The number of the debate: its place in the first run that has it, or else in the input.

    A debate whose place is taken has a free number.
    """
    name: str = ""
    """Its id there; without an id of its own, it is named after the number."""


def topics(debates: Iterable[DebateOfRun]) -> list[ClaimTopic]:
    """Group debates by their claims; a run's further debate on a claim makes another topic.

    A debate without a claim, as responses have none, has that of one that begins like it.
    """
    debates = list(debates)
    claims = {
        of_run.debate.thesis: of_run.debate.claim for of_run in debates if of_run.debate.claim
    }
    by_claim: dict[str, list[ClaimTopic]] = {}
    by_content: dict[tuple[object, ...], list[tuple[ClaimTopic, Conversation]]] = {}
    names: dict[int, str] = {}
    for debate_of_run in debates:
        run = debate_of_run.run
        debate = debate_of_run.debate
        claim = debate.claim or claims.get(debate.thesis, debate.thesis) or debate.id
        # Equal debates of several runs are one, but a run's copies are only counted.
        key = (claim, debate_of_run.fallbacks, *content_of(debate.turns))
        equal = by_content.setdefault(key, [])
        copy = next((copy for _, copy in equal if run in copy.runs), None)
        if copy:
            copy.repeated.append(run)
            continue
        pair = next((pair for pair in equal if run not in pair[0].runs), None)
        if not pair:
            topics_of_claim = by_claim.setdefault(claim, [])
            topic = next((topic for topic in topics_of_claim if run not in topic.runs), None)
            if not topic:
                line, name = _number_and_name(debate, debate_of_run.line, names)
                topic = ClaimTopic(claim, line=line, name=name)
                topics_of_claim.append(topic)
            pair = topic, Conversation(debate.id, debate.turns)
            topic.conversations.append(pair[1])
            equal.append(pair)
        topic, conversation = pair
        topic.runs.add(run)
        conversation.add(debate_of_run)
    return [topic for topics_of_claim in by_claim.values() for topic in topics_of_claim]


def _number_and_name(debate: Debate, line: int, names: dict[int, str]) -> tuple[int, str]:
    """Return the line and the id of a debate, or free ones if others have them.

    They are added to the names by number.
    """
    name = "" if debate.id in (f"debate-{line}", f"claim-{line}") else debate.id
    if line in names:
        line = max(names) + 1
    if not name or name in names.values():
        name = f"debate-{line}"
    names[line] = name
    return line, name


def sorted_topics(debates: Sequence[DebateOfRun], runs: Sequence[str]) -> list[ClaimTopic]:
    """Group debates by their claims, in an order that the order in the files does not decide.

    So the bootstrap samples are the same, and a run's debates on one claim stand beside the same
    debates of other runs. The run with the most debates numbers and names them, with an input, too:
    so a file has the same names in all results.
    """
    sizes = Counter(of_run.run for of_run in debates)
    by_texts = sorted(
        debates,
        key=lambda of_run: (
            -sizes[of_run.run],
            runs[of_run.run],
            content_of(of_run.debate.turns),
            # Of copies, the same one counts in any order.
            [verdict.score or 0.0 for turn in of_run.verdicts for verdict in turn.values()],
        ),
    )
    return sorted(topics(by_texts), key=lambda topic: topic.claim)


def absent_topics(topics: Sequence[ClaimTopic], inputs: Sequence[Debate]) -> list[ClaimTopic]:
    """Return the debates of the input that no run has."""
    names = {topic.line: topic.name for topic in topics}
    present = Counter(topic.claim for topic in topics)
    absent = []
    for place, debate in enumerate(inputs, 1):
        claim = debate.subject
        if present[claim]:
            present[claim] -= 1
        else:
            line, name = _number_and_name(debate, place, names)
            absent.append(ClaimTopic(claim, line=line, name=name))
    return absent


def content_of(turns: Iterable[Turn]) -> tuple[Content, ...]:
    """Return what makes two debates of different runs equal, by turn; it can be sorted."""
    content: list[Content] = []
    for turn in turns:
        cited: Content = ()
        if turn.response:
            cited = (
                turn.response.content,
                *((argument.id, argument.text) for argument in turn.response.arguments),
            )
        content.append((turn.utterance, *cited))
    return tuple(content)
