"""The debater `inspiredebate`: search terms, evidence, reasoning and an argument."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Annotated, ClassVar, Final

import anyio
from pydantic import Field

from retrieval.web import VARIABLE, web_search
from retrieval.web.search import search_all
from touche_rad.calls import report_without_model
from touche_rad.debate import Argument, Debate, Response
from touche_rad.debaters._asking import ON_TOPIC, Wording, messages_of, named
from touche_rad.debaters._citing import cited
from touche_rad.debaters.inspiredebate._conversation import (
    EvidencePiece,
    SearchField,
    Shows,
    arguments_for,
    arguments_of,
    conversation,
    join_blocks,
    topic_of,
)
from touche_rad.debaters.inspiredebate._speech import (
    CheckedSpeech,
    ReasonedArgument,
    own_words,
    search_terms,
    write_speech,
)
from touche_rad.errors import WorkError
from touche_rad.events import log
from touche_rad.evidence.guard import Guard
from touche_rad.lists import alternate, unique
from touche_rad.models import ModelError
from touche_rad.plugins import MayNameFile, Services, Setting
from touche_rad.plugins import Options as PluginOptions
from touche_rad.records import UpTo20, WordLimit
from touche_rad.text import clean, count_words, cut_to_words, words
from touche_rad.users.arguments import stance
from touche_rad.users.contest_views import opens

_MIN_WORDS: Final = 6
"""Minimum words of an argument after its unsupported sentences are removed."""
_MIN_STANCE: Final = 0.3
"""Minimum stance, by the overlap of words, that counts as known."""


class InspireDebate:
    """Searches for evidence, reasons, then argues (InspireDebate)."""

    needs: ClassVar = ("index", "model")
    takes_sides: ClassVar = True

    class Options(PluginOptions):
        """Options, and the details that the paper leaves open as settings."""

        profile: str = "lean"
        """paper: the two calls as published"""
        keywords: Annotated[int, Field(ge=0, le=3)] = 3
        """maximum search terms; 0: no call for them"""
        web: Annotated[str, MayNameFile(variable=VARIABLE)] = ""
        """SearXNG address or folder of texts (default: no web)"""
        max_words: WordLimit = 60
        """maximum words of an argument"""
        cited: Annotated[int, Field(ge=0, le=9)] = 2
        """maximum cited arguments"""
        shows: Shows = "argument"
        """the response; both: reasoning and argument"""
        repeat: bool = False
        """may cite an argument again"""
        retrieval: Setting[bool] = True
        """evidence in the prompt"""
        arguments: Setting[bool] = True
        """search the index; false: only the web"""
        field: Setting[SearchField] = "attacks"
        """the field that is searched"""
        message: Setting[bool] = True
        """search for the message and the topic too"""
        on_topic: Setting[bool] = Field(True, description=ON_TOPIC)
        per_term: Setting[UpTo20] = 3
        """hits of each search"""
        shown: Setting[Annotated[int, Field(ge=1, le=30)]] = 5
        """pieces of evidence in the prompt"""
        wording: Setting[Wording] = "close"
        """close to the evidence's words, and checked; or free"""
        sends_refusals: Setting[bool] = False
        """a refusal to argue is sent, and not replaced by a quotation"""
        new_attempts: Setting[Annotated[int, Field(ge=0, le=3)]] = 1
        """new requests after a refusal, a long argument or unsupported sentences"""

    @staticmethod
    def works_without_index(options: Options) -> bool:
        """Whether there is a web source: its pages alone can be the evidence."""
        return web_search(options.web) is not None

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.index = services.index
        self.model = services.need_model("debater inspiredebate")
        self.web = web_search(options.web)
        if options.retrieval and self.web is None and not (options.arguments and self.index):
            log.warning(
                "inspiredebate has no source of evidence: -O web=URL names a SearXNG server or a "
                "folder of texts"
            )
        self._guard = Guard(longest=options.max_words)

    async def answer(self, debate: Debate) -> Response:
        """Search, reason and argue; if the model fails, evidence of our side is quoted."""
        options = self.options
        evidence = await self._evidence(debate) if options.retrieval else []
        names_evidence = options.retrieval and options.wording == "close" and options.cited > 0
        messages = conversation(
            debate,
            evidence,
            words=options.max_words,
            wording=options.wording,
            retrieval=options.retrieval,
            most_cited=options.cited,
            shows=options.shows,
        )
        try:
            draft = await write_speech(
                self.model,
                messages,
                partial(self._check, evidence=evidence, messages=messages_of(debate)),
                words=options.max_words,
                most_cited=options.cited if names_evidence else None,
                pieces=len(evidence),
                new_attempts=options.new_attempts,
                sends_refusals=options.sends_refusals,
            )
        except ModelError as error:
            report_without_model(error)
            return self._quote(debate, evidence)

        content = draft.argument
        if draft.checked.faults:
            content = draft.checked.faultless
            if count_words(content) < _MIN_WORDS:
                return self._quote(debate, evidence, draft.cited)
        content = cut_to_words(content, options.max_words)
        used = self._cited(content, draft.cited)
        if not used and draft.speech.evidence:
            used = draft.cited  # a paraphrase of the evidence that the model named
        if options.shows == "both":
            content = join_blocks(clean(draft.speech.reasoning), content)
        return Response(content=content, arguments=used)

    async def _check(
        self, speech: ReasonedArgument, evidence: list[EvidencePiece], messages: list[str]
    ) -> CheckedSpeech:
        """Compare a speech with the evidence that it quotes or names."""
        options = self.options
        argument = clean(speech.argument)
        used = list(self._cited(argument, arguments_of(evidence)))
        named_pieces = named(speech.evidence, evidence)[: options.cited]
        used += arguments_of(named_pieces)
        arguments = tuple({argument.id: argument for argument in used}.values())[: options.cited]
        if options.wording == "free":
            return CheckedSpeech(speech, options.max_words, arguments)
        texts = [argument.text for argument in arguments]
        texts += [piece.text for piece in named_pieces if not piece.argument]
        checked = await self._guard.checked(argument, texts, messages)
        return CheckedSpeech(speech, options.max_words, arguments, checked)

    def _cited(self, content: str, arguments: Sequence[Argument]) -> tuple[Argument, ...]:
        return cited(content, (), arguments, self.options.cited)

    async def _evidence(self, debate: Debate) -> list[EvidencePiece]:
        """Return arguments of the index and web pages alternately, best first."""
        options = self.options
        terms: list[str] = []
        if options.keywords:
            with suppress(ModelError):
                # Samples of an answer have the same evidence, at whatever temperature.
                model = self.model.copy(temperature=0)
                terms = await search_terms(model, debate, options.keywords, options.wording)
        terms = terms or own_words(debate)

        async def arguments(queries: list[tuple[SearchField, str]]) -> list[EvidencePiece]:
            if self.index is None or not options.arguments:
                return []
            search = partial(
                arguments_for,
                self.index,
                queries,
                options.per_term,
                debate,
                repeat=options.repeat,
                only_on_topic=options.on_topic,
            )
            return await anyio.to_thread.run_sync(search, abandon_on_cancel=True)

        indexed = await arguments(self._queries(debate, terms)) or await arguments(
            [(options.field, query) for query in own_words(debate)]
        )

        pages: list[EvidencePiece] = []
        if self.web:
            results = await search_all(self.web, terms, options.per_term)
            if results.fault:
                log.warning("the web search failed: %s", results.fault)
            pages = [
                EvidencePiece(page.text, page.title, page.address)
                for page in chain.from_iterable(results.pages)
                if words(page.text)
            ]
        pages = unique(pages, key=lambda page: page.url or page.text)
        return list(alternate((indexed, pages)))[: options.shown]

    def _queries(self, debate: Debate, terms: list[str]) -> list[tuple[SearchField, str]]:
        """Return the fields to search and the queries.

        With the setting `message`, arguments against the opponent's message and on our side of the
        topic are searched too. The debater that opens has only the topic.
        """
        by_term = [(self.options.field, term) for term in terms]
        if not self.options.message:
            return by_term
        of_topic: SearchField = "supports" if debate.side == "pro" else "attacks"
        on_topic: tuple[SearchField, str] = (of_topic, topic_of(debate))
        if opens(debate):
            return [on_topic, *(("supports", term) for term in terms)]
        return [("attacks", clean(debate.last.utterance)), on_topic, *by_term]

    def _quote(
        self, debate: Debate, evidence: list[EvidencePiece], chosen: Sequence[Argument] = ()
    ) -> Response:
        """Return a quotation of what the model chose, or of the best argument known to be ours."""
        topic = topic_of(debate)
        message = clean(debate.last.utterance)

        def is_ours(argument: Argument) -> bool:
            for_topic = stance(argument, topic)
            for_us = for_topic if debate.side == "pro" else -for_topic
            against_message = -stance(argument, message) if message != topic else 0.0
            return for_us > -_MIN_STANCE and max(for_us, against_message) >= _MIN_STANCE

        for argument in chosen or filter(is_ours, arguments_of(evidence)):
            content = cut_to_words(clean(argument.text), self.options.max_words)
            return Response(content=content, arguments=(argument,))
        raise WorkError(
            "the model gave no argument, and no evidence is known to be on the debater's side"
        )
