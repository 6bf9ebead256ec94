"""What the grounded judge looks at: the conversation, the response, and its citations."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from touche_rad.debate import Debate, Response
from touche_rad.evidence.words import Passage, passage, split, stem
from touche_rad.text import count_words

ENOUGH = 3
"""So many points make a sentence one for the judge; beside such a sentence a single one does."""
_LONGEST = 2_000
"""Of a longer sentence the beginning is read."""


def addressed(texts: Sequence[str], known: Sequence[Passage]) -> frozenset[int]:
    """The places of the sentences that speak to a judge.

    A mark counts once, and only where one of its words is new: in a debate on juries or on
    grades, what the user and the sources say of them is the matter itself.

    Args:
        texts: The sentences as written.
        known: What the user said, and what is cited.
    """
    heard = {token.stem for passage in known for token in passage.tokens}
    points = [_points(text, heard) for text in texts]
    found = {at for at, count in enumerate(points) if count >= ENOUGH}
    for step in (1, -1):
        places = range(len(texts)) if step > 0 else range(len(texts) - 1, -1, -1)
        found |= _neighbours(places, points, found, step)
    return frozenset(found)


def _neighbours(
    places: Sequence[int], points: Sequence[int], found: set[int], step: int
) -> set[int]:
    """Those beside a sentence for the judge that go on with it."""
    more: set[int] = set()
    for at in places:
        if points[at] and (at - step in found or at - step in more):
            more.add(at)
    return more


def _points(text: str, heard: set[str]) -> int:
    line = " ".join(text[:_LONGEST].lower().split())
    return sum(
        points
        for points, pattern in _marks()
        if any(_is_new(match.group(), heard) for match in pattern.finditer(line))
    )


def _is_new(written: str, heard: set[str]) -> bool:
    words = re.findall(r"[a-z]+", written)
    return not words or any(stem(word) not in heard for word in words)


@cache
def _marks() -> tuple[tuple[int, re.Pattern[str]], ...]:
    read = tomllib.loads(files(__package__).joinpath("addressed.toml").read_text("utf-8"))
    return tuple((mark["points"], re.compile(mark["pattern"])) for mark in read["mark"])


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
