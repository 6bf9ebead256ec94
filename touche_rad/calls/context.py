"""Calls of plugins with a time limit, and the context of model calls (plugin, debate, deadline).

A plain function cannot be stopped from outside. It runs in a daemon thread: the caller can stop
waiting, and a thread that never returns does not keep the process alive. An `async def` is awaited;
one that blocks the event loop blocks every other call.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import inspect
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from types import MethodType
from typing import Any, Final, TypeGuard, TypeVar

import anyio

from touche_rad.calls.threads import Threads

T = TypeVar("T")

MOST_HANGING = 64
"""Calls that timed out and still run; with so many, further calls fail at once."""


class TooManyCalls(RuntimeError):
    """Too many calls that timed out are still running."""


class CallTimeout(TimeoutError):
    """A call reached its time limit, or the time limit until it begins."""


class _OfLoop:
    """What the calls of one event loop share."""

    def __init__(self, loop: asyncio.AbstractEventLoop, slot: asyncio.Semaphore) -> None:
        self.loop, self.slot = loop, slot
        self.gate = asyncio.Lock()
        self.threads = Threads(loop)


class Calls:
    """Calls plugins; at most `at_once` plain functions run at a time."""

    def __init__(self, at_once: int = 40) -> None:
        self._at_once = at_once
        self._here: _OfLoop | None = None
        self._hanging = 0

    async def __call__(
        self,
        function: Callable[..., T | Awaitable[T]],
        *args: Any,
        seconds: float | None = None,
        within: float | None = None,
    ) -> T:
        """Await a plugin's method, or run it in a thread where it is a plain function.

        Args:
            function: The method.
            args: Its arguments.
            seconds: Time limit of the work in seconds; the time before it begins does not count.
            within: Time limit in seconds of the work with the time before it begins. A plain
                function waits while all threads are in use, and begins at the latest when a tenth
                of this time, or of `seconds` if that is less, is left for it.

        Raises:
            CallTimeout: A time limit is reached.
        """
        begun = time.monotonic()
        seconds = _least(seconds, within)
        if is_async(function):
            async with (
                self._of_loop().gate
            ):  # one begins, and the event loop sends what others have to send
                await asyncio.sleep(0)
            if within is not None:
                seconds = _least(seconds, within - (time.monotonic() - begun))
            with _until(seconds):
                of_coroutine: T = await self._limited(function(*args), seconds, seconds)
                return of_coroutine
        wait = None if within is None or seconds is None else within - seconds / 10
        slot = self._of_loop().slot
        if slot.locked():
            with anyio.move_on_after(wait) as waiting:
                await slot.acquire()
            if waiting.cancelled_caught:
                raise CallTimeout(f"waited {wait:g} seconds: too many answers are being made")
        else:
            await slot.acquire()
        try:
            if within is not None:
                seconds = _least(seconds, within - (time.monotonic() - begun))
            with _until(seconds):
                begun = time.monotonic()
                result: Any = await self._in_thread(seconds, function, *args)
                if inspect.isawaitable(result):
                    left = None if seconds is None else begun + seconds - time.monotonic()
                    result = await self._limited(result, seconds, left)
                returned: T = result
                return returned
        finally:
            slot.release()

    async def _limited(
        self, awaitable: Awaitable[Any], seconds: float | None, left: float | None
    ) -> Any:
        """Await for the time that is left of `seconds`."""
        with anyio.move_on_after(left):
            try:
                given = await awaitable
                return await given if inspect.isawaitable(given) else given
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                raise RuntimeError("the call cancelled itself") from error
            except (Exception, SystemExit) as error:
                usable = _as_exception(error)
                if usable is error:
                    raise
                raise usable from error
        raise _timeout(seconds)

    async def _in_thread(
        self, seconds: float | None, function: Callable[..., Any], *args: Any
    ) -> Any:
        if self._hanging >= MOST_HANGING:
            raise TooManyCalls(f"{self._hanging} calls that timed out are still running")
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Any] = loop.create_future()
        self._start(outcome, function, *args)
        if seconds is None:
            return await outcome
        # An exception costs less than a cancel scope: nothing in the thread could be cancelled.
        limit = loop.call_later(seconds, self._give_up, outcome, seconds)
        try:
            return await outcome
        finally:
            limit.cancel()

    def _of_loop(self) -> _OfLoop:
        loop = asyncio.get_running_loop()
        if self._here is None or self._here.loop is not loop:
            self._here = _OfLoop(loop, asyncio.Semaphore(self._at_once))
        return self._here

    def _start(
        self, outcome: asyncio.Future[Any], function: Callable[..., Any], *args: Any
    ) -> None:
        context = contextvars.copy_context()

        def work() -> Callable[[], None]:
            error, result = None, None
            try:
                result = context.run(function, *args)
            except BaseException as raised:
                error = _as_exception(raised)
            return partial(self._settle, outcome, result, error)

        outcome.add_done_callback(self._note_if_cancelled)
        self._of_loop().threads.start(work)

    def _give_up(self, outcome: asyncio.Future[Any], seconds: float) -> None:
        if not outcome.done():
            self._hanging += 1
            outcome.set_exception(_timeout(seconds))

    def _note_if_cancelled(self, outcome: asyncio.Future[Any]) -> None:
        if outcome.cancelled():
            self._hanging += 1

    def _settle(self, outcome: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
        if outcome.done():  # cancelled, or given up at the time limit
            self._hanging -= 1
            if inspect.iscoroutine(result):
                result.close()  # nobody will await it, and Python would warn a user of that
        elif error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)


def _until(seconds: float | None) -> AbstractContextManager[None]:
    """Set the deadline of the model calls of a plugin with this time limit."""
    return nullcontext() if seconds is None else call_context(deadline=deadline_in(seconds))


def _timeout(seconds: float | None) -> CallTimeout:
    return CallTimeout(f"no answer within {seconds:g} seconds")


def is_async(function: Callable[..., Any]) -> TypeGuard[Callable[..., Coroutine[Any, Any, Any]]]:
    """Whether a function is an `async def`; methods are remembered, because a look costs 5 µs."""
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, MethodType):
        return _is_async(function.__func__)
    return inspect.iscoroutinefunction(function)


_is_async = lru_cache(256)(inspect.iscoroutinefunction)


def _least(*limits: float | None) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _as_exception(raised: BaseException) -> Exception:
    """Return a plugin's failure as an error that can be printed.

    A plugin may end its own call, not the program: `sys.exit` in it is a failure of it.
    """
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    wrapped = RuntimeError(f"{type(raised).__name__}: {raised}")
    wrapped.__cause__ = raised
    return wrapped


@dataclass
class ModelUse:
    """The results of the model calls that one answer or verdict made."""

    answered: int = 0
    failures: list[Exception] = field(default_factory=list)
    without: Exception | None = None
    """Why the plugin gave a result that the model did not make, if it reported that."""
    prompts: set[str] = field(default_factory=set)
    """The prompt files that were used, as text."""

    @property
    def failure(self) -> Exception | None:
        """Why the result was made without the model; None if the model took part."""
        if self.without is None and self.failures and not self.answered:
            return self.failures[0]
        return self.without

    def add(self, other: ModelUse) -> None:
        """Add the calls of another result that this one was made from."""
        self.answered += other.answered
        self.failures += other.failures
        self.prompts |= other.prompts


@dataclass(frozen=True)
class CallContext:
    """The plugin, debate and turn of a model call, and its deadline."""

    plugin: str = ""
    debate: str = ""
    turn: int | None = None
    deadline: float | None = None
    """Time on the monotonic clock at which every model call must have ended."""
    prompts: Path | None = None
    """Folder of prompt files that replace the plugin's own."""
    rendered: set[str] | None = None
    """Collects the names of the prompt files that were rendered, if somebody wants them."""
    model_use: ModelUse | None = None
    """Collects the results of the model calls."""
    observe: Callable[[Mapping[str, Any]], None] | None = None
    """Receives each search and each model call as a JSON object, perhaps in another thread."""
    attempted: Callable[[str, bool], None] | None = None
    """Receives the endpoint of each attempt of a call, and whether it answered."""

    def record(self) -> dict[str, Any]:
        """Return the known values, for a line of the trace."""
        known = {"plugin": self.plugin, "debate": self.debate, "turn": self.turn}
        return {key: value for key, value in known.items() if value not in ("", None)}


