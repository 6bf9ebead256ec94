"""Several servers with the same model: round robin, and a server that fails is skipped."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import anyio

from touche_rad.models.endpoint import Backend, Endpoint
from touche_rad.models.errors import (
    BadReply,
    Busy,
    ModelError,
    Timeout,
    Unauthorized,
    Unreachable,
    WrongModel,
)

PAUSE = 30.0
"""Seconds for which a failed server is skipped."""
_BROKEN: Final = (Unreachable, BadReply, Busy, Timeout, Unauthorized, WrongModel)
"""Errors of one server, which another one may not have."""


@dataclass
class _Server:
    """One of several servers, and the time until which it is skipped."""

    endpoint: Endpoint
    until: float = 0.0
    failed: bool = False
    """Whether it has failed at least once."""

    def skip(self, after: float | None = None) -> None:
        """Skip it for as long as it asks for."""
        self.failed = True
        self.until = time.monotonic() + (PAUSE if after is None else after)


class Endpoints(Backend):
    """Several servers with the same model, used in turn; one that fails is skipped for a while."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self.model = endpoints[0].model
        self.place = ",".join(endpoint.place for endpoint in endpoints)
        self._servers = [_Server(endpoint) for endpoint in endpoints]
        self._turn = 0
        self.warnings: list[str] = []
        """The first failure of each server."""

    async def ready(self) -> None:
        """Make the clients."""
        for server in self._servers:
            await server.endpoint.ready()

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Send a request to the next server in turn, and to the others if it fails."""
        end = time.monotonic() + seconds
        problem: ModelError = Timeout(f"{self.place}: no answer within {seconds:.3g} s")
        # Those that work, in turn; then those that failed, the oldest failure first.
        now = time.monotonic()
        in_turn = self._servers[self._turn :] + self._servers[: self._turn]
        self._turn = (self._turn + 1) % len(self._servers)
        for server in sorted(in_turn, key=lambda server: max(0.0, server.until - now)):
            remaining = end - time.monotonic()
            if remaining <= 0:
                break
            try:
                reply = await server.endpoint.complete(body, remaining)
            except _BROKEN as error:
                if not server.failed:
                    self.warnings.append(f"{error}; other endpoints or retries followed")
                server.skip(error.retry_after)
                problem = error
            else:
                server.until = 0.0
                return reply
        raise problem

    async def check(self) -> None:
        """Check all servers; warn of each that cannot be used, and raise if none can."""
        problems: list[ModelError] = []

        async def check(server: _Server) -> None:
            try:
                await server.endpoint.check()
            except ModelError as error:
                server.skip()
                problems.append(error)

        async with anyio.create_task_group() as group:
            for server in self._servers:
                group.start_soon(check, server)
        count = len(self._servers)
        if len(problems) == count:
            raise problems[0]
        work = f"{count - len(problems)} of {count} endpoints work"
        self.warnings += [f"{error}; {work}" for error in problems]

    async def context(self) -> int | None:
        """Return the shortest context length of the servers that answer."""
        lengths = [await server.endpoint.context() for server in self._servers]
        return min((length for length in lengths if length is not None), default=None)

    async def close(self) -> None:
        """Close all connections."""
        for server in self._servers:
            await server.endpoint.close()
