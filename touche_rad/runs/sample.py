"""Estimate the model calls of a run: process a few units with example answers, and extrapolate.

Every plugin can be estimated, because its own code decides what it sends. Nothing is written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from touche_rad import files
from touche_rad.contest import Contest
from touche_rad.debate import Debate
from touche_rad.errors import InputError, WorkError
from touche_rad.files.outputs import Cost
from touche_rad.frozen import frozen
from touche_rad.models.sending import Usage
from touche_rad.runs.fallbacks import FailureLog
from touche_rad.runs.work import Work

SAMPLE: Final = 4
"""Units that are processed for an estimate."""


@frozen
class Sample:
    """The costs of a whole run, estimated from a few of its units."""

    units: int
    sampled: int
    calls: float
    prompt_tokens: float
    answer_tokens: float
    fallbacks: int = 0
    """Results of a fallback: the plugin did not accept the example answers."""


async def sample(
    work: Work[Any], usage: Usage | None, *, bad: files.BadLines | None = None
) -> Sample:
    """Process some units of a work, and estimate the cost of all of them."""
    if not work.source.is_file():
        raise InputError(work.source, "expected a file to read")
    sizes = [_size(unit) for unit in work.units(bad or files.BadLines())]
    if not sizes:
        raise InputError(work.source, "expected at least one debate, found none")
    count = min(len(sizes), SAMPLE)
    numbers = [place * len(sizes) // count for place in range(count)]  # spread over the input
    fallbacks = 0
    failures = FailureLog()
    usage = usage or Usage()
    costs: list[Cost] = []
    for number, unit in enumerate(work.units(files.BadLines(skip=True))):
        if number not in numbers:
            continue
        try:
            done = await work.do(unit, failures)
        except Exception as error:
            raise WorkError(
                f"dry run: number {number + 1} failed: {type(error).__name__}: {error}"
            ) from error
        fallbacks += sum(fallback.count for fallback in done.fallbacks)
        costs.append(replace(usage.total))
    of_first = sizes[numbers[0]]
    others = sum(sizes[number] for number in numbers) - of_first
    # A plugin may prepare itself with the first unit, so this one is counted once.
    factor = (sum(sizes) - of_first) / others if others else 0.0

    def whole(first: int, last: int) -> float:
        """Return what all units cost, by what the first one and the sample cost."""
        return first + factor * (last - first)

    first = costs[0]
    last = costs[-1]
    return Sample(
        units=len(sizes),
        sampled=count,
        calls=whole(first.calls, last.calls),
        prompt_tokens=whole(first.prompt_tokens, last.prompt_tokens),
        answer_tokens=whole(first.completion_tokens, last.completion_tokens),
        fallbacks=fallbacks,
    )


def _size(unit: object) -> int:
    if isinstance(unit, tuple):
        return max(1, len(unit[1]))
    if isinstance(unit, Debate):
        return max(1, len(unit.turns))
    return max(1, len(unit.speeches)) if isinstance(unit, Contest) else 1
