"""The first draft, and which sentences of a response its arguments support."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final

from pydantic import BaseModel

from touche_rad.debate import Argument, Debate
from touche_rad.debaters._asking import ask_about, at_most, max_letters, named, narrowed, text_of
from touche_rad.debaters.rdebater._options import RdebaterOptions
from touche_rad.debaters.rdebater._reading import sided_values
from touche_rad.debaters.rdebater._retrieval import RetrievedArgument
from touche_rad.debaters.rdebater.schemes import Scheme
from touche_rad.debaters.rdebater.schemes.vocabulary import schemes as definitions
from touche_rad.evidence.guard import Guard, WordCheck, read
from touche_rad.evidence.support import findings_in
from touche_rad.models import Model, Prompt
from touche_rad.models.output import numbers_to
from touche_rad.text import clean, content_words, sentences, words


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
            texts.append({"text": clean(record.argument.text), "marks": marks})
        return texts

    def named(self, numbers: Sequence[int]) -> tuple[Argument, ...]:
        """Return the arguments with these numbers; unknown and repeated numbers are ignored."""
        return tuple(record.argument for record in named(numbers, self.evidence))


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
        Prompt.load(__package__, "draft"),
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


_CRITICISM: Final = frozenset(
    "admit answer ask asked assume assumption call claim contradict contradiction doubt evidence "
    "example explain explained fact follow give given ignore mean missing name opinion overlook "
    "point proof prove proven question reason said say says show shown simply source thesis yet "
    "no not never none nothing cannot without".split()
)
"""Content words with which a speaker criticises what another one says."""


def criticises(sentence: str, opponent: str) -> bool:
    """Whether a sentence is about the opponent's own words, so that it needs no argument.

    It says "you", and at least half of its content words are the opponent's.
    """
    if not {"you", "your"} & set(words(sentence)):
        return False
    matter = set(content_words(sentence)) - _CRITICISM
    return 2 * len(matter & set(content_words(opponent))) >= len(matter)


def distortions(content: str, arguments: Sequence[Argument], opponent: str) -> Iterator[str]:
    """Yield a line on each sentence that changes the meaning of the arguments."""
    texts = [clean(argument.text) for argument in arguments]
    for sentence in sentences(clean(content)):
        if criticises(sentence, opponent):
            continue
        if read(sentence, tuple(arguments)) is WordCheck.DISTORTED:
            findings = findings_in(sentence, texts)
            reason = findings[0].support.why if findings else "it is too long"
            yield f'No argument says this: "{sentence}" Reason: {reason}.'


class NotQuoted:
    """The sentences that follow, according to a model that quoted what does not."""

    def __init__(self, unsupported: Sequence[str]) -> None:
        self._unsupported = [set(content_words(quotation)) for quotation in unsupported]

    async def of(self, claims: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Return whether no sentence has more than half of the words of a quotation."""
        follows = []
        for claim in claims:
            words = set(content_words(claim))
            follows.append(
                all(2 * len(quoted & words) <= len(quoted) for quoted in self._unsupported)
            )
        return follows


async def supported(
    content: str, arguments: Sequence[Argument], opponent: str, unsupported: Sequence[str] | None
) -> list[str]:
    """Return the sentences of a response that are supported by the arguments that it cites.

    `unsupported` is what a model quoted as unsupported; None if no model checked the response. Then
    only quotations of the arguments are supported. Sentences about the opponent's words need no
    argument, and without arguments only the model's quotations count.
    """
    model = None if unsupported is None else NotQuoted(unsupported)
    everything = sentences(clean(content))
    free = [sentence for sentence in everything if not arguments or criticises(sentence, opponent)]
    follows = await model.of(free, ()) if model else [False] * len(free)
    stands = set(compress(free, follows))
    rest = " ".join(sentence for sentence in everything if sentence not in free)
    stands.update((await Guard(model).checked(rest, arguments)).supported)
    return [sentence for sentence in everything if sentence in stands]
