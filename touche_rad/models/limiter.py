"""How many calls are in flight: more while the server answers as fast, half when it is busy.

Whoever waits is served in turns by debate, so that one debate with a thousand calls does not keep
the others waiting.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

MOST: Final = 256
_SLOWER: Final = 2.0
"""Answers that take so many times the quickest mean that more calls do not help."""
_FORGOTTEN: Final = 1.02
"""By how much the quickest answer is forgotten with each new one: loads change."""


class Limiter:
    """An adaptive bound, fair between those who wait."""

    def __init__(self, most: int = MOST, first: int = 8) -> None:
        """Start with `first` calls at once, never more than `most`."""
        self.most = max(1, most)
        self.limit = float(min(first, self.most))
        self.flying = 0
        self._quickest = float("inf")
        self._waiting: OrderedDict[str, deque[anyio.Event]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, whose: str = "") -> AsyncIterator[None]:
        """Wait until a call may be made for somebody, and hold its place."""
        if self.flying >= int(self.limit) or self._waiting:
            await self._wait(whose)
        else:
            self.flying += 1
        try:
            yield
        finally:
            self.flying -= 1
            self._wake()

    async def _wait(self, whose: str) -> None:
        called = anyio.Event()
        self._waiting.setdefault(whose, deque()).append(called)
        self._wake()
        try:
            await called.wait()
        except BaseException:
            if called.is_set():  # the place was given away in the same moment
                self.flying -= 1
            else:
                self._leave(whose, called)
            self._wake()
            raise

    def _leave(self, whose: str, called: anyio.Event) -> None:
        mine = self._waiting[whose]
        mine.remove(called)
        if not mine:
            del self._waiting[whose]

    def _wake(self) -> None:
        while self._waiting and self.flying < int(self.limit):
            whose, line = self._waiting.popitem(last=False)
            called = line.popleft()
            if line:
                self._waiting[whose] = line
            self.flying += 1
            called.set()

    def answered(self, seconds: float) -> None:
        """Note an answer: more at once, unless answers have become slow."""
        self._quickest = min(self._quickest * _FORGOTTEN, seconds)
        if seconds <= _SLOWER * self._quickest or self.limit < 4:
            self.limit = min(self.most, self.limit + 4 / max(1.0, self.limit))

    def busy(self) -> None:
        """Note that the server had too much: half as many at once."""
        self.limit = max(1.0, self.limit / 2)
