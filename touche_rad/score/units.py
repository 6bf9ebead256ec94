"""Rows of single verdicts and queries, for tables of others: `score --per` and `touche_rad.frames`.

Turns count from 1, as on every page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from touche_rad.criteria import Criteria
from touche_rad.debate import Debate, Verdicts

Row = Mapping[str, Any]


def verdict_rows(
    run: str, debate: Debate, verdicts: Sequence[Verdicts], criteria: Criteria
) -> Iterator[Row]:
    """Yield a row for each verdict on a debate."""
    # Verdicts are on the turns with a response; of a debate without texts, on the first ones.
    answered = [number for number, turn in enumerate(debate.turns, 1) if turn.response]
    is_on_responses = debate.turns and criteria.unit == "response"
    turns = answered if is_on_responses else range(1, len(verdicts) + 1)
    for turn, of_turn in zip(turns, verdicts, strict=False):
        for criterion in criteria:
            key = criterion.key
            verdict = of_turn.get(key)
            if verdict is not None:
                yield {
                    "run": run,
                    "debate": debate.id,
                    "claim": debate.claim or debate.thesis,
                    "turn": turn,
                    "criterion": key,
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
        counts: dict[str, Any] = {}
        for name in ("run", "debate", "claim", "criterion"):
            if name in turns[0]:
                counts[name] = turns[0][name]
        for name in ("yes", "agree"):
            answers = [row[name] for row in turns if row.get(name) is not None]
            counts[name] = sum(answers)
            counts[f"{name}_of"] = len(answers)
        yield counts
