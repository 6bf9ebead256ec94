"""What the grounded judge reads of a debate, and how features become a score."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from touche_rad.debate import Debate, Maxim, Response, Verdict
from touche_rad.evidence.findings import Finding, Sentence, findings, read_sentences
from touche_rad.evidence.support import logistic
from touche_rad.evidence.words import Passage, read_passage
from touche_rad.plugins import Feature
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
    findings: list[Finding]
    """What the sources support of each sentence."""

    @property
    def users(self) -> tuple[Passage, ...]:
        """The user's messages, the last one first."""
        return (self.user, *self.users_before)


def read_scene(debate: Debate, response: Response, *, all_arguments: bool = False) -> Scene:
    """Read a debate that ends with the turn to judge."""
    most = None if all_arguments else SEEN
    before = debate.turns[:-1]
    answers = [turn.response for turn in before if turn.response]
    cited = [one.text for answer in answers for one in answer.arguments[:most]]
    label = _SPEAKER.match(response.content)
    content = response.content[label.end() if label else 0 :]
    sentences = tuple(read_sentences(content))
    sources = tuple(read_passage(argument.text) for argument in response.arguments[:most])
    return Scene(
        words=count_words(content),
        response=read_passage(content),
        sentences=sentences,
        claim=read_passage(debate.claim),
        user=read_passage(debate.last.utterance),
        users_before=tuple(read_passage(turn.utterance) for turn in before),
        systems_before=tuple(read_passage(answer.content) for answer in answers),
        cited_before=tuple(map(read_passage, dict.fromkeys(cited))),
        sources=sources,
        findings=findings(sentences, sources),
    )


class Weights(BaseModel):
    """The contents of `weights.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    how: str
    relation: Mapping[str, float]
    quantity: Mapping[str, float]
    manner: Mapping[str, float]


@cache
def weights() -> Weights:
    """Load `weights.json`."""
    return Weights.model_validate_json(files(__package__).joinpath("weights.json").read_bytes())


BIAS = "bias"


def weigh(maxim: Maxim, values: Mapping[str, tuple[float, str]]) -> dict[str, Feature]:
    """Return the weighted features of a maxim from their values and texts for the rationale."""
    weight: Mapping[str, float] = getattr(weights(), maxim)
    features = {name: Feature(value, weight[name], text) for name, (value, text) in values.items()}
    return {**features, BIAS: Feature(1.0, weight[BIAS], "this is the constant of the sum")}


def weighted_verdict(features: Mapping[str, Feature], otherwise: str) -> Verdict:
    """Return the logistic of the weighted sum, with the strongest feature as rationale.

    `otherwise` is the rationale if no feature but only the bias decided.
    """
    others = [feature for name, feature in features.items() if name != BIAS]
    total = features[BIAS].weight + sum(feature.adds for feature in others)
    side = 1 if total >= 0 else -1
    strongest = max(others, key=lambda feature: side * feature.adds)
    rationale = strongest.phrase if side * strongest.adds > 0 else otherwise
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
