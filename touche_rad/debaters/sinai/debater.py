"""The debater `sinai`: the paper's five steps, and the fallback of each step if the model fails."""

from __future__ import annotations

from itertools import islice
from typing import ClassVar, Literal

import anyio
from pydantic import Field

from touche_rad.calls import report_without_model
from touche_rad.debate import Argument, Debate, Response
from touche_rad.debaters.asking import cited_before
from touche_rad.debaters.sinai.step1_plan import FIXED, Plan, plan
from touche_rad.debaters.sinai.step2_search import (
    PER_STRATEGY,
    Chain,
    Query,
    Retrieved,
    SearchOptions,
    distinct,
    last_message,
    outline,
    queries,
    search,
)
from touche_rad.debaters.sinai.step3_4_selection import (
    Selected,
    Shortlist,
    select_at_once,
    select_by_rank,
    select_for_query,
    select_of_all,
)
from touche_rad.debaters.sinai.step5_response import Wording, write_response
from touche_rad.errors import WorkError
from touche_rad.models import ModelError
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services, setting
from touche_rad.text import clean, cut_to_words


class Sinai:
    """Plans, searches, selects and writes step by step (SINAI, Touché 2025)."""

    needs: ClassVar = ("index", "model")

    class Options(PluginOptions):
        """Options, and the details of the paper's steps as settings."""

        profile: str = Field("lean", description="paper: the steps as published")
        queries: int = Field(3, ge=1, le=9, description="maximum queries per turn")
        max_words: int = Field(60, ge=5, le=1000, description="maximum words of a response")
        cited: int = Field(2, ge=1, le=9, description="maximum cited arguments")
        wording: Wording = Field("close", description="close to the arguments' words, or free")
        repeat: bool = Field(False, description="may cite an argument again")
        calls: Literal["merged", "separate"] = setting(
            "merged", description="steps 1 and 2, and 3 and 4, in one call each, or one call a step"
        )
        plan: bool = setting(True, description="step 1; without it a fixed plan")
        support: Literal["turned", "paper"] = setting(
            "turned",
            description="SUPPORT queries find attacks on the opponent's supports, or supports",
        )
        chain: Chain = setting(
            "attackers", description="chained: what attacks the found arguments, or supporters"
        )
        shortlist: bool = setting(True, description="step 3; without it all results are kept")
        per_query: int = setting(3, ge=1, le=20, description="step 3: arguments kept of a query")
        selection: bool = setting(True, description="step 4; without it the best of each query")
        selected: int = setting(2, ge=1, le=9, description="step 4: arguments kept of all")
        shorter_attempts: int = setting(
            1, ge=0, le=3, description="step 5: requests for a shorter response"
        )

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.index = services.need_index("debater sinai")
        self.model = services.need_model("debater sinai")

    async def answer(self, debate: Debate) -> Response:
        """Take the five steps; if the model fails in one, that step has a fallback."""
        plan, asked = await self._plan_and_queries(debate)
        found = await anyio.to_thread.run_sync(self._search, debate, asked, abandon_on_cancel=True)
        if not found:
            raise WorkError("the index has no argument for any query")
        selected = await self._select(debate, plan, found)
        content, arguments = await self._write(debate, plan, selected)
        if not content:
            best = (selected or select_by_rank(_unselected(found), 1))[0].argument
            content = cut_to_words(clean(best.text), self.options.max_words)
            arguments = [best]
        return Response(content=content, arguments=tuple(arguments[: self.options.cited]))

    async def _plan_and_queries(self, debate: Debate) -> tuple[Plan, list[Query]]:
        """Steps 1 and 2."""
        count = self.options.queries
        turned = self.options.support == "turned"
        if self.options.calls == "merged" and self.options.plan:
            try:
                planned, asked = await outline(self.model, debate, count, turned=turned)
            except ModelError:
                planned, asked = FIXED, []
            return planned, asked or [last_message(debate)]
        planned = await self._plan(debate)
        try:
            asked = await queries(self.model, debate, planned, count, turned=turned)
        except ModelError:
            asked = [last_message(debate)]
        return planned, asked

    async def _plan(self, debate: Debate) -> Plan:
        """Step 1."""
        if not self.options.plan:
            return FIXED
        try:
            return await plan(self.model, debate)
        except ModelError:
            return FIXED

    def _search(self, debate: Debate, asked: list[Query]) -> list[Retrieved]:
        """Search for all queries; if they find nothing, for the opponent's last message."""
        options = self.options
        turned = options.support == "turned"
        if turned and options.calls == "merged":
            # SUPPORT and ATTACK queries for the same idea are the same search.
            asked = distinct(asked)
        cited = cited_before(debate)
        how = SearchOptions(
            turned=turned,
            excluded=frozenset() if options.repeat else cited,
            spare=0 if options.repeat else 2 * PER_STRATEGY + len(cited),
            chain=options.chain,
        )
        found = [search(self.index, query, how) for query in asked]
        if not any(one.all for one in found):
            found = [search(self.index, last_message(debate), how)]
        return [one for one in found if one.all] or self._first_arguments(debate)

    def _first_arguments(self, debate: Debate) -> list[Retrieved]:
        """Return the first arguments of the index, if no search found any."""
        some = tuple(islice(self.index.arguments(), 2))
        return [Retrieved(last_message(debate), {"TEXT": some})] if some else []

    async def _select(self, debate: Debate, plan: Plan, found: list[Retrieved]) -> list[Selected]:
        """Steps 3 and 4; an empty list if the model says that no argument can be used."""
        options = self.options
        shortlists = _unselected(found)
        try:
            if options.calls == "merged" and options.shortlist and options.selection:
                return await select_at_once(self.model, debate, plan, found, options.selected)
            if options.shortlist:
                shortlists = await self._shortlists(debate, plan, found)
                if not any(one.arguments for one in shortlists):
                    return []
            if options.selection:
                return await select_of_all(self.model, debate, shortlists, options.selected)
        except ModelError:
            pass
        return select_by_rank(shortlists, options.selected)

    async def _shortlists(
        self, debate: Debate, plan: Plan, found: list[Retrieved]
    ) -> list[Shortlist]:
        """Step 3 for all queries at the same time."""
        made: dict[int, Shortlist] = {}

        async def one(place: int) -> None:
            count = self.options.per_query
            try:
                made[place] = await select_for_query(self.model, debate, plan, found[place], count)
            except ModelError:
                made[place] = Shortlist(found[place], found[place].all[:count])

        async with anyio.create_task_group() as group:
            for place in range(len(found)):
                group.start_soon(one, place)
        return [made[place] for place in range(len(found))]

    async def _write(
        self, debate: Debate, plan: Plan, selected: list[Selected]
    ) -> tuple[str, list[Argument]]:
        """Step 5; if the model fails, the response is empty."""
        options = self.options
        try:
            return await write_response(
                self.model,
                debate,
                plan,
                selected,
                words=options.max_words,
                wording=options.wording,
                shorter_attempts=options.shorter_attempts,
            )
        except ModelError as error:
            report_without_model(error)
            return "", []


def _unselected(found: list[Retrieved]) -> list[Shortlist]:
    """Return all arguments of each query, as if step 3 had kept them all."""
    return [Shortlist(one, one.all) for one in found]
