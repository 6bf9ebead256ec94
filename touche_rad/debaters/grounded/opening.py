"""What stands before a quotation: the words of the user that it answers, or a stance."""

from __future__ import annotations

import re
from typing import Final

from touche_rad.debate import Debate
from touche_rad.text import clean, count_words

STANCES: Final = (
    "I disagree:",
    "On the contrary:",
    "I see it differently:",
    "I am not convinced:",
    "Not so:",
)
_CONTRADICTION: Final = "That contradicts your thesis:"
_FEWEST: Final = 3
_MOST: Final = 14
"""Words of the user that are named."""


def stance_of(debate: Debate) -> str:
    """Return another stance in each turn."""
    return STANCES[(len(debate.turns) - 1) % len(STANCES)]


def openings(debate: Debate, span: str, *, is_clause: bool, agrees: bool) -> tuple[str, str]:
    """Return what names a span of the last message, if it has it, and what takes less room.

    `is_clause` says that the span is a statement with a subject and a verb, `agrees` that the user
    has come over to our side.
    """
    short = "You contradict your thesis:" if agrees else stance_of(debate)
    message = clean(debate.last.utterance)
    words = re.escape(clean(span).strip(' .,;:!?"“”'))
    match = re.search(rf"(?<!\w){words}(?!\w)", message, re.IGNORECASE)
    if not match or '"' in match[0] or not _FEWEST <= count_words(match[0]) <= _MOST:
        return short, short
    if is_clause:
        return f'You say "{match[0]}". {_CONTRADICTION if agrees else "But:"}', short
    return short if agrees else f'On "{match[0]}":', short
