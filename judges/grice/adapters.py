"""The panels of the papers as judges of the four maxims, where they have something to say.

Which dimension speaks for which maxim, and why:

- `debatrix-grice`, all four: a column each, with the task's own question as its dimension. Debatrix
  leaves open what a column looks at, and its memory of the talk is what Relation needs.
- `debgraph-grice`, Quantity: what the system's turn adds to the graph is at least one argument, at
  most one that attacks the user and at most one that defends its own: the definition itself.
  Relation: a rebuttal of something the user said; a claim against the motion alone is half of it.
- `inspirescore-grice`, Quality: fact authenticity with the cited arguments as the only evidence.
  Relation: topic relevance, bounded by the model-free judge's verdict, since it knows no stance.
  Manner: the mean of argument clarity and arrangement.

A maxim that a panel has no dimension for is the model-free judge's (`grounded`), and says so. The
graph has no place for clarity, and "deduced from the arguments" is no relation in it; emotional
appeal and logical validity say nothing about a maxim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import anyio

from judges.debatrix.column import Column, Found
from judges.debatrix.dimensions import Dimension
from judges.debatrix.questions import Mark, Questions
from judges.debatrix.speeches import Case
from judges.debgraph.building import build
from judges.debgraph.graph import MOTION, SceneGraph
from judges.debgraph.options import Options as GraphOptions
from judges.grice.sinai.examples import questions
from judges.inspirescore import InspireScore
from judges.inspirescore.options import InspireScoreOptions
from touche_rad.contest import SYSTEM, USER, Contest, Speech, to_contest
from touche_rad.debate import Argument, Debate, Hit, Maxim, Response, Verdict
from touche_rad.models import ModelError
from touche_rad.plugins import ArgumentIndex, Options, Services, find
from touche_rad.text import clean

SHOWN = 2
"""How many of the cited arguments annotators saw."""
_LONGEST = 1_000


class _Adapter:
    """What all three share: the maxims that the panel is silent on."""

    needs: ClassVar = ("model",)

    def __init__(self, options: Options, services: Services) -> None:
        self.model = services.need_model("a panel as a judge")
        self.services = services
        self._free: Any = find("judge", "grounded").make(services)

    async def _rest(self, debate: Debate, said: Mapping[Maxim, Verdict]) -> dict[Maxim, Verdict]:
        """Add what the panel does not speak for."""
        if len(said) == len(Maxim):
            return {maxim: said[maxim] for maxim in Maxim}
        seen = await anyio.to_thread.run_sync(self._free.judge, debate)
        return {maxim: said.get(maxim) or _model_free(seen[maxim]) for maxim in Maxim}


def _model_free(verdict: Verdict) -> Verdict:
    told = f"model-free: {verdict.rationale}"
    return Verdict(score=verdict.score, rationale=told)


def _none(reason: str) -> Verdict:
    return Verdict(score=None, rationale=reason)


class DebatrixGrice(_Adapter):
    """Debatrix with the four maxims as its dimensions: a chronological column each."""

    async def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge the last response."""
        if debate.last.response is None:
            return dict.fromkeys(Maxim, _none("the last turn has no response"))
        verdicts = await self._columns(debate)
        return {maxim: verdicts[maxim][-1] for maxim in Maxim}

    async def judge_all(self, debate: Debate) -> Sequence[Mapping[Maxim, Verdict]] | None:
        """Judge all responses in one pass: a column hears each turn once."""
        verdicts = await self._columns(debate)
        return [
            {maxim: verdicts[maxim][turn] for maxim in Maxim} for turn in range(len(debate.turns))
        ]

    async def _columns(self, debate: Debate) -> dict[Maxim, list[Verdict]]:
        case = Case(_with_sources(debate))
        found: dict[Maxim, Found] = {}

        async def hear(maxim: Maxim) -> None:
            dimension = Dimension(maxim.value, 1, 0, questions()[maxim], "")
            codes = tuple(one.code for one in case.debaters)
            asked = Questions(self.model, case.header(dimension), codes)
            found[maxim] = heard = Found(dimension)
            await Column(dimension, asked, "full").listen(case, heard)

        async with anyio.create_task_group() as group:
            for maxim in Maxim:
                group.start_soon(hear, maxim)
        places = {entry.number: place for place, entry in enumerate(case.speeches)}
        answered = [
            places.get(number)
            for number, speech in enumerate(case.contest.speeches, 1)
            if speech.speaker == SYSTEM
        ]
        return {
            maxim: [_from_ten(one, place) for place in answered] for maxim, one in found.items()
        }


def _from_ten(found: Found, place: int | None) -> Verdict:
    """A score from 1 to 10 on the line from 0 to 1: six and more are a yes."""
    if place is None:
        return _none("the response says nothing that could be judged")
    mark: Mark | None = found.marks.get(place)
    if mark is None or mark.score is None:
        return _none("; ".join(found.reasons) or "the speech has no score")
    return Verdict(score=(mark.score - 1) / 9, rationale=mark.comment)


