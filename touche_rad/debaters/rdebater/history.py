"""The history H: numbered utterances of two sides in turn, the user's first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from touche_rad.contest import Side
from touche_rad.debate import Debate
from touche_rad.text import clean

LONGEST: Final = 4_000
"""Letters of an utterance that are shown."""


@dataclass(frozen=True)
class Utterance:
    """What one side said at one point; odd ones are the user's, who is pro."""

    idx: int
    side: Side
    text: str

    @property
    def line(self) -> str:
        """The utterance as prompts show it."""
        who = "Opponent" if self.side == "pro" else "You"
        return f"{who} ({self.side.capitalize()}-{(self.idx + 1) // 2}): {self.text}"


def history(debate: Debate) -> list[Utterance]:
    """Return what was said, oldest first; the last one is the opponent's and is answered."""
    found: list[Utterance] = []
    for number, turn in enumerate(debate.turns):
        found.append(Utterance(2 * number + 1, "pro", clean(turn.utterance)[:LONGEST]))
        if turn.response is not None:
            said = clean(turn.response.content)[:LONGEST]
            found.append(Utterance(2 * number + 2, "con", said))
    return found


def lines(debate: Debate) -> list[str]:
    """Return the history as prompts show it."""
    return [one.line for one in history(debate)]


def opposing(debate: Debate) -> list[str]:
    """Return what the opponent said, oldest first."""
    return [one.text for one in history(debate) if one.side == "pro" and one.text]


def together(debate: Debate) -> str:
    """Return the history as one text, newest first: an encoder cuts off what is oldest."""
    return "\n".join(one.text for one in reversed(history(debate)))


def stance(debate: Debate) -> str:
    """Return the stance that is ours, in words."""
    claim = clean(debate.claim or debate.turns[0].utterance)[:LONGEST]
    return f'against what the opponent holds: "{claim}"'
