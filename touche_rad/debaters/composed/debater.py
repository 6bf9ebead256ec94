"""The debater `composed`: a model writes, and unsupported sentences are removed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field, create_model

from touche_rad.debate import Argument, Debate, Response, with_path
from touche_rad.debaters.grounded import Grounded
from touche_rad.debaters.grounded.choosing import thesis_and_dialogue
from touche_rad.debaters.grounded.guard import (
    GUARD,
    SURE,
    ByModel,
    GuardName,
    by_nli,
)
from touche_rad.debaters.grounded.quoting import Quotable
from touche_rad.debaters.grounded.ranking import JUDGED, STANCE, StanceName
from touche_rad.evidence.guard import Checked, Entails, Guard
from touche_rad.models import Message, Model, ModelError, Prompt, drop_oldest
from touche_rad.models.output import Paragraph
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services
from touche_rad.text import clean, content_words, count_words, cut_to_words

log = logging.getLogger("touche_rad")

_MIN_WORDS = 6
"""A checked answer with fewer words is replaced by a quotation."""


class Written(BaseModel):
    """The model's answer, and the numbers of the arguments that it used."""

    numbers: list[int]
    response: Paragraph = Field(min_length=1)


class Composed:
    """A model writes the answer; sentences that the cited arguments do not support are removed."""

    needs: ClassVar = ("index", "model")

    class Options(PluginOptions):
        """Options."""

        k: int = Field(40, ge=1, le=1_000, description="hits per search")
        shown: int = Field(8, ge=1, le=50, description="arguments shown to the model")
        cited: int = Field(2, ge=1, le=9, description="maximum cited arguments")
        max_words: int = Field(60, ge=5, le=1_000, description="maximum words of a response")
        stance: StanceName = Field("words", description=STANCE)
        judged: int = Field(24, ge=1, le=1_000, description=JUDGED)
        guard: GuardName = Field("quotation", description=GUARD)
        sure: float = Field(0.9, ge=0.5, le=1, description=SURE)

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.model: Model = services.need_model("debater composed")
        same = {name: getattr(options, name) for name in ("k", "max_words", "stance", "judged")}
        self._grounded = Grounded(Grounded.Options(**same), services)
        entails: Entails | None = by_nli(options.guard, options.sure)
        if options.guard == "model":
            entails = ByModel(self.model)
        self._guard = Guard(entails, options.max_words)

    def answer(self, debate: Debate) -> Awaitable[Response]:
        """Retrieve arguments, then let the model write."""
        return self._write(debate, self._grounded.quotables(debate)[: self.options.shown])

    async def _write(self, debate: Debate, found: Sequence[Quotable]) -> Response:
        """Return the supported sentences of the model's answer, or else a quotation."""
        checked, cited = Checked(), list[Argument]()
        try:
            checked, cited = await self._checked_answer(debate, found)
        except ModelError as error:
            log.info("composed quotes because the model failed: %s", error)
        content = cut_to_words(" ".join(checked.stands), self.options.max_words)
        used = _used(content, cited)
        if checked.entailed:  # an entailed sentence may share no word with its argument
            used += [one for one in cited if one not in used]
        if not used or count_words(content) < _MIN_WORDS:
            return self._grounded.quote(debate, self._best(found, cited))
        paths = {one.argument.id: one.path for one in found}
        arguments = tuple(with_path(one, paths[one.id]) for one in used)
        return Response(content=content, arguments=arguments)

    async def _checked_answer(
        self, debate: Debate, found: Sequence[Quotable]
    ) -> tuple[Checked, list[Argument]]:
        """Return the checked sentences and the cited arguments, with at most two model calls.

        With `guard=model` the second call checks the sentences; otherwise it asks the model to
        remove the unsupported ones.
        """
        prompt = Prompt.load(__package__, "writing")
        values = {
            "words": self.options.max_words, "cited": self.options.cited,
            "dialogue": thesis_and_dialogue(debate),
            "arguments": [clean(one.argument.text) for one in found],
        }  # fmt: skip
        messages = list(prompt.messages(**values))
        schema = _schema(len(found), self.options.cited)
        written = await self.model.ask(
            messages, schema, step="composed.writing",
            shorten=drop_oldest(prompt, "dialogue", values),
        )  # fmt: skip
        cited = self._cited(written, found)
        checked = await self._guard.checked(written.response, cited)
        if not checked.goes or self.options.guard == "model":
            return checked, cited
        again = Prompt.load(__package__, "repair").messages(
            unsupported=checked.goes,
            words=self.options.max_words,
            cited=self.options.cited,
            count=len(found),
        )
        said = Message("assistant", written.model_dump_json())
        try:
            repaired = await self.model.ask(
                [*messages, said, *again], schema, step="composed.repair"
            )
        except ModelError as error:
            log.info("composed keeps its first answer because the model failed: %s", error)
            return checked, cited
        recited = self._cited(repaired, found)
        rechecked = await self._guard.checked(repaired.response, recited)
        better = _shared_words(rechecked.stands, recited) >= _shared_words(checked.stands, cited)
        return (rechecked, recited) if better else (checked, cited)

    def _cited(self, written: Written, found: Sequence[Quotable]) -> list[Argument]:
        numbers = dict.fromkeys(number for number in written.numbers if 1 <= number <= len(found))
        chosen = [found[number - 1].argument for number in numbers][: self.options.cited]
        return chosen or [found[0].argument]

    def _best(self, found: Sequence[Quotable], cited: Sequence[Argument]) -> Quotable:
        """Return the quotation of the first argument that the model cited, or the best one."""
        return next((one for one in found if cited and one.argument is cited[0]), found[0])


def _schema(count: int, most: int) -> type[Written]:
    numbers: Any = list[Annotated[int, Field(ge=1, le=count)]]
    return create_model(
        "Written", __base__=Written, numbers=(numbers, Field(min_length=1, max_length=most))
    )


def _shared_words(said: Sequence[str], arguments: Sequence[Argument]) -> int:
    """Count the words of the arguments that the sentences contain."""
    words = {word for one in arguments for word in content_words(one.text)}
    return len(words & set(content_words(" ".join(said))))


def _used(content: str, cited: Sequence[Argument]) -> list[Argument]:
    """Return the arguments that share a word with the answer."""
    words = set(content_words(content))
    return [one for one in cited if words & set(content_words(one.text))]
