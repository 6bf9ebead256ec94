"""Send a request with retries, concurrency limit, budget and deadline; equal requests once."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

import anyio

from touche_rad.calls import call_context
from touche_rad.models.cache import Cache, Row, request_lock
from touche_rad.models.endpoint import NONE, Backend
from touche_rad.models.errors import (
    BadRequest,
    Busy,
    ModelError,
    NotCached,
    Timeout,
    Truncated,
)
from touche_rad.models.usage import Call, Trace, Usage, check_room, cost_of

MOST: Final = 256
FIRST: Final = 4
"""Parallel calls that a slow server of one machine answers in time."""
_SLOWER: Final = 2.0
"""If answers take this many times as long as at best, more calls do not help."""
_NEW: Final = 1 / 16
"""Weight of a new answer in the mean time of answers."""
_FORGOTTEN: Final = 1.001
"""Growth of the remembered best mean with each answer, because the load changes."""
_LATE: Final = 3
"""The limit does not grow while answers take more than this part of the time allowed."""
_GROWTH: Final = 4.0
"""At first the limit grows at most this many times with each round of answers."""
_PROMPT: Final = 32
"""A prompt takes about as long as so many tokens of an answer."""


class Limiter:
    """Limits parallel calls: adapts to the speed of the server, and serves debates in turn."""

    def __init__(self, most: int = MOST, first: int = FIRST) -> None:
        """Start with `first` parallel calls; at most `most`."""
        self.most = max(1, most)
        self.limit = float(min(first, self.most))
        self.flying = 0
        self._starting = True
        self._lowered = -math.inf
        """When the limit was lowered last."""
        self._mean = 0.0
        self._best = float("inf")
        """The least mean time per token."""
        self._waiting: OrderedDict[str, deque[anyio.Event]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, whose: str = "") -> AsyncIterator[None]:
        """Wait for a place; debates that wait get places in turn."""
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
            if called.is_set():  # the place was assigned at the same moment
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

    def answered(self, seconds: float, tokens: int = 0, *, allowed: float = math.inf) -> None:
        """Record an answer: allow more parallel calls unless answers have become slow.

        At first the limit grows up to four times with each round of answers, but to no more calls
        than a server that answers one after the other would answer in time. It grows slowly after
        answers were slow once, or the server was overloaded. Means of the time per token are
        compared, because the steps of a plugin have answers of different length.
        """
        time_per_token = seconds / (_PROMPT + tokens)
        self._mean += (time_per_token - self._mean) * (_NEW if self._mean else 1.0)
        self._best = min(self._best * _FORGOTTEN, self._mean)
        quick = self._mean <= _SLOWER * self._best and seconds <= allowed / _LATE
        if quick or self.limit < FIRST:
            more = 4 / max(1.0, self.limit)
            if self._starting:  # at the limit, twice a third of the time allowed is in time
                more = min(_GROWTH, max(2.0, 2 / _LATE * allowed / max(seconds, 1e-3))) - 1
            self.limit = min(self.most, self.limit + more)
        else:
            self._starting = False

    def busy(self, sent: float = math.inf) -> None:
        """Record that the server is overloaded: halve the limit, once for all calls of a burst.

        Args:
            sent: When the call was sent; before the limit was lowered, it says nothing new.
        """
        self._starting = False
        if sent > self._lowered:
            self._lowered = time.monotonic()
            self.limit = max(1.0, self.limit / 2)

    def late(self) -> None:
        """Record an answer that did not come in time: halve the limit, if it ever grew."""
        self._starting = False
        self.limit = max(min(FIRST, self.limit), self.limit / 2)


Loops = WeakKeyDictionary[asyncio.AbstractEventLoop, Limiter]


@dataclass
class Health:
    """Whether the server works: while it is down, calls are not retried for long."""

    error: ModelError | None = None
    """The last error of a call that failed after all its retries; None if the server works."""
    _retried: float = 0.0

    def failed(self, error: ModelError) -> None:
        """Record a call that failed because the server does not work."""
        self.error, self._retried = error, time.monotonic()

    def tries(self) -> int:
        """Return how often a call is sent at most."""
        if self.error is None:
            return TRIES
        if time.monotonic() - self._retried < _RETRY_AFTER:
            return 1
        self._retried = time.monotonic()
        return TRIES


TRIES: Final = 6
_RETRY_AFTER: Final = 15.0
"""Seconds after which one call of a server that is down is retried again."""
FIRST_WAIT, LONGEST_WAIT = 0.25, 20.0


@dataclass(frozen=True)
class Sender:
    """Sends requests to one backend and counts their costs."""

    backend: Backend | None
    usage: Usage
    trace: Trace
    at_once: int
    _limiters: Loops = field(default_factory=WeakKeyDictionary)
    _accepted: dict[str, int] = field(default_factory=dict)
    """For each kind of request, how many of its bodies the server refused before one."""
    health: Health = field(default_factory=Health)

    @property
    def place(self) -> str:
        """Where the model is, to show to a user."""
        return self.backend.place if self.backend else NONE

    @property
    def _limiter(self) -> Limiter:
        return self._limiters.setdefault(asyncio.get_running_loop(), Limiter(self.at_once))

    async def first_accepted(
        self,
        call: Call,
        bodies: Sequence[Mapping[str, Any]],
        check: Callable[[Mapping[str, Any]], object],
        kind: str,
    ) -> Mapping[str, Any]:
        """Send the first body that the server accepts; retry retryable errors.

        Args:
            call: The call that the request belongs to.
            bodies: The possible requests, the best first.
            check: Raises a ModelError if the reply is not usable.
            kind: The next request of this kind begins with the body that was accepted.
        """
        wait, tries, most = FIRST_WAIT, 0, self.health.tries()
        at = self._accepted.get(kind, 0)
        while True:
            try:
                reply = await self._sent(call, bodies[at])
                check_room(reply, bodies[at])
                check(reply)
            except (BadRequest, Truncated) as error:
                if isinstance(error, Truncated) and bodies[at]["max_tokens"] > 1:
                    raise
                at += 1
                if at == len(bodies):
                    raise
            except ModelError as error:
                tries += 1
                pause = error.after if error.after is not None else wait * random.uniform(0.5, 1.5)
                if not error.retryable or tries >= most or pause >= call.left:
                    if error.is_down:
                        self.health.failed(error)
                    raise
                call.cost.retries += 1
                await anyio.sleep(pause)
                wait = min(2 * wait, LONGEST_WAIT)
            else:
                self._accepted[kind] = at
                return reply

    async def _sent(self, call: Call, body: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.backend is None:
            raise NotCached("the answer is not in the cache, and there is no endpoint (EMPTY)")
        waited = await self.backend.ready()
        if call.context.deadline is None:
            call.end += waited
        if call.left <= 0:
            raise Timeout(f"{self.place}: no time is left before the deadline")
        self.usage.reserve()
        call.cost.calls += 1
        call.report_sent()
        limiter = self._limiter
        begun, waited_for = time.monotonic(), "too many calls; no place"
        unhurried = call.context.deadline is None
        try:
            with (
                anyio.fail_after(None if unhurried else call.left) as scope,
                call_context(attempted=self.usage.count_attempt),
            ):
                async with limiter.turn(call.context.debate):
                    if unhurried:  # waiting for a place is not the server's time
                        call.end += time.monotonic() - begun
                        scope.deadline = anyio.current_time() + call.left
                    begun, waited_for, allowed = time.monotonic(), "no answer", call.left
                    reply = await self.backend.complete(body, max(0.001, allowed))
        except TimeoutError:
            if waited_for == "no answer":
                limiter.late()
            late = Timeout(f"{self.place}: {waited_for} before the deadline")
            self.trace.write(call, body, None, fault=str(late), begun=begun)
            raise late from None
        except ModelError as error:
            if isinstance(error, Busy):
                limiter.busy(begun)
            elif isinstance(error, Timeout):
                limiter.late()
            self.trace.write(call, body, None, fault=str(error), begun=begun)
            raise
        self.health.error = None
        used = cost_of(reply)
        limiter.answered(time.monotonic() - begun, used.completion_tokens, allowed=allowed)
        self.usage.spend(used)
        self.usage.count_engine(reply.get("system_fingerprint"))
        call.cost.add(used)
        self.trace.write(call, body, reply, begun=begun)
        return reply


class Answers:
    """The cache of a model; without a folder nothing is stored and nothing waits."""

    def __init__(self, folder: Path | None, trace: Trace, behind: Path | None = None) -> None:
        self._cache = Cache(folder, behind=behind) if folder else None
        self._trace = trace
        self._asked: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, anyio.Lock]] = (
            WeakKeyDictionary()
        )

    def found(self, call: Call, key: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the stored answer, or None."""
        kept = self._cache.get(key) if self._cache else None
        if kept is None or "said" not in kept:
            return None
        call.cost.from_cache += 1
        self._trace.write(call, body, kept)
        return kept

    def take(self) -> list[Row]:
        """Return the rows that were stored since the last call."""
        return self._cache.take() if self._cache is not None else []

    def insert(self, rows: Iterable[Row]) -> None:
        """Add rows that other processes made."""
        if self._cache is not None and rows:
            self._cache.insert(rows)

    def keep(self, key: str, body: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Store a valid answer."""
        if self._cache is not None:
            self._cache.put(key, body, answer)

    @asynccontextmanager
    async def one_at_a_time(self, call: Call, key: str, *, asks: bool) -> AsyncIterator[None]:
        """Send equal parallel requests once; the others wait for the stored answer.

        Args:
            call: The call that waits, until its deadline at most.
            key: Key of the request.
            asks: Whether there is a backend; without one other processes are not waited for.
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
                async with request_lock(self._cache.folder, key, lambda: call.left):
                    yield
        finally:
            if not lock.locked() and not lock.statistics().tasks_waiting:
                asked.pop(key, None)
