"""The debater `best-of-n`: answers of other debaters, ranked by a judge or panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Final

import anyio
from pydantic import Field, field_validator

from touche_rad.calls import (
    Calls,
    ModelUse,
    begin_use,
    call_context,
    current_context,
    report_without_model,
    time_left,
)
from touche_rad.debate import NOTHING_FOUND, Debate, Response
from touche_rad.errors import OptionError, WorkError
from touche_rad.plugins import (
    ExplainedCandidate,
    Feature,
    LoadedDebater,
    NamesPlugins,
    Services,
    find,
    parse_plugin,
    split_plugins,
)
from touche_rad.plugins import Options as PluginOptions
from touche_rad.runs.answering import guard
from touche_rad.runs.rewards import Reward
from touche_rad.text import excerpt

_SHARE: Final = 0.7
"""Share of the turn's time for the candidates; the judge has the rest."""


@dataclass
class Candidate:
    """One answer, its reward, or the reason why there is none."""

    debater: LoadedDebater
    response: Response | None = None
    reward: float | None = None
    fault: str = ""
    use: ModelUse = field(default_factory=begin_use)


class BestOfN:
    """Generates several answers and lets a judge or panel pick the best."""

    uses: ClassVar = ("model",)

    class Options(PluginOptions):
        """Options."""

        of: Annotated[str, NamesPlugins(("debater",))] = Field(
            "grounded,verbatim",
            description="debaters, separated by commas: NAME or NAME(KEY=VALUE,...)",
        )
        n: int = Field(4, ge=1, le=32, description="answers per debater that uses the model")
        judge: Annotated[str, NamesPlugins(("judge", "panel"))] = Field(
            "grounded", description="judge or panel, NAME or NAME(KEY=VALUE,...)"
        )
        temperature: float = Field(
            0.8, ge=0, le=2, description="temperature of a debater's answers after its first one"
        )

        @field_validator("of")
        @classmethod
        def _named(cls, value: str) -> str:
            if not split_plugins(value):
                raise ValueError("expected at least one debater")
            return value

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self._index = services.index
        self._call = Calls()
        self._debaters: list[LoadedDebater] = []
        for text in split_plugins(options.of):
            self._debaters += self._make(*parse_plugin(text), services)
        judge, settings = parse_plugin(options.judge)
        self._reward = Reward(judge, services, settings)

    def _make(
        self, name: str, options: Mapping[str, str], services: Services
    ) -> list[LoadedDebater]:
        if name == "best-of-n":
            raise OptionError("of: best-of-n cannot contain itself; name other debaters")
        plugin = find("debater", name).configure(options)
        debaters = [plugin.make(services)]
        if services.model is None or not plugin.uses_model:
            return debaters
        for number in range(1, self.options.n):
            seed = services.model.settings.seed + number
            model = services.model.copy(seed=seed, temperature=self.options.temperature)
            other = replace(services, model=model, seed=services.seed + number)
            debaters.append(plugin.make(other))
        return debaters

    async def answer(self, debate: Debate) -> Response:
        """Return the candidate with the highest reward, which found an argument if one did."""
        best = max(await self._candidates(debate), key=_rank)
        assert best.response is not None
        if best.use.without is not None:
            report_without_model(best.use.without)
        return best.response

    async def explain(self, debate: Debate) -> list[ExplainedCandidate]:
        """Generate and judge the answers again, and return them, the best first."""
        candidates = sorted(await self._candidates(debate), key=_rank, reverse=True)
        return [
            ExplainedCandidate(
                one.debater.name,
                one.response.content,
                one.reward or 0.0,
                {"reward": Feature(one.reward or 0.0, phrase="has a high reward from the judge")},
            )
            for one in candidates
            if one.response is not None
        ]

    async def _candidates(self, debate: Debate) -> list[Candidate]:
        """Ask all debaters in parallel, then judge each different answer once."""
        candidates = [Candidate(one) for one in self._debaters]
        left = time_left()
        with anyio.move_on_after(None if left is None else _SHARE * left):
            async with anyio.create_task_group() as group:
                for one in candidates:
                    group.start_soon(self._answer, one, debate)
        use = current_context().use or ModelUse()
        by_answer: dict[tuple[str, ...], Candidate] = {}
        for one in candidates:
            use.add(one.use)
            if one.response is not None:
                cited = (argument.id for argument in one.response.arguments)
                by_answer.setdefault((one.response.content, *cited), one)
        if not by_answer:
            faults = "; ".join(dict.fromkeys(one.fault for one in candidates if one.fault))
            raise WorkError(f"no debater answered: {faults or 'all timed out'}")
        different = list(by_answer.values())
        if len(different) > 1:
            async with anyio.create_task_group() as group:
                for one in different:
                    group.start_soon(self._judge, one, debate)
        return different

    async def _answer(self, candidate: Candidate, debate: Debate) -> None:
        try:
            with call_context(use=candidate.use):
                response = await self._call(candidate.debater.answer, debate)
            candidate.response, _ = guard(response, self._index, 0)
        except Exception as error:
            candidate.fault = excerpt(f"{type(error).__name__}: {error}", 200)

    async def _judge(self, candidate: Candidate, debate: Debate) -> None:
        assert candidate.response is not None
        answered = debate.with_response(candidate.response)
        candidate.reward = await self._reward.of(answered, deadline=time_left())


def _rank(candidate: Candidate) -> tuple[bool, bool, float]:
    """Return what orders the candidates, the best highest."""
    content = candidate.response.content if candidate.response else NOTHING_FOUND
    return content != NOTHING_FOUND, candidate.reward is not None, candidate.reward or 0.0
