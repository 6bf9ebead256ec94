"""Asking from plain functions: a thread with an event loop of its own, one for the process.

Pipelines are plain functions, and may run in a thread whose own loop is busy with waiting for them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from touche_rad.models.occasion import occasion, on

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def waited(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end and return what comes of it; the occasion goes along."""
    now = vars(occasion())

    async def told() -> T:
        with on(**now):
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
