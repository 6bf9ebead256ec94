"""The panel `debgraph`: a contest comes in, a graph is grown and scored, a verdict goes out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from judges.debgraph.building import Building, background, build
from judges.debgraph.drawing import figure, script, style
from judges.debgraph.export import (
    as_json,
    clash_record,
    dot,
    fact_record,
    from_json,
    graphml,
    points_record,
    traced,
)
from judges.debgraph.feedback import Detailed, close_call, condensed, detailed
from judges.debgraph.graph import SIDES
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
from judges.debgraph.verdicts import Clash, Comparison, Fact, FactCheck
from touche_rad.contest import TIE, Contest, Outcome, Side
from touche_rad.models import Model, ModelError
from touche_rad.plugins import Services

Won = Side | Literal["tie"] | None


@dataclass
class _Scored:
    card: Scorecard
    facts: list[Fact] = field(default_factory=list)
    clashes: list[Clash] = field(default_factory=list)
    points: Mapping[Side, Points] | None = None


class DebGraph:
    """Draws a graph of the arguments and scores facts, persuasion, structure (DebGraph)."""

    needs: ClassVar = ("model",)
    Options = DebGraphOptions

    def __init__(self, options: DebGraphOptions, services: Services) -> None:
        """Take the model; nothing is asked yet."""
        self.options = options
        self.model: Model = services.need_model("the panel debgraph")
        self._seed = services.seed

    @staticmethod
    def drawing(outcome: Outcome, contest: Contest | None) -> str:
        """Draw the graph that an outcome holds, for the report."""
        graph = outcome.details.get("graph")
        if not isinstance(graph, Mapping) or not graph.get("nodes"):
            return ""
        names: dict[Side, str] = {}
        if contest is not None:
            names = {side: speaker for speaker, side in contest.sides.items()}
        return figure(graph, names)

    @staticmethod
    def drawing_style() -> str:
        """How sides and relations are told apart."""
        return style()

    @staticmethod
    def drawing_script() -> str:
        """The script by which a reader follows an argument."""
        return script()

    @staticmethod
    def exports(outcome: Outcome) -> dict[str, str]:
        """Return the graph that an outcome holds for other programs."""
        graph = outcome.details.get("graph")
        if not isinstance(graph, Mapping) or not graph.get("nodes"):
            return {}
        whole = from_json(graph)
        told = json.dumps(as_json(whole), ensure_ascii=False, indent=2)
        return {"json": f"{told}\n", "graphml": graphml(whole), "dot": dot(whole)}

    async def judge(self, contest: Contest) -> Outcome:
        """Say who won and why; a call that fails costs what it was for and no more."""
        building = await build(self.model, self.options, contest)
        if not len(building.graph):
            return Outcome(winner=None, reason=_why_empty(building), details=traced(building))
        scored = await self._scored(building, background(contest))
        found = await self._feedback(building, scored)
        return self._outcome(contest, building, scored, *found)

    async def _scored(self, building: Building, info: str) -> _Scored:
        graph, options = building.graph, self.options
        components: dict[str, BySide] = {}
        scored = _Scored(Scorecard({}, dict.fromkeys(SIDES, None)))
        if options.fact:
            scored.facts = await FactCheck(self.model, options, info).check(graph)
            components["fact"] = factuality(scored.facts, options.fact_by)
        if options.persuasion:
            comparison = Comparison(self.model, options, info, self._seed)
            scored.clashes = await comparison.compare(graph)
            components["persuasion"] = persuasion(scored.clashes, options.no_pairs)
        if options.structure:
            scored.points = points(graph, options.kinds, options.rebutted)
            components["structure"] = structure(scored.points, options.structure_by)
        reasons = {
            "fact": _first_fault(scored.facts), "persuasion": _first_fault(scored.clashes)
        }  # fmt: skip
        scored.card = scorecard(components, options, reasons)
        return scored

    async def _feedback(self, building: Building, scored: _Scored) -> tuple[Detailed, str, str]:
        """Return the findings, all of it in short, and why that could not be had."""
        if self.options.feedback == "none":
            return {side: [] for side in SIDES}, "", ""
        found = detailed(
            building.graph, scored.facts, scored.clashes, scored.points, self.options.feedback_to
        )
        if self.options.feedback == "detailed":
            return found, "", ""
        try:
            told = await condensed(self.model, self.options, building.graph, scored.card, found)
        except ModelError as error:
            return found, "", str(error)
        return found, told, ""

    def _outcome(
        self, contest: Contest, building: Building, scored: _Scored, found: Detailed, summary: str,
        no_summary: str,
    ) -> Outcome:  # fmt: skip
        card = scored.card
        by_score, by_judge = card.winner(self.options.margin), _direct(building)
        winner = by_judge if self.options.decision == "dp" else by_score
        winners: dict[str, Won] = {
            **{name: larger(its) for name, its in card.components.items()},
            "sc": by_score, "dp": by_judge,
        }  # fmt: skip
        rows: dict[str, BySide] = {**card.components, "total": card.totals}
        close = close_call(card, self.options)
        return Outcome(
            winner=_speaker(contest, winner),
            scores={
                speaker: {name: its[side] for name, its in rows.items()}
                for speaker, side in contest.sides.items()
            },
            winners={name: _speaker(contest, won) for name, won in winners.items()},
            comment=" ".join(part for part in (summary, close) if part),
            reason=self._reason(contest, building, card, winner, no_summary),
            details={
                **traced(building),
                "profile": self.options.profile, "decision": self.options.decision,
                "side": winner, "sides": winners,
                "by_score": {"general": _speaker(contest, by_score)},
                **({"by_verdict": {"general": _speaker(contest, by_judge)}}
                   if self.options.judge != "none" else {}),
                "facts": [fact_record(one) for one in scored.facts],
                "pairs": [clash_record(one) for one in scored.clashes],
                "points": points_record(scored.points),
                "feedback": {
                    "detailed": {side: [one.record() for one in found[side]] for side in SIDES},
                    "condensed": summary, "close": close,
                },
            },
        )  # fmt: skip

    def _reason(
        self, contest: Contest, building: Building, card: Scorecard, winner: Won, no_summary: str
    ) -> str:
        told = [f"{name} could not be had: {why}" for name, why in card.missing.items()]
        steps = building.judge.steps
        if self.options.judge != "none" and (not steps or steps[-1].winner is None):
            why = steps[-1].fault if steps else "it was not asked"
            told.append(f"the judge's last word could not be had: {why}")
        told += [
            f"the {read.heard.stamp.side} speech of round {read.heard.stamp.round} is not in the "
            f"graph: {'; '.join(read.faults)}"
            for read in building.reads
            if read.degraded
        ]
        if winner in SIDES and _speaker(contest, winner) is None:
            told.append(f"the side {winner} won, and DebGraph tells no speakers of a side apart")
        if no_summary:
            told.append(f"the condensed feedback could not be had: {no_summary}")
        return "; ".join(told)


def _direct(building: Building) -> Won:
    """The judge's last word."""
    return building.judge.steps[-1].winner if building.judge.steps else None


def _speaker(contest: Contest, won: Won) -> str | None:
    """The speaker of a side that has one; a side of several has no one winner."""
    if won is None or won == TIE:
        return won
    speakers = contest.of(won)
    return speakers[0] if len(speakers) == 1 else None


def _why_empty(building: Building) -> str:
    faults = [fault for read in building.reads for fault in read.faults]
    return f"there is no graph: {faults[0] if faults else 'no argument was found in the speeches'}"


def _first_fault(verdicts: list[Fact] | list[Clash]) -> str:
    return next((one.fault for one in verdicts if one.fault), "")