_SHARE: Final = 0.85
_NOW: Final[ContextVar[CallContext]] = ContextVar("call_context", default=CallContext())  # noqa: B039


def current_context() -> CallContext:
    """Return the context of the current task."""
    return _NOW.get()


def deadline_in(seconds: float | None) -> float | None:
    """Return the deadline of model calls for a plugin with this time limit in seconds.

    It is earlier than the plugin's own limit, so that the plugin can answer without the model.
    """
    return None if seconds is None else time.monotonic() + _SHARE * seconds


@contextmanager
def call_context(**values: Any) -> Iterator[None]:
    """Set values of the context for the calls made inside."""
    changed = object.__new__(CallContext)  # `replace` costs ten times as much
    vars(changed).update(vars(_NOW.get()), **values)
    before = _NOW.set(changed)
    try:
        yield
    finally:
        _NOW.reset(before)


def report_without_model(error: Exception) -> None:
    """Report that the plugin's answer or verdict is made without its model.

    A plugin calls this where it catches a model's error and answers by other means. The run then
    counts the result as a stand-in. A result whose model calls all failed is counted anyway.

    Args:
        error: Why the model did not take part.
    """
    use = current_context().model_use
    if use is not None:
        use.without = error


def name_of(plugin: object) -> str:
    """Return the name of a plugin; the name of its class if it was not created by `make`."""
    return str(getattr(plugin, "plugin_name", type(plugin).__name__))


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
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(
                target=_loop.run_forever, name="touche-rad models", daemon=True
            ).start()
        return _loop


class _Completed:
    """`with completed:` makes Python's exit wait for the block; a later block never begins.

    When Python exits, it stops the threads that still run. A thread that it stops inside compiled
    code (the index's engine, or pydantic while it validates an argument) aborts the process.
    """

    def __init__(self) -> None:
        self._begin_anew()
        atexit.register(self._end)
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin_anew(self) -> None:
        self._guard = threading.Lock()
        self._own = threading.local()
        self._running = 0
        self._ended = False

    def __enter__(self) -> None:
        depth = getattr(self._own, "depth", 0)
        if not depth:
            self._begin()
        self._own.depth = depth + 1

    def __exit__(self, *_: object) -> None:
        self._own.depth -= 1
        if not self._own.depth:
            with self._guard:
                self._running -= 1

    def _begin(self) -> None:
        with self._guard:
            if not self._ended or threading.current_thread() is threading.main_thread():
                self._running += 1
                return
        threading.Event().wait()  # Python exits and ends this thread here

    def _end(self) -> None:
        with self._guard:
            self._ended = True
        while self._running:
            time.sleep(0.001)


completed = _Completed()
