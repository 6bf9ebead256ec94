"""What the grounded judge reads of a debate, and how features become a score."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from touche_rad.debate import Debate, Response, Verdict
from touche_rad.evidence.findings import Sentence, logistic, read_sentences
from touche_rad.evidence.words import Passage, read_passage
from touche_rad.text import clean, count_words

_SPEAKER = re.compile(
    r"[\s*_#]*(?:(?:final |my )?(?:answer|reply|response)|assistant|system|debater)[\s*_]*:[\s*_]*",
    re.IGNORECASE,
)
"""A speaker's label before a response says nothing: "Answer: q" is judged as q."""
SEEN = 2
"""Number of arguments whose texts the official annotators saw."""


@dataclass(frozen=True)
class Scene:
    """A response in its conversation, as tokens."""

    words: int
    """Words of the response as the task counts them."""
    response: Passage
    sentences: tuple[Sentence, ...]
    claim: Passage
    """Claim of the debate."""
    user: Passage
    """The user's last message."""
    users_before: tuple[Passage, ...]
    systems_before: tuple[Passage, ...]
    cited_before: tuple[Passage, ...]
    """Texts of the arguments that earlier responses cited."""
    sources: tuple[Passage, ...]
    """Texts of the cited arguments."""


def read_scene(debate: Debate, response: Response, *, all_arguments: bool = False) -> Scene:
    """Read a debate that ends with the turn to judge."""
    cited = response.arguments if all_arguments else response.arguments[:SEEN]
    before = debate.turns[:-1]
    user = read_passage(debate.last.utterance)
    users_before = tuple(read_passage(turn.utterance) for turn in before)
    sources = tuple(read_passage(argument.text) for argument in cited)
    answers = [turn.response for turn in before if turn.response]
    counted = None if all_arguments else SEEN
    used = [one.text for answer in answers for one in answer.arguments[:counted]]
    said = response.content[_label_end(response.content) :]
    return Scene(
        words=count_words(said),
        response=read_passage(said),
        sentences=tuple(read_sentences(said)),
        claim=read_passage(debate.claim),
        user=user,
        users_before=users_before,
        systems_before=tuple(read_passage(answer.content) for answer in answers),
        cited_before=tuple(map(read_passage, dict.fromkeys(used))),
        sources=sources,
    )


def _label_end(content: str) -> int:
    """Return where the label of a speaker ends, 0 if there is none."""
    label = _SPEAKER.match(content)
    return label.end() if label else 0


EMPTY = Verdict(score=0.02, rationale="the response is empty")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Weights(_Record):
    """The contents of `weights.json`."""

    how: str
    relation: Mapping[str, float]
    quantity: Mapping[str, float]
    manner: Mapping[str, float]


@cache
def weights() -> Weights:
    """Load `weights.json`."""
    return Weights.model_validate_json(files(__package__).joinpath("weights.json").read_bytes())


BIAS = "bias"


@dataclass(frozen=True)
class Feature:
    """A feature: its name, its value, and its text for the rationale."""

    name: str
    value: float
    rationale: str


def weighted_verdict(
    features: Sequence[Feature], weights: Mapping[str, float], otherwise: str
) -> Verdict:
    """Return the logistic of the weighted sum, with the strongest feature as rationale.

    `otherwise` is the rationale if no feature but only the bias decided.
    """
    pulls = [(weights[feature.name] * feature.value, feature) for feature in features]
    total = weights[BIAS] + sum(pull for pull, _ in pulls)
    side = 1 if total >= 0 else -1
    pull, feature = max(pulls, key=lambda item: side * item[0])
    rationale = feature.rationale if side * pull > 0 else otherwise
    return Verdict(score=round(logistic(total), 4), rationale=rationale)


QUOTE = 70
"""Maximum letters of a sentence in a rationale."""


def quote_short(text: str) -> str:
    """Quote a text on one line; of a long text, words in the middle are left out."""
    line = clean(text[: 20 * QUOTE])
    if len(line) > QUOTE:
        half = QUOTE // 2
        begin, end = line[:half], line[-half:]
        if not line[half].isspace():
            begin = begin.rpartition(" ")[0] or begin
        if not line[-half - 1].isspace():
            end = end.partition(" ")[2] or end
        line = f"{begin.rstrip()} … {end.lstrip()}"
    return f"“{line}”"
