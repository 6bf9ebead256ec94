"""From findings to scores, a winner, and the details as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from judges.inspirescore._facts import CheckedFacts
from judges.inspirescore._logic import Formalised, agreement
from judges.inspirescore._options import Decider, InspireScoreOptions
from judges.inspirescore._responses import Response, Speaker
from judges.inspirescore._subjective import UnitScores
from judges.inspirescore.aggregation import (
    TOTALS,
    common,
    mean,
    objective,
    share,
    subjective,
)
from judges.inspirescore.fol import solver_is_installed
from touche_rad.contest import Outcome, leader

Row = Mapping[str, float | None]
"""A speaker's scores by dimension."""


@dataclass
class Findings:
    """The responses of a debate and what each check found."""

    speakers: tuple[Speaker, ...]
    responses: tuple[Response, ...]
    subjective: Sequence[UnitScores] = ()
    facts: Sequence[CheckedFacts] = ()
    search_faults: tuple[str, ...] = ()
    logic: Sequence[Formalised] = ()


def outcome(findings: Findings, options: InspireScoreOptions, sources: Sequence[str]) -> Outcome:
    """Return the verdict; every number is computed here, none is the model's."""
    scoring = _Scoring(options, findings)
    scores = {speaker.name: scoring.scores(speaker) for speaker in findings.speakers}
    compared = common(scores)
    total = TOTALS[options.total]
    rows = {
        name: {
            **its,
            "subjective": subjective(its),
            "objective": objective(its),
            "total": total(its),
        }
        for name, its in scores.items()
    }
    comparable = {name: total({one: its[one] for one in compared}) for name, its in scores.items()}
    won = leader(comparable, options.tolerance)
    reasons = [*scoring.reasons, *findings.search_faults]
    if 0 < len(compared) < len(options.selected):
        reasons.append(f"the winner is decided by the common dimensions: {', '.join(compared)}")
    if won is None:
        reasons.append("no dimension has a score for every speaker")
    winners = {
        name: leader({speaker: row[name] for speaker, row in rows.items()}, options.tolerance)
        for name in [*options.selected, "subjective", "objective"]
    }
    return Outcome(
        winner=won,
        scores=rows,
        winners={**winners, "total": won},
        comment=_comment(findings, rows, options),
        reason="; ".join(reasons),
        details=_details(findings, options, sources, compared),
    )


@dataclass
class _Scoring:
    """Computes each speaker's scores, and collects why some are missing."""

    options: InspireScoreOptions
    findings: Findings
    reasons: list[str] = field(default_factory=list)

    def scores(self, speaker: Speaker) -> dict[str, float | None]:
        """Return a speaker's score in each dimension."""
        special = {"fact_authenticity": self._facts, "logical_validity": self._logic}
        return {
            dimension: special[dimension](speaker)
            if dimension in special
            else self._subjective(speaker, dimension)
            for dimension in self.options.selected
        }

    def _subjective(self, speaker: Speaker, dimension: str) -> float | None:
        rounds: list[float | None] = []
        for one in self.findings.subjective:
            if speaker in one.unit.speakers:
                self._add_reason(one.fault, f"{one.unit.name.lower()} is not scored")
                rounds.append(one.scores.get(speaker.name, {}).get(dimension))
        silent = not rounds
        if self.options.empty == "zero" and self.options.subjective_scope == "round":
            own = [one for one in self.findings.responses if one.speaker == speaker]
            rounds += [0.0 for one in own if one.empty]
        return self._or_empty(mean(rounds), silent, speaker, "says nothing")

    def _facts(self, speaker: Speaker) -> float | None:
        own = [one for one in self.findings.facts if one.response.speaker == speaker]
        for one in own:
            self._add_reason(one.fault, f"the facts of {one.response.label} are not checked")
        silent = not any(one.facts or one.fault for one in own)
        return self._or_empty(share(one.counted for one in own), silent, speaker, "states no fact")

    def _logic(self, speaker: Speaker) -> float | None:
        by = self.options.logic
        own = [one for one in self.findings.logic if one.response.speaker == speaker]
        for one in own:
            fault = "" if one.verdicts(by) else one.fault
            self._add_reason(fault, f"the logic of {one.response.label} is not decided")
        silent = not any(one.conclusions or one.fault for one in own)
        score = share(one.counted(by) for one in own)
        return self._or_empty(score, silent, speaker, "draws no conclusion")

    def _or_empty(
        self, score: float | None, empty: bool, speaker: Speaker, why: str
    ) -> float | None:
        if not empty:
            return score
        self._add_reason(f"{speaker.label} {why}")
        return 0.0 if self.options.empty == "zero" else None

    def _add_reason(self, fault: str, what: str = "") -> None:
        """Add a fault, once, with what it is a fault of."""
        reason = f"{what}: {fault}" if what else fault
        if fault and reason not in self.reasons:
            self.reasons.append(reason)


