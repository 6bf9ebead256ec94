"""What a command opens and closes, and the one event loop, in which plain code runs coroutines.

The loop is in a thread of its own. So Ctrl-C is noticed at once by the main thread, which plain
code never leaves; plain code of any thread may wait for the loop, also in a notebook, which has a
running loop of its own; and connections and locks, which belong to one loop, are used again. The
thread is a daemon: it keeps no program from its end.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from contextlib import ExitStack
from typing import Any, Final, Protocol, TypeVar

from touche_rad.criteria import grice
from touche_rad.errors import innermost
from touche_rad.files.criteria import read_criteria
from touche_rad.lists import T
from touche_rad.models import Model
from touche_rad.plugins import ArgumentIndex, Services
from touche_rad.plugins.contracts import ClosableIndex

_WAKE_SECONDS: Final = 0.2
"""Seconds between two looks for signals. A signal ends a wait only if the operating system hands it
to the waiting thread: Windows never does, and others promise nothing."""
_lock = threading.Lock()
_thread: threading.Thread | None = None
"""The thread of the loop; it is made once in a process, also in a forked one."""
_loop: asyncio.AbstractEventLoop


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until the program ends."""
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            # A task raised it, and whoever waits for the task gets it.
            continue


def run(function: Callable[..., Awaitable[T]], *args: object) -> T:
    """Run a coroutine function in the event loop, from plain code, and return its result.

    Ctrl-C cancels it and all else in the loop, and waits for the end: nothing may be closed while
    it is in use.

    Raises:
        RuntimeError: It is called in the loop's own thread, or the function ends the program.
    """
    global _thread, _loop
    with _lock:
        if not _thread or not _thread.is_alive():
            _loop = asyncio.new_event_loop()
            name = "touche-rad event loop"
            _thread = threading.Thread(target=_run_forever, args=(_loop,), name=name, daemon=True)
            _thread.start()
        loop = _loop
    if _thread is threading.current_thread():
        name = getattr(function, "__qualname__", repr(function))
        raise RuntimeError(
            f"plain code on the event loop cannot wait for {name}: call that code with "
            "anyio.to_thread.run_sync"
        )
    # The task gets a copy of the context variables of this thread.
    future = asyncio.run_coroutine_threadsafe(_as_coroutine(function, args), loop)
    try:
        return _wait(future)
    except KeyboardInterrupt:
        _wait(asyncio.run_coroutine_threadsafe(cancel_all(), loop))
        raise


async def _as_coroutine(function: Callable[..., Awaitable[T]], args: tuple[Any, ...]) -> T:
    try:
        return await function(*args)
    except (SystemExit, BaseExceptionGroup) as error:
        if isinstance(error, Exception):
            raise
        # Of a plugin, which may end its own call, not the program.
        inner = innermost(error)
        raise RuntimeError(f"{type(inner).__name__}: {inner}") from error


async def cancel_all() -> None:
    """Cancel all tasks, as at the end of `asyncio.run`: those of a task may outlive it.

    A task may begin others while it is cancelled, as one that connects does. If the program ended
    before those ran, Python would print a warning for each.
    """
    this = {asyncio.current_task()}
    tasks = asyncio.all_tasks() - this
    while tasks:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        tasks = asyncio.all_tasks() - this


def _wait(future: Future[T]) -> T:
    while not wait([future], _WAKE_SECONDS).done:
        pass
    return future.result()


class Closable(Protocol):
    """A model, or the backend of several models."""

    async def close(self) -> None:
        """Close connections, and stop a server that was started."""


C = TypeVar("C", bound=Closable)


class Session(ExitStack[None]):
    """What a command opens, and closes at its end, also after an error or Ctrl-C.

    `with Session(seed) as session:`; what is opened later is closed earlier.
    """

    run = staticmethod(run)

    def __init__(self, seed: int = 0, criteria: str | None = None) -> None:
        """Begin with nothing open; judges judge by the criteria of this name or file."""
        super().__init__()
        self.seed = seed
        self.criteria = read_criteria(criteria) if criteria else grice()
        self.index: ArgumentIndex | None = None
        self.model: Model | None = None
        """The language model of the plugins that name none of their own."""

    @property
    def services(self) -> Services:
        """What the plugins of the command share."""
        return Services(self.index, self.seed, self.model, self.criteria)

    def close_index_later(self, index: ArgumentIndex) -> ArgumentIndex:
        """Close an index at the end of the session, if it has connections, and return it."""
        if isinstance(index, ClosableIndex):
            self.callback(index.close)
        return index

    def close_later(self, model: C) -> C:
        """Close a model or a backend at the end of the session, and return it."""
        self.callback(run, model.close)
        return model
