"""The debater `sinai`: the paper's five steps, and the fallback of each step if the model fails."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Annotated, ClassVar, Literal

import anyio
from pydantic import Field

from touche_rad.calls import report_without_model
from touche_rad.debate import Debate, Response
from touche_rad.debaters._asking import ON_TOPIC, Wording, arguments_on_topic
from touche_rad.debaters._citing import NO_CITATIONS, earlier_citations
from touche_rad.debaters.sinai._step1_plan import FIXED, Plan, plan
from touche_rad.debaters.sinai._step2_search import (
    PER_STRATEGY,
    Query,
    Retrieved,
    SearchOptions,
    ask_ideas,
    ask_queries,
    last_message,
    search,
)
from touche_rad.debaters.sinai._step3_4_selection import (
    PER_QUERY,
    Selected,
    Shortlist,
    select_at_once,
    select_by_rank,
    select_for_query,
    select_of_all,
)
from touche_rad.debaters.sinai._step5_response import write_response
from touche_rad.errors import WorkError
from touche_rad.lists import unique
from touche_rad.models import ModelError
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import RetrieverName, Services, Setting, make
from touche_rad.records import UpTo9, WordLimit
from touche_rad.text import clean, cut_to_words


class Sinai:
    """Plans, searches, selects and writes step by step (SINAI, Touché 2025)."""

    needs: ClassVar = ("index", "model")

    class Options(PluginOptions):
        """Options, and the details of the paper's steps as settings."""

        profile: str = "lean"
        """paper: the steps as published"""
        queries: UpTo9 = 3
        """maximum queries per turn"""
        max_words: WordLimit = 60
        """maximum words of a response"""
        cited: UpTo9 = 2
        """maximum cited arguments"""
        wording: Wording = "close"
        """close to the arguments' words, or free"""
        repeat: bool = False
        """may cite an argument again"""
        retriever: RetrieverName = "attack"
        """retriever of the strategy ATTACK"""
        calls: Setting[Literal["merged", "separate"]] = "merged"
        """step 2, 3 and 4 in one call, and 5; or one call a step"""
        plan: Setting[bool] = True
        """step 1, with one call a step; without it a fixed plan"""
        on_topic: Setting[bool] = Field(True, description=ON_TOPIC)
        support: Setting[Literal["turned", "paper"]] = "turned"
        """search as in the paper's figures; paper: as in its section 2.1"""
        selection: Setting[bool] = True
        """steps 3 and 4; without them the best of each query"""
        selected: Setting[UpTo9] = 2
        """step 4: arguments kept of all"""
        shorter_attempts: Setting[Annotated[int, Field(ge=0, le=3)]] = 1
        """step 5: requests for a shorter response"""

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.index = services.need_index("debater sinai")
        self.model = services.need_model("debater sinai")
        self._attacks = make("retriever", options.retriever, services)

    async def answer(self, debate: Debate) -> Response:
        """Take the five steps; if the model fails in one, that step has a fallback."""
        options = self.options
        plan, queries = await self._plan_and_queries(debate)
        retrieved = await anyio.to_thread.run_sync(
            self._search, debate, queries, abandon_on_cancel=True
        )
        if not retrieved:
            raise WorkError("the index has no argument for any query")
        selected = await self._select(debate, plan, retrieved)
        try:
            content, arguments = await write_response(
                self.model,
                debate,
                plan,
                selected,
                words=options.max_words,
                wording=options.wording,
                copies=options.calls == "separate",
                shorter_attempts=options.shorter_attempts,
            )
        except ModelError as error:
            report_without_model(error)
            content = ""
        if not content:
            best = (selected or select_by_rank(_shortlists_of_all(retrieved)))[0].argument
            content = cut_to_words(clean(best.text), options.max_words)
            arguments = [best]
        return Response(content=content, arguments=tuple(arguments[: options.cited]))

    async def _plan_and_queries(self, debate: Debate) -> tuple[Plan, list[Query]]:
        """Steps 1 and 2."""
        options = self.options
        answer_plan = FIXED
        try:
            if options.calls == "merged":
                return answer_plan, await ask_ideas(self.model, debate, options.queries)
            if options.plan:
                with suppress(ModelError):
                    answer_plan = await plan(self.model, debate)
            queries = await ask_queries(
                self.model, debate, answer_plan, options.queries, turned=options.support == "turned"
            )
        except ModelError:
            queries = [last_message(debate)]
        return answer_plan, queries

    def _search(self, debate: Debate, queries: list[Query]) -> list[Retrieved]:
        """Search for all queries; if they find nothing, for the opponent's last message."""
        options = self.options
        earlier = earlier_citations(debate, self.index, repeat=options.repeat)
        if options.calls == "merged":
            queries = unique(queries, key=lambda query: clean(query.opponent_idea).lower())
        of_topics = arguments_on_topic(self.index, debate) if options.on_topic else []
        topics = frozenset(argument.topic for argument in of_topics)
        # An empty search falls back on the last message, then on arguments that were cited before
        # or contradict these, and at last on any arguments.
        last = last_message(debate)
        for tried_queries, citations, tried_topics in (
            (queries, earlier, topics),
            ([last], earlier, frozenset()),
            (queries, NO_CITATIONS, frozenset()),
        ):
            search_options = SearchOptions(
                turned=options.support == "turned",
                earlier=citations,
                topics=tried_topics,
                spare=0 if options.repeat else 2 * PER_STRATEGY + len(citations.ids),
            )
            results = [
                search(self.index, self._attacks, query, search_options) for query in tried_queries
            ]
            with_arguments = [retrieved for retrieved in results if retrieved.arguments]
            if with_arguments:
                return with_arguments
        first = list(islice(self.index.arguments(), 2))
        return [Retrieved(last, {"TEXT": first})] if first else []

    async def _select(
        self, debate: Debate, plan: Plan, retrieved: list[Retrieved]
    ) -> list[Selected]:
        """Steps 3 and 4; an empty list if the model says that no argument can be used."""
        options = self.options
        most = options.selected
        shortlists = _shortlists_of_all(retrieved)
        if not options.selection:
            return select_by_rank(shortlists)[:most]
        try:
            if options.calls == "merged":
                return await select_at_once(self.model, debate, shortlists, most)
            answers = await self.model.ask_all(
                [
                    partial(select_for_query, self.model, debate, plan, of_query)
                    for of_query in retrieved
                ]
            )
            shortlists = [
                Shortlist(of_query, of_query.arguments[:PER_QUERY])
                if isinstance(answer, ModelError)
                else answer
                for of_query, answer in zip(retrieved, answers, strict=True)
            ]
            if not any(shortlist.arguments for shortlist in shortlists):
                return []
            return await select_of_all(self.model, debate, shortlists, most)
        except ModelError:
            return select_by_rank(shortlists)[:most]


def _shortlists_of_all(retrieved: list[Retrieved]) -> list[Shortlist]:
    """Return all arguments of each query, as if step 3 had kept them all."""
    return [Shortlist(of_query, of_query.arguments) for of_query in retrieved]
