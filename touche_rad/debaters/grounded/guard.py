"""Which sentences of an answer its cited arguments support; unsupported sentences are removed."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Final, Literal, Protocol

import anyio
from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.evidence.findings import findings, read_sentences, score, sentences_to_judge
from touche_rad.evidence.support import SupportKind
from touche_rad.evidence.words import read_passage
from touche_rad.models import Model, Prompt
from touche_rad.models.context import Calls, current_context
from touche_rad.text import clean, count_words, sentences

GuardName = Annotated[str, Field(pattern=r"^(quotation|model|nli:.+)$")]
GUARD: Final = "what supports a sentence: quotation, or also entailment by nli:MODEL or model"
SURE: Final = "minimum probability of entailment, for guard=nli:MODEL"


class ByNli:
    """An NLI model; the premise is one cited argument, or all together."""

    def __init__(self, model: str, sure: float) -> None:
        """Load the model, a folder or OWNER/NAME of the hub."""
        from retrieval.stance.nli import Nli

        self._nli = Nli(model, called="guard model")
        if self._nli.rows.entailment is None:
            raise UserError(f"guard model {model!r} has no class for entailment; use another model")
        self._sure = sure
        self._call = Calls()

    async def of(self, said: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Classify every sentence with every premise before the deadline of the turn."""
        end = current_context().deadline
        with anyio.fail_after(None if end is None else end - time.monotonic()):
            return await self._call(self._all, list(said), list(arguments))

    def _all(self, said: list[str], arguments: list[str]) -> list[bool]:
        premises = [*arguments, " ".join(arguments)] if len(arguments) > 1 else arguments
        whole = [one for one in said if self._nli.reads_whole(one)]
        read = self._nli.read([(premise, one) for one in whole for premise in premises])
        likely = {
            one: float(read[at * len(premises) : (at + 1) * len(premises), 0].max())
            for at, one in enumerate(whole)
        }
        return [likely.get(one, 0.0) >= self._sure for one in said]


def by_nli(guard: str, sure: float) -> ByNli | None:
    """Return the NLI model of an option `nli:MODEL`, or None."""
    model = guard.removeprefix("nli:")
    return None if model == guard else ByNli(model, sure)


class ByModel:
    """A language model: one call for all sentences of an answer."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def of(self, said: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Ask for all sentences at once."""
        each = (list[Literal["yes", "no"]], Field(min_length=len(said), max_length=len(said)))
        schema = create_model("Entailments", __base__=Entailments, entailed=each)
        messages = Prompt.load(__package__, "entailed").messages(
            arguments=list(arguments), sentences=list(said)
        )
        answer = await self._model.ask(messages, schema, step="guard.entailed")
        return [one == "yes" for one in answer.entailed]


class FixedAnswer:
    """The same answer for all sentences: the model gave it with the text that is checked."""

    def __init__(self, follows: bool) -> None:
        self._follows = follows

    async def of(self, said: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Return the same answer for each sentence."""
        return [self._follows] * len(said)


class Entailments(BaseModel):
    """Yes or no for each sentence."""

    entailed: list[Literal["yes", "no"]]


log = logging.getLogger("touche_rad")

LONGEST: Final = 600
"""Maximum letters of a sentence that is checked for entailment."""


class Found(Enum):
    """Result of the check of a sentence by its words."""

    SAID = "the arguments say it, or it claims nothing"
    OPEN = "it is no quotation"
    DISTORTED = "it changes the meaning of an argument, or addresses a judge"


class Entails(Protocol):
    """Decides whether arguments entail sentences."""

    async def of(self, said: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Return for each sentence whether it follows; raise an error on failure."""
        ...


@dataclass(frozen=True)
class Checked:
    """The sentences of an answer in order: supported and unsupported."""

    stands: tuple[str, ...] = ()
    goes: tuple[str, ...] = ()
    entailed: bool = False
    """Whether a supported sentence is no quotation."""


class Guard:
    """Separates supported from unsupported sentences."""

    def __init__(self, entails: Entails | None = None, longest: int = 60) -> None:
        """Without `entails` only quotations are supported; longer sentences are not."""
        self._entails = entails
        self._longest = longest

    async def checked(self, content: str, arguments: Sequence[Argument]) -> Checked:
        """Return the supported and the unsupported sentences of an answer."""
        said = sentences(clean(content))
        texts = [clean(one.text) for one in arguments if one.text.strip()]
        if not said or not texts:
            return Checked(goes=tuple(said))
        found = await anyio.to_thread.run_sync(self._read, said, tuple(arguments))
        doubted = [at for at, one in enumerate(found) if one is Found.OPEN]
        followed = await self._followed([said[at] for at in doubted], texts)
        entailed = {at for at, follows in zip(doubted, followed, strict=True) if follows}
        stands = {at for at, one in enumerate(found) if one is Found.SAID} | entailed
        return Checked(
            tuple(one for at, one in enumerate(said) if at in stands),
            tuple(one for at, one in enumerate(said) if at not in stands),
            entailed=bool(entailed),
        )

    async def _followed(self, said: Sequence[str], texts: Sequence[str]) -> list[bool]:
        """Return whether sentences are entailed; on an error, none is."""
        short = [one for one in said if len(one) <= LONGEST]
        if self._entails is None or not short:
            return [False] * len(said)
        try:
            answered = await self._entails.of(short, texts)
            follows = dict(zip(short, answered, strict=True))
        except Exception as error:
            log.info("no sentence counts as entailed because the check failed: %s", error)
            return [False] * len(said)
        return [follows.get(one, False) is True for one in said]

    def _read(self, said: Sequence[str], arguments: tuple[Argument, ...]) -> list[Found]:
        return [
            read(one, arguments) if count_words(one) <= self._longest else Found.DISTORTED
            for one in said
        ]


def read(sentence: str, arguments: tuple[Argument, ...]) -> Found:
    """Check one sentence by its words, as if it were the whole answer."""
    sources = [read_passage(argument.text) for argument in arguments]
    said = tuple(read_sentences(sentence))
    if sentences_to_judge([one.text for one in said], sources):
        return Found.DISTORTED
    if all(score(one.support) >= 0.5 for one in findings(said, sources)):
        return Found.SAID
    apart = [one.support for source in sources for one in findings(said, [source])]
    spoilt = [one.kind is SupportKind.DISTORTED for one in apart]
    return Found.DISTORTED if all(spoilt) or any(one.contrary for one in apart) else Found.OPEN
