"""The way to a verdict as JSON: every fact, formula and score that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from judges.inspirescore.aggregation import share
from judges.inspirescore.facts import Checked
from judges.inspirescore.findings import Findings
from judges.inspirescore.fol import solver_is_here
from judges.inspirescore.logic import By, Formalised, agreement
from judges.inspirescore.options import InspireScoreOptions
from judges.inspirescore.subjective import Scored


def details(
    findings: Findings,
    options: InspireScoreOptions,
    sources: Sequence[str],
    compared: Sequence[str],
) -> dict[str, Any]:
    """Return what was found on the way."""
    facts = {one.response: _facts(one) for one in findings.checked}
    logic = {one.response: _logic(one) for one in findings.formalised}
    return {
        "profile": options.profile,
        "total": options.total,
        "compared_on": list(compared),
        "evidence": {"sources": list(sources), "faults": list(findings.source_faults)},
        "logic": _agreement(findings, options),
        "subjective": [_scored(one) for one in findings.scored],
        "responses": [
            {
                "speaker": one.speaker.name, "round": one.round, "empty": one.empty, "cut": one.cut,
                **facts.get(one, {}), **logic.get(one, {}),
            }
            for one in findings.responses
        ],
    }  # fmt: skip


def _agreement(findings: Findings, options: InspireScoreOptions) -> dict[str, Any]:
    """Both words on logic side by side: the score by either, and how often they agree."""
    same, of = agreement(findings.formalised)
    told: dict[str, Any] = {
        "score_by": options.logic, "agree": same, "conclusions": of,
        "agreement": same / of if of else None,
        "model": _validity(findings, "model"), "solver": _validity(findings, "solver"),
    }  # fmt: skip
    if options.cross_check and not solver_is_here():
        told["solver_reason"] = "not installed: pip install 'touche-rad[logic]'"
    return told


def _validity(findings: Findings, by: By) -> dict[str, float | None]:
    return {
        speaker.name: share(
            one.counted(by) for one in findings.formalised if one.response.speaker == speaker
        )
        for speaker in findings.speakers
    }


def _scored(one: Scored) -> dict[str, Any]:
    told = {"unit": one.unit.key, "scores": {name: dict(its) for name, its in one.scores.items()}}
    return {**told, **one.told, **({"fault": one.fault} if one.fault else {})}


def _facts(one: Checked) -> dict[str, Any]:
    verdicts: Sequence[str | None] = one.verdicts or [None] * len(one.facts)
    return {
        "facts": [
            {"fact": fact, "verdict": verdict}
            for fact, verdict in zip(one.facts, verdicts, strict=True)
        ],
        "facts_left_off": one.left_off,
        "queries": list(one.queries),
        "evidence": [{"source": piece.source, "text": piece.text} for piece in one.evidence],
        **({"facts_fault": one.fault} if one.fault else {}),
    }


def _logic(one: Formalised) -> dict[str, Any]:
    conclusions = []
    for place, conclusion in enumerate(one.conclusions):
        told: dict[str, Any] = conclusion.model_dump()
        if one.inferred:
            told |= {"model": one.inferred[place].verdict, "steps": one.inferred[place].steps}
        if one.solved:
            told |= {"solver": one.solved[place].truth, "solver_reason": one.solved[place].reason}
        conclusions.append(told)
    return {
        "predicates": [predicate.model_dump() for predicate in one.predicates],
        "premises": [premise.model_dump() for premise in one.premises],
        "conclusions": conclusions,
        "logic_left_off": one.left_off,
        **({"plan": one.plan} if one.plan else {}),
        **({"logic_fault": one.fault} if one.fault else {}),
    }
