"""What the judge looks at: the conversation up to the judged response, and what was cited."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from judges.grice.grounded.addressed import addressed
from judges.grice.grounded.tokens import Passage, passage, split
from touche_rad.debate import Debate, Response
from touche_rad.text import count_words

SEEN = 2
"""The official annotators were shown the texts of this many arguments, the first ones."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of the response, as written and as read."""

    text: str
    read: Passage


@dataclass(frozen=True)
class Scene:
    """A judged response in its conversation, read into tokens."""

    words: int
    """The response's length as the task counts it."""
    response: Passage
    """What it says to the user."""
    sentences: tuple[Sentence, ...]
    """Those that hold a word, and speak to the user."""
    addressed: tuple[Sentence, ...]
    """Those that speak to whoever judges it."""
    claim: Passage
    """What the debate is about."""
    user: Passage
    """The user's last message: stance is read against it, since users drift."""
    users_before: tuple[Passage, ...]
    systems_before: tuple[Passage, ...]
    cited_before: tuple[Passage, ...]
    """The texts of the arguments that earlier answers cited and that counted there."""
    sources: tuple[Passage, ...]
    """The texts of the cited arguments that count."""
    targets: tuple[Passage, ...]
    """What those arguments attack, where their fields say so. Annotators did not see it."""


def scene(debate: Debate, response: Response, *, all_arguments: bool = False) -> Scene:
    """Read a debate that ends with the judged turn."""
    cited = response.arguments if all_arguments else response.arguments[:SEEN]
    before = debate.turns[:-1]
    user = passage(debate.last.utterance)
    users_before = tuple(passage(turn.utterance) for turn in before)
    sources = tuple(passage(argument.text) for argument in cited)
    answers = [turn.response for turn in before if turn.response]
    counted = None if all_arguments else SEEN
    used = [one.text for answer in answers for one in answer.arguments[:counted]]
    every = tuple(_sentences(response.content))
    aside = addressed([one.text for one in every], (user, *users_before, *sources))
    kept = tuple(one for at, one in enumerate(every) if at not in aside)
    return Scene(
        words=count_words(response.content),
        response=passage(" ".join(one.text for one in kept) if aside else response.content),
        sentences=kept,
        addressed=tuple(every[at] for at in sorted(aside)),
        claim=passage(debate.claim),
        user=user,
        users_before=users_before,
        systems_before=tuple(passage(answer.content) for answer in answers),
        cited_before=tuple(map(passage, dict.fromkeys(used))),
        sources=sources,
        targets=tuple(passage(argument.attacks) for argument in cited if argument.attacks),
    )


def _sentences(text: str) -> Iterator[Sentence]:
    for sentence in split(text):
        read = passage(sentence)
        if read.tokens:
            yield Sentence(sentence, read)


def nothing_said(scene: Scene) -> str:
    """Why there is nothing to judge."""
    return "it speaks to a judge alone" if scene.addressed else "the response is empty"