def _comment(findings: Findings, rows: Mapping[str, Row], options: InspireScoreOptions) -> str:
    totals = []
    for speaker in findings.speakers:
        total = rows[speaker.name]["total"]
        totals.append(f"{speaker.label} {'none' if total is None else f'{total:.3f}'}")
    text = f"InspireScore ({options.total.replace('_', ' ')}): {', '.join(totals)}."
    same, of = agreement(findings.logic)
    return f"{text} The model and the solver agree on {same} of {of} conclusions." if of else text


def _details(
    findings: Findings,
    options: InspireScoreOptions,
    sources: Sequence[str],
    compared: Sequence[str],
) -> dict[str, Any]:
    """Return what the scores are computed from, as JSON."""
    facts = {one.response: _fact_details(one) for one in findings.facts}
    logic = {one.response: _logic_details(one) for one in findings.logic}
    return {
        "profile": options.profile,
        "total": options.total,
        "compared_on": list(compared),
        "evidence": {
            # Without a source, facts are judged from the model's own knowledge.
            "sources": list(sources) or ["the model's own knowledge"],
            "faults": list(findings.search_faults),
        },
        "logic": _agreement(findings, options),
        "subjective": [
            {
                "unit": one.unit.key,
                "scores": {who: dict(its) for who, its in one.scores.items()},
                **one.answer,
                **({"fault": one.fault} if one.fault else {}),
            }
            for one in findings.subjective
        ],
        "responses": [
            {
                "speaker": one.speaker.name,
                "round": one.round,
                "empty": one.empty,
                "cut": one.cut,
                **facts.get(one, {}),
                **logic.get(one, {}),
            }
            for one in findings.responses
        ],
    }


def _agreement(findings: Findings, options: InspireScoreOptions) -> dict[str, Any]:
    """Return logical validity by the model and by the solver, and how often they agree."""
    same, of = agreement(findings.logic)

    def scores(by: Decider) -> dict[str, float | None]:
        return {
            speaker.name: share(
                one.counted(by) for one in findings.logic if one.response.speaker == speaker
            )
            for speaker in findings.speakers
        }

    details: dict[str, Any] = {
        "score_by": options.logic,
        "agree": same,
        "conclusions": of,
        "agreement": same / of if of else None,
        "model": scores("model"),
        "solver": scores("solver"),
    }
    if options.cross_check and not solver_is_installed():
        details["solver_reason"] = "not installed: pip install 'touche-rad[logic]'"
    return details


def _fact_details(one: CheckedFacts) -> dict[str, Any]:
    records: list[dict[str, str | None]] = [
        {"fact": fact, "verdict": verdict} for fact, verdict in zip_longest(one.facts, one.verdicts)
    ]
    for record, reason in zip(records, one.reasons, strict=False):
        record["reason"] = reason
    return {
        "facts": records,
        "facts_left_off": one.left_off,
        "queries": list(one.queries),
        "evidence": [{"source": piece.source, "text": piece.text} for piece in one.evidence],
        **({"facts_fault": one.fault} if one.fault else {}),
    }


def _logic_details(one: Formalised) -> dict[str, Any]:
    conclusions = []
    for place, conclusion in enumerate(one.conclusions):
        record: dict[str, Any] = conclusion.model_dump()
        if one.inferred:
            record |= {"model": one.inferred[place].verdict, "steps": one.inferred[place].steps}
        if one.solved:
            record |= {"solver": one.solved[place].truth, "solver_reason": one.solved[place].reason}
        conclusions.append(record)
    return {
        "predicates": [predicate.model_dump() for predicate in one.predicates],
        "premises": [premise.model_dump() for premise in one.premises],
        "conclusions": conclusions,
        "logic_left_off": one.left_off,
        **({"plan": one.plan} if one.plan else {}),
        **({"logic_fault": one.fault} if one.fault else {}),
    }
