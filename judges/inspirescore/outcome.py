"""From findings to scores, a winner, and the details as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from judges.inspirescore.aggregation import (
    SUBJECTIVE,
    TOTALS,
    common,
    mean,
    objective,
    share,
    subjective,
    winner,
)
from judges.inspirescore.facts import Checked
from judges.inspirescore.fol import solver_is_here
from judges.inspirescore.logic import By, Formalised, agreement
from judges.inspirescore.options import InspireScoreOptions
from judges.inspirescore.responses import Response, Speaker
from judges.inspirescore.subjective import Scored
from touche_rad.contest import Outcome


@dataclass
class Findings:
    """The speakers, what they said, and what became of it."""

    speakers: tuple[Speaker, ...]
    responses: tuple[Response, ...]
    scored: Sequence[Scored] = ()
    checked: Sequence[Checked] = ()
    source_faults: tuple[str, ...] = ()
    formalised: Sequence[Formalised] = ()


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


@dataclass
class _Speakers:
    """Scores as they are added up, with why some are missing."""

    options: InspireScoreOptions
    findings: Findings
    reasons: list[str] = field(default_factory=list)

    def scores(self, speaker: Speaker) -> dict[str, float | None]:
        """Return a speaker's score in each dimension."""
        scores: dict[str, float | None] = {}
        for dimension in self.options.wanted:
            if dimension in SUBJECTIVE:
                scores[dimension] = self._judged(speaker, dimension)
            elif dimension == "fact_authenticity":
                scores[dimension] = self._authentic(speaker)
            else:
                scores[dimension] = self._valid(speaker)
        return scores

    def _judged(self, speaker: Speaker, dimension: str) -> float | None:
        rounds: list[float | None] = []
        for one in self.findings.scored:
            if speaker not in one.unit.speakers:
                continue
            if one.fault:
                self._missing(f"{one.unit.name.lower()} is not scored: {one.fault}")
            rounds.append(one.scores.get(speaker.name, {}).get(dimension))
        said_nothing = not rounds
        if self.options.empty == "zero" and self.options.subjective_scope == "round":
            silent = [
                one for one in self.findings.responses if one.speaker == speaker and one.empty
            ]
            rounds += [0.0] * len(silent)
        return self._or_empty(mean(rounds), said_nothing, speaker, "says nothing")

    def _authentic(self, speaker: Speaker) -> float | None:
        ours = [one for one in self.findings.checked if one.response.speaker == speaker]
        for one in ours:
            if one.fault:
                self._missing(f"the facts of {one.response.label} are not checked: {one.fault}")
        stated = any(one.facts or one.fault for one in ours)
        return self._or_empty(
            share(one.counted for one in ours), not stated, speaker, "states no fact"
        )

    def _valid(self, speaker: Speaker) -> float | None:
        by = self.options.logic
        ours = [one for one in self.findings.formalised if one.response.speaker == speaker]
        for one in ours:
            if one.fault and not one.verdicts(by):
                self._missing(f"the logic of {one.response.label} is not decided: {one.fault}")
        concluded = any(one.conclusions or one.fault for one in ours)
        return self._or_empty(
            share(one.counted(by) for one in ours), not concluded, speaker, "draws no conclusion"
        )

    def _or_empty(
        self, score: float | None, empty: bool, speaker: Speaker, why: str
    ) -> float | None:
        if not empty:
            return score
        self._missing(f"{speaker.label} {why}")
        return 0.0 if self.options.empty == "zero" else None

    def _missing(self, reason: str) -> None:
        if reason not in self.reasons:
            self.reasons.append(reason)


def outcome(findings: Findings, options: InspireScoreOptions, sources: Sequence[str]) -> Outcome:
    """Return the verdict: every figure here is computed, none is the model's."""
    made = _Speakers(options, findings)
    scores = {one.name: made.scores(one) for one in findings.speakers}
    compared = common(scores)
    total = TOTALS[options.total]
    rows = {
        name: {
            **its, "subjective": subjective(its), "objective": objective(its), "total": total(its),
        }
        for name, its in scores.items()
    }  # fmt: skip
    equal_terms = {name: total({one: its[one] for one in compared}) for name, its in scores.items()}
    won = winner(equal_terms, options.tolerance)
    reasons = [*made.reasons, *findings.source_faults]
    if 0 < len(compared) < len(options.wanted):
        reasons.append(f"the winner is by what all have: {', '.join(compared)}")
    if won is None:
        reasons.append("no dimension has a score for every speaker")
    return Outcome(
        winner=won,
        scores=rows,
        winners={**_winners(rows, options), "total": won},
        comment=_comment(findings, rows, options),
        reason="; ".join(reasons),
        details=details(findings, options, sources, compared),
    )


def _winners(
    rows: Mapping[str, Mapping[str, float | None]], options: InspireScoreOptions
) -> dict[str, str | None]:
    names = [*options.wanted, "subjective", "objective"]
    return {
        name: winner({speaker: row[name] for speaker, row in rows.items()}, options.tolerance)
        for name in names
    }


def _comment(
    findings: Findings, rows: Mapping[str, Mapping[str, float | None]], options: InspireScoreOptions
) -> str:
    totals = ", ".join(
        f"{one.label} {_figure(rows[one.name]['total'])}" for one in findings.speakers
    )
    told = f"InspireScore ({options.total.replace('_', ' ')}): {totals}."
    same, of = agreement(findings.formalised)
    if of:
        told += f" The model and the solver agree on {same} of {of} conclusions."
    return told


def _figure(score: Any) -> str:
    return "none" if score is None else f"{score:.3f}"
