"""The debate as a chat, as in the paper: the topic once, then the answers of each side in turn.

The opponent is the user, our side the assistant. Evidence is only in the last message, so that all
messages before it are a prefix shared by the turns. And the evidence: arguments and web pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, Literal

from touche_rad.debate import USER, Argument, Debate
from touche_rad.debaters._asking import Wording, arguments_on_topic, max_letters, on_topic_of
from touche_rad.debaters._citing import earlier_citations
from touche_rad.evidence.quotable import missing_context, text_with_claim
from touche_rad.frozen import frozen
from touche_rad.lists import alternate, unique
from touche_rad.models import Message, Prompt
from touche_rad.models.prompts import Shorten, Thesis
from touche_rad.plugins import TOPIC_DEPTH, ArgumentIndex
from touche_rad.text import clean, plain_words
from touche_rad.users.contest_views import opens

SearchField = Literal["text", "attacks", "supports", "all"]
Shows = Literal["argument", "both"]
MAX_TEXT: Final = 1_200


@frozen
class EvidencePiece:
    """One piece of evidence."""

    text: str
    title: str = ""
    url: str = ""
    argument: Argument | None = None
    """The argument, if the evidence is one of the index."""

    @property
    def with_claim(self) -> str:
        """The text, and the claim that an argument may point to."""
        return text_with_claim(self.argument)[:MAX_TEXT] if self.argument else self.text


def arguments_of(pieces: Iterable[EvidencePiece]) -> list[Argument]:
    """Return the arguments among pieces of evidence."""
    return [piece.argument for piece in pieces if piece.argument]


def arguments_for(
    index: ArgumentIndex,
    queries: Sequence[tuple[SearchField, str]],
    k: int,
    debate: Debate,
    *,
    repeat: bool,
    only_on_topic: bool,
) -> list[EvidencePiece]:
    """Return the best arguments of the queries, by rank, without cited ones and equal texts.

    Arguments that contradict earlier citations, or need another text to be understood, are left
    out if there are others, and so are those off the topics of the debate, if that is asked for:
    then each query finds more, so that all of them have a part in the evidence.
    """
    earlier = earlier_citations(debate, index, repeat=repeat)
    by_query: list[list[Argument]] = []
    for query in dict.fromkeys(queries):
        # More hits than needed, because cited, equal and unclear arguments drop out.
        hits = index.search(*query, TOPIC_DEPTH if only_on_topic else 2 * k + len(earlier.ids))
        by_query.append(earlier.uncited(hit.argument for hit in hits))
    retrieved = list(chain(*by_query))
    usable: Sequence[Argument] = [
        argument
        for argument in earlier.not_contradicted(retrieved)
        if not missing_context(argument.text)
    ] or retrieved
    if only_on_topic:
        usable = on_topic_of(arguments_on_topic(index, debate), usable) or usable
    usable_ids = {argument.id for argument in usable}
    shown: list[list[Argument]] = []
    for of_query in by_query:
        shown.append([argument for argument in of_query if argument.id in usable_ids][:k])
    best = unique(alternate(shown), key=lambda argument: plain_words(argument.text))
    return [of_argument(argument) for argument in best]


def of_argument(argument: Argument) -> EvidencePiece:
    """Return an argument as evidence."""
    return EvidencePiece(clean(argument.text)[:MAX_TEXT], clean(argument.topic), argument=argument)


MAX_LETTERS: Final = 8_000
"""Maximum letters of an utterance; the longest speech has as many."""


def topic_of(debate: Debate) -> str:
    """Return the topic of a debate: its motion, or the user's first message."""
    return clean(debate.thesis)[:MAX_LETTERS]


def conversation(
    debate: Debate,
    evidence: Sequence[EvidencePiece],
    *,
    words: int = 60,
    wording: Wording = "close",
    retrieval: bool = True,
    most_cited: int = 2,
    shows: Shows = "argument",
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
        shows=shows,
    )
    earlier: list[Message] = []
    unanswered: list[str] = []
    for speaker, text in debate.before_response().spoken:
        if speaker == USER:
            unanswered.append(clean(text)[:MAX_LETTERS])
        else:
            _, argument = split_blocks(clean(text))
            earlier += [
                Message("user", "\n".join(unanswered)),
                Message("assistant", argument[:MAX_LETTERS] or "…"),
            ]
            unanswered = []
    (question,) = Prompt.load(__package__, "turn").messages(
        messages=unanswered,
        opening=opens(debate),
        retrieval=retrieval,
        wording=wording,
        evidence=list(evidence),
    )
    return (*system, *earlier, question)


def join_blocks(reasoning: str, argument: str) -> str:
    """Return both as one text, in the two blocks of the paper's template."""
    bare = [text.replace("<", "‹").replace(">", "›") for text in (reasoning, argument)]
    return "<reasoning and analysis process> {} <argument> {}".format(*bare)


def split_blocks(text: str) -> tuple[str, str]:
    """Return the reasoning and the argument of a text; a text without blocks is an argument."""
    match = _BLOCKS.fullmatch(text.strip())
    return (match[1].strip(), match[2].strip()) if match else ("", text)


_BLOCKS: Final = re.compile(
    r"<reasoning[a-z ]*>(.*?)(?:</reasoning[a-z ]*>)?\s*<argument>(.*?)(?:</argument>)?",
    re.IGNORECASE | re.DOTALL,
)


def without_oldest(messages: Sequence[Message]) -> Shorten:
    """Return a function that removes the older half of the rounds of a conversation.

    The system message and the last message remain.
    """
    rounds = list(messages[1:-1])

    def shorter(_: Sequence[Message]) -> Sequence[Message] | None:
        if not rounds:
            return None
        # A round is two messages.
        pairs = len(rounds) // 2
        del rounds[: 2 * ((pairs + 1) // 2)]
        return (messages[0], *rounds, messages[-1])

    return shorter
