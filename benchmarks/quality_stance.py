"""How often stance backends find which of an argument's two claims its text attacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.quality_pipelines import short_name
from retrieval._tasks import split_of
from retrieval.stance import StanceBackend
from retrieval.stance._language_model import ModelStance
from retrieval.stance.backend import backend
from touche_rad.debate import Argument

DRAWS = 1000
ORIGINS = ("attacks", "supports")
"""The claims that people may have written; the other one is its generated negation."""
HEAD = (
    "| backend | arguments | accuracy | people wrote the attacked claim | the supported one |\n"
    "| --- | --- | --- | --- | --- |"
)


def stance_table(
    title: str, arguments: Sequence[Argument], split: str | None, names: Sequence[str]
) -> str:
    """Return the accuracy of each backend as a Markdown table."""
    asked = [
        one
        for one in arguments
        if one.text.strip() and one.attacks.strip() and one.supports.strip()
        if not split or split_of(one.topic) == split
    ]
    lines = [f"\n**{title}**, {len(asked)} arguments, chance .500\n", HEAD]
    for name in dict.fromkeys(names):
        decisions = zip(asked, _correct(backend(name), asked), strict=True)
        lines.append(row(short_name(name), list(decisions)))
    return "\n".join(lines) + "\n"


def _correct(one: StanceBackend, part: Sequence[Argument]) -> Iterator[float]:
    """Yield 1, 0 or .5 for each argument.

    Most backends compare the argument's text with its two claims. A language model is asked about
    each claim separately and sees only the argument's text.
    """
    for each in part:
        if isinstance(one, ModelStance):
            (attacked,) = one.stances(each.attacks, [each])
            (supported,) = one.stances(each.supports, [each])
            yield (1 + np.sign(attacked.against - supported.against)) / 2
        else:
            (stance,) = one.stances(each.text, [each])
            yield (1 - np.sign(stance.against)) / 2


def row(name: str, found: Sequence[tuple[Argument, float]]) -> str:
    """Return a row of the table."""
    parts = [[right for one, right in found if one.original == origin] for origin in ORIGINS]
    shares = " | ".join(f"{np.mean(part):.3f}" if part else "–" for part in parts)
    return f"| {name} | {len(found)} | {_with_interval(found)} | {shares} |"


def _with_interval(found: Sequence[tuple[Argument, float]]) -> str:
    if not found:
        return "–"
    by_topic: dict[str, list[float]] = {}
    for one, right in found:
        by_topic.setdefault(one.topic, []).append(right)
    sums = np.array([(sum(part), len(part)) for part in by_topic.values()], dtype=float)
    chance = np.random.default_rng(0)
    drawn: Any = sums[chance.integers(len(sums), size=(DRAWS, len(sums)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
    return f"{np.mean([right for _, right in found]):.3f} ({low:.3f}-{high:.3f})"
