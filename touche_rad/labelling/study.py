"""The state of a labelling: all annotators' answers, as the events of the log give them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from touche_rad.debate import Maxim
from touche_rad.labelling.exchanges import Place
from touche_rad.labelling.log import Event

Answer = int | None
"""1 yes, 0 no, None: the annotator does not know."""
Answers = dict[Maxim, Answer]


@dataclass(frozen=True)
class Settled:
    """The final label of annotators who disagreed."""

    label: Answer
    by: str


@dataclass(frozen=True)
class Undone:
    """What an undo took back."""

    place: Place
    maxim: Maxim


@dataclass
class Study:
    """The answers of all annotators."""

    answers: dict[str, dict[Place, Answers]] = field(default_factory=lambda: defaultdict(dict))
    settled: dict[Place, dict[Maxim, Settled]] = field(default_factory=lambda: defaultdict(dict))
    samples: dict[Place, str] = field(default_factory=dict)
    """Why each labelled turn was shown."""
    _done: dict[str, list[tuple[Event, Any]]] = field(default_factory=lambda: defaultdict(list))

    def apply(self, event: Event) -> Undone | None:
        """Change the state by an event; for an undo, return what was taken back."""
        by = str(event["by"])
        if event.get("undo"):
            return self._undo(by)
        if "note" not in event:  # logs of earlier versions have notes
            self._done[by].append((event, self._set(event)))
        return None

    def _set(self, event: Event) -> Any:
        """Store an answer; return what stood there before, or _NOTHING."""
        place, store, key = self._where(event)
        before = store.get(key, _NOTHING)
        label: Answer = event["label"]
        store[key] = Settled(label, str(event["by"])) if event.get("settle") else label
        if "sample" in event:
            self.samples.setdefault(place, str(event["sample"]))
        return before

    def _where(self, event: Event) -> tuple[Place, dict[Any, Any], Any]:
        place, by = Place(int(event["debate"]), int(event["turn"])), str(event["by"])
        if event.get("settle"):
            return place, self.settled[place], Maxim(event["maxim"])
        return place, self.answers[by].setdefault(place, {}), Maxim(event["maxim"])

    def _undo(self, by: str) -> Undone | None:
        if not self._done[by]:
            return None
        event, before = self._done[by].pop()
        place, store, key = self._where(event)
        if before is _NOTHING:
            del store[key]
        else:
            store[key] = before
        if not self.answers[by].get(place, True):
            del self.answers[by][place]
        if place not in self._labelled():
            self.samples.pop(place, None)
        return Undone(place, Maxim(event["maxim"]))

    def _labelled(self) -> set[Place]:
        return {place for of_one in self.answers.values() for place in of_one}

    def can_undo(self, by: str) -> bool:
        """Whether an annotator has something to undo."""
        return bool(self._done[by])

    def is_complete(self, by: str, place: Place) -> bool:
        """Whether an annotator has answered all questions on a turn."""
        return len(self.answers[by].get(place, ())) == len(Maxim)

    def complete(self, by: str) -> int:
        """Return the number of turns on which an annotator has answered all questions."""
        return sum(len(answers) == len(Maxim) for answers in self.answers[by].values())

    @property
    def annotators(self) -> list[str]:
        """The names of all who have answered something, in the order of their first answer."""
        return [name for name, of_one in self.answers.items() if of_one]

    def votes(self, place: Place, maxim: Maxim) -> dict[str, int]:
        """Return the yes and no of each annotator, without those who do not know."""
        given = {name: of_one.get(place, {}).get(maxim) for name, of_one in self.answers.items()}
        return {name: label for name, label in given.items() if label is not None}

    def differ(self, place: Place, maxim: Maxim) -> bool:
        """Whether one annotator says yes and another one no."""
        return len(set(self.votes(place, maxim).values())) > 1

    def label(self, place: Place, maxim: Maxim) -> Answer:
        """Return the label: the settled one, or the one that all annotators gave who know."""
        if (settled := self.settled.get(place, {}).get(maxim)) is not None:
            return settled.label
        votes = set(self.votes(place, maxim).values())
        return votes.pop() if len(votes) == 1 else None

    def disagreements(self) -> list[tuple[Place, Maxim]]:
        """Return where annotators differ, settled or not."""
        return [
            (place, maxim)
            for place in sorted(self._labelled())
            for maxim in Maxim
            if self.differ(place, maxim)
        ]

    def open_disagreements(self) -> list[tuple[Place, Maxim]]:
        """Return where annotators differ and nothing is settled."""
        return [
            (place, maxim)
            for place, maxim in self.disagreements()
            if maxim not in self.settled.get(place, {})
        ]


_NOTHING: Final = object()


def add_labels(study: Study, rows: Sequence[Sequence[Mapping[Any, Any]]], name: str) -> list[str]:
    """Add the labels of a file; return the names of its annotators.

    A file of `touche-rad label` has the answers of each annotator; any other file has one.
    """
    added: dict[str, None] = {}
    for place, turn in _turns(rows):
        own = turn.get("annotators")
        of_each = own if isinstance(own, dict) else {name: _plain(turn)}
        for annotator, given in of_each.items():
            answers = {
                maxim: given[maxim.value]
                for maxim in Maxim
                if isinstance(given, dict) and given.get(maxim.value, 2) in (0, 1, None)
            }
            if answers:
                added[annotator] = None
                study.answers[annotator][place] = answers
    return list(added)


def _plain(turn: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the labels of a turn; a null says that nobody labelled it."""
    return {maxim.value: turn[maxim] for maxim in Maxim if turn.get(maxim) is not None}


def _turns(
    rows: Sequence[Sequence[Mapping[Any, Any]]],
) -> Iterator[tuple[Place, Mapping[Any, Any]]]:
    for number, turns in enumerate(rows):
        for at, turn in enumerate(turns):
            yield Place(number, at), turn


def label_rows(
    study: Study, shape: Sequence[int], samples: Mapping[Place, str]
) -> list[tuple[dict[Any, Any], ...]]:
    """Return the labels in the official format, with further fields.

    A turn that nobody labelled, and a disagreement that is not settled, is null.
    """
    return [
        tuple(_row(study, Place(number, at), samples) for at in range(turns))
        for number, turns in enumerate(shape)
    ]


def _row(study: Study, place: Place, samples: Mapping[Place, str]) -> dict[Any, Any]:
    row: dict[Any, Any] = {maxim: study.label(place, maxim) for maxim in Maxim}
    if place in samples:
        row["sample"] = str(samples[place])
    annotators = {
        name: {maxim.value: label for maxim, label in of_one[place].items()}
        for name, of_one in study.answers.items()
        if place in of_one
    }
    if annotators:
        row["annotators"] = annotators
    if settled := study.settled.get(place):
        row["settled"] = {
            maxim.value: {"label": one.label, "by": one.by} for maxim, one in settled.items()
        }
    return row


def now() -> str:
    """Return the time of an event."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
