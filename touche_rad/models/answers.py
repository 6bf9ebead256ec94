"""Answers that were valid: found again, kept, and asked for once where many ask the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import anyio

from touche_rad.models.cache import Cache
from touche_rad.models.call import Call
from touche_rad.models.flight import first_to_ask
from touche_rad.models.trace import Trace


class Answers:
    """A folder of answers, or none, where nothing is kept and nobody waits."""

    def __init__(self, folder: Path | None, trace: Trace) -> None:
        self._cache = Cache(folder) if folder else None
        self._trace = trace
        self._asked: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, anyio.Lock]] = (
            WeakKeyDictionary()
        )

    def found(self, call: Call, key: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the answer that was kept, or None."""
        kept = self._cache.get(key) if self._cache else None
        if kept is None or "said" not in kept:
            return None
        call.cost.from_cache += 1
        self._trace.tell(call, body, kept)
        return kept

    def keep(self, key: str, body: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Keep a valid answer."""
        if self._cache is not None:
            self._cache.put(key, body, answer)

    @asynccontextmanager
    async def one_at_a_time(self, call: Call, key: str, *, asks: bool) -> AsyncIterator[None]:
        """Equal requests at the same time: the first asks, the others find its answer.

        Args:
            call: What waits, no longer than it may.
            key: What is asked.
            asks: Whether there is anybody to ask; without, other processes are not waited for.
        """
        if self._cache is None:
            yield
            return
        asked = self._asked.setdefault(asyncio.get_running_loop(), {})
        lock = asked.setdefault(key, anyio.Lock())
        try:
            async with lock:
                if not asks or self._cache.has(key):
                    yield
                    return
                async with first_to_ask(self._cache.folder, key, lambda: call.left):
                    yield
        finally:
            if not lock.locked() and not lock.statistics().tasks_waiting:
                asked.pop(key, None)
