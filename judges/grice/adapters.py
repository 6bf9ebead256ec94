"""The panels of the papers as judges of the four maxims.

A maxim is judged by the dimension of a panel that fits it:

- `debatrix-grice`: all four maxims, with a column for each. The task's question and criterion for a
  maxim are the column's dimension (`columns.toml`). Debatrix leaves open what a column examines,
  and its memory of the debate is what Relation needs.
- `debgraph-grice`: Quantity, because its definition can be counted in the graph: the system's turn
  adds at least one argument, at most one that attacks the user and at most one that defends its own
  side. Relation: the turn rebuts something the user said; a claim on the motion alone scores half.
- `inspirescore-grice`: Quality by fact authenticity, with the cited arguments as the only evidence,
  which counts as true: a yes if all facts are true. If the response states no fact, by `rest`.
  Manner by the mean of argument clarity and arrangement. Relation by topic relevance, at most the
  score of the judge `rest`, because topic relevance ignores stance.

The other maxims are judged by the judge in the option `rest`, which needs no model by default.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, cast

import anyio
from pydantic import Field

from judges.debatrix.calls import JudgeCalls
from judges.debatrix.column import Column, ColumnResult
from judges.debatrix.dimensions import Dimension
from judges.debatrix.speeches import PreparedDebate
from judges.debgraph import DebGraph
from judges.debgraph.building import build
from judges.debgraph.graph import MOTION, SceneGraph
from judges.grice.sinai.judge import criteria
from judges.inspirescore import InspireScore
from judges.inspirescore.aggregation import mean
from touche_rad.calls import Calls, name_of
from touche_rad.contest import SYSTEM, Contest, Outcome, to_contest
from touche_rad.debate import Argument, Debate, Hit, Maxim, Verdict
from touche_rad.models import ModelError
from touche_rad.plugins import ArgumentIndex, Services, make
from touche_rad.plugins import Options as PluginOptions
from touche_rad.text import clean

SHOWN = 2
"""Cited arguments that the annotators saw."""
_LONGEST = 1_000
"""Characters of a cited argument."""


class _Adapter:
    """What two of the judges share: the model, and the judge for the other maxims."""

    needs: ClassVar = ("model",)

    class Options(PluginOptions):
        """The judge for the other maxims."""

        rest: str = Field("grounded", description="judge for the maxims that the panel lacks")

    def __init__(self, options: Options, services: Services) -> None:
        self.model = services.need_model("a panel as a judge")
        self.services = services
        self._rest: Any = make("judge", options.rest, services)
        self._call = Calls()

    async def _complete(
        self, debate: Debate, verdicts: Mapping[Maxim, Verdict]
    ) -> dict[Maxim, Verdict]:
        """Add the verdicts on the maxims that the panel has no dimension for."""
        others: Mapping[Maxim, Verdict] = await self._call(self._rest.judge, debate)
        return {
            maxim: verdicts.get(maxim)
            or Verdict(
                score=others[maxim].score,
                rationale=f"judge {name_of(self._rest)}: {others[maxim].rationale}",
            )
            for maxim in Maxim
        }


def _no_score(reason: str) -> Verdict:
    return Verdict(score=None, rationale=reason)


class DebatrixGrice:
    """Debatrix with the four maxims as its dimensions: a chronological column each."""

    needs: ClassVar = ("model",)

    def __init__(self, options: PluginOptions, services: Services) -> None:
        self.model = services.need_model("judge debatrix-grice")

    async def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge the last response."""
        if debate.last.response is None:
            return dict.fromkeys(Maxim, _no_score("the last turn has no response"))
        verdicts = await self._columns(debate)
        return {maxim: verdicts[maxim][-1] for maxim in Maxim}

    async def judge_all(self, debate: Debate) -> Sequence[Mapping[Maxim, Verdict]] | None:
        """Judge all responses in one pass, in which each column reads each turn once."""
        verdicts = await self._columns(debate)
        return [
            {maxim: verdicts[maxim][turn] for maxim in Maxim} for turn in range(len(debate.turns))
        ]

    async def _columns(self, debate: Debate) -> dict[Maxim, list[Verdict]]:
        prepared = PreparedDebate(_with_sources(debate))
        results: dict[Maxim, ColumnResult] = {}

        async def run(maxim: Maxim) -> None:
            dimension = Dimension(maxim.value, 1, 0, _looks_at(maxim), "")
            calls = JudgeCalls(self.model, prepared.header(dimension), prepared.codes)
            results[maxim] = ColumnResult(dimension)
            await Column(dimension, calls, "full").analyse_speeches(prepared, results[maxim])

        async with anyio.create_task_group() as group:
            for maxim in Maxim:
                group.start_soon(run, maxim)
        places = {entry.number: place for place, entry in enumerate(prepared.speeches)}
        responses = [
            places.get(number)
            for number, speech in enumerate(prepared.contest.speeches, 1)
            if speech.speaker == SYSTEM
        ]
        return {
            maxim: [_from_ten(result, place) for place in responses]
            for maxim, result in results.items()
        }


