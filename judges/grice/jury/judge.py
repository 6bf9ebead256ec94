"""The judge `jury`: other judges vote; their scores are combined.

The members are asked at the same time, those of the option `dear` only after the others and only
where these are unsure. Before a file is judged, `plan` lets the other members judge all of its
responses, and chooses the least certain ones within the budget. The choice depends on the file
only, so it is the same with any number of workers and after an interruption.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import anyio
from pydantic import Field, field_validator

from judges.grice.jury.weights import Votes, Weights, distance, mean_score
from judges.grice.weights_file import load_weights
from touche_rad.debate import Debate, Maxim, Verdict
from touche_rad.errors import OptionError, UserError
from touche_rad.models.context import current_context
from touche_rad.plugins import Judge, JudgesAll, Services, find, parse_plugin, split_plugins
from touche_rad.plugins import Options as PluginOptions
from touche_rad.runs.judging import ViewVerdicts, judge_turns, judge_view, view_key

VOTES: Final = "votes"
"""The field of a verdict with the score of each member that was asked; null if it failed."""
ABSTAINED: Final = "abstained"
"""The field of a verdict on which the jury abstains."""
_BUDGET: Final = re.compile(r"(\d+(?:\.\d+)?)\s*%|(\d+)|")
_DEFAULT: Final = "grounded,length"


class Jury:
    """Combines the verdicts of several judges, with equal or learned weights."""

    uses: ClassVar = ("model",)

    class Options(PluginOptions):
        """Options."""

        of: str = Field(
            "",
            description="judges, cheapest first, separated by commas: NAME or "
            f"NAME(KEY=VALUE,...); empty: those of the weights file, or {_DEFAULT}",
        )
        weights: Path | None = Field(
            None, description="weights file written by touche-rad train jury; none: the mean"
        )
        margin: float = Field(
            0.0, ge=0, le=0.5, description="abstain if the score is nearer to 0.5 than this"
        )
        dear: int = Field(
            0, ge=0, description="the last N judges are asked only where the others are unsure"
        )
        unsure: float = Field(
            0.25,
            ge=0,
            le=0.5,
            description="unsure: the score on a maxim is nearer to 0.5 than this",
        )
        budget: str = Field(
            "",
            description="most responses on which dear judges are asked: a number or 30%; "
            "the least certain ones of a file; empty: no limit",
        )

        @field_validator("budget")
        @classmethod
        def _share_or_number(cls, given: str) -> str:
            match = _BUDGET.fullmatch(given.strip())
            if match is None or (match[1] and float(match[1]) > 100):
                raise ValueError("expected a number of responses, or a share such as 30%")
            return given.strip()

    def __init__(self, options: Options, services: Services) -> None:
        self.options = options
        self._weights = None
        if options.weights is not None:
            self._weights = load_weights(options.weights, Weights, "touche-rad train jury")
        names = _names(options, self._weights)
        if options.dear >= len(names):
            raise OptionError(
                f"judge jury: dear={options.dear}: expected fewer than the {len(names)} judges"
            )
        self._members = {name: _make(name, services) for name in names}
        first = len(names) - options.dear
        self._first, self._dear = names[:first], names[first:]
        self._planned: set[bytes] | None = None
        self._first_votes: dict[bytes, Votes] = {}

    async def plan(self, debates: Iterable[Sequence[Debate]]) -> None:
        """Choose the responses of a file on which the dear judges are asked.

        Args:
            debates: The views of all responses of each debate.
        """
        if not self._dear or not self.options.budget:
            return
        distances: dict[bytes, float] = {}
        for views in debates:
            for view, votes in zip(views, await self._ask_first(views), strict=True):
                key = view_key(view)
                self._first_votes[key] = votes
                distances[key] = self._distance(votes)
        unsure = [key for key in distances if distances[key] < self.options.unsure]
        unsure.sort(key=lambda key: distances[key])  # equal ones stay in the order of the file
        self._planned = set(unsure[: self._most(len(distances))])

    @property
    def members(self) -> tuple[str, ...]:
        """The members as plugins with options, in the order in which they are asked."""
        return tuple(self._members)

    async def votes(self, view: Debate) -> Votes:
        """Ask the members that judge every response; all of them without the option `dear`."""
        return (await self._ask_first([view]))[0]

    async def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge the last response."""
        votes = self._first_votes.get(view_key(debate)) or await self.votes(debate)
        return await self._decide(debate, votes)

    async def judge_all(self, debate: Debate) -> Sequence[Mapping[Maxim, Verdict]] | None:
        """Judge all responses at once, if one of the members can."""
        if not any(isinstance(self._members[name], JudgesAll) for name in self._first):
            return None
        views = [debate.view(turn) for turn in range(len(debate.turns))]
        asked = await self._ask_first(views)
        return [await self._decide(view, votes) for view, votes in zip(views, asked, strict=True)]

    async def _ask_first(self, views: Sequence[Debate]) -> list[Votes]:
        """Ask the members that judge every response."""
        given: dict[str, Sequence[ViewVerdicts]] = {}

        async def ask(name: str) -> None:
            given[name] = await judge_turns(self._members[name], views, deadline=_left())

        async with anyio.create_task_group() as group:
            for name in self._first:
                group.start_soon(ask, name)
        return [
            {name: _scores(given[name][turn]) for name in self._first} for turn in range(len(views))
        ]

    async def _decide(self, view: Debate, votes: Votes) -> dict[Maxim, Verdict]:
        """Ask the dear judges while the others are unsure, and combine all votes."""
        votes = dict(votes)
        for name in self._dear if self._may_ask(view) else ():
            if self._distance(votes) >= self.options.unsure:
                break
            votes[name] = _scores(await judge_view(self._members[name], view, deadline=_left()))
        return {maxim: self._verdict(votes, maxim) for maxim in Maxim}

    def _may_ask(self, view: Debate) -> bool:
        """Whether the budget allows to ask the dear judges about this response.

        A single response, as in a server, has no file; then a share is drawn from its text.
        """
        if self._planned is not None:
            return view_key(view) in self._planned
        share = _share(self.options.budget)
        return share is None or int.from_bytes(view_key(view)[:4], "big") < share * 2**32

    def _most(self, turns: int) -> int:
        share = _share(self.options.budget)
        return int(self.options.budget) if share is None else int(share * turns + 1e-9)

    def _distance(self, votes: Votes) -> float:
        """Return the distance from 0.5 of the least certain maxim; 0 without any vote."""
        if all(given is None for given in votes.values()):
            return 0.0
        return distance([self._score(votes, maxim) for maxim in Maxim])

    def _score(self, votes: Votes, maxim: Maxim) -> float:
        return (self._weights.score if self._weights else mean_score)(votes, maxim)

    def _verdict(self, votes: Votes, maxim: Maxim) -> Verdict:
        shown = [
            f"{name} {'gave no verdict' if given is None else format(given[maxim], '.2f')}"
            for name, given in votes.items()
        ]
        shown += [f"{name} not asked" for name in self._members if name not in votes]
        extra: dict[str, Any] = {
            VOTES: {name: given and round(given[maxim], 6) for name, given in votes.items()}
        }
        if all(given is None for given in votes.values()):
            return Verdict(score=None, rationale="no judge of the jury gave a verdict", extra=extra)
        score = self._score(votes, maxim)
        if abs(score - 0.5) < self.options.margin:
            extra[ABSTAINED] = True
            shown.append(f"the jury abstains (within {self.options.margin:g} of 0.5)")
        return Verdict(score=score, rationale="; ".join(shown), extra=extra)


