"""A debate as InspireScore reads it: responses by round, each with its reasoning and argument."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from touche_rad.contest import Contest
from touche_rad.frozen import frozen
from touche_rad.text import clean

_BLOCK: Final = re.compile(r"< ?/? ?(reasoning(?: [a-z]{1,12}){0,4}|argument) ?>", re.IGNORECASE)


@frozen
class LabelledSpeaker:
    """A speaker and the label in the prompts, which never show a speaker's own name."""

    name: str
    label: str

    @property
    def key(self) -> str:
        """The label as the name of a JSON key."""
        return self.label.lower().replace(" ", "_")


@frozen
class RoundResponse:
    """One speaker's speech in one round."""

    speaker: LabelledSpeaker
    round: int
    reasoning: str
    argument: str
    cut: bool = False
    """Whether only the beginning of the speech is read."""

    @property
    def empty(self) -> bool:
        """Whether the speech has no letter and no digit."""
        return not any(map(str.isalnum, self.reasoning + self.argument))

    @property
    def label(self) -> str:
        """The speaker's label and the round."""
        return f"{self.speaker.label}, round {self.round}"

    @property
    def shown(self) -> str:
        """The text for the prompts, by its blocks if it has them."""
        if not self.reasoning:
            return f"Reasoning and argument: {self.argument}"
        argument = self.argument or "(none)"
        return f"Reasoning: {self.reasoning}\nArgument: {argument}"


def speakers_of(contest: Contest) -> dict[str, LabelledSpeaker]:
    """Return the speakers by name; a side with several speakers numbers them."""
    sizes = Counter(contest.sides.values())
    numbered: Counter[str] = Counter()
    speakers = {}
    for name, side in contest.sides.items():
        numbered[side] += 1
        number = f" {numbered[side]}" if sizes[side] > 1 else ""
        speakers[name] = LabelledSpeaker(name, f"{side.capitalize()}{number}")
    return speakers


def responses_of(
    contest: Contest, speakers: Mapping[str, LabelledSpeaker], longest: int
) -> list[RoundResponse]:
    """Return each speech with its round: a speaker's n-th speech is in round n."""
    rounds: Counter[str] = Counter()
    responses = []
    for speech in contest.speeches:
        name = speech.speaker
        rounds[name] += 1
        text = clean(speech.text)
        reasoning, argument = _blocks(text[:longest])
        cut = len(text) > longest
        responses.append(RoundResponse(speakers[name], rounds[name], reasoning, argument, cut))
    return responses


def _blocks(text: str) -> tuple[str, str]:
    """Separate reasoning and argument by the tags that InspireDebate's debaters write."""
    first, *pieces = _BLOCK.split(text)
    if not pieces:
        return "", text
    reasoning = first
    argument = ""
    for tag, piece in zip(pieces[::2], pieces[1::2], strict=True):
        if tag.lower() == "argument":
            argument += f" {piece}"
        else:
            reasoning += f" {piece}"
    return clean(reasoning), clean(argument)
