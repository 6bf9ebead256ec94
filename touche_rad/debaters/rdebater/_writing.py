"""The first draft, and the sentences that a model finds unsupported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from touche_rad.debate import Argument, Debate
from touche_rad.debaters._asking import ask_about, at_most, max_letters, named, narrowed, text_of
from touche_rad.debaters._citing import quoted_from
from touche_rad.debaters.rdebater._options import RdebaterOptions
from touche_rad.debaters.rdebater._reading import sided_values
from touche_rad.debaters.rdebater._retrieval import RetrievedArgument
from touche_rad.debaters.rdebater.schemes import Scheme
from touche_rad.debaters.rdebater.schemes.vocabulary import schemes as definitions
from touche_rad.evidence.quotable import text_with_claim
from touche_rad.frozen import frozen
from touche_rad.models import Model
from touche_rad.models.output import numbers_to
from touche_rad.text import clean


@frozen
class Candidate:
    """An utterance, and the arguments that the model named for it."""

    text: str
    named: Sequence[Argument] = ()


@frozen
class Brief:
    """The input of the agents that write and judge an utterance."""

    debate: Debate
    flaws: Sequence[str]
    evidence: Sequence[RetrievedArgument]
    schemes: Sequence[Scheme]
    options: RdebaterOptions

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of an utterance as variables of a prompt."""
        words = self.options.max_words
        return {"words": words, "letters": max_letters(words)}

    @property
    def wanted(self) -> dict[Scheme, Any]:
        """The explanations of the wanted schemes."""
        return {scheme: definitions()[scheme] for scheme in self.schemes}

    @property
    def texts(self) -> list[dict[str, Any]]:
        """The arguments and their schemes with labels and, as in the paper's Table 4, reasons."""
        texts = []
        for record in self.evidence:
            marks = []
            if record.annotation:
                for scheme, mark in record.annotation.marks.items():
                    says_why = mark.reason and self.options.wording == "free"
                    reason = f" ({mark.reason})" if says_why else ""
                    marks.append(f"{scheme.value}: {mark.level.word}{reason}")
            text = text_with_claim(record.argument)
            if self.options.wording == "free":
                text = clean(record.argument.text)
            texts.append({"text": text, "marks": marks})
        return texts

    @property
    def arguments(self) -> list[Argument]:
        """The arguments of the evidence, in the order in which the agents see them."""
        return [record.argument for record in self.evidence]

    def numbers(self, arguments: Sequence[Argument]) -> list[int]:
        """Return the numbers with which the agents see arguments."""
        return [self.arguments.index(argument) + 1 for argument in arguments]

    def named(self, numbers: Sequence[int]) -> list[Argument]:
        """Return the arguments with these numbers; unknown and repeated numbers are ignored."""
        return named(numbers, self.arguments)


class DraftAnswer(BaseModel):
    """The answer of M."""

    numbers: list[int] = []
    utterance: str


def tokens_for(words: int) -> int:
    """Return the token limit of a text of so many words, with its JSON form."""
    return max(1_024, 700 + 2 * words)


async def draft(model: Model, brief: Brief) -> Candidate:
    """Ask for the first candidate."""
    texts = brief.texts
    options = brief.options
    answer = await ask_about(
        brief.debate,
        model,
        __package__,
        "draft",
        narrowed(
            "Draft",
            DraftAnswer,
            numbers=at_most(options.cited, numbers_to(len(texts))),
            utterance=text_of(options.max_words),
        ),
        step="rdebater.draft",
        max_tokens=tokens_for(options.max_words),
        **sided_values(brief.debate),
        **brief.limits,
        schemes=brief.wanted,
        evidence=texts,
        marked=any(text["marks"] for text in texts),
        flaws=list(brief.flaws),
        cited=options.cited,
        wording=options.wording,
    )
    return Candidate(clean(answer.utterance), brief.named(answer.numbers))


class Plain(BaseModel):
    """The answer of a baseline."""

    utterance: str


@frozen
class NotQuoted:
    """What follows, according to a model that quoted what does not."""

    unsupported: Sequence[str]

    async def of(self, claims: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Return whether a sentence has no quotation of the model."""
        return [not quoted_from(claim, self.unsupported) for claim in claims]
