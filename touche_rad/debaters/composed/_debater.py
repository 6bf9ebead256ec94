"""The debater `composed`: a model writes, and faulty sentences are repaired or removed."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import field
from typing import Annotated, Any, ClassVar, Final, Literal

import anyio
from pydantic import BaseModel, Field, create_model

from touche_rad.calls import Calls, report_without_model, time_left
from touche_rad.debate import Argument, Debate, Response, with_path
from touche_rad.debaters._asking import at_most, messages_of, named, narrowed, question_about
from touche_rad.debaters._citing import cited
from touche_rad.debaters.grounded import Grounded
from touche_rad.debaters.grounded.debater import MAX_LETTERS, Quotable
from touche_rad.debaters.grounded.ranking import RETRIEVER, STANCE, StanceName
from touche_rad.events import log
from touche_rad.evidence.guard import CheckedAnswer, Entails, Guard
from touche_rad.evidence.quotable import missing_context
from touche_rad.frozen import frozen
from touche_rad.lists import unique
from touche_rad.models import Model, ModelError, Prompt
from touche_rad.models.output import Line, Paragraph, numbers_to
from touche_rad.models.prompts import render_dialogue
from touche_rad.plugins import ExplainedCandidate, MayNameFile, RetrieverName, Services
from touche_rad.plugins import Options as PluginOptions
from touche_rad.records import UpTo9, UpTo1000, WordLimit
from touche_rad.text import clean, count_words, cut_to_words

GUARD: Final = (
    "who checks what is no quotation: nobody (quotation), nli:MODEL, nli:URL#MODEL or model"
)


class ByNli:
    """An NLI model; the premise is one cited argument, or all together."""

    def __init__(self, model: str, sure: float) -> None:
        """Load the model, a folder or OWNER/NAME of the hub, or ask the one at URL#MODEL."""
        from retrieval.stance.nli import Nli

        self._nli = Nli(model, "guard model")
        self._sure = sure
        self._call = Calls()

    async def of(self, claims: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Classify every sentence with every premise before the deadline of the turn."""
        with anyio.fail_after(time_left()):
            return await self._call(self._all, list(claims), list(arguments))

    def _all(self, claims: list[str], arguments: list[str]) -> list[bool]:
        premises = [*arguments, " ".join(arguments)] if len(arguments) > 1 else arguments
        readable = [claim for claim in claims if self._nli.reads_whole(claim)]
        pairs = [(premise, claim) for claim in readable for premise in premises]
        entailed = self._nli.read(pairs)[:, 0].reshape(-1, len(premises))
        likely = dict(zip(readable, entailed.max(axis=1).tolist(), strict=True))
        return [likely.get(claim, 0.0) >= self._sure for claim in claims]


@frozen
class ByModel:
    """A language model: one call for all sentences of an answer."""

    model: Model

    async def of(self, claims: Sequence[str], arguments: Sequence[str]) -> list[bool]:
        """Ask for all sentences at once."""
        messages = Prompt.load(__package__, "entailed").messages(
            arguments=list(arguments), sentences=list(claims)
        )
        checks: Any = (
            list[Entailments.Check],
            Field(min_length=len(claims), max_length=len(claims)),
        )
        schema = create_model("Entailments", __base__=Entailments, checks=checks)
        answer = await self.model.ask(messages, schema, step="guard.check_of_support")
        return [check.entailed == "yes" for check in answer.checks]


class Entailments(BaseModel):
    """One check for each sentence."""

    class Check(BaseModel):
        """What a sentence claims beyond the arguments, and whether they prove it."""

        missing: Line = ""
        entailed: Literal["yes", "no"]

    checks: list[Check]


_MIN_WORDS = 6
"""A checked answer with fewer words is replaced by a quotation."""


class ComposedAnswer(BaseModel):
    """The model's answer, and the numbers of the arguments that it used; there may be none."""

    numbers: list[int] = []
    response: Paragraph = Field(min_length=1)


@frozen
class _Draft:
    """An answer that was checked, and the arguments with which it was compared."""

    checked: CheckedAnswer = field(default_factory=CheckedAnswer)
    cited: Sequence[Argument] = ()

    @property
    def quality(self) -> tuple[bool, int]:
        """The order of drafts; the best has the highest."""
        return count_words(self.checked.faultless) >= _MIN_WORDS, -len(self.checked.faults)


class Composed:
    """A model writes the answer; its faulty sentences are repaired once, or else removed."""

    needs: ClassVar = ("index", "model")

    class Options(PluginOptions):
        """Options."""

        k: UpTo1000 = 40
        """hits per search"""
        shown: Annotated[int, Field(ge=1, le=50)] = 8
        """arguments shown to the model"""
        cited: UpTo9 = 2
        """maximum cited arguments"""
        max_words: WordLimit = 60
        """maximum words of a response"""
        stance: StanceName = Field("words", description=STANCE)
        retriever: RetrieverName = Field("", description=f"{RETRIEVER}; else that of grounded")
        guard: Annotated[
            str, Field(pattern=r"^(quotation|model|nli:.+)$"), MayNameFile(after="nli:")
        ] = Field("quotation", description=GUARD)
        sure: Annotated[float, Field(ge=0.5, le=1)] = 0.9
        """minimum probability of entailment, for guard=nli:MODEL"""

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.model: Model = services.need_model("debater composed")
        of_grounded = Grounded.Options(
            k=options.k,
            max_words=options.max_words,
            stance=options.stance,
            retriever=options.retriever,
        )
        self._grounded = Grounded(of_grounded, services)
        entails: Entails | None = None
        if options.guard == "model":
            entails = ByModel(self.model)
        elif options.guard != "quotation":
            entails = ByNli(options.guard.removeprefix("nli:"), options.sure)
        self._guard = Guard(entails, options.max_words)

    def answer(self, debate: Debate) -> Awaitable[Response]:
        """Retrieve arguments, then let the model write."""
        quotables = self._grounded.select(debate).quotables
        # The model sees whole arguments, of which a part could be quoted alone.
        readable = [
            quotable for quotable in quotables if not missing_context(quotable.argument.text)
        ]
        return self._write(debate, (readable or quotables)[: self.options.shown])

    def explain(self, debate: Debate) -> list[ExplainedCandidate]:
        """Return the ranked candidates; the model sees the best ones that can be quoted."""
        return self._grounded.explain(debate)

    async def _write(self, debate: Debate, quotables: Sequence[Quotable]) -> Response:
        """Return the faultless sentences of the model's answer, or else a quotation."""
        if not quotables:
            return self._grounded.quote_best(debate, quotables)
        draft = _Draft()
        try:
            draft = await self._checked_draft(debate, quotables)
        except ModelError as error:
            report_without_model(error)
        content = cut_to_words(draft.checked.faultless, self.options.max_words)
        # An entailed sentence may share no word with its argument.
        used: Sequence[Argument] = ()
        if not draft.checked.entailed:
            used = cited(content, draft.cited, (), self.options.cited)
        used = used or draft.cited
        if count_words(content) >= _MIN_WORDS:
            paths = {quotable.argument.id: quotable.path for quotable in quotables}
            arguments = tuple(with_path(argument, paths[argument.id]) for argument in used)
            return Response(content=content, arguments=arguments)
        for quotable in quotables:
            if draft.cited and quotable.argument is draft.cited[0]:
                return self._grounded.quote(debate, quotable)
        return self._grounded.quote_best(debate, quotables)

    async def _checked_draft(self, debate: Debate, quotables: Sequence[Quotable]) -> _Draft:
        """Return the model's answer with its sentences checked, after at most two model calls.

        With `guard=model` the second call checks the sentences; otherwise it names the faulty ones
        to the model.
        """
        options = self.options
        messages, shorten = question_about(
            debate,
            Prompt.load(__package__, "writing"),
            words=options.max_words,
            wording="close",
            cited=options.cited,
            dialogue=render_dialogue(debate, max_letters=MAX_LETTERS),
            arguments=[clean(quotable.argument.text) for quotable in quotables],
        )
        numbers = at_most(options.cited, numbers_to(len(quotables)))
        schema = narrowed("Written", ComposedAnswer, numbers=numbers)
        written = await self.model.ask(messages, schema, step="composed.writing", shorten=shorten)
        draft = await self._check(written, quotables, debate)
        if not draft.checked.faults or options.guard == "model":
            return draft
        again = Prompt.load(__package__, "repair").after(
            messages,
            written,
            faults=draft.checked.faults,
            words=options.max_words,
            cited=options.cited,
        )
        try:
            repaired = await self.model.ask(again, schema, step="composed.repair")
        except ModelError as error:
            log.info("composed keeps its first answer because the model failed: %s", error)
            return draft
        second = await self._check(repaired, quotables, debate)
        return max(draft, second, key=lambda draft: draft.quality)

    async def _check(
        self, written: ComposedAnswer, quotables: Sequence[Quotable], debate: Debate
    ) -> _Draft:
        """Check the sentences; an answer without arguments may argue, but add no facts."""
        most = self.options.cited
        arguments = [quotable.argument for quotable in quotables]
        uses = named(written.numbers, arguments)[:most]
        if uses:
            # The model may have given a wrong number.
            quoted = cited(written.response, uses, arguments, most)
            uses = unique((*quoted, *uses))[:most]
        guard = self._guard if uses else Guard(longest=self.options.max_words)
        checked = await guard.checked(
            written.response, [argument.text for argument in uses], messages_of(debate)
        )
        return _Draft(checked, uses)
