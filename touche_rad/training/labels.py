"""Labelled debates, turn by turn, as training data for judges."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import anyio

from touche_rad import files
from touche_rad.debate import Debate, Maxim
from touche_rad.errors import UserError, WorkError
from touche_rad.models import Model, ModelError
from touche_rad.text import printable

log = logging.getLogger("touche_rad")

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with the number of judged responses and their total."""

MOST_SHOWN: Final = 5
"""Turns that a warning names."""


@dataclass(frozen=True)
class Labelled:
    """A debate up to one response, and the labels of that response."""

    debate: int
    view: Debate
    labels: Mapping[Maxim, int | None]


def labelled(debates: Path, labels: Path) -> list[Labelled]:
    """Pair each response with its labels; both files have the same debates in the same order."""
    views, rows = list(files.read_views(debates)), list(files.read_labels(labels))
    if len(views) != len(rows):
        raise UserError(f"{labels}: {len(rows)} debates, and {debates} has {len(views)}")
    pairs = []
    for number, ((_, of_debate), of_labels) in enumerate(zip(views, rows, strict=True)):
        if len(of_debate) != len(of_labels):
            raise UserError(
                f"{labels}:{number + 1}: {len(of_labels)} turns, and the debate in {debates} has "
                f"{len(of_debate)}"
            )
        pairs += [Labelled(number, *pair) for pair in zip(of_debate, of_labels, strict=True)]
    return pairs


async def describe_missing(
    judge: str, turns: Sequence[Labelled], missing: Sequence[int], model: Model | None
) -> str:
    """Warn about the turns on which a judge gave no verdict, and name them all for the record.

    Args:
        judge: The name of the judge.
        turns: All turns.
        missing: The places of the turns without a verdict.
        model: The judge's model.

    Raises:
        WorkError: The model's server does not work, or no turn has a verdict.
    """
    if not missing:
        return ""
    if model is not None:
        try:
            await model.check_after_failure()
        except ModelError as error:
            raise WorkError(
                f"{error.problem}: {error}; nothing is written: run the same command again; "
                "--cache DIR keeps the answers"
            ) from None
    first = printable(model.usage.first_fault) if model is not None else ""
    because = f" (first failure: {first})" if first else ""
    if len(missing) == len(turns):
        raise WorkError(f"{judge} gave no verdict on any response{because}")
    names = [
        f"debate {turns[place].debate + 1}, turn {len(turns[place].view.turns)}"
        for place in sorted(missing)
    ]
    begin = f"no verdict of {judge} on {len(names)} of {len(turns)} turns: "
    more = len(names) - MOST_SHOWN
    shown = [*names[:MOST_SHOWN], *([f"and {more} more"] if more > 0 else [])]
    log.warning("%s%s%s", begin, "; ".join(shown), because)
    return begin + "; ".join(names)


async def for_each(
    turns: Sequence[Labelled], do: Callable[[Labelled], Awaitable[T]], report: Progress | None
) -> list[T]:
    """Call a function for all turns at once, and return its results in the order of the turns."""
    found: dict[int, T] = {}

    async def one(place: int) -> None:
        found[place] = await do(turns[place])
        if report is not None:
            report(len(found), len(turns))

    if report is not None:
        report(0, len(turns))
    async with anyio.create_task_group() as group:
        for place in range(len(turns)):
            group.start_soon(one, place)
    return [found[place] for place in range(len(turns))]
