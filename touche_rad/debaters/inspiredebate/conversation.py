"""The debate as a chat, as in the paper: the topic once, then the answers of each side in turn.

The opponent is the user, and our own earlier arguments are the assistant's messages. Evidence is
only in the last message, so that all messages before it are a prefix shared by the turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from touche_rad.debate import Debate
from touche_rad.debaters.inspiredebate.evidence import Evidence
from touche_rad.models import Message, Prompt
from touche_rad.text import clean

Side = Literal["con", "pro"]
Wording = Literal["close", "free"]

MAX_LETTERS: Final = 8_000
"""Maximum letters of an utterance; the longest speech has as many."""


def max_letters(words: int) -> int:
    """Return the limit of an argument in letters, with room for all of its words."""
    return max(600, 10 * words)


def topic_of(debate: Debate) -> str:
    """Return the topic of a debate: its claim, or the user's first message."""
    said = debate.claim or (debate.turns[0].utterance if debate.turns else "")
    return clean(said)[:MAX_LETTERS]


def position(side: Side) -> str:
    """Return the name of a side in the prompts."""
    return "against the topic" if side == "con" else "for the topic"


def opens(debate: Debate, side: Side) -> bool:
    """Whether our side speaks first: the debate contains only the topic."""
    return side == "pro" and len(debate.turns) == 1 and _shown(debate, 0) == topic_of(debate)


def conversation(
    debate: Debate,
    evidence: Sequence[Evidence],
    *,
    side: Side = "con",
    words: int = 60,
    wording: Wording = "close",
) -> tuple[Message, ...]:
    """Return the messages that ask for the next speech."""
    system = Prompt.load(__package__, "driver").messages(
        topic=topic_of(debate),
        position=position(side),
        words=words,
        letters=max_letters(words),
        wording=wording,
    )
    return (*system, *_before(debate), _new(debate, evidence, side))


def _before(debate: Debate) -> list[Message]:
    """Return the earlier messages, roles alternating; unanswered messages are joined."""
    found: list[Message] = []
    unanswered: list[str] = []
    for number, turn in enumerate(debate.turns[:-1]):
        unanswered.append(_shown(debate, number))
        if turn.response is not None:
            found.append(Message("user", "\n".join(unanswered)))
            found.append(Message("assistant", clean(turn.response.content)[:MAX_LETTERS] or "…"))
            unanswered = []
    return found


def _new(debate: Debate, evidence: Sequence[Evidence], side: Side) -> Message:
    waiting = [_shown(debate, len(debate.turns) - 1)]
    for number in range(len(debate.turns) - 2, -1, -1):
        if debate.turns[number].response is not None:
            break
        waiting.insert(0, _shown(debate, number))
    (asked,) = Prompt.load(__package__, "turn").messages(
        said=waiting, opening=opens(debate, side), evidence=list(evidence)
    )
    return asked


def _shown(debate: Debate, turn: int) -> str:
    return clean(debate.turns[turn].utterance)[:MAX_LETTERS]


def without_oldest(
    messages: Sequence[Message],
) -> Callable[[Sequence[Message]], Sequence[Message] | None]:
    """Return a function that removes the older half of the rounds of a conversation.

    The system message and the last message remain.
    """
    first, rounds, last = messages[0], list(messages[1:-1]), messages[-1]

    def shorter(_: Sequence[Message]) -> Sequence[Message] | None:
        nonlocal rounds
        if not rounds:
            return None
        pairs = len(rounds) // 2
        rounds = rounds[2 * ((pairs + 1) // 2) :]
        return (first, *rounds, last)

    return shorter
