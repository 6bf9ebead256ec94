"""The first draft, from the debate, the opponent's flaws and the retrieved arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.debaters.rdebater.options import Wording
from touche_rad.debaters.rdebater.retrieval import Record
from touche_rad.debaters.rdebater.schemes import Scheme
from touche_rad.debaters.rdebater.schemes.vocabulary import schemes as definitions
from touche_rad.debaters.rdebater.turn import stance
from touche_rad.models import Model, Prompt, drop_oldest
from touche_rad.models.dialogue import render_dialogue
from touche_rad.text import clean, content_words


def cited(
    content: str, named: Sequence[Argument], given: Sequence[Argument], most: int
) -> tuple[Argument, ...]:
    """Return the arguments that a response cites, in the order of their use.

    Args:
        content: The response.
        named: The arguments that the model named; those that share no word with it are ignored.
        given: All arguments of the prompt, used if no named argument remains.
        most: Maximum arguments.
    """
    said = content_words(content)
    used = [one for one in named if _first(said, one, named) < len(said)]
    if not used:
        shared = {one.id: len(set(said) & set(content_words(one.text))) for one in given}
        nearest = max(given, key=lambda one: shared[one.id], default=None)
        used = [nearest] if nearest is not None and shared[nearest.id] else []
    return tuple(sorted(used, key=lambda one: _first(said, one, used))[:most])


def _first(said: Sequence[str], one: Argument, among: Sequence[Argument]) -> int:
    """Return the position of the first word of an argument, preferably one only it has."""
    own = set(content_words(one.text))
    others: set[str] = set()
    others.update(*(content_words(other.text) for other in among if other.id != one.id))
    for words in (own - others, own):
        for place, word in enumerate(said):
            if word in words:
                return place
    return len(said)


@dataclass(frozen=True)
class Candidate:
    """An utterance, and the arguments that the model named for it."""

    text: str
    named: tuple[Argument, ...] = ()


@dataclass(frozen=True)
class Brief:
    """The input of the agents that write and judge an utterance."""

    debate: Debate
    flaws: Sequence[str]
    evidence: Sequence[Record]
    schemes: Sequence[Scheme]
    words: int
    cited: int
    wording: Wording

    @property
    def values(self) -> dict[str, Any]:
        """The variables of the prompts."""
        return {
            "dialogue": render_dialogue(self.debate), "stance": stance(self.debate),
            "words": self.words,
            "letters": max_letters(self.words),
            "schemes": {one: definitions()[one] for one in self.schemes},
            "evidence": [_shown(one, self.schemes) for one in self.evidence],
        }  # fmt: skip

    def named(self, numbers: Sequence[int]) -> tuple[Argument, ...]:
        """Return the arguments with these numbers; unknown and repeated numbers are ignored."""
        known = (number for number in numbers if 1 <= number <= len(self.evidence))
        return tuple(self.evidence[number - 1].argument for number in dict.fromkeys(known))


def _shown(one: Record, schemes: Sequence[Scheme]) -> dict[str, Any]:
    marks = one.annotation.marks if one.annotation else {}
    return {
        "text": clean(one.argument.text),
        "marks": [
            f"{scheme.value} ({marks[scheme].reason})" if marks[scheme].reason else scheme.value
            for scheme in marks
            if scheme in schemes
        ],
    }


class Draft(BaseModel):
    """The answer of M."""

    numbers: list[int] = Field(json_schema_extra={"minItems": 1, "maxItems": 9})
    utterance: str = Field(min_length=1)


def max_letters(words: int) -> int:
    """Return the limit of an utterance in letters, with room for all of its words."""
    return max(600, 10 * words)


@lru_cache(64)
def speech(schema: type[BaseModel], field: str, words: int) -> type[Any]:
    """Return the schema with a limit in letters that leaves room for all words."""
    information = schema.model_fields[field]
    bounded: Any = Field(
        **({} if information.is_required() else {"default": information.default}),
        min_length=1 if information.is_required() else None,
        json_schema_extra={"maxLength": max_letters(words)},
    )
    fields: Any = {field: (str, bounded)}
    return create_model(schema.__name__, __base__=schema, **fields)


async def draft(model: Model, brief: Brief) -> Candidate:
    """Ask for the first candidate."""
    prompt = Prompt.load(__package__, "draft")
    values = {
        **brief.values, "flaws": list(brief.flaws), "cited": brief.cited, "wording": brief.wording,
    }  # fmt: skip
    answer: Draft = await model.ask(
        prompt.messages(**values), speech(Draft, "utterance", brief.words), step="rdebater.draft",
        shorten=drop_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    return Candidate(clean(answer.utterance), brief.named(answer.numbers))


class Plain(BaseModel):
    """The answer of a baseline."""

    utterance: str = Field(min_length=1)


async def plain(model: Model, debate: Debate, texts: Sequence[str], words: int) -> str:
    """Ask like the paper's baselines: without retrieval, or with the retrieved texts."""
    prompt = Prompt.load(__package__, "baseline")
    values = {
        "dialogue": render_dialogue(debate), "stance": stance(debate), "words": words,
        "letters": max_letters(words), "texts": list(texts),
    }  # fmt: skip
    answer: Plain = await model.ask(
        prompt.messages(**values), speech(Plain, "utterance", words), step="rdebater.baseline",
        shorten=drop_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    return clean(answer.utterance)
