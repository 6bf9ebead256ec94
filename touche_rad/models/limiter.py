"""How many calls are in flight: more while the server answers as fast, half when it is busy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

MOST: Final = 256
_SLOWER: Final = 2.0
"""Answers that take so many times the quickest mean that more calls do not help."""


class Limiter:
    """An adaptive bound, first come first served."""

    def __init__(self, most: int = MOST, first: int = 8) -> None:
        """Start with `first` calls at once, never more than `most`."""
        self.most = max(1, most)
        self.limit = float(min(first, self.most))
        self.flying = 0
        self._quickest = float("inf")
        self._free = anyio.Condition()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until a call may be made, and hold its place."""
        async with self._free:
            while self.flying >= int(self.limit):
                await self._free.wait()
            self.flying += 1
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                async with self._free:
                    self.flying -= 1
                    self._free.notify_all()

    def answered(self, seconds: float) -> None:
        """Note an answer: more at once, unless answers have become slow."""
        self._quickest = min(self._quickest, seconds)
        if seconds <= _SLOWER * self._quickest or self.limit < 4:
            self.limit = min(self.most, self.limit + 1 / max(1.0, self.limit) * 4)

    def busy(self) -> None:
        """Note that the server had too much: half as many at once."""
        self.limit = max(1.0, self.limit / 2)
