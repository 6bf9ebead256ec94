"""Who says that arguments entail a sentence: an NLI model, or a language model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Final, Literal

import anyio
from pydantic import BaseModel, Field, create_model

from touche_rad.calls import Calls
from touche_rad.errors import UserError
from touche_rad.models import Model, Prompt
from touche_rad.models.occasion import occasion

GuardName = Annotated[str, Field(pattern=r"^(quotation|model|nli:.+)$")]
GUARD: Final = "what lets a sentence stand: quotation, or also nli:MODEL or model, by entailment"
SURE: Final = "how likely an NLI model must find it that the arguments entail a sentence"


class ByNli:
    """An NLI model: a cited argument, or all of them together, is the premise."""

    def __init__(self, model: str, sure: float) -> None:
        """Load the model, a folder or OWNER/NAME of the hub."""
        from retrieval.stance.nli import Nli

        self._nli = Nli(model, called="guard model")
        if self._nli.rows.entailment is None:
            raise UserError(f"guard model {model!r} tells contradiction alone, and no entailment")
        self._sure = sure
        self._call = Calls()

    async def of(self, said: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Read every sentence with every premise, as long as the turn has time."""
        end = occasion().until
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
    """Return the NLI model that a guard names, if it names one."""
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


class Told:
    """What a language model said already, in the answer that is checked."""

    def __init__(self, follows: bool) -> None:
        self._follows = follows

    async def of(self, said: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Say of all sentences what was said of all."""
        return [self._follows] * len(said)


class Entailments(BaseModel):
    """Yes or no for each sentence."""

    entailed: list[Literal["yes", "no"]]
