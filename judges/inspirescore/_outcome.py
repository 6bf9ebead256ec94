"""From findings to scores, a winner, and the details as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from judges.inspirescore._facts import CheckedFacts
from judges.inspirescore._logic import Formalised, agreement
from judges.inspirescore._options import Decider, InspireScoreOptions
from judges.inspirescore._responses import LabelledSpeaker, RoundResponse
from judges.inspirescore._subjective import UnitScores
from judges.inspirescore.aggregation import (
    TOTALS,
    Scores,
    common,
    mean,
    objective,
    share,
    subjective,
)
from judges.inspirescore.fol import solver_is_installed
from touche_rad.contest import Outcome, leader

_CHECKED: Final = {
    "fact_authenticity": ("the facts of {} are not checked", "states no fact"),
    "logical_validity": ("the logic of {} is not decided", "draws no conclusion"),
}
"""How a reason names a failed check of a response, and a speaker without anything to check."""


class Checked(NamedTuple):
    """The facts or the conclusions of a response, and the verdicts on them."""

    response: RoundResponse
    items: Sequence[object]
    verdicts: Sequence[str]
    fault: str


@dataclass
class Findings:
    """The responses of a debate and what each check found."""

    speakers: Sequence[LabelledSpeaker]
    responses: Sequence[RoundResponse]
    subjective: Sequence[UnitScores] = ()
    facts: Sequence[CheckedFacts] = ()
    search_faults: Sequence[str] = ()
    logic: Sequence[Formalised] = ()

    def checked(self, by: Decider) -> dict[str, list[Checked]]:
        """Return what was checked of each response, by dimension; `by` decides the logic."""
        return {
            "fact_authenticity": [
                Checked(facts.response, facts.facts, facts.verdicts, facts.fault)
                for facts in self.facts
            ],
            "logical_validity": [
                Checked(logic.response, logic.conclusions, logic.verdicts(by), logic.fault)
                for logic in self.logic
            ],
        }


def outcome(findings: Findings, options: InspireScoreOptions, sources: Sequence[str]) -> Outcome:
    """Return the verdict; every number is computed here, none is the model's."""
    scores: dict[str, Scores] = {}
    reasons: dict[str, None] = {}
    """Why scores are missing, each once, in the order of the speakers and dimensions."""
    for speaker in findings.speakers:
        scores[speaker.name], missing = _score(speaker, findings, options)
        reasons |= dict.fromkeys(missing)
    total = TOTALS[options.total]
    rows = {
        name: {
            **by_dimension,
            "subjective": subjective(by_dimension),
            "objective": objective(by_dimension),
            "total": total(by_dimension),
        }
        for name, by_dimension in scores.items()
    }

    # The totals that decide are of the dimensions that all speakers have a score in.
    compared = common(scores)
    comparable = {}
    for name, by_dimension in scores.items():
        comparable[name] = total({dimension: by_dimension[dimension] for dimension in compared})
    winner = leader(comparable, options.tolerance)
    winners = {}
    for column in (*options.selected, "subjective", "objective"):
        in_column = {name: row[column] for name, row in rows.items()}
        winners[column] = leader(in_column, options.tolerance)
    explanation = [*reasons, *findings.search_faults]
    if 0 < len(compared) < len(options.selected):
        explanation.append(f"the winner is decided by the common dimensions: {', '.join(compared)}")
    if winner is None:
        explanation.append("no dimension has a score for every speaker")

    totals = []
    for speaker in findings.speakers:
        figure = rows[speaker.name]["total"]
        totals.append(
            f"{speaker.label} none" if figure is None else f"{speaker.label} {figure:.3f}"
        )
    comment = f"InspireScore ({options.total.replace('_', ' ')}): {', '.join(totals)}."
    same, decided = agreement(findings.logic)
    if decided:
        comment += f" The model and the solver agree on {same} of {decided} conclusions."
    return Outcome(
        winner=winner,
        scores=rows,
        winners={**winners, "total": winner},
        comment=comment,
        reason="; ".join(explanation),
        details=_details(findings, options, sources, compared),
    )


