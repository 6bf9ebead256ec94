"""The debate as a chat, as in the paper: the topic once, then the answers of each side in turn.

The opponent is the user, our side the assistant. Evidence is only in the last message, so that all
messages before it are a prefix shared by the turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from touche_rad.debate import Debate
from touche_rad.debaters._asking import Wording, max_letters
from touche_rad.debaters.inspiredebate._evidence import Evidence
from touche_rad.models import Message, Prompt
from touche_rad.models.prompts import Thesis
from touche_rad.text import clean
from touche_rad.users.contest_views import opens

MAX_LETTERS: Final = 8_000
"""Maximum letters of an utterance; the longest speech has as many."""


def topic_of(debate: Debate) -> str:
    """Return the topic of a debate: its claim, or the user's first message."""
    return clean(debate.claim or debate.turns[0].utterance)[:MAX_LETTERS]


def conversation(
    debate: Debate,
    evidence: Sequence[Evidence],
    *,
    words: int = 60,
    wording: Wording = "close",
    retrieval: bool = True,
    most_cited: int = 2,
) -> tuple[Message, ...]:
    """Return the messages that ask for the next answer."""
    system = Prompt.load(__package__, "driver").messages(
        topic=Thesis(topic_of(debate)),
        side=debate.side,
        words=words,
        letters=max_letters(words),
        wording=wording,
        retrieval=retrieval,
        names_evidence=retrieval and wording == "close" and most_cited > 0,
        cited=most_cited,
        opening=opens(debate),
    )
    earlier: list[Message] = []
    unanswered: list[str] = []
    for turn in debate.turns:
        unanswered.append(clean(turn.utterance)[:MAX_LETTERS])
        if turn.response is not None and turn is not debate.turns[-1]:
            _, argument = split_blocks(clean(turn.response.content))
            earlier.append(Message("user", "\n".join(unanswered)))
            earlier.append(Message("assistant", argument[:MAX_LETTERS] or "…"))
            unanswered = []
    (question,) = Prompt.load(__package__, "turn").messages(
        messages=unanswered,
        opening=opens(debate),
        retrieval=retrieval,
        evidence=list(evidence),
    )
    return (*system, *earlier, question)


def join_blocks(reasoning: str, argument: str) -> str:
    """Return both as one text, in the two blocks of the paper's template."""
    bare = (text.replace("<", "‹").replace(">", "›") for text in (reasoning, argument))
    return "<reasoning and analysis process> {} <argument> {}".format(*bare)


def split_blocks(text: str) -> tuple[str, str]:
    """Return the reasoning and the argument of a text; a text without blocks is an argument."""
    match = _BLOCKS.fullmatch(text.strip())
    return (match[1].strip(), match[2].strip()) if match else ("", text)


_BLOCKS: Final = re.compile(
    r"<reasoning[a-z ]*>(.*?)(?:</reasoning[a-z ]*>)?\s*<argument>(.*?)(?:</argument>)?",
    re.IGNORECASE | re.DOTALL,
)


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
