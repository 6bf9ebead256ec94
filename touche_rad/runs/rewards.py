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
    marks: list[float] = []
    for side in (SYSTEM, USER):
        of_side = outcome.scores.get(side, {})
        mark = of_side.get("general")
        if mark is None:
            mark = of_side.get("total")
        if mark is None:
            return WON.get(outcome.winner or "")
        marks.append(mark)
    return marks[0] - marks[1]


class Reward:
    """Rewards from a judge or a panel."""

    def __init__(self, name: str, services: Services, options: Mapping[str, str]) -> None:
        """Make the judge or the panel."""
        plugins: Mapping[str, Plugin[LoadedJudge | LoadedPanel]]
        plugins = {**registered("panel"), **registered("judge")}
        if name not in plugins:
            raise OptionError(f"there is no judge or panel {name!r}{nearest(name, plugins)}")
        configured = plugins[name].configure(options)
        index = services.index is not None or configured.works_without_index
        missing = configured.plugin.missing(index=index, model=services.model is not None)
        if missing:
            kind = configured.plugin.kind
            raise UserError(f"{kind} {name} cannot judge here: {'; '.join(missing)}")
        self._criteria = services.criteria
        self._plugin = configured.make(services)

    async def of(self, debate: Debate, *, deadline: float | None = None) -> float | None:
        """Return the reward of the last answer, or None if the judge fails or times out."""
        if isinstance(self._plugin, LoadedPanel):
            return lead(await judge_contest(self._plugin, to_contest(debate), deadline=deadline))
        verdicts = await judge_view(self._plugin, debate, self._criteria, deadline=deadline)
        scores = [score for score in map(verdicts.score, verdicts.verdicts) if score is not None]
        return sum(scores) / len(scores) if scores else None
