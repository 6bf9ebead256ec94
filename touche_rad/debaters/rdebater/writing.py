"""The first draft, from the debate, the opponent's flaws and the retrieved arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate
from touche_rad.debaters.rdebater.history import lines, stance
from touche_rad.debaters.rdebater.recall import Remembered
from touche_rad.debaters.rdebater.schemes import Scheme
from touche_rad.debaters.rdebater.schemes.vocabulary import schemes as definitions
from touche_rad.models import Model, Prompt, drop_oldest
from touche_rad.text import clean, content_words


def cited(
    content: str, named: Sequence[Argument], given: Sequence[Argument], most: int
) -> tuple[Argument, ...]:
    """Return what an answer cites.

    Args:
        content: The answer as it is said.
        named: What the model says it used; what shares no word with the answer was not used.
        given: What it could have used; it is looked through where none of the named was used.
        most: How many are cited at most.
    """
    said = content_words(content)
    used = [one for one in named if _first(said, one, named) < len(said)]
    if not used:
        shared = {one.id: len(set(said) & set(content_words(one.text))) for one in given}
        nearest = max(given, key=lambda one: shared[one.id], default=None)
        used = [nearest] if nearest is not None and shared[nearest.id] else []
    return tuple(sorted(used, key=lambda one: _first(said, one, used))[:most])


def _first(said: Sequence[str], one: Argument, among: Sequence[Argument]) -> int:
    """Return where the answer first has a word of an argument, if possible one of its own."""
    own = set(content_words(one.text))
    others: set[str] = set()
    others.update(*(content_words(other.text) for other in among if other.id != one.id))
    for words in (own - others, own):
        for place, word in enumerate(said):
            if word in words:
                return place
    return len(said)


Wording = Literal["close", "free"]


@dataclass(frozen=True)
class Candidate:
    """An utterance that may be said, and the arguments it is said to stand on."""

    text: str
    named: tuple[Argument, ...] = ()


@dataclass(frozen=True)
class Brief:
    """What an utterance is written and judged by."""

    debate: Debate
    flaws: Sequence[str]
    evidence: Sequence[Remembered]
    schemes: Sequence[Scheme]
    words: int
    cited: int
    wording: Wording

    @property
    def told(self) -> dict[str, Any]:
        """The brief as prompts take it."""
        return {
            "dialogue": lines(self.debate), "stance": stance(self.debate), "words": self.words,
            "schemes": {one: definitions()[one] for one in self.schemes},
            "evidence": [_shown(one, self.schemes) for one in self.evidence],
        }  # fmt: skip

    def named(self, numbers: Sequence[int]) -> tuple[Argument, ...]:
        """Return the arguments that numbers name, each once; what names none is dropped."""
        known = (number for number in numbers if 1 <= number <= len(self.evidence))
        return tuple(self.evidence[number - 1].argument for number in dict.fromkeys(known))


def _shown(one: Remembered, schemes: Sequence[Scheme]) -> dict[str, Any]:
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
    """What M answers."""

    numbers: list[int] = Field(json_schema_extra={"minItems": 1, "maxItems": 9})
    utterance: str = Field(min_length=1)


@lru_cache(64)
def speech(schema: type[BaseModel], field: str, words: int) -> type[Any]:
    """Return a schema whose utterance a server ends where it must be long enough."""
    information = schema.model_fields[field]
    bounded: Any = Field(
        **({} if information.is_required() else {"default": information.default}),
        min_length=1 if information.is_required() else None,
        json_schema_extra={"maxLength": max(600, 10 * words)},
    )
    fields: Any = {field: (str, bounded)}
    return create_model(schema.__name__, __base__=schema, **fields)


async def draft(model: Model, brief: Brief) -> Candidate:
    """Ask for the first candidate."""
    prompt = Prompt.load(__package__, "draft")
    values = {
        **brief.told, "flaws": list(brief.flaws), "cited": brief.cited, "wording": brief.wording,
    }  # fmt: skip
    answer: Draft = await model.ask(
        prompt.messages(**values), speech(Draft, "utterance", brief.words), step="rdebater.draft",
        shorten=drop_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    return Candidate(clean(answer.utterance), brief.named(answer.numbers))


class Plain(BaseModel):
    """What a baseline answers."""

    utterance: str = Field(min_length=1)


async def plain(model: Model, debate: Debate, texts: Sequence[str], words: int) -> str:
    """Ask as the paper's baselines do: outright, or with retrieved text put in as it stands."""
    prompt = Prompt.load(__package__, "baseline")
    values = {
        "dialogue": lines(debate), "stance": stance(debate), "words": words, "texts": list(texts),
    }  # fmt: skip
    answer: Plain = await model.ask(
        prompt.messages(**values), speech(Plain, "utterance", words), step="rdebater.baseline",
        shorten=drop_oldest(prompt, "dialogue", values),
    )  # fmt: skip
    return clean(answer.utterance)
