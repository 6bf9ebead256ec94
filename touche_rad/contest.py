"""The data model of contests: whole debates as speeches of two sides, and verdicts on them.

A debate of the shared task has turns of a user and a system. Panels judge whole debates, in which
speakers of two sides give speeches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Self, TypeVar

from pydantic import model_validator

from touche_rad.debate import SYSTEM, USER, Debate, Record

Side = Literal["pro", "con"]
SIDES: Final[tuple[Side, Side]] = ("pro", "con")
OTHER: Final[Mapping[Side, Side]] = {"pro": "con", "con": "pro"}
"""The other side of each side."""
TIE: Final = "tie"


class Speech(Record):
    """One speech of one speaker."""

    speaker: str
    text: str


class Contest(Record):
    """A motion and the speeches on it, in order."""

    id: str = ""
    motion: str
    info: str = ""
    """More information for the judges, such as an info slide."""
    sides: Mapping[str, Side]
    """The side of each speaker or team, in speaking order."""
    speeches: tuple[Speech, ...] = ()
    gold: Mapping[str, Any] = {}
    """Who won by dimension (`general`, `argument` ...): a speaker, `tie`, or a list of winners.

    `votes` contains the number of votes, `scores` people's scores by speaker and dimension.
    """

    @model_validator(mode="after")
    def _known_speakers(self) -> Self:
        unknown = sorted({speech.speaker for speech in self.speeches} - set(self.sides))
        if unknown:
            raise ValueError(f"sides: missing speaker {unknown[0]!r}")
        if TIE in self.sides:
            raise ValueError("sides: no speaker can be called 'tie'")
        return self

    @property
    def speakers(self) -> tuple[str, ...]:
        """The names of the speakers, in order."""
        return tuple(self.sides)

    def of(self, side: Side) -> tuple[str, ...]:
        """The speakers of a side."""
        return tuple(name for name, of_name in self.sides.items() if of_name == side)

    def swapped(self) -> Self:
        """Return the same speeches with swapped sides, to test a judge for a bias."""
        return self.replace(sides={name: OTHER[side] for name, side in self.sides.items()})


INCOMPLETE: Final = "incomplete"
"""The detail of an outcome without a winner that is a result of the method, and no failure."""


class Outcome(Record):
    """A verdict on a whole debate.

    Scores are on the judge's own scale. A missing winner is None, and `reason` says why.
    """

    winner: str | None
    """A speaker, `tie`, or None."""
    scores: Mapping[str, Mapping[str, float | None]] = {}
    """For each speaker its score by dimension."""
    winners: Mapping[str, str | None] = {}
    """For each dimension its winner."""
    comment: str = ""
    reason: str = ""
    details: Mapping[str, Any] = {}
    """Intermediate results of the judge (a graph, a timeline of comments), as JSON."""

    @property
    def decision(self) -> str | None:
        """The winner, or only the winning side (`details.side`), as DebGraph names for teams."""
        side = self.details.get("side")
        return self.winner or (side if side in SIDES else None)


Name = TypeVar("Name", bound=str)
_ROUNDING: Final = 1e-9
"""Rounding errors of floats must not decide a debate."""


def leader(
    scores: Mapping[Name, float | None], margin: float = 0.0
) -> Name | Literal["tie"] | None:
    """Return who leads by more than the margin, or a tie; None if a score is missing."""
    known = {name: score for name, score in scores.items() if score is not None}
    if not known or len(known) < len(scores):
        return None
    best, *others = sorted(known, key=lambda name: -known[name])
    return TIE if others and known[best] - known[others[0]] <= margin + _ROUNDING else best


def to_contest(debate: Debate) -> Contest:
    """Return a debate of the shared task as speeches: the user is pro, the system con."""
    return Contest(
        id=debate.id,
        motion=debate.thesis,
        sides={USER: "pro", SYSTEM: "con"},
        speeches=tuple(Speech(speaker=speaker, text=text) for speaker, text in debate.spoken),
    )
