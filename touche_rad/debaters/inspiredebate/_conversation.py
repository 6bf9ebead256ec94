"""The debate as a chat, as in the paper: the topic once, then the answers of each side in turn.

The opponent is the user, our side the assistant. Evidence is only in the last message, so that all
messages before it are a prefix shared by the turns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Final

from touche_rad.debate import Debate, Response
from touche_rad.debaters._asking import Wording, max_letters
from touche_rad.debaters.inspiredebate._evidence import Evidence
from touche_rad.models import Message, Prompt
from touche_rad.models.prompts import Thesis
from touche_rad.text import clean
from touche_rad.users.contest_views import opens

MAX_LETTERS: Final = 8_000
"""Maximum letters of an utterance; the longest speech has as many."""
_MAX_REASONING: Final = 240
"""Maximum letters of the reasoning and of each cited argument in an earlier answer."""


def topic_of(debate: Debate) -> str:
    """Return the topic of a debate: its claim, or the user's first message."""
    topic = debate.claim or (debate.turns[0].utterance if debate.turns else "")
    return _cut(topic)


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
    names_evidence = retrieval and wording == "close" and most_cited > 0
    system = Prompt.load(__package__, "driver").messages(
        topic=Thesis(topic_of(debate)),
        side=debate.side,
        words=words,
        letters=max_letters(words),
        wording=wording,
        retrieval=retrieval,
        names_evidence=names_evidence,
        cited=most_cited,
        opening=opens(debate),
    )
    (question,) = Prompt.load(__package__, "turn").messages(
        messages=_unanswered(debate),
        opening=opens(debate),
        retrieval=retrieval,
        evidence=list(evidence),
    )
    return (*system, *_earlier(debate, names_evidence), question)


def _earlier(debate: Debate, names_evidence: bool) -> list[Message]:
    """Return the earlier messages, roles alternating; unanswered messages are joined."""
    messages: list[Message] = []
    unanswered: list[str] = []
    for turn in debate.turns[:-1]:
        unanswered.append(_cut(turn.utterance))
        if turn.response is not None:
            messages.append(Message("user", "\n".join(unanswered)))
            messages.append(Message("assistant", _as_answer(turn.response, names_evidence)))
            unanswered = []
    return messages


def _as_answer(response: Response, names_evidence: bool) -> str:
    """Return a response as the model has to answer; citations stand for unknown reasoning."""
    reasoning, argument = split_blocks(clean(response.content))
    cited = dict.fromkeys(_shortened(one.text) for one in response.arguments)
    pieces = [f'Piece {number} says: "{text}"' for number, text in enumerate(cited, 1)]
    reasoning = _shortened(reasoning) or " ".join(pieces) or "I refute the opponent's last message."
    numbers = {"evidence": list(range(1, len(pieces) + 1))} if names_evidence else {}
    answer = {"reasoning": reasoning, **numbers, "argument": argument[:MAX_LETTERS] or "…"}
    return json.dumps(answer, ensure_ascii=False)


def _shortened(text: str) -> str:
    text = clean(text)
    return text if len(text) <= _MAX_REASONING else f"{text[:_MAX_REASONING].rsplit(' ', 1)[0]} …"


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


def _unanswered(debate: Debate) -> list[str]:
    """Return the opponent's messages since our last answer, oldest first."""
    earlier = takewhile(lambda turn: turn.response is None, reversed(debate.turns[:-1]))
    turns = [debate.last, *earlier]
    return [_cut(turn.utterance) for turn in reversed(turns)]


def _cut(utterance: str) -> str:
    return clean(utterance)[:MAX_LETTERS]


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
