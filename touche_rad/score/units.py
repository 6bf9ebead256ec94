"""Rows of single verdicts and queries, for tables of others: `score --per` and `touche_rad.frames`.

Turns count from 1, as on every page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from touche_rad.criteria import Criteria
from touche_rad.debate import Verdict, Verdicts

Row = Mapping[str, Any]


def turn_rows(place: Row, verdicts: Verdicts, criteria: Criteria, missing: str) -> Iterator[Row]:
    """Yield a row for the verdict on each criterion at a place.

    A verdict that is not there is a no without a score, and `missing` says why.
    """
    for criterion in criteria:
        verdict = verdicts.get(criterion.key, Verdict(rationale=missing))
        yield {
            **place,
            "criterion": criterion.key,
            "score": verdict.score,
            "answer": verdict.answer,
            "yes": verdict.yes if criterion.answers.kind == "yes-no" else None,
            "reason": verdict.rationale,
            "fallback": verdict.fallback,
        }


def debate_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Count the rows of turns by run, debate and criterion; scales and categories have no yes."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["run"], row["debate"], row["criterion"]), []).append(row)
    for turns in groups.values():
        counts: dict[str, Any] = {
            name: turns[0][name] for name in ("run", "debate", "claim", "criterion")
        }
        for name in ("yes", "agree"):
            if name in turns[0]:
                answers = [row[name] for row in turns if row[name] is not None]
                counts[name] = sum(answers)
                counts[f"{name}_of"] = len(answers)
        yield counts
