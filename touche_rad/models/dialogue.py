"""Render a debate as lines of a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from touche_rad.debate import Debate
from touche_rad.text import clean, is_negation, words

MAX_LETTERS: Final = 4_000
"""Longer utterances are cut; those of the task are far shorter."""


@dataclass(frozen=True)
class Thesis:
    """What the user claims at the beginning, for the partials `stance` and `thesis`."""

    text: str

    @classmethod
    def of(cls, debate: Debate) -> Thesis:
        """Return the first utterance of a debate: in this task the user's claim."""
        return cls(clean(debate.turns[0].utterance)[:MAX_LETTERS])

    @property
    def negated(self) -> bool:
        """Whether it contains a negation, so that "against the thesis" is easily misread."""
        return any(map(is_negation, words(self.text)))


def render_dialogue(
    debate: Debate,
    *,
    user: str = "Opponent",
    system: str = "You",
    last_response: bool = True,
    max_letters: int = MAX_LETTERS,
) -> list[str]:
    """Return one line per utterance, oldest first.

    Args:
        debate: The debate.
        user: Name of the user, before each of the user's utterances.
        system: Name of the system.
        last_response: Whether the response of the last turn is included.
        max_letters: Maximum letters of an utterance.
    """
    lines: list[str] = []
    for turn in debate.turns:
        lines.append(f"{user}: {clean(turn.utterance)[:max_letters]}")
        if turn.response is not None and (last_response or turn is not debate.turns[-1]):
            lines.append(f"{system}: {clean(turn.response.content)[:max_letters]}")
    return lines
