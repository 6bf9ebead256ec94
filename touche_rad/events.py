"""What happened in a run: changes of results, failures, and warnings on the run as a whole.

An event is data: a kind, a place and details. Its text is for people, and nothing decides by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


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
    FALLBACK = "fallback"
    WITHOUT_MODEL = "without model"
    LAST_RESORT = "last-resort"
    USER_FALLBACK = "user fallback"
    UNSCORED = "unscored"
    UNJUDGED = "unjudged"
    JUDGED_IN_PART = "judged in part"
    # Something is wrong with the input.
    INSTRUCTION = "possible instruction"
    LOST_DEBATE = "lost debate"
    # Warnings on a whole run.
    UNREAD_LINES = "lines that cannot be read"
    COPIES = "debates given twice"
    DEMO_INDEX = "demo index"
    MODEL = "model"
    FALLBACKS = "fallbacks"
    FAILED_CALLS = "failed calls"


OF_FALLBACKS: Final = (
    EventKind.FALLBACK,
    EventKind.WITHOUT_MODEL,
    EventKind.LAST_RESORT,
    EventKind.USER_FALLBACK,
    EventKind.UNSCORED,
)
"""Kinds of events on single fallbacks, which a run's warnings sum up."""
_SENTENCES: Final = (
    EventKind.DEMO_INDEX,
    EventKind.MODEL,
    EventKind.FALLBACKS,
    EventKind.FAILED_CALLS,
)
"""Kinds whose details are a whole sentence."""
_PANELS: Final = (EventKind.UNJUDGED, EventKind.JUDGED_IN_PART)
"""Kinds whose details are the panel's reason, which the debate follows."""


class _Record(BaseModel):
    """A frozen record; its JSON form has only the fields that say something."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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

    @property
    def text(self) -> str:
        """The debate and the turn for people."""
        return f"debate {self.debate or '?'}, turn {self.turn}" if self.turn else ""


class Event(_Record):
    """Something that happened."""

    kind: EventKind
    place: Place = Place()
    detail: str = ""
    plugin: str = ""
    """The name of the plugin that failed."""

    def at(self, debate: str, turn: int) -> Self:
        """Return the event with its place; the turn is counted from 0."""
        return self.model_copy(update={"place": Place(debate=debate, turn=turn + 1)})

    @property
    def title(self) -> str:
        """What happened, for people, without the place and the details."""
        if self.kind is EventKind.FALLBACK:
            return f"fallback from {self.plugin}"
        if self.kind is EventKind.UNSCORED:
            return f"unscored {self.place.maxim}"
        return self.kind.value

    @property
    def explanation(self) -> str:
        """The place and the details, for people."""
        if self.kind in _PANELS:
            return f"{self.detail} ({self.place.debate})"
        without = self.plugin if self.kind is EventKind.WITHOUT_MODEL else ""
        return ": ".join(filter(None, (self.place.text, without, self.detail)))

    @property
    def text(self) -> str:
        """All of it in one line, for people."""
        if self.kind in _SENTENCES:
            return self.detail
        return f"{self.title}: {self.explanation}"


class EventCount(_Record):
    """Events of a run that differ only in the place and the details."""

    count: int
    examples: tuple[Event, ...]
    """The first few."""

    @property
    def kind(self) -> EventKind:
        """What happened."""
        return self.examples[0].kind

    @property
    def title(self) -> str:
        """What happened, for people."""
        return self.examples[0].title