def _with_sources(debate: Debate) -> Contest:
    """The debate as speeches, the system's with the arguments that they cite."""
    whole = to_contest(debate)
    answers = iter([turn.response for turn in debate.turns if turn.response is not None])
    speeches = [
        one
        if one.speaker == USER
        else Speech(speaker=SYSTEM, text=_cited(one.text, next(answers)) or "(says nothing)")
        for one in whole.speeches
    ]
    return whole.model_copy(update={"speeches": tuple(speeches)})


def _cited(said: str, response: Response) -> str:
    sources = [clean(one.text)[:_LONGEST] for one in response.arguments[:SHOWN]]
    told = [f"Retrieved argument {number}: {text}" for number, text in enumerate(sources, 1)]
    return "\n".join([clean(said) or "(says nothing)", *told])


class DebGraphGrice(_Adapter):
    """DebGraph's scene graph: how many arguments a turn adds, and whether one rebuts the user."""

    async def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge the last response."""
        options = find("panel", "debgraph").parse({"judge": "none", "rounds": "pro"})
        try:
            built = await build(self.model, cast(GraphOptions, options), to_contest(debate))
        except ModelError as error:
            lost = _none(str(error))
            return await self._rest(debate, {Maxim.QUANTITY: lost, Maxim.RELATION: lost})
        graph = built.graph
        added = newest(graph, len(debate.turns))
        return await self._rest(
            debate, {Maxim.QUANTITY: quantity(graph, added), Maxim.RELATION: relation(graph, added)}
        )


def newest(graph: SceneGraph, turn: int) -> set[int]:
    """Return the system's arguments of a turn, counted from 1."""
    return {node.id for node in graph.arguments("con") if node.stamp.round == turn}


def quantity(graph: SceneGraph, added: set[int]) -> Verdict:
    """At least one argument, at most one that attacks and at most one that defends."""
    edges = [edge for edge in graph.edges() if edge.source in added]
    attacking = {e.source for e in edges if e.relation.attacks and graph.side(e.target) == "pro"}
    earlier = {
        e.source for e in edges
        if not e.relation.attacks and e.target not in added and graph.side(e.target) == "con"
    }  # fmt: skip
    good = bool(added) and len(attacking) <= 1 and len(earlier) <= 1
    told = f"{len(added)} arguments, {len(attacking)} attack the user's, {len(earlier)} defend"
    return Verdict(score=float(good), rationale=told)


def relation(graph: SceneGraph, added: set[int]) -> Verdict:
    """A rebuttal of what the user said; of the motion alone, half of a yes."""
    targets = [edge.target for edge in graph.edges() if edge.source in added]
    rebuts = [
        edge.target for edge in graph.edges()
        if edge.source in added and edge.relation.attacks and graph.side(edge.target) == "pro"
    ]  # fmt: skip
    if rebuts:
        return Verdict(score=1.0, rationale=f"rebuts the user's argument {rebuts[0]}")
    if MOTION in targets:
        return Verdict(score=0.5, rationale="argues against the motion, and answers nothing")
    return Verdict(score=0.0, rationale="nothing in it answers the user")


class InspireScoreGrice(_Adapter):
    """InspireScore on one exchange: facts by the cited arguments, clarity, and topic."""

    async def judge(self, debate: Debate) -> dict[Maxim, Verdict]:
        """Judge the last response."""
        response = debate.last.response
        if response is None:
            return dict.fromkeys(Maxim, _none("the last turn has no response"))
        options = find("panel", "inspirescore").parse({
            "dimensions": "AC,AA,TR,FA", "facts_from": "index", "cross_check": "false",
            "without_evidence": "unknown",
        })  # fmt: skip
        index = cast(ArgumentIndex, _Only(response.arguments))
        services = Services(index=index, seed=self.services.seed, model=self.model)
        panel = InspireScore(cast(InspireScoreOptions, options), services)
        outcome = await panel.judge(_exchange(debate))
        marks = outcome.scores.get(SYSTEM, {})
        reason = outcome.reason or "no score"
        said = {
            Maxim.QUALITY: _share(marks.get("fact_authenticity"), reason, "facts that hold"),
            Maxim.MANNER: _share(
                _mean(marks.get("argument_clarity"), marks.get("argument_arrangement")), reason,
                "clarity and arrangement",
            ),
        }  # fmt: skip
        verdicts = await self._rest(debate, said)
        relevance = marks.get("topic_relevance")
        if relevance is not None:
            free = verdicts[Maxim.RELATION]
            bounded = min(relevance, free.score if free.score is not None else 1.0)
            told = f"topic relevance {relevance:.2f}; {free.rationale}"
            verdicts[Maxim.RELATION] = Verdict(score=bounded, rationale=told)
        return verdicts


def _exchange(debate: Debate) -> Contest:
    return to_contest(debate.model_copy(update={"turns": debate.turns[-1:]}))


def _share(score: float | None, reason: str, what: str) -> Verdict:
    if score is None:
        return _none(reason)
    return Verdict(score=score, rationale=f"{what}: {score:.2f}")


def _mean(*scores: float | None) -> float | None:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else None


class _Only:
    """Nothing but the cited arguments, whatever is searched for."""

    def __init__(self, arguments: Sequence[Argument]) -> None:
        self._arguments = arguments

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        return [
            Hit(argument=one, score=1.0, rank=rank) for rank, one in enumerate(self._arguments[:k])
        ]
