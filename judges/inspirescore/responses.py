"""A debate as InspireScore sees it: responses by round, each with its reasoning and argument."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from touche_rad.contest import Contest
from touche_rad.text import clean

_BLOCK: Final = re.compile(r"< ?/? ?(reasoning(?: [a-z]{1,12}){0,4}|argument) ?>", re.IGNORECASE)


@dataclass(frozen=True)
class Speaker:
    """Who speaks, as the prompts call them: no name of a debate's own reaches a prompt."""

    name: str
    label: str

    @property
    def key(self) -> str:
        """The label as the name of a field."""
        return self.label.lower().replace(" ", "_")


@dataclass(frozen=True)
class Response:
    """What one speaker says in one round."""

    speaker: Speaker
    round: int
    reasoning: str
    argument: str
    cut: bool = False
    """Whether it was longer than what is looked at."""

    @property
    def empty(self) -> bool:
        """Whether nothing is said: no letter and no digit."""
        return not any(map(str.isalnum, self.reasoning + self.argument))

    @property
    def label(self) -> str:
        """Where it stands."""
        return f"{self.speaker.label}, round {self.round}"

    @property
    def shown(self) -> str:
        """What is said, by its blocks where it has them."""
        if not self.reasoning:
            return f"Reasoning and argument: {self.argument}"
        return f"Reasoning: {self.reasoning}\nArgument: {self.argument or '(none)'}"


def speakers_of(contest: Contest) -> tuple[Speaker, ...]:
    """Return the speakers; a side that has more than one numbers them."""
    many = Counter(contest.sides.values())
    seen: Counter[str] = Counter()
    found = []
    for name, side in contest.sides.items():
        seen[side] += 1
        label = side.capitalize()
        found.append(Speaker(name, f"{label} {seen[side]}" if many[side] > 1 else label))
    return tuple(found)


def responses_of(contest: Contest, longest: int) -> tuple[Response, ...]:
    """Return each speech with its round: a speaker's third speech is of the third round."""
    speakers: Mapping[str, Speaker] = {one.name: one for one in speakers_of(contest)}
    spoken: Counter[str] = Counter()
    found = []
    for speech in contest.speeches:
        spoken[speech.speaker] += 1
        text = clean(speech.text)
        reasoning, argument = _blocks(text[:longest])
        found.append(
            Response(
                speakers[speech.speaker], spoken[speech.speaker], reasoning, argument,
                cut=len(text) > longest,
            )
        )  # fmt: skip
    return tuple(found)


def rounds_of(responses: Sequence[Response]) -> list[list[Response]]:
    """Return the responses by round, in the order in which they were given."""
    last = max((one.round for one in responses), default=0)
    return [[one for one in responses if one.round == number] for number in range(1, last + 1)]


def _blocks(text: str) -> tuple[str, str]:
    """Tell reasoning from argument by the tags that InspireDebate's debaters write."""
    pieces = _BLOCK.split(text)
    if len(pieces) == 1:
        return "", text
    said: dict[str, list[str]] = {"reasoning": [], "argument": []}
    said["reasoning"].append(pieces[0])
    for tag, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        said["argument" if tag.lower() == "argument" else "reasoning"].append(piece)
    return " ".join(" ".join(said["reasoning"]).split()), " ".join(
        " ".join(said["argument"]).split()
    )
