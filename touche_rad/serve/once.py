"""One computation for equal questions, however many ask and whenever.

The official client asks for the four maxims of one turn one after the other, and for many debates
at once: the answers are kept by content, not for a time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Remembers the last `size` results; equal questions at the same time share one computation."""

    def __init__(self, size: int = 4096) -> None:
        self.size = size
        self._tasks: OrderedDict[str, asyncio.Task[T]] = OrderedDict()

    async def get(self, key: str, compute: Callable[[], Awaitable[T]]) -> T:
        """Return the result for a key, computing it if nobody has."""
        task = self._tasks.get(key)
        if task is None:
            task = asyncio.ensure_future(_run(compute))
            self._tasks[key] = task
            task.add_done_callback(lambda done: self._forget_failed(key, done))
        self._tasks.move_to_end(key)
        while len(self._tasks) > self.size and next(iter(self._tasks.values())).done():
            self._tasks.popitem(last=False)
        # Shielded: a client that hangs up must not take the result from the others.
        return await asyncio.shield(task)

    def _forget_failed(self, key: str, task: asyncio.Task[T]) -> None:
        if task.cancelled() or task.exception() is not None:
            self._tasks.pop(key, None)


async def _run(compute: Callable[[], Awaitable[T]]) -> T:
    return await compute()
