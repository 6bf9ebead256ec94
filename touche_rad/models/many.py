"""Many calls at once, none of which keeps the others from their answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

from touche_rad.models.faults import ModelError

T = TypeVar("T")


async def all_of(
    asked: Sequence[Callable[[], Awaitable[T]]],
    report: Callable[[int, int], None] | None = None,
) -> list[T | ModelError]:
    """Make all calls; one that fails is its exception in its place."""
    found: list[T | ModelError | None] = [None] * len(asked)
    done = 0

    async def one(place: int) -> None:
        nonlocal done
        try:
            found[place] = await asked[place]()
        except ModelError as error:
            found[place] = error
        done += 1
        if report is not None:
            report(done, len(asked))

    async with anyio.create_task_group() as group:
        for place in range(len(asked)):
            group.start_soon(one, place)
    return [one for one in found if one is not None]
