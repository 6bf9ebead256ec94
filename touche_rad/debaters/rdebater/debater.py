"""The debater `rdebater`: the order of the steps, and what is done where the model fails one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

import anyio

from touche_rad.debate import Argument, Debate, Response
from touche_rad.debaters.rdebater.budget import Allowance
from touche_rad.debaters.rdebater.logic import Logic, logic
from touche_rad.debaters.rdebater.options import RdebaterOptions
from touche_rad.debaters.rdebater.recall import Recall
from touche_rad.debaters.rdebater.remembering import Remembering
from touche_rad.debaters.rdebater.retrieval import (
    keywords,
    plain_keywords,
    reading,
    retrieved,
    with_priors,
)
from touche_rad.debaters.rdebater.revision import AtOnce, Attempt, Gate, Revised, Separate, revised
from touche_rad.debaters.rdebater.schemes import Annotator
from touche_rad.debaters.rdebater.trace import traced
from touche_rad.debaters.rdebater.writing import Brief, Candidate, cited, draft, plain
from touche_rad.errors import WorkError
from touche_rad.models import ModelError
from touche_rad.plugins import Services
from touche_rad.text import clean, count_words, cut_to_words, words

TOGETHER: Final = 6
"""Records that one call annotates: an answer about more might be cut off."""


class Rdebater:
    """Remembers arguments by their schemes, finds the opponent's flaws, drafts and revises."""

    needs: ClassVar = ("index", "model")
    Options = RdebaterOptions

    def __init__(self, options: RdebaterOptions, services: Services) -> None:
        self.options = options
        self.index = services.need_index("debater rdebater")
        self.model = services.need_model("debater rdebater")
        annotator = Annotator(
            self.model, profile=options.profile, per_call=min(options.k, TOGETHER),
            shown=options.exemplars,
        )  # fmt: skip
        asks = options.argumentation_schemes and options.annotate == "hits"
        self._remembering = Remembering(self.index, annotator if asks else None)

    async def answer(self, debate: Debate) -> Response:
        """Read, retrieve, draft and revise."""
        if self.options.mode != "full":
            return await self._baseline(debate)
        allowance = Allowance(self.options.calls)
        found, asked, notes = await self._read(debate, allowance)
        recall = await self._recalled(debate, asked, allowance)
        if not recall.evidence:
            raise WorkError("the index holds no argument")
        brief = self._brief(debate, found, recall)
        made = await self._written(brief, allowance)
        response = self._response(brief, recall, made)
        if self.options.trace:
            told = traced(found, recall, made, allowance, notes)
            response = Response(**{**dict(response), "rdebater": told})
        return response

    async def _read(
        self, debate: Debate, allowance: Allowance
    ) -> tuple[Logic, tuple[str, ...], list[str]]:
        """Find the opponent's logic and the keywords; neither agent sees the other's work."""
        most, wanted = self.options.keywords, self.options.logic_summarization
        notes: list[str] = []
        if self.options.profile == "lean" and wanted:
            try:
                allowance.take(keep=1)
                return *await reading(self.model, debate, most), notes
            except ModelError as error:
                notes.append(f"reading: {type(error).__name__}")
                return Logic(), plain_keywords(debate, most), notes
        found, asked = Logic(), plain_keywords(debate, most)

        async def of_logic() -> None:
            nonlocal found
            try:
                found = await logic(self.model, debate, allowance)
            except ModelError as error:
                notes.append(f"logic: {type(error).__name__}")

        async def of_keywords() -> None:
            nonlocal asked
            try:
                allowance.take(keep=1)
                asked = await keywords(self.model, debate, most)
            except ModelError as error:
                notes.append(f"keywords: {type(error).__name__}")

        async with anyio.create_task_group() as group:
            group.start_soon(of_keywords)
            if wanted:
                group.start_soon(of_logic)
        return found, asked, notes

    async def _recalled(self, debate: Debate, asked: Sequence[str], allowance: Allowance) -> Recall:
        """Retrieve E and, where schemes count, select by them."""
        recall = await anyio.to_thread.run_sync(
            retrieved, self.index, self._remembering, debate, asked, self.options,
            abandon_on_cancel=True,
        )  # fmt: skip
        if not self.options.argumentation_schemes:
            return replace(recall, prior=recall.evidence)
        evidence = await self._remembering.annotated(recall.evidence, allowance, debate.key)
        return with_priors(recall, evidence, self.options)

    def _brief(self, debate: Debate, found: Logic, recall: Recall) -> Brief:
        chosen = self.options
        return Brief(
            debate, found.flaws, recall.prior, recall.schemes, chosen.max_words, chosen.cited,
            chosen.wording,
        )  # fmt: skip

    async def _written(self, brief: Brief, allowance: Allowance) -> Revised | None:
        """Draft and revise; None where the model has no draft."""
        try:
            allowance.take()
            first = await draft(self.model, brief)
        except ModelError:
            return None
        if not self.options.optimization_module:
            return Revised((Attempt(first),), "unasked")
        return await revised(
            first, self._gate(brief, allowance), partial(self._violations, brief),
            self.options.max_revisions,
        )  # fmt: skip

    def _gate(self, brief: Brief, allowance: Allowance) -> Gate:
        if self.options.profile == "lean":
            return AtOnce(self.model, brief, allowance)
        once = self.options.summarise == "once"
        return Separate(self.model, brief, allowance, once=once)

    def _violations(self, brief: Brief, candidate: Candidate) -> list[str]:
        """Say what of the task's rules a candidate breaks."""
        if not self.options.task_rules:
            return []
        count, most = count_words(candidate.text), self.options.max_words
        found = [f"It has {count} words, and {most} at most are allowed."] if count > most else []
        if words(candidate.text) in [words(clean(said)) for said in brief.debate.system_texts]:
            found.append("It was said before, word for word.")
        if brief.evidence and not self._cited(brief, candidate):
            found.append("It uses none of the remembered arguments.")
        return found

    def _cited(self, brief: Brief, candidate: Candidate) -> tuple[Argument, ...]:
        given = [one.argument for one in brief.evidence]
        return cited(candidate.text, candidate.named, given, self.options.cited)

    def _response(self, brief: Brief, recall: Recall, made: Revised | None) -> Response:
        """Return the best candidate as it may be said; a quotation where there is none."""
        best = made.best(partial(self._violations, brief)) if made else Candidate("")
        content = cut_to_words(clean(best.text), self.options.max_words)
        found = self._cited(brief, replace(best, text=content))
        if not content or (self.options.task_rules and brief.evidence and not found):
            quoted = (brief.evidence or recall.evidence)[0].argument
            content = cut_to_words(clean(quoted.text), self.options.max_words)
            found = (quoted,)
        return Response(content=content, arguments=found)

    async def _baseline(self, debate: Debate) -> Response:
        """Answer as the paper's baselines do."""
        texts: list[Argument] = []
        if self.options.mode == "naive_rag":
            hits = await anyio.to_thread.run_sync(
                self.index.search, "text", clean(debate.last.utterance), self.options.k
            )
            texts = [hit.argument for hit in hits]
        said = await plain(
            self.model, debate, [clean(one.text) for one in texts], self.options.max_words
        )
        content = cut_to_words(said, self.options.max_words)
        return Response(content=content, arguments=cited(content, (), texts, self.options.cited))
