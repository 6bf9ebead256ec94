"""The panel `debgraph`: build the graph of a debate, score it, and return the outcome."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from judges.debgraph.building import Building, background, build
from judges.debgraph.export import as_json, from_json, graphml
from judges.debgraph.feedback import Detailed, Result, close_call, condensed, detailed
from judges.debgraph.graph import SIDES, SceneGraph
from judges.debgraph.options import Options as DebGraphOptions
from judges.debgraph.scores import (
    BySide,
    Points,
    Scorecard,
    factuality,
    larger,
    persuasion,
    points,
    scorecard,
    structure,
)
from judges.debgraph.verdicts import Clash, Fact, check_facts, compare_pairs
from touche_rad.contest import TIE, Contest, Outcome, Side
from touche_rad.models import Model, ModelError
from touche_rad.plugins import Services

Winner = Side | Literal["tie"] | None


@dataclass(frozen=True)
class _Scores:
    card: Scorecard
    facts: list[Fact]
    clashes: list[Clash]
    points: Mapping[Side, Points] | None


@dataclass(frozen=True)
class _Feedback:
    detailed: Detailed
    summary: str = ""
    fault: str = ""
    """Why there is no summary."""


class DebGraph:
    """Draws a graph of the arguments and scores facts, persuasion, structure (DebGraph)."""

    needs: ClassVar = ("model",)
    Options = DebGraphOptions

    def __init__(self, options: DebGraphOptions, services: Services) -> None:
        self.options = options
        self.model: Model = services.need_model("the panel debgraph")
        self._seed = services.seed

    @staticmethod
    def exports(outcome: Outcome) -> dict[str, str]:
        """Return the graph of an outcome as JSON and GraphML."""
        graph = _graph_of(outcome)
        if graph is None:
            return {}
        text = json.dumps(as_json(graph), ensure_ascii=False, indent=2)
        return {"json": f"{text}\n", "graphml": graphml(graph)}

    async def judge(self, contest: Contest) -> Outcome:
        """Judge the debate; a failed call costs only the part of the verdict that it was for."""
        building = await build(self.model, self.options, contest)
        if not len(building.graph):
            return Outcome(winner=None, reason=_why_empty(building), details=_details(building))
        scores = await self._scores(building.graph, background(contest, self.options))
        result = self._result(building, scores.card)
        feedback = await self._feedback(building.graph, scores, result)
        return self._outcome(contest, building, scores, feedback, result.winner)

    async def _scores(self, graph: SceneGraph, info: str) -> _Scores:
        options = self.options
        components: dict[str, BySide] = {}
        facts: list[Fact] = []
        clashes: list[Clash] = []
        counted = None
        if options.fact:
            facts = await check_facts(self.model, options, info, graph)
            components["fact"] = factuality(facts, options.fact_by)
        if options.persuasion:
            clashes = await compare_pairs(self.model, options, info, graph, self._seed)
            components["persuasion"] = persuasion(clashes, options.no_pairs)
        if options.structure:
            counted = points(graph, options.kinds, options.rebutted)
            components["structure"] = structure(counted, options.structure_by)
        reasons = {"fact": _first_fault(facts), "persuasion": _first_fault(clashes)}
        return _Scores(scorecard(components, options, reasons), facts, clashes, counted)

    def _result(self, building: Building, card: Scorecard) -> Result:
        """Return the winner by the option `decision`."""
        if self.options.decision == "dp":
            return Result(_last_winner(building), "the judge's last verdict")
        return Result(card.winner(self.options.margin), "the scores")

    async def _feedback(self, graph: SceneGraph, scores: _Scores, result: Result) -> _Feedback:
        if self.options.feedback == "none":
            return _Feedback({side: [] for side in SIDES})
        findings = detailed(
            graph, scores.facts, scores.clashes, scores.points, self.options.feedback_to
        )
        if self.options.feedback == "detailed":
            return _Feedback(findings)
        try:
            close = close_call(scores.card, self.options)
            summary = await condensed(self.model, graph, scores.card, findings, result, close)
        except ModelError as error:
            return _Feedback(findings, fault=str(error))
        return _Feedback(findings, summary)

    def _outcome(
        self,
        contest: Contest,
        building: Building,
        scores: _Scores,
        feedback: _Feedback,
        winner: Winner,
    ) -> Outcome:
        card, judges = scores.card, self.options.judge != "none"
        by_score, by_judge = card.winner(self.options.margin), _last_winner(building)
        sides: dict[str, Winner] = {
            **{name: larger(its) for name, its in card.components.items()},
            "sc": by_score,
            "dp": by_judge,
        }
        rows: dict[str, BySide] = {**card.components, "total": card.totals}
        close = close_call(card, self.options)
        verdict = {"by_verdict": {"general": _speaker(contest, by_judge)}} if judges else {}
        return Outcome(
            winner=_speaker(contest, winner),
            scores={
                speaker: {name: its[side] for name, its in rows.items()}
                for speaker, side in contest.sides.items()
            },
            winners={name: _speaker(contest, won) for name, won in sides.items()},
            comment=" ".join(part for part in (feedback.summary, close) if part),
            reason=self._reason(contest, building, card, winner, feedback.fault),
            details={
                **_details(building),
                "profile": self.options.profile,
                "decision": self.options.decision,
                "side": winner,
                "sides": sides,
                "by_score": {"general": _speaker(contest, by_score)},
                **verdict,
                "facts": [{**vars(fact), "score": fact.product} for fact in scores.facts],
                "pairs": [
                    {
                        "pro": clash.pair.pro,
                        "con": clash.pair.con,
                        "answering": sorted(clash.pair.answering),
                        "winner": clash.winner,
                        "feedback": clash.feedback,
                        "fault": clash.fault,
                    }
                    for clash in scores.clashes
                ],
                "points": {
                    side: {
                        "claims": list(its.claims),
                        "supported": list(its.supported),
                        "rebuttals": its.rebuttals,
                        "struck": list(its.struck),
                        "total": its.total,
                    }
                    for side, its in (scores.points or {}).items()
                },
                "feedback": {
                    "detailed": {
                        side: [one.record() for one in feedback.detailed[side]] for side in SIDES
                    },
                    "condensed": feedback.summary,
                    "close": close,
                },
            },
        )

    def _reason(
        self, contest: Contest, building: Building, card: Scorecard, winner: Winner, fault: str
    ) -> str:
        reasons = [f"{name} has no score: {why}" for name, why in card.missing.items()]
        steps = building.judge.steps
        if self.options.judge != "none" and (not steps or steps[-1].winner is None):
            why = steps[-1].fault if steps else "it was not asked"
            reasons.append(f"the judge's last verdict is missing: {why}")
        for report in building.reports:
            if report.degraded:
                origin = report.speech.origin
                reasons.append(
                    f"the {origin.side} speech of round {origin.round} is not in the graph: "
                    f"{'; '.join(report.faults)}"
                )
        if winner in SIDES and _speaker(contest, winner) is None:
            reasons.append(f"the side {winner} won; DebGraph does not rank the speakers of a side")
        if fault:
            reasons.append(f"the condensed feedback is missing: {fault}")
        return "; ".join(reasons)


def _graph_of(outcome: Outcome) -> SceneGraph | None:
    """Return the graph in an outcome's details, if there is one."""
    graph = outcome.details.get("graph")
    return from_json(graph) if isinstance(graph, Mapping) and graph.get("nodes") else None