@cache
def _looks_at(maxim: Maxim) -> str:
    """Return what the column of a maxim examines: the official question and criterion."""
    table = tomllib.loads(files(__package__).joinpath("columns.toml").read_text("utf-8"))
    one = criteria()[maxim]
    text = str(table["looks_at"]).strip()
    return text.format(question=one.question, criterion=one.criterion)


def _from_ten(result: ColumnResult, place: int | None) -> Verdict:
    """Map a score from 1 to 10 to one from 0 to 1: a score of six and more is a yes."""
    if place is None:
        return _no_score("the response has no text to judge")
    mark = result.marks.get(place)
    if mark is None or mark.score is None:
        return _no_score("; ".join(result.reasons) or "the speech has no score")
    return Verdict(score=(mark.score - 1) / 9, rationale=mark.comment)


def _with_sources(debate: Debate) -> Contest:
    """Return the debate as speeches; the system's speeches contain the arguments they cite."""
    contest = to_contest(debate)
    responses = iter([turn.response for turn in debate.turns if turn.response is not None])
    speeches = []
    for speech in contest.speeches:
        if speech.speaker == SYSTEM:
            cited = [clean(one.text)[:_LONGEST] for one in next(responses).arguments[:SHOWN]]
            lines = [f"Retrieved argument {number}: {one}" for number, one in enumerate(cited, 1)]
            text = "\n".join([clean(speech.text) or "(says nothing)", *lines])
            speech = speech.model_copy(update={"text": text})
        speeches.append(speech)
    return contest.model_copy(update={"speeches": tuple(speeches)})


class DebGraphGrice(_Adapter):
    """DebGraph's scene graph: how many arguments a turn adds, and whether one rebuts the user."""

    async def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge the last response."""
        options = DebGraph.Options(judge="none", rounds="pro")
        try:
            building = await build(self.model, options, to_contest(debate))
        except ModelError as error:
            failed = _no_score(str(error))
            return await self._complete(debate, {Maxim.QUANTITY: failed, Maxim.RELATION: failed})
        graph = building.graph
        added = new_arguments(graph, len(debate.turns))
        own = {Maxim.QUANTITY: quantity(graph, added), Maxim.RELATION: relation(graph, added)}
        return await self._complete(debate, own)


def new_arguments(graph: SceneGraph, turn: int) -> set[int]:
    """Return the ids of the system's arguments in a turn, counted from 1."""
    return {node.id for node in graph.arguments("con") if node.origin.round == turn}


