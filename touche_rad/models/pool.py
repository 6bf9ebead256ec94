"""Several endpoints of one model: the least busy is asked, a dead one is left out for a while."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from touche_rad.models.endpoint import Endpoint
from touche_rad.models.faults import Busy, ModelError, Unreachable

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


class _Member:
    """One endpoint, how many calls it has, and until when it is left alone."""

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
    """Endpoints that serve the same model under the same name."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._members = [_Member(endpoint) for endpoint in endpoints]

    @property
    def model(self) -> str:
        """The model's name at each of them."""
        return self._members[0].endpoint.model

    @property
    def place(self) -> str:
        """All addresses."""
        return ",".join(member.endpoint.place for member in self._members)

    async def ready(self) -> float:
        """Servers of somebody else's are there or they are not."""
        return 0.0

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Ask the least busy; where it cannot be reached, or is too busy, the next one."""
        end = time.monotonic() + seconds
        problem: ModelError = Unreachable(f"{self.place}: none answers")
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
        """The living by how busy they are; the dead last, the one that rests shortest first."""
        now = time.monotonic()
        return sorted(
            self._members,
            key=lambda member: (member.until > now, max(0.0, member.until - now), member.flying),
        )

    async def context(self) -> int | None:
        """Return the shortest context of all that answer."""
        told = []
        for member in self._members:
            try:
                told.append(await member.endpoint.context())
            except ModelError:
                continue
        known = [one for one in told if one is not None]
        return min(known) if known else None

    async def close(self) -> None:
        """Close all connections."""
        for member in self._members:
            await member.endpoint.close()
