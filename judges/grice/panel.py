"""The panel `grice`: a judge of single responses scores each speech; the higher mean wins."""

from __future__ import annotations

import asyncio
from statistics import fmean
from typing import Annotated, ClassVar, Final

from touche_rad.contest import Contest, Outcome, leader
from touche_rad.plugins import NamesPlugins, Services, make
from touche_rad.plugins import Options as PluginOptions
from touche_rad.records import Share
from touche_rad.runs.judging import judge_view
from touche_rad.text import excerpt
from touche_rad.users.contest_views import task_view

GENERAL: Final = "general"


class GricePanel:
    """Judges each side's speeches by the four maxims; the higher mean wins. Needs no model."""

    uses: ClassVar = ("index", "model")

    class Options(PluginOptions):
        """The judge of the speeches, and the margin of a tie."""

        judge: Annotated[str, NamesPlugins(("judge",))] = "grounded"
        """the judge, as NAME or NAME(KEY=VALUE,...)"""
        margin: Share = 0.02
        """largest difference of the means that is a tie"""

    def __init__(self, options: Options, services: Services) -> None:
        self._judge = make("judge", options.judge, services)
        self._margin = options.margin
        self._criteria = services.criteria

    async def judge(self, contest: Contest) -> Outcome:
        """Judge every speech as the response to the speeches before it."""
        scores: dict[str, dict[str, float | None]] = {}
        reasons: list[str] = []
        for speaker in contest.speakers:
            views = task_view(contest, speaker).views()
            judgements = await asyncio.gather(
                *(judge_view(self._judge, view, self._criteria) for view in views)
            )
            # The mean of each criterion and of all; missing verdicts are left out.
            means: dict[str, float | None] = {}
            for key in self._criteria.keys:
                of_turns = [
                    view.verdicts[key].score for view in judgements if key not in view.unscored
                ]
                valid = [score for score in of_turns if score is not None]
                means[key] = fmean(valid) if valid else None
            parts = [mean for mean in means.values() if mean is not None]
            general = fmean(parts) if len(parts) == len(means) else None
            scores[speaker] = {GENERAL: general, **means}
            if general is None:
                lost = [reason for view in judgements for reason in view.unscored.values()]
                reason = lost[0] if lost else "nothing was said"
                reasons.append(excerpt(f"{speaker}: {reason}", 300))
        winners = {}
        for name in (GENERAL, *self._criteria.keys):
            by_speaker = {speaker: means[name] for speaker, means in scores.items()}
            winners[name] = leader(by_speaker, self._margin)
        return Outcome(
            winner=winners[GENERAL], scores=scores, winners=winners, reason="; ".join(reasons)
        )
