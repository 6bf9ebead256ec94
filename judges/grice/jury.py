"""The judge `jury`: several judges vote at the same time, and their scores are averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated, ClassVar, Final

import anyio
from pydantic import Field

from touche_rad.calls import time_left
from touche_rad.debate import Debate, Verdict, Verdicts
from touche_rad.errors import OptionError
from touche_rad.plugins import (
    LoadedJudge,
    NamesPlugins,
    Services,
    make,
    parse_plugin,
    split_plugins,
)
from touche_rad.plugins import Options as PluginOptions
from touche_rad.runs.judging import ViewVerdicts, judge_turns

VOTES: Final = "votes"
"""The field of a verdict with the score of each member; null if the member failed."""


class Jury:
    """Averages the scores of several judges."""

    uses: ClassVar = ("model",)

    class Options(PluginOptions):
        """Options."""

        of: Annotated[str, NamesPlugins(("judge",))] = Field(
            "grounded,length",
            description="judges, separated by commas: NAME or NAME(KEY=VALUE,...)",
        )

    def __init__(self, options: Options, services: Services) -> None:
        names = split_plugins(options.of)
        twice = [name for name in names if names.count(name) > 1]
        if twice or not names:
            problem = f"{twice[0]} is named twice" if twice else "of: name at least one judge"
            raise OptionError(f"judge jury: {problem}")
        self._criteria = services.criteria
        self._members = {name: _make(name, services) for name in names}

    async def judge(self, debate: Debate) -> Verdicts:
        """Judge the last response."""
        return (await self._verdicts([debate]))[0]

    async def judge_all(self, debate: Debate) -> Sequence[Verdicts] | None:
        """Judge all responses at once, if one of the members can."""
        if all(member.judge_all is None for member in self._members.values()):
            return None
        return await self._verdicts([debate.view(turn) for turn in range(len(debate.turns))])

    async def _verdicts(self, views: Sequence[Debate]) -> list[Verdicts]:
        by_member: dict[str, Sequence[ViewVerdicts]] = {}

        async def ask(name: str) -> None:
            by_member[name] = await judge_turns(
                self._members[name], views, self._criteria, deadline=time_left()
            )

        async with anyio.create_task_group() as group:
            for name in self._members:
                group.start_soon(ask, name)
        return [
            {
                key: _verdict({name: _score(by_member[name][turn], key) for name in self._members})
                for key in self._criteria.keys
            }
            for turn in range(len(views))
        ]


def _make(text: str, services: Services) -> LoadedJudge:
    if parse_plugin(text)[0] == "jury":
        raise OptionError("judge jury: of: a jury cannot contain a jury; name other judges")
    return make("judge", text, services)


def _score(member: ViewVerdicts, key: str) -> float | None:
    """Return a member's score, or None if it left out any criterion."""
    return None if member.unscored else float(member.verdicts[key].score or 0.0)


def _verdict(scores: Mapping[str, float | None]) -> Verdict:
    extra = {VOTES: {name: None if one is None else round(one, 6) for name, one in scores.items()}}
    valid = [score for score in scores.values() if score is not None]
    if not valid:
        return Verdict(score=None, rationale="no judge of the jury gave a verdict", extra=extra)
    rationale = "; ".join(
        f"{name} {'gave no verdict' if score is None else format(score, '.2f')}"
        for name, score in scores.items()
    )
    return Verdict(score=fmean(valid), rationale=rationale, extra=extra)
