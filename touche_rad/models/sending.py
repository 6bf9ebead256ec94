"""Sending a request until it is answered: in its turn, within budget and deadline, tried again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

import anyio

from touche_rad.models.backend import Backend
from touche_rad.models.call import Call
from touche_rad.models.endpoint import NONE
from touche_rad.models.faults import BadRequest, Busy, Late, ModelError, NotCached
from touche_rad.models.limiter import Limiter
from touche_rad.models.replies import check_room, cost_of
from touche_rad.models.trace import Trace
from touche_rad.models.usage import Usage

Loops = WeakKeyDictionary[asyncio.AbstractEventLoop, Limiter]

TRIES: Final = 6
FIRST_WAIT, LONGEST_WAIT = 0.25, 20.0


@dataclass(frozen=True)
class Sender:
    """The way to one backend, and the account that it goes on."""

    backend: Backend | None
    usage: Usage
    trace: Trace
    at_once: int
    _limiters: Loops = field(default_factory=WeakKeyDictionary)

    @property
    def place(self) -> str:
        """Where the model is, for a person."""
        return self.backend.place if self.backend else NONE

    @property
    def _limiter(self) -> Limiter:
        return self._limiters.setdefault(asyncio.get_running_loop(), Limiter(self.at_once))

    async def first_taken(
        self,
        call: Call,
        bodies: Sequence[Mapping[str, Any]],
        check: Callable[[Mapping[str, Any]], object],
    ) -> Mapping[str, Any]:
        """Send the first body that the server takes; what may pass is tried again.

        Args:
            call: What it is for.
            bodies: What to send, the best first.
            check: Raises what is wrong with a reply.
        """
        wait, tries = FIRST_WAIT, 0
        bodies = list(bodies)
        while True:
            try:
                reply = await self._sent(call, bodies[0])
                check_room(reply, bodies[0])
                check(reply)
            except BadRequest:
                if len(bodies) == 1:
                    raise
                bodies.pop(0)
            except ModelError as error:
                tries += 1
                pause = error.after if error.after is not None else wait * random.uniform(0.5, 1.5)
                if not error.passing or tries >= TRIES or pause >= call.left:
                    raise
                call.cost.retries += 1
                await anyio.sleep(pause)
                wait = min(2 * wait, LONGEST_WAIT)
            else:
                return reply

    async def _sent(self, call: Call, body: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.backend is None:
            raise NotCached("the answer is not in the cache, and there is no endpoint (EMPTY)")
        waited = await self.backend.ready()
        if call.occasion.until is None:  # a start takes as long as it takes, and a turn does not
            call.end += waited
        if call.left <= 0:
            raise Late(f"{self.place}: no time is left")
        self.usage.reserve()
        call.cost.calls += 1
        limiter = self._limiter
        begun = time.monotonic()
        try:
            with anyio.fail_after(call.left):
                async with limiter.turn(call.occasion.debate):
                    begun = time.monotonic()
                    reply = await self.backend.complete(body, max(0.001, call.left))
        except TimeoutError:
            late = Late(f"{self.place}: no turn came before the deadline")
            self.trace.tell(call, body, None, fault=str(late), begun=begun)
            raise late from None
        except ModelError as error:
            if isinstance(error, Busy):
                limiter.busy()
            self.trace.tell(call, body, None, fault=str(error), begun=begun)
            raise
        limiter.answered(time.monotonic() - begun)
        used = cost_of(reply)
        self.usage.spend(used)
        call.cost.add(used)
        self.trace.tell(call, body, reply, begun=begun)
        return reply
