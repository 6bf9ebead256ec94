"""The state of a labelling: all annotators' answers, as the events of the log give them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict

from pydantic import TypeAdapter

from touche_rad.criteria import Criteria
from touche_rad.files.labels import label_place, label_value
from touche_rad.files.models import validate
from touche_rad.files.records import FieldError
from touche_rad.labelling.exchanges import Exchanges, TurnPlace
from touche_rad.records import FrozenRecord

LabelEvent = Mapping[str, Any]
"""A record of the log: an answer, or an undo."""
Answer = int | None
"""The place of an answer, such as 1 yes and 0 no; None: the annotator does not know."""
Answers = dict[str, Answer]
"""The answers on a turn, by the key of the criterion."""


class LabelBody(FrozenRecord):
    """An answer: its place among the answers, such as 1 yes and 0 no; null unknown."""

    debate: int
    turn: int
    maxim: str
    label: Answer
    settle: bool = False


class AnswerEvent(LabelBody, strict=True, extra="ignore"):
    """An answer in the log, which a stranger may have written."""

    by: str


_ANNOTATORS: Final = TypeAdapter(Mapping[str, Mapping[str, Any]] | None)


class Settled(TypedDict):
    """The final label of annotators who disagreed, and who gave it."""

    label: Answer
    by: str


@dataclass
class Study:
    """The answers of all annotators."""

    criteria: Criteria
    answers: dict[str, dict[TurnPlace, Answers]] = field(default_factory=lambda: defaultdict(dict))
    settled: dict[TurnPlace, dict[str, Settled]] = field(default_factory=lambda: defaultdict(dict))

    def check(self, record: LabelEvent) -> AnswerEvent:
        """Return an answer, which may settle a disagreement.

        Raises:
            FieldError: It is no answer to a question of these criteria.
        """
        event = validate(AnswerEvent, record)
        answers = self.criteria.answers_of.get(event.maxim)
        if answers is None:
            raise FieldError(
                "maxim", f"expected one of {', '.join(self.criteria.keys)}, got {event.maxim!r}"
            )
        count = len(answers.values)
        if event.label is not None and event.label not in range(count):
            raise FieldError("label", f"expected less than {count}, or null")
        return event

    def apply(self, event: AnswerEvent) -> TurnPlace:
        """Store an answer, or settle a disagreement, and return its place."""
        place = TurnPlace(event.debate, event.turn)
        if event.settle:
            self.settled[place][event.maxim] = {"label": event.label, "by": event.by}
        else:
            self.answers[event.by].setdefault(place, {})[event.maxim] = event.label
        return place

    def is_complete(self, annotator: str, place: TurnPlace) -> bool:
        """Whether an annotator has answered all questions on a turn."""
        return len(self.answers[annotator].get(place, ())) == len(self.criteria)

    def answers_on(self, place: TurnPlace) -> dict[str, Answers]:
        """Return the answers on a turn by annotator."""
        return {name: answers[place] for name, answers in self.answers.items() if place in answers}

    @property
    def annotators(self) -> list[str]:
        """The names of all who have answered something, in the order of their first answer."""
        return [name for name, answers in self.answers.items() if answers]

    @property
    def places(self) -> set[TurnPlace]:
        """The turns on which somebody has answered something."""
        return set().union(*self.answers.values())

    def votes(self, place: TurnPlace, key: str) -> dict[str, int]:
        """Return the answer of each annotator, without those who do not know."""
        votes = {}
        for name, answers in self.answers_on(place).items():
            label = answers.get(key)
            if label is not None:
                votes[name] = label
        return votes

    def label(self, place: TurnPlace, key: str) -> Answer:
        """Return the label: the settled one, or the one that all annotators gave who know."""
        settled = self.settled[place]
        if key in settled:
            return settled[key]["label"]
        votes = set(self.votes(place, key).values())
        return votes.pop() if len(votes) == 1 else None

    def disagreements(self) -> list[tuple[TurnPlace, str]]:
        """Return where annotators differ, settled or not."""
        disagreements = []
        for place in sorted(self.places):
            for key in self.criteria.keys:
                if len(set(self.votes(place, key).values())) > 1:
                    disagreements.append((place, key))
        return disagreements

    def open_disagreements(self) -> list[tuple[TurnPlace, str]]:
        """Return where annotators differ and nothing is settled."""
        return [
            (place, key) for place, key in self.disagreements() if key not in self.settled[place]
        ]


def effective(events: Iterable[tuple[int, LabelEvent]]) -> list[tuple[int, LabelEvent]]:
    """Return the events that were not taken back: an undo takes back the annotator's last one."""
    answers: dict[int, tuple[int, LabelEvent]] = {}
    places_by: defaultdict[str, list[int]] = defaultdict(list)
    for place, (number, event) in enumerate(events):
        places = places_by[str(event.get("by"))]
        if not event.get("undo"):
            answers[place] = (number, event)
            places.append(place)
        elif places:
            del answers[places.pop()]
    return list(answers.values())


def labels_of(rows: Sequence[Sequence[Mapping[str, Any]]], name: str, criteria: Criteria) -> Study:
    """Return the labels of a file.

    A file of `touche-rad label` has the answers of each annotator; any other file has one.

    Raises:
        FieldError: An answer of an annotator is none of the criterion's.
        ValidationError: The answers of annotators have another form.
    """
    study = Study(criteria)
    for debate, turns in enumerate(rows):
        for number, turn in enumerate(turns):
            # A null in a file of one annotator says that nobody labelled it.
            plain = {key: turn[key] for key in criteria.keys if turn.get(key) is not None}
            answers_of = {name: plain}
            annotators = _ANNOTATORS.validate_python(turn.get("annotators")) or {}
            for annotator, labels in annotators.items():
                answers_of.pop(name, None)
                answers_of[annotator] = {
                    criterion.key: label_place(labels[criterion.key], criterion.answers)
                    for criterion in criteria
                    if criterion.key in labels
                }
            for annotator, answers in answers_of.items():
                if answers:
                    study.answers[annotator][TurnPlace(debate, number)] = answers
    return study


def label_rows(study: Study, exchanges: Exchanges) -> list[list[dict[str, Any]]]:
    """Return the labels in the official format, with further fields.

    A turn that nobody labelled, and a disagreement that is not settled, is null.
    """
    answers_of = study.criteria.answers_of

    def values(places: Mapping[str, Answer]) -> dict[str, Any]:
        return {key: label_value(place, answers_of[key]) for key, place in places.items()}

    debates = []
    for debate, words in enumerate(exchanges.words):
        rows = []
        for turn, digest in enumerate(words):
            place = TurnPlace(debate, turn)
            row = values({key: study.label(place, key) for key in study.criteria.keys})
            if exchanges.is_pooled or not study.criteria.official:
                row |= {"words": digest, "criteria": study.criteria.label_tags[0]}
            annotators = study.answers_on(place)
            if annotators:
                row["annotators"] = {name: values(labels) for name, labels in annotators.items()}
            settled = study.settled[place]
            if settled:
                row["settled"] = {
                    key: {**final, "label": label_value(final["label"], answers_of[key])}
                    for key, final in settled.items()
                }
            rows.append(row)
        debates.append(rows)
    return debates
