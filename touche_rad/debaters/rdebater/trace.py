"""All that was made on the way to an answer, for whoever reviews it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from touche_rad.debaters.rdebater.budget import Allowance
from touche_rad.debaters.rdebater.logic import Logic
from touche_rad.debaters.rdebater.recall import Recall, Remembered
from touche_rad.debaters.rdebater.revision import Attempt, Revised


def traced(
    logic: Logic, recall: Recall, made: Revised | None, allowance: Allowance, notes: Sequence[str]
) -> dict[str, Any]:
    """Return the intermediate results as JSON."""
    return {
        "calls": allowance.spent,
        "accepted": bool(made and made.accepted),
        "stop": made.stop if made else "quotation",
        "predicates": [one.raw for one in logic.predicates],
        "chain": logic.chain,
        "flaws": list(logic.flaws),
        "keywords": list(recall.keywords),
        "coarse": recall.coarse,
        "evidence": [_remembered(one) for one in recall.evidence],
        "means": {scheme.value: mean for scheme, mean in (recall.means or {}).items()},
        "scheme_priors": [scheme.value for scheme in recall.schemes],
        "evidence_priors": [one.argument.id for one in recall.prior],
        "attempts": [_attempt(one) for one in made.attempts] if made else [],
        "notes": [*notes, *recall.notes],
    }


def _remembered(one: Remembered) -> dict[str, Any]:
    marks = one.annotation.model_dump(mode="json")["marks"] if one.annotation else None
    return {"id": one.argument.id, "likeness": round(one.likeness, 4), "schemes": marks}


def _attempt(one: Attempt) -> dict[str, Any]:
    found = one.verdict
    return {
        "utterance": one.candidate.text,
        "summary": one.summary.model_dump() if one.summary else None,
        "criteria": dict(found.criteria) if found else None,
        "feedback": found.told if found else "",
    }
