"""A contest as the prompts know it: debaters by code, speeches made ready."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from judges.debatrix.dimensions import Dimension
from judges.debatrix.memory import Entry
from judges.debatrix.speeches import pieces, prepared, quotes
from touche_rad.contest import Contest, Side
from touche_rad.models import Message, Prompt
from touche_rad.text import clean

_LONGEST_NAME, _LONGEST_MOTION, _LONGEST_INFO = 60, 1_000, 4_000
_DUTIES = {
    ("pro", 0): "Opens the case: defines the motion, argues for it, answers the opening opposition",
    ("con", 0): "Opens the opposition: answers the opening case and argues against the motion",
    ("pro", 1): "Closes the case: must add to its side what the opening team did not bring",
    ("con", 1): "Closes the opposition: must add to its side what the opening team did not bring",
}


@dataclass(frozen=True)
class Debater:
    """One of the debaters: the model answers with the code, so that no name can mislead it."""

    code: str
    name: str
    side: Side
    duty: str = ""


@dataclass(frozen=True)
class Case:
    """What all columns are told."""

    contest: Contest
    chunk: int = 0

    @cached_property
    def debaters(self) -> tuple[Debater, ...]:
        """The debaters in their order."""
        found: list[Debater] = []
        seen = {"pro": 0, "con": 0}
        for number, (name, side) in enumerate(self.contest.sides.items(), 1):
            duty = _DUTIES.get((side, seen[side]), "") if self.teams else ""
            seen[side] += 1
            shown = clean(name)[:_LONGEST_NAME] or f"debater {number}"
            found.append(Debater(f"debater_{number}", shown, side, duty))
        return tuple(found)

    @property
    def teams(self) -> bool:
        """Whether more than two debate, as in the British Parliamentary format."""
        return len(self.contest.sides) > 2

    @cached_property
    def code_of(self) -> Mapping[str, str]:
        """Each speaker's code."""
        pairs = zip(self.contest.sides, self.debaters, strict=True)
        return {name: debater.code for name, debater in pairs}

    @cached_property
    def speaker_of(self) -> Mapping[str, str]:
        """Each code's speaker."""
        return {code: name for name, code in self.code_of.items()}

    @cached_property
    def speeches(self) -> tuple[Entry, ...]:
        """The speeches that say anything, in pieces where they are long; numbers start at 1."""
        said = []
        for number, speech in enumerate(self.contest.speeches, 1):
            for piece in pieces(prepared(speech.text), self.chunk):
                if piece:
                    said.append(Entry(number, self.code_of[speech.speaker], piece))
        return tuple(said)

    def header(self, dimension: Dimension | None) -> str:
        """Return what every prompt of a column begins with; the panel's chair has no dimension."""
        message: Message = Prompt.load(__package__, "header").messages(
            motion=clean(self.contest.motion)[:_LONGEST_MOTION],
            info=clean(self.contest.info)[:_LONGEST_INFO],
            debaters=self.debaters, teams=self.teams,
            quotes=any(quotes(entry.text) for entry in self.speeches),
            name=dimension.name if dimension else "",
            looks_at=dimension.looks_at if dimension else "",
        )[0]  # fmt: skip
        return message.content
