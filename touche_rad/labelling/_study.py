"""The state of a labelling: all annotators' answers, as the events of the log give them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from touche_rad.criteria import Criteria
from touche_rad.labelling.exchanges import Place

Event = Mapping[str, Any]
"""A record of the log: an answer, or an undo."""
Answer = int | None
"""1 yes, 0 no, None: the annotator does not know."""
Answers = dict[str, Answer]
"""The answers on a turn, by the key of the criterion."""


class Settled(TypedDict):
    """The final label of annotators who disagreed, and who gave it."""

    label: Answer
    by: str


@dataclass
class Study:
    """The answers of all annotators."""

    criteria: Criteria
    answers: dict[str, dict[Place, Answers]] = field(default_factory=lambda: defaultdict(dict))
    settled: dict[Place, dict[str, Settled]] = field(default_factory=lambda: defaultdict(dict))
    samples: dict[Place, str] = field(default_factory=dict)
    """Why each labelled turn was shown."""

    def apply(self, event: Event) -> None:
        """Store an answer, or settle a disagreement."""
        place, key, by = Place(event["debate"], event["turn"]), event["maxim"], event["by"]
        if key not in self.criteria.keys:
            raise ValueError(f"{key!r} is not one of {', '.join(self.criteria.keys)}")
        if event.get("settle"):
            self.settled[place][key] = {"label": event["label"], "by": by}
        else:
            self.answers[by].setdefault(place, {})[key] = event["label"]
        if "sample" in event:
            self.samples.setdefault(place, event["sample"])

    def is_complete(self, by: str, place: Place) -> bool:
        """Whether an annotator has answered all questions on a turn."""
        return len(self.answers[by].get(place, ())) == len(self.criteria)

    def answers_on(self, place: Place) -> dict[str, Answers]:
        """Return the answers on a turn by annotator."""
        return {name: of_one[place] for name, of_one in self.answers.items() if place in of_one}

    @property
    def annotators(self) -> list[str]:
        """The names of all who have answered something, in the order of their first answer."""
        return [name for name, of_one in self.answers.items() if of_one]

    def votes(self, place: Place, key: str) -> dict[str, int]:
        """Return the yes and no of each annotator, without those who do not know."""
        answers = {name: one.get(key) for name, one in self.answers_on(place).items()}
        return {name: label for name, label in answers.items() if label is not None}

    def differ(self, place: Place, key: str) -> bool:
        """Whether one annotator says yes and another one no."""
        return len(set(self.votes(place, key).values())) > 1

    def label(self, place: Place, key: str) -> Answer:
        """Return the label: the settled one, or the one that all annotators gave who know."""
        if (settled := self.settled.get(place, {}).get(key)) is not None:
            return settled["label"]
        votes = set(self.votes(place, key).values())
        return votes.pop() if len(votes) == 1 else None

    def disagreements(self) -> list[tuple[Place, str]]:
        """Return where annotators differ, settled or not."""
        return [
            (place, key)
            for place in sorted({place for of_one in self.answers.values() for place in of_one})
            for key in self.criteria.keys
            if self.differ(place, key)
        ]

    def open_disagreements(self) -> list[tuple[Place, str]]:
        """Return where annotators differ and nothing is settled."""
        return [
            (place, key)
            for place, key in self.disagreements()
            if key not in self.settled.get(place, {})
        ]


def effective(events: Iterable[tuple[int, Event]]) -> list[tuple[int, Event]]:
    """Return the events that were not taken back: an undo takes back the annotator's last one."""
    answers: list[tuple[int, Event]] = []
    for number, event in events:
        if event.get("undo"):
            own = [at for at, (_, one) in enumerate(answers) if one.get("by") == event.get("by")]
            del answers[own[-1] : own[-1] + 1]
        else:
            answers.append((number, event))
    return answers


def labels_of(rows: Sequence[Sequence[Mapping[str, Any]]], name: str, criteria: Criteria) -> Study:
    """Return the labels of a file.

    A file of `touche-rad label` has the answers of each annotator; any other file has one.
    """
    study = Study(criteria)
    for number, turns in enumerate(rows):
        for at, turn in enumerate(turns):
            # A null in a file of one annotator says that nobody labelled it.
            plain = {key: turn[key] for key in criteria.keys if turn.get(key) is not None}
            for annotator, labels in (turn.get("annotators") or {name: plain}).items():
                answers = {key: labels[key] for key in criteria.keys if key in labels}
                if answers:
                    study.answers[annotator][Place(number, at)] = answers
    return study


def label_rows(
    study: Study, shape: Sequence[int], samples: Mapping[Place, str]
) -> list[tuple[dict[str, Any], ...]]:
    """Return the labels in the official format, with further fields.

    A turn that nobody labelled, and a disagreement that is not settled, is null.
    """
    return [
        tuple(_row(study, Place(number, at), samples) for at in range(turns))
        for number, turns in enumerate(shape)
    ]


def _row(study: Study, place: Place, samples: Mapping[Place, str]) -> dict[str, Any]:
    row: dict[str, Any] = {key: study.label(place, key) for key in study.criteria.keys}
    if place in samples:
        row["sample"] = str(samples[place])
    if annotators := study.answers_on(place):
        row["annotators"] = annotators
    if settled := study.settled.get(place):
        row["settled"] = settled
    return row
