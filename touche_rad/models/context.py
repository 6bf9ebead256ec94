"""The context of a model call (plugin, debate, turn, deadline), and calls from plain functions."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar


@dataclass(frozen=True)
class CallContext:
    """Who asks, and what for; empty where nobody said."""

    plugin: str = ""
    debate: str = ""
    turn: int | None = None
    deadline: float | None = None
    """When an answer must be there, on the monotonic clock: no call of a model may outlast it."""

    def record(self) -> dict[str, Any]:
        """Return what is known, for a line of a trace."""
        told = {"plugin": self.plugin, "debate": self.debate, "turn": self.turn}
        return {key: value for key, value in told.items() if value not in ("", None)}


_SHARE: Final = 0.85
_NOW: Final[ContextVar[CallContext]] = ContextVar("call_context", default=CallContext())  # noqa: B039


def current_context() -> CallContext:
    """Return the context that holds here."""
    return _NOW.get()


def deadline_in(seconds: float | None) -> float | None:
    """Return when models must have answered, for a plugin that has so many seconds.

    It is a little sooner than the plugin's own end, so that it can still make do without them.
    """
    return None if seconds is None else time.monotonic() + _SHARE * seconds


@contextmanager
def call_context(**said: Any) -> Iterator[None]:
    """Add to the context of the calls made inside."""
    before = _NOW.set(replace(_NOW.get(), **said))
    try:
        yield
    finally:
        _NOW.reset(before)


T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end and return what comes of it; the call context goes along."""
    now = vars(current_context())

    async def told() -> T:
        with call_context(**now):
            return await work

    return asyncio.run_coroutine_threadsafe(told(), _running()).result()


def _running() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(
                target=_loop.run_forever, name="touche-rad asking", daemon=True
            ).start()
        return _loop
