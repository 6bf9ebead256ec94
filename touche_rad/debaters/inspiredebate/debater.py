"""The debater `inspiredebate`: terms, retrieval, reasoning and an argument."""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Literal

import anyio
from pydantic import Field, model_validator

from retrieval.web import web_search
from touche_rad.debate import Debate, Response
from touche_rad.debaters.inspiredebate import evidence as found_by
from touche_rad.debaters.inspiredebate.conversation import Side, Wording, conversation
from touche_rad.debaters.inspiredebate.evidence import Evidence, WebSearch, cited
from touche_rad.debaters.inspiredebate.keywords import keywords, unasked
from touche_rad.debaters.inspiredebate.speech import speech, together
from touche_rad.errors import WorkError
from touche_rad.models import ModelError
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services
from touche_rad.text import clean, cut_to_words

log = logging.getLogger("touche_rad")

Profile = Literal["lean", "paper"]
Shows = Literal["argument", "both"]

_PAPER: dict[str, str] = {
    "field": "text", "message": "false", "wording": "free", "again": "0", "repeat": "true",
    "baseless": "keep",
}  # fmt: skip
"""What the paper's profile sets where nothing else is said."""


class InspireDebate:
    """Names search terms, retrieves, reasons, then argues, as InspireDebate's debater does."""

    needs: ClassVar = ("index", "model")

    class Options(PluginOptions):
        """What the paper tells, and what it leaves open."""

        profile: Profile = Field("lean", description="paper: the terms alone are searched for")
        keywords: int = Field(3, ge=0, le=3, description="the most search terms; 0 asks for none")
        retrieval: bool = Field(True, description="evidence in the prompt (paper: the ablation)")
        field: found_by.Field = Field("attacks", description="what is searched (paper: text)")
        message: bool = Field(
            True, description="search for the opponent's message too (paper: the terms alone)"
        )
        per_term: int = Field(3, ge=1, le=20, description="hits of each search")
        shown: int = Field(6, ge=1, le=30, description="pieces of evidence in the prompt")
        web: str = Field("", description="a SearXNG address or a folder of texts; off unless named")
        side: Side = Field("con", description="con: against the topic; pro: for it")
        max_words: int = Field(60, ge=5, le=1_000, description="the most words of an argument")
        cited: int = Field(2, ge=0, le=9, description="the most arguments cited")
        alike: float = Field(
            0.5, ge=0, le=1, description="from how near on a sentence stands on an argument"
        )
        wording: Wording = Field("close", description="close to the evidence, or free (paper)")
        again: int = Field(1, ge=0, le=3, description="requests after a refusal or a long answer")
        shows: Shows = Field(
            "argument", description="what goes out; both: the reasoning too, for panels to see"
        )
        baseless: Literal["quote", "keep"] = Field(
            "quote", description="an argument that stands on no evidence shown (paper: keep)"
        )
        repeat: bool = Field(False, description="may show what was cited before (paper: yes)")

        @model_validator(mode="before")
        @classmethod
        def _of_profile(cls, given: Any) -> Any:
            return {**_PAPER, **given} if given.get("profile") == "paper" else given

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.index = services.need_index("debater inspiredebate")
        self.model = services.need_model("debater inspiredebate")
        self.web: WebSearch | None = web_search(options.web)

    async def answer(self, debate: Debate) -> Response:
        """Search, reason and argue; where the model does not, the best evidence is quoted."""
        chosen = self.options
        evidence = await self._evidence(debate) if chosen.retrieval else []
        messages = conversation(
            debate, evidence, side=chosen.side, words=chosen.max_words, wording=chosen.wording
        )
        try:
            argument, reasoning = await speech(
                self.model, messages, words=chosen.max_words, again=chosen.again
            )
        except ModelError as error:
            log.info("inspiredebate quotes instead: %s", error)
            return self._quoting(evidence)
        content = cut_to_words(argument, chosen.max_words)
        used = cited(content, evidence, most=chosen.cited, alike=chosen.alike)
        if not used and self._must_stand(evidence):
            log.info("inspiredebate quotes instead: its argument stands on none of the evidence")
            return self._quoting(evidence)
        if chosen.shows == "both":
            content = together(reasoning, content)
        return Response(content=content, arguments=used)

    def _must_stand(self, evidence: list[Evidence]) -> bool:
        """Whether an argument could cite what it stands on: nobody cites a page of the web."""
        chosen = self.options
        wanted = chosen.baseless == "quote" and chosen.cited > 0 and chosen.shows == "argument"
        return wanted and bool(evidence) and all(one.argument is not None for one in evidence)

    async def _evidence(self, debate: Debate) -> list[Evidence]:
        """Bring arguments of the index and, where there is a search, pages; in turn, best first."""
        chosen = self.options
        terms = await self._terms(debate)
        asked = [*terms, clean(debate.last.utterance)] if chosen.message else terms
        before = frozenset() if chosen.repeat else _cited_before(debate)

        def arguments(queries: list[str]) -> list[Evidence]:
            return found_by.arguments_for(
                self.index, queries, chosen.field, chosen.per_term, without=before
            )

        found = await anyio.to_thread.run_sync(arguments, asked, abandon_on_cancel=True)
        if not found:
            said = unasked(debate)
            found = await anyio.to_thread.run_sync(arguments, said, abandon_on_cancel=True)
        pages = await found_by.pages_for(self.web, terms, chosen.per_term) if self.web else []
        return _in_turn(found, pages)[: chosen.shown]

    async def _terms(self, debate: Debate) -> list[str]:
        if not self.options.keywords:
            return unasked(debate)
        try:
            named = await keywords(self.model, debate, self.options.side, self.options.keywords)
        except ModelError:
            named = []
        return named or unasked(debate)

    def _quoting(self, evidence: list[Evidence]) -> Response:
        """Return the best argument, quoted; without one there is nothing honest to say."""
        for one in evidence:
            if one.argument is not None:
                content = cut_to_words(clean(one.argument.text), self.options.max_words)
                return Response(content=content, arguments=(one.argument,))
        raise WorkError("the model gave no argument, and there is no evidence to quote")


def _in_turn(found: list[Evidence], pages: list[Evidence]) -> list[Evidence]:
    """Mix two lists, so that neither is cut away by the other."""
    mixed: list[Evidence] = []
    for rank in range(max(len(found), len(pages))):
        mixed += [*found[rank : rank + 1], *pages[rank : rank + 1]]
    return mixed


def _cited_before(debate: Debate) -> frozenset[str]:
    return frozenset(
        argument.id
        for turn in debate.turns
        if turn.response is not None
        for argument in turn.response.arguments
    )