def quantity(graph: SceneGraph, added: set[int]) -> Verdict:
    """Score 1 for at least one argument, at most one attack and at most one defence."""
    edges = [edge for edge in graph.edges() if edge.source in added]
    attacking = {e.source for e in edges if e.relation.attacks and graph.side(e.target) == "pro"}
    defending = {
        e.source
        for e in edges
        if not e.relation.attacks and e.target not in added and graph.side(e.target) == "con"
    }
    good = bool(added) and len(attacking) <= 1 and len(defending) <= 1
    count = f"{len(added)} argument{'' if len(added) == 1 else 's'}"
    counts = f"{count}, {len(attacking)} attack the user's, {len(defending)} defend"
    return Verdict(score=float(good), rationale=counts)


def relation(graph: SceneGraph, added: set[int]) -> Verdict:
    """Score 1 for a rebuttal of the user, and half for a claim on the motion alone."""
    edges = [edge for edge in graph.edges() if edge.source in added]
    rebutted = [e.target for e in edges if e.relation.attacks and graph.side(e.target) == "pro"]
    if rebutted:
        return Verdict(score=1.0, rationale=f"rebuts the user's argument {rebutted[0]}")
    if any(edge.target == MOTION for edge in edges):
        return Verdict(score=0.5, rationale="argues against the motion, but not against the user")
    return Verdict(score=0.0, rationale="nothing in it answers the user")


class InspireScoreGrice(_Adapter):
    """InspireScore on one exchange: facts by the cited arguments, clarity, and topic."""

    async def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge the last response."""
        response = debate.last.response
        if response is None:
            return dict.fromkeys(Maxim, _no_score("the last turn has no response"))
        options = InspireScore.Options(
            dimensions="AC,AA,TR,FA",
            facts_from="index",
            cross_check=False,
            without_evidence="unknown",
            keep_quotations=True,
            given_evidence=True,
        )
        index = cast(ArgumentIndex, _CitedArguments(response.arguments[:SHOWN]))
        services = Services(index=index, seed=self.services.seed, model=self.model)
        exchange = to_contest(debate.model_copy(update={"turns": debate.turns[-1:]}))
        outcome = await InspireScore(options, services, facts_of=(SYSTEM,)).judge(exchange)
        marks = outcome.scores.get(SYSTEM, {})
        reason = outcome.reason or "no score"
        manner = mean([marks.get("argument_clarity"), marks.get("argument_arrangement")])
        own = {Maxim.MANNER: _verdict(manner, reason, "clarity and arrangement")}
        if _states_facts(outcome):
            own[Maxim.QUALITY] = supported(marks.get("fact_authenticity"), reason)
        verdicts = await self._complete(debate, own)
        relevance = marks.get("topic_relevance")
        if relevance is not None:
            rest = verdicts[Maxim.RELATION]
            score = min(relevance, rest.score if rest.score is not None else 1.0)
            rationale = f"topic relevance {relevance:.2f}; {rest.rationale}"
            verdicts[Maxim.RELATION] = Verdict(score=score, rationale=rationale)
        return verdicts


def supported(share: float | None, reason: str = "no score") -> Verdict:
    """Score 1 if all facts are true, and less than half otherwise: one added claim is a no."""
    verdict = _verdict(share, reason, "true facts")
    if share is None or share == 1:
        return verdict
    return verdict.model_copy(update={"score": share / 2})


def _states_facts(outcome: Outcome) -> bool:
    """Whether the response states facts, as far as known: after a failure it may."""
    return any(
        one["facts"] or "facts_fault" in one
        for one in outcome.details["responses"]
        if one["speaker"] == SYSTEM
    )


def _verdict(score: float | None, reason: str, what: str) -> Verdict:
    if score is None:
        return _no_score(reason)
    return Verdict(score=score, rationale=f"{what}: {score:.2f}")


class _CitedArguments:
    """An index that returns the cited arguments for every query."""

    def __init__(self, arguments: Sequence[Argument]) -> None:
        self._arguments = arguments

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        return [
            Hit(argument=one, score=1.0, rank=rank) for rank, one in enumerate(self._arguments[:k])
        ]