def _score(
    speaker: LabelledSpeaker, findings: Findings, options: InspireScoreOptions
) -> tuple[dict[str, float | None], list[str]]:
    """Return a speaker's score in each dimension, and why some are missing."""
    scores: dict[str, float | None] = {}
    reasons: list[str] = []
    checked = findings.checked(options.logic)
    for dimension in options.selected:
        if dimension in checked:
            failure, why = _CHECKED[dimension]
            parts = [part for part in checked[dimension] if part.response.speaker == speaker]
            for part in parts:
                if part.fault and not part.verdicts:
                    reasons.append(f"{failure.format(part.response.label)}: {part.fault}")
            score = share(part.verdicts for part in parts)
            silent = not any(part.items or part.fault for part in parts)
        else:
            marks: list[float | None] = []
            for scored in findings.subjective:
                if speaker in scored.unit.speakers:
                    marks.append(scored.scores.get(speaker.name, {}).get(dimension))
                    if scored.fault:
                        reasons.append(f"{scored.unit.name.lower()} is not scored: {scored.fault}")
            silent = not marks
            if options.empty == "zero" and options.subjective_scope == "round":
                spoken = [text for text in findings.responses if text.speaker == speaker]
                marks += [0.0 for response in spoken if response.empty]
            score = mean(marks)
            why = "says nothing"
        if silent:
            reasons.append(f"{speaker.label} {why}")
            score = 0.0 if options.empty == "zero" else None
        scores[dimension] = score
    return scores, reasons


def _details(
    findings: Findings,
    options: InspireScoreOptions,
    sources: Sequence[str],
    compared: Sequence[str],
) -> dict[str, Any]:
    """Return what the scores are computed from, as JSON."""
    scores: dict[RoundResponse, dict[str, float | None]] = defaultdict(dict)
    for scored in findings.subjective:
        for response in scored.unit.responses:
            scores[response].update(scored.scores.get(response.speaker.name, {}))
    for dimension, parts in findings.checked(options.logic).items():
        for part in parts:
            scores[part.response][dimension] = share([part.verdicts])
    same, decided = agreement(findings.logic)
    logic: dict[str, Any] = {
        "score_by": options.logic,
        "agree": same,
        "conclusions": decided,
        "agreement": same / decided if decided else None,
    }
    deciders: tuple[Decider, ...] = ("model", "solver")
    for decider in deciders:
        logic[decider] = {}
        for speaker in findings.speakers:
            spoken = [text for text in findings.logic if text.response.speaker == speaker]
            logic[decider][speaker.name] = share(text.verdicts(decider) for text in spoken)
    if options.cross_check and not solver_is_installed():
        logic["solver_reason"] = "not installed: pip install 'touche-rad[logic]'"
    of_response = {facts.response: _fact_details(facts) for facts in findings.facts}
    for formalised in findings.logic:
        of_response.setdefault(formalised.response, {}).update(_logic_details(formalised))
    return {
        "profile": options.profile,
        "total": options.total,
        "compared_on": compared,
        "evidence": {
            # Without a source, facts are judged from the model's own knowledge.
            "sources": sources or ["the model's own knowledge"],
            "faults": findings.search_faults,
        },
        "logic": logic,
        "subjective": [
            {
                "unit": scored.unit.key,
                "scores": scored.scores,
                **scored.answer,
                **({"fault": scored.fault} if scored.fault else {}),
            }
            for scored in findings.subjective
        ],
        "responses": [
            {
                "speaker": response.speaker.name,
                "round": response.round,
                "empty": response.empty,
                "cut": response.cut,
                "scores": scores[response],
                **of_response.get(response, {}),
            }
            for response in findings.responses
        ],
    }


def _fact_details(checked: CheckedFacts) -> dict[str, Any]:
    facts: list[dict[str, str | None]] = [
        {"fact": fact, "verdict": verdict}
        for fact, verdict in zip_longest(checked.facts, checked.verdicts)
    ]
    for record, reason in zip(facts, checked.reasons, strict=False):
        record["reason"] = reason
    return {
        "facts": facts,
        "facts_left_off": checked.left_off,
        "queries": checked.queries,
        "evidence": [{"source": piece.source, "text": piece.text} for piece in checked.evidence],
        **({"facts_fault": checked.fault} if checked.fault else {}),
    }


def _logic_details(logic: Formalised) -> dict[str, Any]:
    conclusions: list[dict[str, Any]] = [part.model_dump() for part in logic.conclusions]
    for record, conclusion in zip(conclusions, logic.inferred, strict=False):
        record |= {"model": conclusion.verdict, "steps": conclusion.steps}
    for record, decision in zip(conclusions, logic.solved, strict=False):
        record |= {"solver": decision.truth, "solver_reason": decision.reason}
    return {
        "predicates": [predicate.model_dump() for predicate in logic.predicates],
        "premises": [premise.model_dump() for premise in logic.premises],
        "conclusions": conclusions,
        "logic_left_off": logic.left_off,
        **({"plan": logic.plan} if logic.plan else {}),
        **({"logic_fault": logic.fault} if logic.fault else {}),
    }
