"""The panel `debgraph`: build the graph of a debate, score it, and return the outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from judges.debgraph._feedback import Detailed, Result, close_call, condensed, detailed
from judges.debgraph._options import Options as DebGraphOptions
from judges.debgraph._scores import (
    BySide,
    Points,
    Scorecard,
    factuality,
    persuasion,
    points,
    scorecard,
    structure,
)
from judges.debgraph._verdicts import Clash, Fact, check_facts, compare_pairs
from judges.debgraph.building import Building, background, build
from judges.debgraph.graph import SIDES, SceneGraph, as_json
from touche_rad.contest import TIE, Contest, Outcome, Side, leader
from touche_rad.models import Model, ModelError
from touche_rad.plugins import Services

Winner = Side | Literal["tie"] | None


@dataclass(frozen=True)
class _Scores:
    card: Scorecard
    facts: list[Fact]
    clashes: list[Clash]
    points: Mapping[Side, Points] | None


class DebGraph:
    """Draws a graph of the arguments and scores facts, persuasion, structure (DebGraph)."""

    needs: ClassVar = ("model",)
    Options = DebGraphOptions

    def __init__(self, options: DebGraphOptions, services: Services) -> None:
        self.options = options
        self.model: Model = services.need_model("the panel debgraph")
        self._seed = services.seed

    async def judge(self, contest: Contest) -> Outcome:
        """Judge the debate; a failed call costs only the part of the verdict that it was for."""
        options = self.options
        building = await build(self.model, options, contest)
        graph, details = building.graph, _details(building)
        if not len(graph):
            faults = [fault for report in building.reports for fault in report.faults]
            why = faults[0] if faults else "no argument was found in the speeches"
            return Outcome(winner=None, reason=f"there is no graph: {why}", details=details)
        scores = await self._scores(graph, background(contest, options))
        by_score, by_judge = scores.card.winner(options.margin), _last_winner(building)
        result = Result(by_score, "the scores")
        if options.decision == "dp":
            result = Result(by_judge, "the judge's last verdict")
        close = close_call(scores.card, options)
        findings: Detailed = {side: [] for side in SIDES}
        if options.feedback != "none":
            findings = detailed(
                graph, scores.facts, scores.clashes, scores.points, options.feedback_to
            )
        summary, fault = "", ""
        if options.feedback == "full":
            try:
                summary = await condensed(self.model, graph, scores.card, findings, result, close)
            except ModelError as error:
                fault = str(error)
        sides: dict[str, Winner] = {}
        for name, its in scores.card.components.items():
            side = leader(its)
            sides[name] = side
        sides |= {"sc": by_score, "dp": by_judge}
        winners = {name: _speaker(contest, side) for name, side in sides.items()}
        rows = {**scores.card.components, "total": scores.card.totals}
        details |= {
            "profile": options.profile,
            "decision": options.decision,
            "side": result.winner,
            "sides": sides,
            # The side of a team, whose speakers are not ranked.
            "by_score": {"general": winners["sc"] or by_score},
            **(
                {}
                if options.judge == "none"
                else {"by_verdict": {"general": winners["dp"] or by_judge}}
            ),
            **_score_details(scores),
            "feedback": {
                "detailed": {side: [one.record() for one in findings[side]] for side in SIDES},
                "condensed": summary,
                "close": close,
            },
        }
        return Outcome(
            winner=_speaker(contest, result.winner),
            scores={
                speaker: {name: its[side] for name, its in rows.items()}
                for speaker, side in contest.sides.items()
            },
            winners=winners,
            comment=" ".join(filter(None, (summary, close))),
            reason=self._reason(contest, building, scores.card, result.winner, fault),
            details=details,
        )

    async def _scores(self, graph: SceneGraph, info: str) -> _Scores:
        options = self.options
        components: dict[str, BySide] = {}
        facts: list[Fact] = []
        clashes: list[Clash] = []
        by_side = None
        if options.fact:
            facts = await check_facts(self.model, options, info, graph)
            components["fact"] = factuality(facts, options.fact_by)
        if options.persuasion:
            clashes = await compare_pairs(self.model, options, info, graph, self._seed)
            components["persuasion"] = persuasion(clashes, options.no_pairs)
        if options.structure:
            by_side = points(graph, options.kinds, options.rebutted)
            components["structure"] = structure(by_side, options.structure_by)
        reasons = {"fact": _first_fault(facts), "persuasion": _first_fault(clashes)}
        return _Scores(scorecard(components, options, reasons), facts, clashes, by_side)

    def _reason(
        self, contest: Contest, building: Building, card: Scorecard, winner: Winner, fault: str
    ) -> str:
        reasons = [f"{name} has no score: {why}" for name, why in card.missing.items()]
        steps = building.judge.steps
        if self.options.judge != "none" and _last_winner(building) is None:
            why = steps[-1].fault if steps else "it was not asked"
            reasons.append(f"the judge's last verdict is missing: {why}")
        for report in building.reports:
            if report.degraded:
                origin, others = report.speech.origin, len(report.faults) - 1
                reasons.append(
                    f"the {origin.side} speech of round {origin.round} is not in the graph: "
                    f"{report.faults[0]}{f' (and {others} more)' * (others > 0)}"
                )
        if winner in SIDES and _speaker(contest, winner) is None:
            reasons.append(f"the side {winner} won; DebGraph does not rank the speakers of a side")
        if fault:
            reasons.append(f"the condensed feedback is missing: {fault}")
        return "; ".join(reasons)


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


def _score_details(scores: _Scores) -> dict[str, Any]:
    """Return the verdicts that the scores are made of, as JSON."""
    pairs = [
        {
            "pro": clash.pair.pro,
            "con": clash.pair.con,
            "answering": sorted(clash.pair.answering),
            "winner": clash.winner,
            "feedback": clash.feedback,
            "fault": clash.fault,
        }
        for clash in scores.clashes
    ]
    return {
        "facts": [{**vars(fact), "score": fact.product} for fact in scores.facts],
        "pairs": pairs,
        "points": {side: its.record() for side, its in (scores.points or {}).items()},
    }


def _last_winner(building: Building) -> Winner:
    return building.judge.steps[-1].winner if building.judge.steps else None


def _speaker(contest: Contest, winner: Winner) -> str | None:
    """Return the speaker of the winning side; None if the side has several speakers."""
    if winner is None or winner == TIE:
        return winner
    speakers = contest.of(winner)
    return speakers[0] if len(speakers) == 1 else None


def _first_fault(verdicts: Sequence[Fact | Clash]) -> str:
    return next((verdict.fault for verdict in verdicts if verdict.fault), "")
