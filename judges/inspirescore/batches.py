"""Many things asked in one call, and in smaller ones where one call is too much for the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from touche_rad.models import Model, ModelError
from touche_rad.models.faults import Cut, Invalid, Overflow

T = TypeVar("T")
R = TypeVar("R")
Ask = Callable[[Sequence[T]], Awaitable[Sequence[R]]]


async def in_batches(
    model: Model, items: Sequence[T], size: int, ask: Ask[T, R]
) -> list[R | ModelError]:
    """Return what is answered of each item, or why nothing is.

    A batch whose prompt or answer does not fit is halved, down to single items; of `n` items no
    more than `2n - 1` calls are made.
    """
    batches = [items[at : at + size] for at in range(0, len(items), size)]
    calls: list[Callable[[], Awaitable[list[R | ModelError]]]]
    calls = [partial(_whole_or_halves, batch, ask) for batch in batches]
    found = await model.ask_all(calls)
    return [one for batch in found if not isinstance(batch, ModelError) for one in batch]


async def _whole_or_halves(batch: Sequence[T], ask: Ask[T, R]) -> list[R | ModelError]:
    try:
        return list(await ask(batch))
    except (Cut, Overflow, Invalid) as error:
        if len(batch) == 1:
            return [error]
    except ModelError as error:
        return [error] * len(batch)
    half = len(batch) // 2
    first = await _whole_or_halves(batch[:half], ask)
    return [*first, *await _whole_or_halves(batch[half:], ask)]
