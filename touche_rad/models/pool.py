"""Several endpoints with the same model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from touche_rad.models.endpoint import Endpoint
from touche_rad.models.errors import Busy, ModelError, Unreachable

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


class _Member:
    """One endpoint, its open calls, and the time until which it is not used."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.flying = 0
        self.until = 0.0
        self.pause = FIRST_PAUSE

    def failed(self) -> None:
        self.until = time.monotonic() + self.pause
        self.pause = min(2 * self.pause, LONGEST_PAUSE)

    def answered(self) -> None:
        self.until, self.pause = 0.0, FIRST_PAUSE


class Pool:
    """Several endpoints with the same model."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._members = [_Member(endpoint) for endpoint in endpoints]

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._members[0].endpoint.model

    @property
    def place(self) -> str:
        """All addresses."""
        return ",".join(member.endpoint.place for member in self._members)

    async def ready(self) -> float:
        """The servers are not ours: nothing to wait for."""
        return 0.0

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Send to the endpoint with the fewest open calls; on failure, to the next."""
        end = time.monotonic() + seconds
        problem: ModelError = Unreachable(f"{self.place}: no endpoint answers")
        for member in self._order():
            left = end - time.monotonic()
            if left <= 0:
                break
            member.flying += 1
            try:
                reply = await member.endpoint.complete(body, left)
            except Unreachable as error:
                member.failed()
                problem = error
            except Busy as error:
                problem = error
            else:
                member.answered()
                return reply
            finally:
                member.flying -= 1
        raise problem

    def _order(self) -> list[_Member]:
        """Order by open calls; endpoints that failed recently come last."""
        now = time.monotonic()
        return sorted(
            self._members,
            key=lambda member: (member.until > now, max(0.0, member.until - now), member.flying),
        )

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
