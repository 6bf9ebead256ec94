"""The conversation as the prompts show it."""

from __future__ import annotations

from typing import Final

from touche_rad.debate import Debate
from touche_rad.text import clean

LONGEST: Final = 2_000
"""Letters of one utterance that are shown; the task's own are far shorter."""


def dialogue(debate: Debate) -> list[str]:
    """Return one line an utterance, oldest first; the last one is what is answered."""
    lines: list[str] = []
    for turn in debate.turns:
        lines.append(f"Opponent: {clean(turn.utterance)[:LONGEST]}")
        if turn.response is not None:
            lines.append(f"You: {clean(turn.response.content)[:LONGEST]}")
    return lines
