"""The debater `inspiredebate`: search terms, evidence, reasoning and an argument."""

from __future__ import annotations

import logging
from typing import ClassVar, Literal

import anyio
from pydantic import Field

from retrieval.web import web_search
from touche_rad.debate import Debate, Response
from touche_rad.debaters.inspiredebate import evidence as search
from touche_rad.debaters.inspiredebate.conversation import Side, Wording, conversation
from touche_rad.debaters.inspiredebate.evidence import (
    Evidence,
    WebSearch,
    cited,
)
from touche_rad.debaters.inspiredebate.speech import join_blocks, own_words, search_terms, speech
from touche_rad.errors import WorkError
from touche_rad.models import ModelError
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services, setting
from touche_rad.text import clean, cut_to_words

log = logging.getLogger("touche_rad")

Shows = Literal["argument", "both"]


class InspireDebate:
    """Searches for evidence, reasons, then argues (InspireDebate)."""

    needs: ClassVar = ("index", "model")

    class Options(PluginOptions):
        """Options, and the details that the paper leaves open as settings."""

        profile: str = Field("lean", description="paper: the two calls as published")
        keywords: int = Field(
            3, ge=0, le=3, description="maximum search terms; 0: no call for them"
        )
        web: str = Field("", description="SearXNG address or folder of texts (default: no web)")
        side: Side = Field("con", description="con: against the topic; pro: for it")
        max_words: int = Field(60, ge=5, le=1_000, description="maximum words of an argument")
        cited: int = Field(2, ge=0, le=9, description="maximum cited arguments")
        shows: Shows = Field("argument", description="the response; both: reasoning and argument")
        repeat: bool = Field(False, description="may cite an argument again")
        retrieval: bool = setting(True, description="evidence in the prompt")
        field: search.Field = setting("attacks", description="the field that is searched")
        message: bool = setting(True, description="also search for the opponent's message")
        per_term: int = setting(3, ge=1, le=20, description="hits of each search")
        shown: int = setting(6, ge=1, le=30, description="pieces of evidence in the prompt")
        min_similarity: float = setting(
            0.5, ge=0, le=1, description="minimum similarity of a sentence and an argument it cites"
        )
        wording: Wording = setting("close", description="close to the evidence's words, or free")
        new_attempts: int = setting(
            1, ge=0, le=3, description="new requests after a refusal or a long argument"
        )
        unsupported: Literal["quote", "keep"] = setting(
            "quote", description="an argument without support: quote evidence instead, or keep it"
        )

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.index = services.need_index("debater inspiredebate")
        self.model = services.need_model("debater inspiredebate")
        self.web: WebSearch | None = web_search(options.web)

    async def answer(self, debate: Debate) -> Response:
        """Search, reason and argue; if the model fails, the best evidence is quoted."""
        options = self.options
        evidence = await self._evidence(debate) if options.retrieval else []
        messages = conversation(
            debate, evidence, side=options.side, words=options.max_words, wording=options.wording
        )
        try:
            argument, reasoning = await speech(
                self.model, messages, words=options.max_words, new_attempts=options.new_attempts
            )
        except ModelError as error:
            log.info("inspiredebate quotes evidence: %s", error)
            return self._quote(evidence)
        content = cut_to_words(argument, options.max_words)
        used = cited(content, evidence, most=options.cited, min_similarity=options.min_similarity)
        if not used and self._needs_support(evidence):
            log.info("inspiredebate quotes evidence: the argument is not supported by any of it")
            return self._quote(evidence)
        if options.shows == "both":
            content = join_blocks(reasoning, content)
        return Response(content=content, arguments=used)

    def _needs_support(self, evidence: list[Evidence]) -> bool:
        """Whether an argument must cite evidence; web pages cannot be cited."""
        options = self.options
        wanted = (
            options.unsupported == "quote" and options.cited > 0 and options.shows == "argument"
        )
        return wanted and bool(evidence) and all(one.argument is not None for one in evidence)

    async def _evidence(self, debate: Debate) -> list[Evidence]:
        """Return arguments of the index and web pages alternately, best first."""
        options = self.options
        terms = await self._search_terms(debate)
        asked = [*terms, clean(debate.last.utterance)] if options.message else terms
        before = frozenset() if options.repeat else _cited_before(debate)

        def arguments(queries: list[str]) -> list[Evidence]:
            return search.arguments_for(
                self.index, queries, options.field, options.per_term, excluded=before
            )

        found = await anyio.to_thread.run_sync(arguments, asked, abandon_on_cancel=True)
        if not found:
            said = own_words(debate)
            found = await anyio.to_thread.run_sync(arguments, said, abandon_on_cancel=True)
        pages = await search.pages_for(self.web, terms, options.per_term) if self.web else []
        return _alternate(found, pages)[: options.shown]

    async def _search_terms(self, debate: Debate) -> list[str]:
        if not self.options.keywords:
            return own_words(debate)
        try:
            terms = await search_terms(self.model, debate, self.options.side, self.options.keywords)
        except ModelError:
            terms = []
        return terms or own_words(debate)

    def _quote(self, evidence: list[Evidence]) -> Response:
        """Return a quotation of the best argument."""
        for one in evidence:
            if one.argument is not None:
                content = cut_to_words(clean(one.argument.text), self.options.max_words)
                return Response(content=content, arguments=(one.argument,))
        raise WorkError("the model gave no argument, and no evidence was found to quote")


def _alternate(found: list[Evidence], pages: list[Evidence]) -> list[Evidence]:
    """Merge two lists, one item of each in turn."""
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