def _names(options: Jury.Options, weights: Weights | None) -> list[str]:
    """Return the members; those of a weights file must be the same."""
    names = split_plugins(options.of)
    if weights is not None and names and names != list(weights.members):
        raise OptionError(
            f"judge jury: {options.weights} has weights for {','.join(weights.members)}, not for "
            f"{options.of}: leave out the option of, or run touche-rad train jury"
        )
    names = list(weights.members) if weights is not None else names or split_plugins(_DEFAULT)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OptionError(f"judge jury: {twice[0]} is named twice")
    return names


def _make(text: str, services: Services) -> Judge:
    name, given = parse_plugin(text)
    if name == "jury":
        raise OptionError("judge jury: of: a jury cannot contain a jury; name other judges")
    plugin = find("judge", name)
    missing = plugin.missing(index=services.index is not None, model=services.model is not None)
    if missing:
        raise UserError(f"judge jury: judge {name} needs {' and '.join(missing)}")
    made: Judge = plugin.make(services, given)
    return made


def _scores(given: ViewVerdicts) -> dict[Maxim, float] | None:
    """Return a member's scores, or None if it left out any."""
    if given.unscored:
        return None
    return {maxim: float(given.verdicts[maxim].score or 0.0) for maxim in Maxim}


def _share(budget: str) -> float | None:
    match = _BUDGET.fullmatch(budget)
    return float(match[1]) / 100 if match and match[1] else None


def _left() -> float | None:
    """Return the time that is left for the verdict, for each try of a member."""
    end = current_context().deadline
    return None if end is None else max(0.1, end - time.monotonic())
