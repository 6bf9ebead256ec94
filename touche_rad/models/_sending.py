"""Send a request with retries, budget and deadline, and at most so many at a time."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

import anyio

from touche_rad.models.endpoint import Backend
from touche_rad.models.errors import (
    BadRequest,
    ModelError,
    NotCached,
    PromptTooLong,
    Timeout,
    Truncated,
)
from touche_rad.models.usage import Call, Trace, Usage, cost_of

TRIES: Final = 6
_RETRY_AFTER: Final = 15.0
"""Seconds after which one call of a server that is down is retried again."""
FIRST_WAIT, LONGEST_WAIT = 0.25, 20.0


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


@dataclass(frozen=True)
class Sender:
    """Sends requests to one backend and counts their costs."""

    backend: Backend | None
    usage: Usage
    trace: Trace
    at_once: int
    """Maximum calls that are open at a time."""
    health: Health = field(default_factory=Health)
    _places: WeakKeyDictionary[asyncio.AbstractEventLoop, anyio.Semaphore] = field(
        default_factory=WeakKeyDictionary
    )
    _accepted: dict[str, int] = field(default_factory=dict)
    """For each kind of request, how many of its bodies the server refused before one."""

    async def first_accepted(
        self,
        call: Call,
        bodies: Sequence[Mapping[str, Any]],
        check: Callable[[Mapping[str, Any]], object],
        kind: str,
    ) -> Mapping[str, Any]:
        """Send the first body that the server accepts; retry retryable errors.

        `bodies` has the best request first. `check` raises a ModelError if the reply is not usable.
        The next request of this `kind` begins with the body that was accepted.
        """
        wait, tries, most = FIRST_WAIT, 0, self.health.tries()
        at = self._accepted.get(kind, 0)
        while True:
            try:
                reply = await self._send(call, bodies[at])
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

    async def _send(self, call: Call, body: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.backend is None:
            raise NotCached("the answer is not in the cache, and there is no endpoint (EMPTY)")
        started = await self.backend.ready()
        async with self._place(call, started, self.backend.place):
            if call.left <= 0:
                raise Timeout(f"{self.backend.place}: no time is left before the deadline")
            self.usage.reserve()
            call.cost.calls += 1
            if call.context.observe is not None:
                sent = call.cost.calls
                call.context.observe({"event": "asking", "step": call.step, "sent": sent})
            begun = time.monotonic()
            try:
                reply = await self.backend.complete(body, call.left)
            except ModelError as error:
                self.trace.write(call, body, None, fault=str(error), begun=begun)
                raise
        self.health.error = None
        used = cost_of(reply)
        self.usage.spend(used)
        call.cost.add(used)
        self.trace.write(call, body, reply, begun=begun)
        choices, written = reply.get("choices"), used.completion_tokens
        first = choices[0] if isinstance(choices, list) and choices else None
        is_cut = isinstance(first, dict) and first.get("finish_reason") == "length"
        if is_cut and 0 < written < body["max_tokens"]:
            raise PromptTooLong(f"{body['model']}: the prompt leaves only {written} tokens")
        return reply

    @asynccontextmanager
    async def _place(self, call: Call, started: float, where: str) -> AsyncIterator[None]:
        """Wait until one more call may be open.

        Without a deadline of the plugin, the call's time limit counts neither this time nor the
        seconds in which the backend started.
        """
        loop, waits = asyncio.get_running_loop(), call.context.deadline is None
        places = self._places.setdefault(loop, anyio.Semaphore(self.at_once))
        begun = time.monotonic()
        try:
            with anyio.fail_after(None if waits else call.left):
                await places.acquire()
        except TimeoutError:
            raise Timeout(f"{where}: too many calls; no place before the deadline") from None
        try:
            if waits:
                call.end += started + time.monotonic() - begun
            yield
        finally:
            places.release()
