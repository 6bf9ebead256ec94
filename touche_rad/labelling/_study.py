"""The state of a labelling: all annotators' answers, as the events of the log give them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from touche_rad.debate import Maxim
from touche_rad.labelling._log import Event
from touche_rad.labelling.exchanges import Place

Answer = int | None
"""1 yes, 0 no, None: the annotator does not know."""
Answers = dict[Maxim, Answer]


class Settled(TypedDict):
    """The final label of annotators who disagreed, and who gave it."""

    label: Answer
    by: str


@dataclass
class Study:
    """The answers of all annotators."""

    answers: dict[str, dict[Place, Answers]] = field(default_factory=lambda: defaultdict(dict))
    settled: dict[Place, dict[Maxim, Settled]] = field(default_factory=lambda: defaultdict(dict))
    samples: dict[Place, str] = field(default_factory=dict)
    """Why each labelled turn was shown."""

    def apply(self, event: Event) -> None:
        """Store an answer, or settle a disagreement."""
        place, maxim, by = Place(event["debate"], event["turn"]), Maxim(event["maxim"]), event["by"]
        if event.get("settle"):
            self.settled[place][maxim] = {"label": event["label"], "by": by}
        else:
            self.answers[by].setdefault(place, {})[maxim] = event["label"]
        if "sample" in event:
            self.samples.setdefault(place, event["sample"])

    def is_complete(self, by: str, place: Place) -> bool:
        """Whether an annotator has answered all questions on a turn."""
        return len(self.answers[by].get(place, ())) == len(Maxim)

    def answers_on(self, place: Place) -> dict[str, Answers]:
        """Return the answers on a turn by annotator."""
        return {name: of_one[place] for name, of_one in self.answers.items() if place in of_one}

    @property
    def annotators(self) -> list[str]:
        """The names of all who have answered something, in the order of their first answer."""
        return [name for name, of_one in self.answers.items() if of_one]

    def votes(self, place: Place, maxim: Maxim) -> dict[str, int]:
        """Return the yes and no of each annotator, without those who do not know."""
        answers = {name: one.get(maxim) for name, one in self.answers_on(place).items()}
        return {name: label for name, label in answers.items() if label is not None}

    def differ(self, place: Place, maxim: Maxim) -> bool:
        """Whether one annotator says yes and another one no."""
        return len(set(self.votes(place, maxim).values())) > 1

    def label(self, place: Place, maxim: Maxim) -> Answer:
        """Return the label: the settled one, or the one that all annotators gave who know."""
        if (settled := self.settled.get(place, {}).get(maxim)) is not None:
            return settled["label"]
        votes = set(self.votes(place, maxim).values())
        return votes.pop() if len(votes) == 1 else None

    def disagreements(self) -> list[tuple[Place, Maxim]]:
        """Return where annotators differ, settled or not."""
        return [
            (place, maxim)
            for place in sorted({place for of_one in self.answers.values() for place in of_one})
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


def labels_of(rows: Sequence[Sequence[Mapping[Any, Any]]], name: str) -> Study:
    """Return the labels of a file.

    A file of `touche-rad label` has the answers of each annotator; any other file has one.
    """
    study = Study()
    for number, turns in enumerate(rows):
        for at, turn in enumerate(turns):
            # A null in a file of one annotator says that nobody labelled it.
            plain = {maxim: turn[maxim] for maxim in Maxim if turn.get(maxim) is not None}
            for annotator, labels in (turn.get("annotators") or {name: plain}).items():
                answers = {maxim: labels[maxim] for maxim in Maxim if maxim in labels}
                if answers:
                    study.answers[annotator][Place(number, at)] = answers
    return study


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
    if annotators := study.answers_on(place):
        row["annotators"] = annotators
    if settled := study.settled.get(place):
        row["settled"] = settled
    return row
