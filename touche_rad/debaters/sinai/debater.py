"""The debater `sinai`: the paper's five steps, each with what is done where the model fails it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import anyio
from pydantic import Field, model_validator

from touche_rad.debate import Argument, Debate, Response
from touche_rad.debaters.sinai.plan import PLAIN, Plan, plan
from touche_rad.debaters.sinai.queries import Query, distinct, last_message, outline, queries
from touche_rad.debaters.sinai.response import Wording, response
from touche_rad.debaters.sinai.retrieval import STRATEGIES, Retrieval, Retrieved, retrieved
from touche_rad.debaters.sinai.selection import (
    Selected,
    Shortlist,
    at_once,
    selection,
    shortlist,
    unasked,
)
from touche_rad.errors import WorkError
from touche_rad.models import ModelError
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services
from touche_rad.text import clean, cut_to_words

Profile = Literal["lean", "paper"]

_PAPER: dict[str, str] = {
    "cited": "3", "wording": "free", "again": "0", "support": "paper", "repeat": "true",
}  # fmt: skip
"""What the paper's profile sets where nothing else is said."""


class Sinai:
    """Plans, searches, selects and writes, step by step, as SINAI's system of 2025 does."""

    needs: ClassVar = ("index", "model")

    class Options(PluginOptions):
        """The paper's numbers, each of which can be changed."""

        profile: Profile = Field(
            "lean", description="lean asks in three calls what paper asks in 4 + queries"
        )
        queries: int = Field(3, ge=1, le=9, description="the most searches a turn")
        strategies: str = Field("text,attack,support", description="how arguments are searched for")
        per_strategy: int = Field(2, ge=1, le=20, description="arguments of each strategy")
        per_link: int = Field(1, ge=1, le=10, description="attackers of each chained argument")
        per_query: int = Field(3, ge=1, le=20, description="arguments kept of a query")
        selected: int = Field(3, ge=1, le=9, description="arguments kept of all")
        cited: int = Field(2, ge=1, le=9, description="the most arguments cited (paper: 3)")
        max_words: int = Field(60, ge=5, le=1000, description="the most words of a response")
        plan: bool = Field(True, description="step 1; without it a plain plan holds")
        per_query_filter: bool = Field(True, description="step 3; without it all go on to step 4")
        final_filter: bool = Field(True, description="step 4; without it the best of each query")
        wording: Wording = Field("close", description="close to the arguments, or free (paper)")
        again: int = Field(1, ge=0, le=3, description="requests for a shorter answer (paper: 0)")
        support: Literal["turned", "paper"] = Field(
            "turned", description="SUPPORT of an opponent's idea finds what attacks its supports"
        )
        repeat: bool = Field(False, description="may cite what was cited before (paper: yes)")

        @model_validator(mode="before")
        @classmethod
        def _of_profile(cls, given: Any) -> Any:
            return {**_PAPER, **given} if given.get("profile") == "paper" else given

        @model_validator(mode="after")
        def _known_strategies(self) -> Sinai.Options:
            unknown = set(self.strategies.upper().split(",")) - set(STRATEGIES)
            if unknown:
                raise ValueError("strategies: expected some of text,attack,support")
            return self

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self.index = services.need_index("debater sinai")
        self.model = services.need_model("debater sinai")

    async def answer(self, debate: Debate) -> Response:
        """Take the five steps; where the model fails one, the next goes on from a plain choice."""
        plan, asked = await self._planned(debate)
        found = await anyio.to_thread.run_sync(
            self._retrieved, debate, asked, abandon_on_cancel=True
        )
        selected = await self._selected(debate, plan, found)
        if not selected:
            raise WorkError("the index holds no argument for any query")
        content, arguments = await self._written(debate, plan, selected)
        return Response(content=content, arguments=tuple(arguments[: self.options.cited]))

    async def _planned(self, debate: Debate) -> tuple[Plan, list[Query]]:
        """Steps 1 and 2."""
        most = self.options.queries
        if self.options.profile == "lean" and self.options.plan:
            try:
                chosen, asked = await outline(self.model, debate, most)
            except ModelError:
                chosen, asked = PLAIN, []
            return chosen, asked or [last_message(debate)]
        chosen = await self._plan(debate)
        try:
            asked = await queries(self.model, debate, chosen, most)
        except ModelError:
            asked = [last_message(debate)]
        return chosen, asked

    async def _plan(self, debate: Debate) -> Plan:
        if not self.options.plan:
            return PLAIN
        try:
            return await plan(self.model, debate)
        except ModelError:
            return PLAIN

    def _retrieved(self, debate: Debate, asked: list[Query]) -> list[Retrieved]:
        """Step 2.5; a query that finds nothing is followed by what the opponent just said."""
        chosen = self.options
        if chosen.support == "turned":  # then an idea is looked for alike in either field
            asked = distinct(asked)
        cited = frozenset(
            argument.id
            for turn in debate.turns
            if turn.response is not None
            for argument in turn.response.arguments
        )
        how = Retrieval(
            strategies=tuple(one for one in STRATEGIES if one.lower() in chosen.strategies.lower()),
            per_strategy=chosen.per_strategy, per_link=chosen.per_link,
            turned=chosen.support == "turned", fresh=frozenset() if chosen.repeat else cited,
            spare=0 if chosen.repeat else 2 * chosen.per_strategy + len(cited),
        )  # fmt: skip
        found = [retrieved(self.index, query, how) for query in asked]
        if not any(one.all for one in found):
            found = [retrieved(self.index, last_message(debate), how)]
        return [one for one in found if one.all] or self._anything(debate)

    def _anything(self, debate: Debate) -> list[Retrieved]:
        """An index that has arguments is cited, whatever the words were."""
        some = tuple(
            argument for argument, _ in zip(self.index.arguments(), range(2), strict=False)
        )
        return [Retrieved(last_message(debate), {"TEXT": some})] if some else []

    async def _selected(self, debate: Debate, plan: Plan, found: list[Retrieved]) -> list[Selected]:
        """Steps 3 and 4."""
        chosen = self.options
        whole = [Shortlist(one, one.all) for one in found]
        if not found:
            return []
        if chosen.profile == "lean" and chosen.per_query_filter and chosen.final_filter:
            try:
                return await at_once(self.model, debate, plan, found, chosen.selected)
            except ModelError:
                return unasked(whole, chosen.selected)
        shortlists = whole
        if chosen.per_query_filter:
            shortlists = await self._shortlists(debate, plan, found)
        if not chosen.final_filter:
            return unasked(shortlists, chosen.selected)
        try:
            return await selection(self.model, debate, shortlists, chosen.selected)
        except ModelError:
            return unasked(shortlists, chosen.selected)

    async def _shortlists(
        self, debate: Debate, plan: Plan, found: list[Retrieved]
    ) -> list[Shortlist]:
        """Step 3 for each query; the queries do not need each other."""
        made: dict[int, Shortlist] = {}

        async def one(place: int) -> None:
            most = self.options.per_query
            try:
                made[place] = await shortlist(self.model, debate, plan, found[place], most)
            except ModelError:
                made[place] = Shortlist(found[place], found[place].all[:most])

        async with anyio.create_task_group() as group:
            for place in range(len(found)):
                group.start_soon(one, place)
        return [made[place] for place in range(len(found))]

    async def _written(
        self, debate: Debate, plan: Plan, selected: list[Selected]
    ) -> tuple[str, list[Argument]]:
        """Step 5; where the model fails it, the best argument is quoted."""
        chosen = self.options
        best = selected[0].argument
        try:
            content, arguments = await response(
                self.model, debate, plan, selected, words=chosen.max_words,
                wording=chosen.wording, again=chosen.again,
            )  # fmt: skip
        except ModelError:
            return cut_to_words(clean(best.text), chosen.max_words), [best]
        if not content:
            return cut_to_words(clean(best.text), chosen.max_words), [best]
        return content, arguments or [best]
