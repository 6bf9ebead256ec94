"""The judge `jury`: several judges vote at the same time, and their scores are averaged."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from statistics import fmean, mode
from typing import Annotated, ClassVar, Final

from touche_rad.calls import time_left
from touche_rad.debate import Debate, Verdict, Verdicts
from touche_rad.errors import OptionError, UserError
from touche_rad.plugins import (
    NamesPlugins,
    Services,
    make,
    parse_plugin,
    split_plugins,
)
from touche_rad.plugins import Options as PluginOptions
from touche_rad.runs.judging import ViewVerdicts, judge_view

VOTES: Final = "votes"
"""The field of a verdict with the score of each member; null if the member failed."""


class Jury:
    """Averages the scores of several judges."""

    uses: ClassVar = ("index", "model")
    criteria: ClassVar = ("any",)

    class Options(PluginOptions):
        """Options."""

        of: Annotated[str, NamesPlugins(("judge",))] = "grounded,length"
        """judges, separated by commas: NAME or NAME(KEY=VALUE,...)"""

    def __init__(self, options: Options, services: Services) -> None:
        names = split_plugins(options.of)
        twice = [name for name in names if names.count(name) > 1]
        if twice or not names:
            problem = f"{twice[0]} is named twice" if twice else "of: name at least one judge"
            raise OptionError(f"judge jury: {problem}")
        self._criteria = services.criteria
        if any(parse_plugin(name)[0] == "jury" for name in names):
            raise OptionError("judge jury: of: a jury cannot contain a jury; name other judges")
        try:
            self._members = {name: make("judge", name, services) for name in names}
        except UserError as error:
            raise UserError(f"judge jury: of: {error}") from None

    async def judge(self, debate: Debate) -> Verdicts:
        """Judge the last response."""
        asked = (
            judge_view(member, debate, self._criteria, deadline=time_left())
            for member in self._members.values()
        )
        votes = dict(zip(self._members, await asyncio.gather(*asked), strict=True))
        return {key: _average(votes, key) for key in self._criteria.keys}


def _average(votes: Mapping[str, ViewVerdicts], key: str) -> Verdict:
    """Return the mean score on a criterion, or the most frequent category, of equals the first.

    A member that left out any criterion has no score on the others either.
    """
    values: dict[str, float | int | str | None] = {}
    reasons: list[str] = []
    scores: list[float] = []
    answers: list[int | str] = []
    for name, vote in votes.items():
        verdict = Verdict() if vote.unscored else vote.verdicts[key]
        values[name] = None
        reason = "gave no verdict"
        if verdict.score is not None:
            values[name] = round(verdict.score, 6)
            reason = f"{verdict.score:.2f}".removeprefix("0")
            scores.append(verdict.score)
        elif verdict.answer is not None:
            values[name] = verdict.answer
            reason = str(verdict.answer)
            answers.append(verdict.answer)
        reasons.append(f"{name} {reason}")
    return Verdict(
        score=fmean(scores) if scores else None,
        answer=mode(answers) if answers else None,
        rationale=f"the judges: {', '.join(reasons)}"
        if scores or answers
        else "no judge of the jury gave a verdict",
        extra={VOTES: values},
    )
