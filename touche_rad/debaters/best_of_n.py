"""The debater `best-of-n`: candidates of any debaters, ranked by any judge or panel."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

import anyio
from pydantic import Field, field_validator

from touche_rad.debate import Debate, Response
from touche_rad.errors import OptionError, UserError, WorkError
from touche_rad.models.context import current_context
from touche_rad.plugins import Debater, Services, find
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins.timeouts import Calls
from touche_rad.runs.guard import guard
from touche_rad.runs.rewards import Reward

_SHARE: Final = 0.7
"""How much of a turn's time the candidates have; the rest is the judge's."""


@dataclass(frozen=True)
class Named:
    """A plugin as an option names it: `NAME`, or `NAME:key=value:key=value`."""

    name: str
    options: Mapping[str, str]

    @classmethod
    def of(cls, said: str) -> Named:
        """Read one."""
        name, *given = (part.strip() for part in said.split(":"))
        options = {}
        for one in given:
            key, equals, value = one.partition("=")
            if not equals or not key:
                raise OptionError(f"{said}: expected NAME:key=value, got {one!r}")
            options[key.replace("-", "_")] = value
        return cls(name, options)


@dataclass
class Candidate:
    """An answer on its way."""

    debater: Debater
    number: int
    response: Response | None = None
    reward: float | None = None
    fault: str = ""


class BestOfN:
    """Lets a judge choose among several answers of other debaters."""

    uses: ClassVar = ("model",)

    class Options(PluginOptions):
        """Whose answers, how many, and who chooses."""

        of: str = Field(
            "grounded,verbatim",
            description="whose answers, with commas: NAME or NAME:key=value",
        )
        n: int = Field(4, ge=1, le=32, description="answers of each that asks a model; others: one")
        judge: str = Field("grounded", description="the judge or panel that chooses, likewise")
        temperature: float = Field(
            0.8, ge=0, le=2, description="of all answers of a model but each one's first"
        )

        @field_validator("of")
        @classmethod
        def _named(cls, said: str) -> str:
            if not [part for part in said.split(",") if part.strip()]:
                raise ValueError("expected at least one debater")
            return said

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self._index = services.index
        self._call = Calls()
        self._debaters: list[Debater] = []
        for said in filter(None, (part.strip() for part in options.of.split(","))):
            self._debaters += self._made(Named.of(said), services)
        judge = Named.of(options.judge)
        self._reward = Reward(judge.name, services, judge.options)

    def _made(self, named: Named, services: Services) -> list[Debater]:
        if named.name == "best-of-n":
            raise OptionError("of: best-of-n cannot choose among its own answers")
        plugin = find("debater", named.name)
        missing = plugin.missing(index=services.index is not None, model=services.model is not None)
        if missing:
            raise UserError(f"debater {named.name} cannot answer here: {'; '.join(missing)}")
        made: list[Debater] = [plugin.make(services, named.options)]
        asks = services.model is not None and "model" in (*plugin.needs, *plugin.uses)
        for number in range(1, self.options.n if asks else 1):
            assert services.model is not None
            seed = services.model.settings.seed + number
            model = services.model.with_settings(seed=seed, temperature=self.options.temperature)
            other = replace(services, model=model, seed=services.seed + number)
            made.append(plugin.make(other, named.options))
        return made

    async def answer(self, debate: Debate) -> Response:
        """Return the candidate that the judge likes best; the first of equal ones."""
        found = await self._candidates(debate)
        best = max(found, key=lambda one: (one.reward is not None, one.reward or 0.0))
        assert best.response is not None
        return best.response

    async def _candidates(self, debate: Debate) -> list[Candidate]:
        """Ask all at once, then let the judge see each different answer once."""
        asked = [Candidate(one, number) for number, one in enumerate(self._debaters)]
        left = _left()
        with anyio.move_on_after(None if left is None else _SHARE * left):
            async with anyio.create_task_group() as group:
                for one in asked:
                    group.start_soon(self._answer, one, debate)
        good = [one for one in asked if one.response is not None]
        if not good:
            faults = "; ".join(dict.fromkeys(one.fault for one in asked if one.fault))
            raise WorkError(f"no candidate could be had: {faults or 'none came in time'}")
        different = list({_same(one.response): one for one in reversed(good)}.values())[::-1]
        if len(different) > 1:
            async with anyio.create_task_group() as group:
                for one in different:
                    group.start_soon(self._judge, one, debate)
        return different

    async def _answer(self, candidate: Candidate, debate: Debate) -> None:
        try:
            given = await self._call(candidate.debater.answer, debate)
            candidate.response, _ = guard(given, self._index, 0)
        except Exception as error:
            candidate.fault = f"{type(error).__name__}: {error}"[:200]

    async def _judge(self, candidate: Candidate, debate: Debate) -> None:
        assert candidate.response is not None
        answered = debate.with_response(candidate.response)
        candidate.reward = await self._reward.of(answered, deadline=_left())


def _same(response: Response | None) -> tuple[str, tuple[str, ...]]:
    assert response is not None
    return response.content, tuple(one.id for one in response.arguments)


def _left() -> float | None:
    end = current_context().deadline
    return None if end is None else max(0.1, end - time.monotonic())
