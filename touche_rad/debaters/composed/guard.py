"""Two ways to decide whether arguments entail a sentence: an NLI model and a language model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Final, Literal

import anyio
from pydantic import BaseModel, Field, create_model

from touche_rad.calls import Calls, current_context
from touche_rad.errors import UserError
from touche_rad.models import Model, Prompt
from touche_rad.models.output import Line

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


class ByModel:
    """A language model: one call for all sentences of an answer."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def of(self, said: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Ask for all sentences at once."""
        messages = Prompt.load(__package__, "entailed").messages(
            arguments=list(arguments), sentences=list(said)
        )
        answer = await self._model.ask(messages, _checks(len(said)), step="guard.entailed")
        return [one.entailed == "yes" for one in answer.checks]


class Check(BaseModel):
    """What a sentence claims beyond the arguments, and whether they prove it."""

    missing: Line = ""
    entailed: Literal["yes", "no"]


class Entailments(BaseModel):
    """One check for each sentence."""

    checks: list[Check]


@lru_cache(64)
def _checks(count: int) -> type[Entailments]:
    each = (list[Check], Field(min_length=count, max_length=count))
    return create_model("Entailments", __base__=Entailments, checks=each)
