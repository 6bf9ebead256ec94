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
    """Count the rows of turns by run, debate and criterion; with labels, also those that agree."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["run"], row["debate"], row["criterion"]), []).append(row)
    for of_group in groups.values():
        names = ("run", "debate", "claim", "criterion")
        counted: dict[str, Any] = {key: of_group[0][key] for key in names if key in of_group[0]}
        counted["turns"] = len(of_group)
        counted["yes"] = None
        if of_group[0]["yes"] is not None:  # not of scales and categories
            counted["yes"] = sum(row["yes"] for row in of_group)
        if "label" in of_group[0]:
            labelled = [row for row in of_group if row["label"] is not None]
            counted["labelled"] = len(labelled)
            counted["agree"] = sum(row["agree"] for row in labelled)
        yield counted
