"""The reward of the last answer of a debate, as one number from a judge or a panel.

It ranks candidate answers and is used in training. The reward of a judge is its mean score; the
reward of a panel is the system's score minus the user's score, or else who won.
"""

from __future__ import annotations

from collections.abc import Mapping

from touche_rad.contest import SYSTEM, TIE, USER, Outcome, to_contest
from touche_rad.debate import Debate
from touche_rad.errors import OptionError, UserError, nearest
from touche_rad.plugins import LoadedJudge, LoadedPanel, Plugin, Services, registered
from touche_rad.runs.judging import judge_view
from touche_rad.runs.panels import judge_contest

WON = {SYSTEM: 1.0, TIE: 0.0, USER: -1.0}


def lead(outcome: Outcome) -> float | None:
    """Return the system's score minus the user's score."""
    system, user = (
        next((marks[name] for name in ("general", "total") if marks.get(name) is not None), None)
        for marks in (outcome.scores.get(SYSTEM, {}), outcome.scores.get(USER, {}))
    )
    if system is not None and user is not None:
        return system - user
    return WON.get(outcome.winner or "")


class Reward:
    """Rewards from a judge or a panel."""

    def __init__(self, name: str, services: Services, options: Mapping[str, str]) -> None:
        """Make the judge or the panel."""
        plugin = _plugin(name).configure(options)
        if missing := plugin.missing(services):
            raise UserError(f"{plugin.kind} {name} cannot judge here: {'; '.join(missing)}")
        self._criteria = services.criteria
        self._plugin = plugin.make(services)

    async def of(self, debate: Debate, *, deadline: float | None = None) -> float | None:
        """Return the reward of the last answer, or None if the judge fails or times out."""
        if isinstance(self._plugin, LoadedPanel):
            return lead(await judge_contest(self._plugin, to_contest(debate), deadline=deadline))
        judged = await judge_view(self._plugin, debate, self._criteria, deadline=deadline)
        scores = [score for score in map(judged.score, judged.verdicts) if score is not None]
        return sum(scores) / len(scores) if scores else None


def _plugin(name: str) -> Plugin[LoadedJudge] | Plugin[LoadedPanel]:
    judges, panels = registered("judge"), registered("panel")
    plugin: Plugin[LoadedJudge] | Plugin[LoadedPanel] | None
    plugin = judges.get(name) or panels.get(name)
    if plugin is None:
        names = [*judges, *panels]
        raise OptionError(f"there is no judge or panel {name!r}{nearest(name, names)}")
    return plugin
