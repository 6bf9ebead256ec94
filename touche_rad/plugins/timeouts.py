"""Calls to plugins that may hang.

A plain function cannot be stopped from outside. It runs in a daemon thread, so that whoever waits
for it can stop waiting, and so that a thread which never returns cannot keep the process alive.
An `async def` is awaited as it is: one that blocks the event loop blocks everyone.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

MOST_HANGING = 64
"""So many given-up calls may still run; further ones are refused at once."""


class Hanging(RuntimeError):
    """Too many earlier calls were given up and still run."""


class Calls:
    """Calls plugins, at most `at_once` plain functions at a time."""

    def __init__(self, at_once: int = 40) -> None:
        self._at_once = at_once
        self._slots: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None
        self._hanging = 0

    async def __call__(self, function: Callable[..., T | Awaitable[T]], *args: Any) -> T:
        """Await a plugin's method, or run it in a thread where it is a plain function."""
        try:
            if inspect.iscoroutinefunction(function):
                returned: Any = function(*args)
            else:
                returned = await self._in_thread(function, *args)
            result: T = await returned if inspect.isawaitable(returned) else returned
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise RuntimeError("the call cancelled itself") from error
        except SystemExit as error:
            raise _as_exception(error) from error
        return result

    async def _in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        if self._hanging >= MOST_HANGING:
            raise Hanging(f"{self._hanging} earlier calls still hang")
        loop = asyncio.get_running_loop()
        if self._slots is None or self._slots[0] is not loop:
            self._slots = loop, asyncio.Semaphore(self._at_once)
        async with self._slots[1]:
            outcome: asyncio.Future[Any] = loop.create_future()
            self._start(outcome, function, *args)
            return await outcome

    def _start(
        self, outcome: asyncio.Future[Any], function: Callable[..., Any], *args: Any
    ) -> None:
        loop = outcome.get_loop()
        context = contextvars.copy_context()

        def work() -> None:
            error, result = None, None
            try:
                result = context.run(function, *args)
            except BaseException as raised:
                error = _as_exception(raised)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._settle, outcome, result, error)

        outcome.add_done_callback(self._note_if_given_up)
        Thread(target=work, name="touche-rad call", daemon=True).start()

    def _note_if_given_up(self, outcome: asyncio.Future[Any]) -> None:
        if outcome.cancelled():
            self._hanging += 1

    def _settle(self, outcome: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
        if outcome.cancelled():
            self._hanging -= 1
            if inspect.iscoroutine(result):
                result.close()  # nobody will await it, and Python would warn a user of that
        elif error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)


def _as_exception(raised: BaseException) -> Exception:
    """A plugin may end its own call, not the program: `sys.exit` in it is a failure of it."""
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    wrapped = RuntimeError(f"{type(raised).__name__}: {raised}")
    wrapped.__cause__ = raised
    return wrapped
