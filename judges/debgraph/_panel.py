"""The panel `debgraph`: build the graph of a debate, score it, and return the outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal

from judges.debgraph._feedback import (
    SideFinding,
    close_call,
    condense,
    find_feedback,
)
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
from judges.debgraph.building import Building, build
from judges.debgraph.graph import as_json, quote
from touche_rad.contest import SIDES, TIE, Contest, Outcome, Side, leader
from touche_rad.models import Model, ModelError
from touche_rad.plugins import Services
from touche_rad.text import clean

Winner = Side | Literal["tie"] | None
LONGEST_BACKGROUND: Final = 4_000
"""Characters of background in a prompt, which each call repeats."""


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
        model = self.model

        # The graph; a debate without an argument has no winner.
        info = clean(contest.info)[:LONGEST_BACKGROUND] if options.background else ""
        info = quote(info) if info else ""
        building = await build(model, options, contest, info)
        graph = building.graph
        details = _details(building)
        if not len(graph):
            faults = [fault for report in building.reports for fault in report.faults]
            why = faults[0] if faults else "no argument was found in the speeches"
            return Outcome(winner=None, reason=f"there is no graph: {why}", details=details)

        # The scores; a component of no weight saves its calls.
        components: dict[str, BySide] = {}
        facts: list[Fact] = []
        clashes: list[Clash] = []
        by_side: dict[Side, Points] = {}
        if options.fact:
            facts = await check_facts(model, options, info, graph)
            components["fact"] = factuality(facts, options.fact_by)
        if options.persuasion:
            clashes = await compare_pairs(model, options, info, graph, self._seed)
            components["persuasion"] = persuasion(clashes, options.no_pairs)
        if options.structure:
            by_side = points(graph, options.kinds, options.rebutted)
            components["structure"] = structure(by_side, options.structure_by)
        reasons = {"fact": _first_fault(facts), "persuasion": _first_fault(clashes)}
        card = scorecard(components, options, reasons)

        by_score = leader(card.totals, options.margin)
        by_judge = building.verdict
        winner: Winner = by_score
        basis = "the scores"
        if options.decision == "dp":
            winner = by_judge
            basis = "the judge's last verdict"

        # The feedback for both sides.
        close = close_call(card, options)
        findings: dict[Side, list[SideFinding]] = {side: [] for side in SIDES}
        if options.feedback != "none":
            findings = find_feedback(graph, facts, clashes, by_side, options.feedback_to)
        summary = ""
        feedback_fault = ""
        if options.feedback == "full":
            decided = winner or "unknown"
            try:
                summary = await condense(
                    model, graph, card, findings, f"winner by {basis}: {decided}", close
                )
            except ModelError as error:
                feedback_fault = str(error)

        # The winners by component, by the scores and by the judge.
        sides: dict[str, Winner] = {}
        for name, both_scores in card.components.items():
            side = leader(both_scores)
            sides[name] = side
        sides |= {"sc": by_score, "dp": by_judge}
        winners = {name: _speaker(contest, side) for name, side in sides.items()}
        details |= {
            "profile": options.profile,
            "decision": options.decision,
            "side": winner,
            "sides": sides,
            # The side of a team, whose speakers are not ranked.
            "by_score": {"general": winners["sc"] or by_score},
        }
        if options.judge != "none":
            details["by_verdict"] = {"general": winners["dp"] or by_judge}
        details |= {
            "facts": [{**vars(fact), "score": fact.product} for fact in facts],
            "pairs": [
                {
                    **vars(clash.pair),
                    "answering": sorted(clash.pair.answering),
                    "winner": clash.winner,
                    "feedback": clash.feedback,
                    "fault": clash.fault,
                }
                for clash in clashes
            ],
            "points": {
                side: {**vars(counted), "total": counted.total} for side, counted in by_side.items()
            },
            "feedback": {
                "detailed": {side: list(map(vars, findings[side])) for side in SIDES},
                "condensed": summary,
                "close": close,
            },
        }
        missing = _missing(building, card, options)
        if winner in SIDES and _speaker(contest, winner) is None:
            missing.append(f"the side {winner} won; DebGraph does not rank the speakers of a side")
        if feedback_fault:
            missing.append(f"the condensed feedback is missing: {feedback_fault}")
        rows = {**card.components, "total": card.totals}
        scores = {}
        for speaker, own_side in contest.sides.items():
            scores[speaker] = {name: both_scores[own_side] for name, both_scores in rows.items()}
        return Outcome(
            winner=_speaker(contest, winner),
            scores=scores,
            winners=winners,
            comment=" ".join(filter(None, (summary, close))),
            reason="; ".join(missing),
            details=details,
        )


def _missing(building: Building, card: Scorecard, options: DebGraphOptions) -> list[str]:
    """Return what could not be scored, judged or read, and why."""
    missing = [f"{name} has no score: {why}" for name, why in card.missing.items()]
    if options.judge != "none" and building.verdict is None:
        why = building.steps[-1].fault if building.steps else "it was not asked"
        missing.append(f"the judge's last verdict is missing: {why}")
    for report in building.reports:
        if report.degraded:
            origin = report.speech.origin
            first, *others = report.faults
            rest = f" (and {len(others)} more)" if others else ""
            missing.append(
                f"the {origin.side} speech of round {origin.round} is not in the graph: "
                f"{first}{rest}"
            )
    return missing


def _details(building: Building) -> dict[str, Any]:
    """Return the graph and how it was built, as JSON."""
    return {
        "graph": as_json(building.graph),
        "timeline": [vars(step) for step in building.steps],
        "speeches": [
            {
                **vars(report.speech.origin),
                "added": report.added,
                "relations": dict(Counter(map(str, report.relations))),
                "asked": report.asked,
                "faults": report.faults,
                "degraded": report.degraded,
                "shortened": report.shortened,
                "explanation": report.explanation,
            }
            for report in building.reports
        ],
        "circles": building.graph.cycles(),
        "degraded": any(report.degraded for report in building.reports),
    }


def _speaker(contest: Contest, winner: Winner) -> str | None:
    """Return the speaker of the winning side; None if the side has several speakers."""
    if winner is None or winner == TIE:
        return winner
    speakers = contest.of(winner)
    return speakers[0] if len(speakers) == 1 else None


def _first_fault(verdicts: Sequence[Fact | Clash]) -> str:
    return next((verdict.fault for verdict in verdicts if verdict.fault), "")
