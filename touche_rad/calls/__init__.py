"""Calls of plugins with a time limit.

A plain function runs in a thread and cannot be stopped from outside: at the time limit the caller
stops waiting, and the thread is abandoned. An `async def` is awaited; one that blocks the event
loop blocks every other call.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

import anyio
import anyio.to_thread

from touche_rad.frozen import frozen
from touche_rad.lists import T

__all__ = [
    "CallContext",
    "CallTimeout",
    "Caller",
    "Calls",
    "ModelUse",
    "Observe",
    "TooManyCalls",
    "begin_use",
    "call_context",
    "current_context",
    "hanging",
    "report_without_model",
    "time_left",
]


Observe = Callable[[Mapping[str, Any]], None]


@dataclass
class ModelUse:
    """The results of the model calls that one answer or verdict made."""

    answered: int = 0
    failures: list[Exception] = field(default_factory=list)
    without: Exception | None = None
    """Why the plugin gave a result that the model did not make, if it reported that."""
    prompts: set[str] = field(default_factory=set)
    """The prompt files that were used, as text."""
    fallbacks: list[tuple[Any, BaseException]] = field(default_factory=list)
    """The fallbacks of other plugins that the plugin called, each with its cause."""
    observe: Observe | None = None
    """Receives each search and each model call as a JSON object, perhaps in another thread."""

    @property
    def failure(self) -> Exception | None:
        """Why the result was made without the model; None if the model took part."""
        if not self.without and self.failures and not self.answered:
            return self.failures[0]
        return self.without

    def add(self, use: ModelUse) -> None:
        """Add the calls of another result that this one was made from."""
        self.answered += use.answered
        self.failures += use.failures
        self.prompts |= use.prompts
        self.fallbacks += use.fallbacks


@frozen
class Caller:
    """The plugin that calls a model, and where it is at work."""

    plugin: str = ""
    debate: str = ""
    turn: int | None = None

    def record(self) -> dict[str, Any]:
        """Return the known values, for a line of the trace."""
        values = {"plugin": self.plugin, "debate": self.debate, "turn": self.turn}
        return {key: value for key, value in values.items() if value not in ("", None)}


@frozen
class CallContext:
    """Who calls a model, until when, and who is told; for traces, costs and deadlines only."""

    caller: Caller = Caller()
    deadline: float | None = None
    """Time on the monotonic clock at which every model call must have ended."""
    prompts: Path | None = None
    """Folder of prompt files that replace the plugin's own."""
    use: ModelUse | None = None
    """Collects the results of the model calls."""


_CONTEXT: Final[ContextVar[CallContext]] = ContextVar("call_context", default=CallContext())  # noqa: B039


def current_context() -> CallContext:
    """Return the context of the current task."""
    return _CONTEXT.get()


def time_left() -> float | None:
    """Return the seconds until the deadline of the current call, if it has one."""
    end = _CONTEXT.get().deadline
    return None if end is None else max(0.1, end - time.monotonic())


@contextmanager
def call_context(**values: Any) -> Iterator[None]:
    """Set values of the context for the calls made inside."""
    before = _CONTEXT.set(replace(_CONTEXT.get(), **values))
    try:
        yield
    finally:
        _CONTEXT.reset(before)


def begin_use(observe: Observe | None = None) -> ModelUse:
    """Return the use of another answer or verdict, with the observer of the current one."""
    outer = current_context().use
    return ModelUse(observe=observe or (outer.observe if outer else None))


def report_without_model(error: Exception) -> None:
    """Report that the plugin's answer or verdict is made without its model.

    A plugin calls this where it catches a model's error and answers by other means. The run then
    counts the result as a fallback. A result whose model calls all failed is counted anyway.
    """
    use = current_context().use
    if use:
        use.without = error


MOST_HANGING = 64
"""Abandoned calls that still run; with so many, further calls fail at once."""
_SHARE_OF_MODEL: Final = 0.85
"""Part of a plugin's time limit for its model calls, so that it can answer without the model."""
_running: set[_ThreadCall] = set()


class TooManyCalls(RuntimeError):
    """Too many calls that timed out are still running."""


