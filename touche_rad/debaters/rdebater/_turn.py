"""What the steps of a turn share: its call budget, and the debate as text."""

from __future__ import annotations

from typing import Any, Final

from touche_rad.debate import Debate
from touche_rad.models.errors import OverBudget
from touche_rad.models.prompts import Thesis, render_dialogue
from touche_rad.text import clean
from touche_rad.users.contest_views import opens, speaks_first

MAX_LETTERS: Final = 4_000


class Allowance:
    """The call budget of a turn."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.left = calls

    def take(self, calls: int = 1, *, keep: int = 0) -> None:
        """Take calls from the budget before they are made; `keep` must remain for later steps."""
        if self.left - calls < keep:
            raise OverBudget(f"the turn's {self.calls} calls are spent")
        self.left -= calls


def opponent_texts(debate: Debate) -> list[str]:
    """Return the opponent's utterances, oldest first."""
    turns = debate.turns[speaks_first(debate) :]
    texts = (clean(turn.utterance)[:MAX_LETTERS] for turn in turns)
    return [text for text in texts if text]


def history_text(debate: Debate) -> str:
    """Return the history as one text, newest first, because an encoder cuts the end.

    The debater that opens has only the motion.
    """
    texts: list[str] = []
    for turn in debate.turns:
        texts.append(turn.utterance)
        if turn.response is not None:
            texts.append(turn.response.content)
    spoken = texts[speaks_first(debate) :] or texts
    return "\n".join(clean(text)[:MAX_LETTERS] for text in reversed(spoken))


def sided_values(debate: Debate) -> dict[str, Any]:
    """Return the side and the history for agents that speak for the debater."""
    return {
        "side": debate.side,
        "opening": opens(debate),
        "dialogue": _dialogue(debate, "Opponent", "You"),
    }


def neutral_values(debate: Debate) -> dict[str, Any]:
    """Return the motion and the history for agents that take no side: Pro-1 and Con-1.

    `own` is the debater's name, and `other` its opponent's.
    """
    own, other = ("Pro-1", "Con-1") if debate.side == "pro" else ("Con-1", "Pro-1")
    return {
        "motion": Thesis.of(debate).text,
        "own": own,
        "other": other,
        "opening": opens(debate),
        "dialogue": _dialogue(debate, other, own),
    }


def _dialogue(debate: Debate, opponent: str, own: str) -> list[str]:
    """Return one line per utterance; the motion that a debater opens with is none."""
    return render_dialogue(debate, user=opponent, system=own)[speaks_first(debate) :]
