"""Coroutines of plugins from plain code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from touche_rad.calls._context import call_context, current_context

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from plain code and return its result; keeps the call context."""
    now = vars(current_context())

    async def work_in_context() -> T:
        with call_context(**now):
            return await work

    return asyncio.run_coroutine_threadsafe(work_in_context(), _running()).result()


def _running() -> asyncio.AbstractEventLoop:
    """Return the one event loop for plain code, whose connections are used again."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(
                target=_loop.run_forever, name="touche-rad models", daemon=True
            ).start()
        return _loop
