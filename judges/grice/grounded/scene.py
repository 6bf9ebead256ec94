"""What the grounded judge reads of a debate, and how features become a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from touche_rad.debate import Debate, Response, Verdict
from touche_rad.evidence.findings import Sentence, logistic, read_sentences, sentences_to_judge
from touche_rad.evidence.words import Passage, read_passage
from touche_rad.text import clean, count_words

SEEN = 2
"""The official annotators were shown the texts of this many arguments, the first ones."""


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


def read_scene(debate: Debate, response: Response, *, all_arguments: bool = False) -> Scene:
    """Read a debate that ends with the judged turn."""
    cited = response.arguments if all_arguments else response.arguments[:SEEN]
    before = debate.turns[:-1]
    user = read_passage(debate.last.utterance)
    users_before = tuple(read_passage(turn.utterance) for turn in before)
    sources = tuple(read_passage(argument.text) for argument in cited)
    answers = [turn.response for turn in before if turn.response]
    counted = None if all_arguments else SEEN
    used = [one.text for answer in answers for one in answer.arguments[:counted]]
    every = tuple(read_sentences(response.content))
    aside = sentences_to_judge([one.text for one in every], (user, *users_before, *sources))
    kept = tuple(one for at, one in enumerate(every) if at not in aside)
    return Scene(
        words=count_words(response.content),
        response=read_passage(" ".join(one.text for one in kept) if aside else response.content),
        sentences=kept,
        addressed=tuple(every[at] for at in sorted(aside)),
        claim=read_passage(debate.claim),
        user=user,
        users_before=users_before,
        systems_before=tuple(read_passage(answer.content) for answer in answers),
        cited_before=tuple(map(read_passage, dict.fromkeys(used))),
        sources=sources,
        targets=tuple(read_passage(argument.attacks) for argument in cited if argument.attacks),
    )


def nothing_said(scene: Scene) -> str:
    """Why there is nothing to judge."""
    return "it speaks to a judge alone" if scene.addressed else "the response is empty"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Weights(_Record):
    """All of `weights.json`."""

    how: str
    relation: Mapping[str, float]
    quantity: Mapping[str, float]
    manner: Mapping[str, float]


@cache
def weights() -> Weights:
    """The weights as shipped."""
    return Weights.model_validate_json(files(__package__).joinpath("weights.json").read_bytes())


BIAS = "bias"


@dataclass(frozen=True)
class Feature:
    """Something seen: how much of it there is, and how a rationale tells it."""

    name: str
    value: float
    rationale: str


def weighted_verdict(
    cues: Sequence[Feature], weights: Mapping[str, float], otherwise: str
) -> Verdict:
    """The logistic of the weighted sum; the cue that pulled hardest to its side is told.

    `otherwise` is told where no cue pulled that way, and the bias alone decided.
    """
    pulls = [(weights[cue.name] * cue.value, cue) for cue in cues]
    total = weights[BIAS] + sum(pull for pull, _ in pulls)
    side = 1 if total >= 0 else -1
    pull, cue = max(pulls, key=lambda item: side * item[0])
    told = cue.rationale if side * pull > 0 else otherwise
    return Verdict(score=round(logistic(total), 4), rationale=told)


QUOTE = 70
"""The most characters of a sentence that a rationale quotes."""


def quote_short(text: str) -> str:
    """A text in quotation marks on one line, its middle left out where it is long."""
    line = clean(text[: 20 * QUOTE])
    if len(line) > QUOTE:
        half = QUOTE // 2
        line = f"{line[:half].rstrip()} … {line[-half:].lstrip()}"
    return f"“{line}”"
