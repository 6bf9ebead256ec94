"""What happened in a run: changes of results, failures, and warnings on the run as a whole.

An event is data: a kind, a place and details. Its text is for people, and nothing decides by it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer

from touche_rad.records import FrozenRecord

log: Final = logging.getLogger("touche_rad")
"""The one log of the project, for what is no event of a run; `-v` shows it."""


class EventKind(StrEnum):
    """What happened."""

    # An answer was changed.
    CUT = "cut"
    ARGUMENT_CUT = "argument lost by the cut"
    REPEATED_ARGUMENT = "repeated argument"
    UNKNOWN_ARGUMENT = "unknown argument"
    UNWRITABLE_FIELD = "unwritable field"
    USER_CUT = "user cut"
    # A plugin or its model failed.
    FALLBACK = "fallback from"
    WITHOUT_MODEL = "without model"
    LAST_RESORT = "last-resort"
    USER_FALLBACK = "user fallback"
    UNSCORED = "unscored"
    UNJUDGED = "unjudged"
    JUDGED_IN_PART = "judged in part"
    # Something is wrong with the input.
    INSTRUCTION = "possible instruction"
    LOST_DEBATE = "lost debate"
    # Warnings on a whole run; their details are sentences.
    UNREAD_LINES = "unread lines"
    COPIES = "copies"
    DEMO_INDEX = "demo index"
    MODEL = "model"
    FALLBACKS = "fallbacks"
    FAILED_CALLS = "failed calls"

    def event(self, detail: str) -> Event:
        """Return an event of this kind, without a place."""
        return Event(kind=self, detail=detail)


OF_ANSWERS: Final[Mapping[EventKind, str]] = {
    EventKind.CUT: "answer cut",
    EventKind.ARGUMENT_CUT: "citation of the cut part removed",
    EventKind.REPEATED_ARGUMENT: "repeated citation removed",
    EventKind.UNKNOWN_ARGUMENT: "invented citation removed",
}
"""Kinds of events on changed answers, and what they are for people."""
OF_FALLBACKS: Final = (
    EventKind.FALLBACK,
    EventKind.WITHOUT_MODEL,
    EventKind.LAST_RESORT,
    EventKind.USER_FALLBACK,
    EventKind.UNSCORED,
)
"""Kinds of events on single fallbacks, which a run's warnings sum up."""


class _Record(FrozenRecord):
    """A frozen record; its JSON form has only the fields that say something."""

    @model_serializer(mode="wrap")
    def _without_empty_fields(self, dump: SerializerFunctionWrapHandler) -> Mapping[str, Any]:
        fields: Mapping[str, Any] = dump(self)
        return {name: value for name, value in fields.items() if value}


class Place(_Record):
    """Where something happened; what is empty is not known, or does not apply."""

    debate: str = ""
    """The id of the debate."""
    turn: int = 0
    """The turn, or the speech of a debate between two debaters, counted from 1."""
    maxim: str = ""


class Event(_Record):
    """Something that happened."""

    kind: EventKind
    place: Place = Place()
    detail: str = ""
    plugin: str = ""
    """The name of the debater that a fallback replaced."""

    def at(self, debate: str, turn: int) -> Self:
        """Return the event with its place; the turn is counted from 0."""
        return self.replace(place=Place(debate=debate, turn=turn + 1))

    @property
    def title(self) -> str:
        """What happened, for people, without the place and the details."""
        kind = OF_ANSWERS.get(self.kind, self.kind)
        return " ".join(filter(None, (kind, self.place.maxim, self.plugin)))

    @property
    def text(self) -> str:
        """All of it in one line, for people."""
        place = self.place
        if not place.turn:
            return f"{self.title}: {self.detail}"
        debate = place.debate or "?"
        return f"{self.title}: debate {debate}, turn {place.turn}: {self.detail}"


class EventCount(_Record):
    """Events of a run with the same title."""

    count: int
    examples: tuple[Event, ...]
    """The first few."""

    @property
    def text(self) -> str:
        """How many there are, and the first of them, in one line."""
        event = self.examples[0]
        place = f" ({event.place.debate})" if event.place.debate else ""
        return f"{event.title}: {self.count}; the first: {event.detail}{place}"
