"""What the steps of a turn share: its call budget, and the debate as text."""

from __future__ import annotations

from typing import Any, Final

from touche_rad.debate import Debate
from touche_rad.models.errors import OverBudget
from touche_rad.models.prompts import Thesis, render_dialogue
from touche_rad.text import clean

MAX_LETTERS: Final = 4_000
"""Longer utterances are cut."""


class Allowance:
    """The call budget of a turn."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.left = calls

    def take(self, calls: int = 1, *, keep: int = 0) -> None:
        """Take calls from the budget before they are made.

        Raises:
            OverBudget: Not enough calls remain; none was taken.
        """
        if self.left - calls < keep:
            raise OverBudget(f"the turn's {self.calls} calls are spent")
        self.left -= calls

    @property
    def spent(self) -> int:
        """The number of calls taken."""
        return self.calls - self.left


def opponent_texts(debate: Debate) -> list[str]:
    """Return the opponent's utterances, oldest first."""
    texts = (clean(turn.utterance)[:MAX_LETTERS] for turn in debate.turns)
    return [text for text in texts if text]


def history_text(debate: Debate) -> str:
    """Return the history as one text, newest first, because an encoder cuts the end."""
    texts: list[str] = []
    for turn in debate.turns:
        texts.append(clean(turn.utterance)[:MAX_LETTERS])
        if turn.response is not None:
            texts.append(clean(turn.response.content)[:MAX_LETTERS])
    return "\n".join(reversed(texts))


def neutral_values(debate: Debate) -> dict[str, Any]:
    """Return the motion and the history for agents that take no side: Pro-1 against Con-1."""
    return {
        "motion": Thesis.of(debate).text,
        "dialogue": render_dialogue(debate, user="Pro-1", system="Con-1"),
    }