def _details(building: Building) -> dict[str, Any]:
    """Return the graph and how it was built, as JSON."""
    return {
        "graph": as_json(building.graph),
        "timeline": [vars(step) for step in building.judge.steps],
        "speeches": [
            {
                **vars(report.speech.origin),
                "added": list(report.added),
                "relations": dict(Counter(relation.value for relation in report.relations)),
                "asked": report.asked,
                "faults": list(report.faults),
                "degraded": report.degraded,
                "shortened": report.shortened,
                "explanation": report.explanation,
            }
            for report in building.reports
        ],
        "circles": building.graph.cycles(),
        "degraded": any(report.degraded for report in building.reports),
    }


def _last_winner(building: Building) -> Winner:
    """Return the winner in the judge's last verdict."""
    return building.judge.steps[-1].winner if building.judge.steps else None


def _speaker(contest: Contest, winner: Winner) -> str | None:
    """Return the speaker of the winning side; None if the side has several speakers."""
    if winner is None or winner == TIE:
        return winner
    speakers = contest.of(winner)
    return speakers[0] if len(speakers) == 1 else None


def _why_empty(building: Building) -> str:
    faults = [fault for report in building.reports for fault in report.faults]
    return f"there is no graph: {faults[0] if faults else 'no argument was found in the speeches'}"


def _first_fault(verdicts: Sequence[Fact | Clash]) -> str:
    return next((verdict.fault for verdict in verdicts if verdict.fault), "")
