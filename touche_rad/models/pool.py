"""Several endpoints with the same model: which one gets a call, and which ones are left out."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from touche_rad.calls import current_context
from touche_rad.models.endpoint import Endpoint
from touche_rad.models.errors import (
    BadReply,
    Busy,
    ModelError,
    Timeout,
    Unauthorized,
    Unreachable,
    WrongModel,
)

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
_SHARE: Final = 1.25
"""Open calls that one endpoint may have, as a multiple of the mean of the endpoints in use."""
_SLACK: Final = 4
"""Open calls that one endpoint may have beyond that share."""
_PATIENCE: Final = 1 / 3
"""Share of its time that a call waits for an endpoint that answers nothing."""
_SLOWER: Final = 5.0
"""A call waits at least this many times as long as answers usually take, for such an endpoint."""
_NEW: Final = 0.1
"""Weight of a new answer in the usual time."""
_ERRORS: Final = 3
"""Server errors (5xx) in a row after which an endpoint is left out: the prompt may cause one."""
_SILENT: Final = 0.9
"""Share of its time that a call waited in vain, as a sign that the endpoint does not answer."""
_SHOWN: Final = 3
"""Addresses that a message names."""
_BROKEN: Final = (Unreachable, BadReply, Unauthorized, WrongModel)
"""Errors of one endpoint: another one may answer."""


@dataclass
class _Member:
    """One endpoint, its open calls, and the time until which it is not used."""

    endpoint: Endpoint
    flying: int = 0
    until: float = 0.0
    pause: float = 0.0
    errors: int = 0
    last: float = 0.0
    """Time of the last answer."""
    patience: dict[anyio.CancelScope, float] = field(default_factory=dict)
    """The open calls, and the seconds without any answer after which each one goes elsewhere."""

    @property
    def usable(self) -> bool:
        """Whether calls are sent here; an endpoint that failed gets one call to try it again."""
        return self.until <= time.monotonic() and (not self.pause or not self.flying)

    def failed(self) -> None:
        """Leave this endpoint out, for longer after each failure."""
        now = time.monotonic()
        if self.until <= now:
            self.pause = min(max(FIRST_PAUSE, 2 * self.pause), LONGEST_PAUSE)
            self.until = now + self.pause

    def busy(self, error: Busy) -> None:
        """Leave this endpoint out if it asks for a pause, or after several server errors."""
        self.errors += error.is_down
        if error.after is not None:
            self.until = max(self.until, time.monotonic() + error.after)
        elif self.errors >= _ERRORS:
            self.failed()

    def answered(self) -> None:
        """Use this endpoint again; its other calls wait longer."""
        self.last, self.errors = time.monotonic(), 0
        self.until = self.pause = 0.0
        for scope, patience in tuple(self.patience.items()):
            scope.deadline = anyio.current_time() + patience

    def rank(self, key: str) -> bytes:
        """Return the place of this endpoint in the order of a debate (rendezvous hashing)."""
        return hashlib.blake2b(f"{self.endpoint.place}\0{key}".encode(), digest_size=8).digest()


class Pool:
    """Several endpoints with the same model.

    The calls of a debate go to the same endpoint, which has the start of their prompts in its
    prefix cache. A debate's order of the endpoints depends on nothing but their addresses and its
    key, so that all processes of a run agree. The next endpoint of the order gets a call if the
    first is left out or has more open calls than its share ("consistent hashing with bounded
    loads"). Only our own open calls are counted: a server that also works for others answers more
    slowly, has more open calls, and so gets fewer new ones.
    """

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._members = [_Member(endpoint) for endpoint in endpoints]
        self._usual = 0.0
        """Seconds of an answer: a mean that forgets."""

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._members[0].endpoint.model

    @property
    def place(self) -> str:
        """The addresses; of many, the first ones and the number of others."""
        named = ",".join(member.endpoint.place for member in self._members[:_SHOWN])
        others = len(self._members) - _SHOWN
        return f"{named} and {others} more" if others > 0 else named

    async def ready(self) -> float:
        """The servers are not ours: nothing to wait for."""
        return 0.0

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Send to the debate's endpoint, and to the next one if it fails."""
        end = time.monotonic() + seconds
        problem: ModelError = Unreachable(f"{self.place}: no endpoint answers")
        context = current_context()
        for member in self._order(context.debate):
            begun = time.monotonic()
            if begun >= end:
                break
            answered = False
            member.flying += 1
            try:
                reply = await self._asked(member, body, end - begun)
            except _BROKEN as error:
                member.failed()
                problem = error
            except Busy as error:
                member.busy(error)
                problem = error
            except ModelError as error:
                answered = not isinstance(error, Timeout)
                raise
            else:
                answered = True
                return reply
            finally:
                member.flying -= 1
                waited = time.monotonic() - begun
                if not answered and member.last < begun and waited > _SILENT * (end - begun):
                    member.failed()
                if context.attempted is not None:
                    context.attempted(member.endpoint.place, answered)
        raise problem

    async def _asked(
        self, member: _Member, body: Mapping[str, Any], left: float
    ) -> Mapping[str, Any]:
        """Wait for a reply; give up early if the endpoint seems dead and another one is in use.

        A machine without power leaves connections open. An endpoint seems dead if none of its
        calls is answered for a third of the time left, and for far longer than answers took so far.
        """
        begun, patience = time.monotonic(), math.inf
        if self._usual and any(other.usable for other in self._members if other is not member):
            patience = max(_PATIENCE * left, _SLOWER * self._usual)
        with anyio.move_on_after(patience) as scope:
            member.patience[scope] = patience
            try:
                reply = await member.endpoint.complete(body, left)
            finally:
                del member.patience[scope]
            taken = time.monotonic() - begun
            self._usual += (taken - self._usual) * (_NEW if self._usual else 1.0)
            member.answered()
            return reply
        raise Unreachable(f"{member.endpoint.place}: no answer to any call for {patience:.3g} s")

    def _order(self, key: str) -> list[_Member]:
        """Return the endpoints in the order in which a call tries them.

        First come those in use, by the debate's order and within their shares; then those beyond
        their shares, and those that failed, the soonest usable first. A call without a debate goes
        to the endpoint with the fewest open calls.
        """
        used = [member for member in self._members if member.usable]
        busy = sum(member.flying for member in used) + 1
        most = math.ceil(_SHARE * busy / len(used)) + _SLACK if used else 0

        def order(member: _Member) -> tuple[float, float, bytes]:
            if not member.usable:
                return (2, member.until, b"")
            if not key or member.flying >= most:
                return (int(member.flying >= most), member.flying, b"")
            return (0, 0, member.rank(key))

        return sorted(self._members, key=order)

    async def check(self) -> list[str]:
        """Check all endpoints; return a warning for each that cannot be used.

        Raises:
            ModelError: None of them can be used.
        """
        problems: list[ModelError] = []

        async def one(member: _Member) -> None:
            try:
                await member.endpoint.check()
            except ModelError as error:
                member.failed()
                problems.append(error)

        async with anyio.create_task_group() as group:
            for member in self._members:
                group.start_soon(one, member)
        if len(problems) == len(self._members):
            raise problems[0]
        others = len(self._members) - len(problems)
        return [f"{error}; {others} of {len(self._members)} endpoints work" for error in problems]

    async def context(self) -> int | None:
        """Return the shortest context length of the endpoints that answer."""
        lengths = []
        for member in self._members:
            try:
                lengths.append(await member.endpoint.context())
            except ModelError:
                continue
        known = [one for one in lengths if one is not None]
        return min(known) if known else None

    async def close(self) -> None:
        """Close all connections."""
        for member in self._members:
            await member.endpoint.close()
