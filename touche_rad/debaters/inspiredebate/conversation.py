"""The debate as the paper drives it: the topic once, then each side's answers in turn.

The opponent's words are the user's messages, our own earlier arguments the assistant's. Evidence
stands only beside the message that is being answered, so that all before it is one shared prefix.
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

LONGEST: Final = 8_000
"""Letters of one utterance that are shown; as many as the longest speech has."""


def topic_of(debate: Debate) -> str:
    """Return what the debate is about: its claim, or how the user began."""
    said = debate.claim or (debate.turns[0].utterance if debate.turns else "")
    return clean(said)[:LONGEST]


def position(side: Side) -> str:
    """Name a side as the prompts do."""
    return "against the topic" if side == "con" else "for the topic"


def opens(debate: Debate, side: Side) -> bool:
    """Whether there is no opponent yet: the supporter is given the bare topic to begin with."""
    return side == "pro" and len(debate.turns) == 1 and _shown(debate, 0) == topic_of(debate)


def conversation(
    debate: Debate,
    evidence: Sequence[Evidence],
    *,
    side: Side = "con",
    words: int = 60,
    wording: Wording = "close",
) -> tuple[Message, ...]:
    """Return the messages that ask for the next answer."""
    system = Prompt.load(__package__, "driver").messages(
        topic=topic_of(debate), position=position(side), words=words, wording=wording
    )
    return (*system, *_before(debate), _new(debate, evidence, side))


def _before(debate: Debate) -> list[Message]:
    """Return what was said, roles alternating: turns that were never answered go with the next."""
    found: list[Message] = []
    unanswered: list[str] = []
    for number, turn in enumerate(debate.turns[:-1]):
        unanswered.append(_shown(debate, number))
        if turn.response is not None:
            found.append(Message("user", "\n".join(unanswered)))
            found.append(Message("assistant", clean(turn.response.content)[:LONGEST] or "…"))
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
    return clean(debate.turns[turn].utterance)[:LONGEST]


def without_oldest(
    messages: Sequence[Message],
) -> Callable[[Sequence[Message]], Sequence[Message] | None]:
    """Return how a conversation that is too long is made shorter: half its oldest rounds go.

    The system's message and what is being answered stay.
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