class CallTimeout(TimeoutError):
    """A call reached its time limit, or the time limit until it begins."""


def hanging() -> int:
    """Return how many abandoned calls still run in this process."""
    return sum(call.is_abandoned for call in list(_running))


@dataclass(eq=False)
class _ThreadCall:
    """A call of a plain function in a thread."""

    function: Callable[..., object]
    args: tuple[object, ...]
    is_abandoned: bool = False
    """Whether nobody waits for the result any more."""
    result: object = None

    def run(self) -> object:
        """Call the function."""
        _running.add(self)
        try:
            self.result = self.function(*self.args)
            if self.is_abandoned:
                self.abandon()
            return self.result
        except BaseException as error:
            raise _as_exception(error) from error.__cause__
        finally:
            _running.discard(self)

    def abandon(self) -> None:
        """Leave the call alone.

        A coroutine that nobody awaits is closed, or Python warns of it. The call may end at the
        same time, so both threads look for one.
        """
        self.is_abandoned = True
        close = getattr(self.result, "close", None)
        if close and inspect.isawaitable(self.result):
            close()


class Calls:
    """Calls plugins; at most `at_once` plain functions run at a time.

    Each plugin that calls others has its own `Calls`, so that nested calls do not wait for the
    threads of their callers.
    """

    def __init__(self, at_once: int = 40) -> None:
        """Begin without a call."""
        # One slot for each plain function that runs and is not abandoned. A limiter of anyio would
        # be acquired within the time limit. Here a call that waits has spent nothing of its time,
        # so that under load each answer still has its whole deadline.
        self._slots = asyncio.Semaphore(at_once)

    async def __call__(
        self,
        function: Callable[..., T | Awaitable[T]],
        *args: object,
        seconds: float | None = None,
        within: float | None = None,
    ) -> T:
        """Await a plugin's method, or run it in a thread where it is a plain function.

        `seconds` limits the work; `within` limits it with the time before it begins. A plain
        function waits while all threads are in use, and begins at the latest when a tenth of
        `within`, or of `seconds` if that is less, is left. At a limit, CallTimeout is raised.
        """
        start = time.monotonic()
        longest = math.inf if within is None else within
        limit = longest if seconds is None else min(seconds, longest)
        is_plain = not inspect.iscoroutinefunction(function)
        if is_plain:
            wait = None if within is None else within - limit / 10
            try:
                with anyio.fail_after(wait):
                    await self._slots.acquire()
            except TimeoutError:
                raise CallTimeout(
                    f"waited {wait:g} seconds: too many answers are being made"
                ) from None
            limit = min(limit, longest - (time.monotonic() - start))

        context: dict[str, Any] = {}
        if limit < math.inf:
            context["deadline"] = time.monotonic() + _SHARE_OF_MODEL * limit
        call = _ThreadCall(function, args)
        with call_context(**context), anyio.move_on_after(limit):
            try:
                result: Any
                if is_plain:
                    if len(_running) >= MOST_HANGING and hanging() >= MOST_HANGING:
                        raise TooManyCalls(f"{hanging()} calls that timed out are still running")
                    # The slots limit the calls; an abandoned one keeps no thread from the next.
                    result = await anyio.to_thread.run_sync(
                        call.run, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(math.inf)
                    )
                else:
                    result = function(*args)
                while inspect.isawaitable(result):
                    result = await result
                return cast("T", result)
            except asyncio.CancelledError as error:
                call.abandon()
                task = asyncio.current_task()
                if not task or task.cancelling():
                    raise
                raise RuntimeError("the call cancelled itself") from error
            except (Exception, SystemExit, BaseExceptionGroup) as error:
                usable = _as_exception(error)
                if usable is error:
                    raise
                raise usable from error
            finally:
                if is_plain:
                    self._slots.release()
        raise CallTimeout(f"no answer within {limit:g} seconds")


def _as_exception(raised: BaseException) -> Exception:
    """Return a plugin's failure as an error that can be printed.

    A plugin may end its own call, not the program: `sys.exit` in it is a failure of it.
    """
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    wrapped = RuntimeError(f"{type(raised).__name__}: {raised}")
    wrapped.__cause__ = raised
    return wrapped
