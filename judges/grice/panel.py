"""The panel `grice`: a judge of single responses scores each speech; the higher mean wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import ClassVar, Final

import anyio
from pydantic import Field

from touche_rad.contest import TIE, Contest, Outcome
from touche_rad.debate import Debate, Maxim
from touche_rad.errors import UserError
from touche_rad.plugins import Options as PluginOptions
from touche_rad.plugins import Services, find
from touche_rad.plugins.registry import parse_plugin
from touche_rad.runs.judging import ViewVerdicts, judge_view
from touche_rad.users.contest_views import task_view

GENERAL: Final = "general"
_EQUAL: Final = 1e-9
"""Rounding errors of floats must not decide a debate."""

Scores = dict[str, float | None]


class GricePanel:
    """Judges each side's speeches by the four maxims; the higher mean wins. Needs no model."""

    uses: ClassVar = ("model",)

    class Options(PluginOptions):
        """The judge of the speeches, and the margin of a tie."""

        judge: str = Field("grounded", description="the judge, as NAME or NAME(KEY=VALUE,...)")
        margin: float = Field(
            0.02, ge=0, le=1, description="largest difference of the means that is a tie"
        )

    def __init__(self, options: Options, services: Services) -> None:
        name, given = parse_plugin(options.judge)
        plugin = find("judge", name)
        lacking = plugin.missing(index=services.index is not None, model=services.model is not None)
        if lacking:
            raise UserError(f"panel grice: judge {name} needs {' and '.join(lacking)}")
        self._judge = plugin.make(services, given)
        self._margin = options.margin

    async def judge(self, contest: Contest) -> Outcome:
        """Judge every speech as the response to the speeches before it."""
        scores: dict[str, Scores] = {}
        reasons: list[str] = []
        for speaker in contest.speakers:
            verdicts = await self._verdicts(task_view(contest, speaker))
            scores[speaker] = _means(verdicts)
            lost = [reason for one in verdicts for reason in one.unscored.values()]
            if scores[speaker][GENERAL] is None:
                reasons.append(f"{speaker}: {lost[0] if lost else 'nothing was said'}"[:300])
        dimensions = [GENERAL, *(maxim.value for maxim in Maxim)]
        winners = {
            name: self._winner({speaker: of[name] for speaker, of in scores.items()})
            for name in dimensions
        }
        return Outcome(
            winner=winners[GENERAL], scores=scores, winners=winners, reason="; ".join(reasons)
        )

    async def _verdicts(self, seen: Debate) -> Sequence[ViewVerdicts]:
        """Judge all responses at once; their verdicts are independent."""
        found: dict[int, ViewVerdicts] = {}

        async def one(turn: int) -> None:
            found[turn] = await judge_view(self._judge, seen.view(turn))

        async with anyio.create_task_group() as group:
            for turn, said in enumerate(seen.turns):
                if said.response is not None:
                    group.start_soon(one, turn)
        return [found[turn] for turn in sorted(found)]

    def _winner(self, scores: Mapping[str, float | None]) -> str | None:
        """Return who leads by more than the margin, or a tie; None if a score is missing."""
        known = {speaker: score for speaker, score in scores.items() if score is not None}
        if len(known) < len(scores) or not known:
            return None
        best = max(known, key=lambda speaker: known[speaker])
        others = [score for speaker, score in known.items() if speaker != best]
        if others and known[best] - max(others) <= self._margin + _EQUAL:
            return TIE
        return best


def _means(verdicts: Sequence[ViewVerdicts]) -> Scores:
    """Return the mean of each maxim and of all four; missing verdicts are left out."""
    means: Scores = {}
    for maxim in Maxim:
        given = [one.verdicts[maxim].score for one in verdicts if maxim not in one.unscored]
        known = [score for score in given if score is not None]
        means[maxim.value] = fmean(known) if known else None
    parts = [mean for mean in means.values() if mean is not None]
    return {GENERAL: fmean(parts) if len(parts) == len(Maxim) else None, **means}
