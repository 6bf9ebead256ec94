"""The debater `best-of-n`: answers of other debaters, ranked by a judge or panel."""

from __future__ import annotations

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

_SHARE_OF_ANSWERS: Final = 0.7
"""Share of the turn's time for the candidates; the judge has the rest."""


@dataclass
class _Candidate:
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
        def _names_debaters(cls, value: str) -> str:
            if not split_plugins(value):
                raise ValueError("expected at least one debater")
            return value

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self._index = services.index
        self._call = Calls()
        self._debaters: list[LoadedDebater] = []
        for text in split_plugins(options.of):
            name, debater_options = parse_plugin(text)
            if name == "best-of-n":
                raise OptionError("of: best-of-n cannot contain itself; name other debaters")
            configured = find("debater", name).configure(debater_options)
            self._debaters.append(configured.make(services))
            if services.model is None or not configured.plugin.uses_model:
                continue  # Its answers would all be equal.
            for number in range(1, options.n):
                model = services.model.copy(
                    seed=services.model.settings.seed + number, temperature=options.temperature
                )
                reseeded = replace(services, model=model, seed=services.seed + number)
                self._debaters.append(configured.make(reseeded))
        judge, judge_options = parse_plugin(options.judge)
        self._reward = Reward(judge, services, judge_options)

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
        explained = []
        for candidate in candidates:
            assert candidate.response is not None
            reward = candidate.reward or 0.0
            features = {"reward": Feature(reward, phrase="has a high reward from the judge")}
            explained.append(
                ExplainedCandidate(
                    candidate.debater.name, candidate.response.content, reward, features
                )
            )
        return explained

    async def _candidates(self, debate: Debate) -> list[_Candidate]:
        """Ask all debaters in parallel, then judge each different answer once."""
        candidates = [_Candidate(debater) for debater in self._debaters]
        # Debaters that have not answered by then are left out, so that the judge has time.
        seconds = time_left()
        with anyio.move_on_after(None if seconds is None else _SHARE_OF_ANSWERS * seconds):
            async with anyio.create_task_group() as group:
                for candidate in candidates:
                    group.start_soon(self._answer, candidate, debate)
        # The answer has used the models of all candidates, also of those that fail.
        use = current_context().use or ModelUse()
        by_answer: dict[tuple[str, ...], _Candidate] = {}
        for candidate in candidates:
            use.add(candidate.use)
            if candidate.response is not None:
                cited = (argument.id for argument in candidate.response.arguments)
                by_answer.setdefault((candidate.response.content, *cited), candidate)
        if not by_answer:
            faults = dict.fromkeys(candidate.fault for candidate in candidates if candidate.fault)
            reason = "; ".join(faults) or "all timed out"
            raise WorkError(f"no debater answered: {reason}")
        different = list(by_answer.values())
        if len(different) > 1:
            async with anyio.create_task_group() as group:
                for candidate in different:
                    group.start_soon(self._judge, candidate, debate)
        return different

    async def _answer(self, candidate: _Candidate, debate: Debate) -> None:
        try:
            with call_context(use=candidate.use):
                response = await self._call(candidate.debater.answer, debate)
            candidate.response, _ = guard(response, self._index, 0)
        except Exception as error:
            candidate.fault = excerpt(f"{type(error).__name__}: {error}", 200)

    async def _judge(self, candidate: _Candidate, debate: Debate) -> None:
        assert candidate.response is not None
        answered = debate.with_response(candidate.response)
        candidate.reward = await self._reward.of(answered, deadline=time_left())


def _rank(candidate: _Candidate) -> tuple[bool, bool, float]:
    """Return what orders the candidates, the best highest."""
    content = candidate.response.content if candidate.response else NOTHING_FOUND
    return content != NOTHING_FOUND, candidate.reward is not None, candidate.reward or 0.0
