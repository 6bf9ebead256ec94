"""A limit on the size of a request, kept while it streams in."""

from __future__ import annotations

import json
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class _TooLarge(Exception):
    pass


class BodyLimit:
    """Refuse larger bodies with 413 and a reason, announced in length or not."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, counting its bytes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > self.limit:
            await self._refuse(send)
            return
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.limit:
                raise _TooLarge
            return message

        async def guarded(message: Message) -> None:
            # The application takes the broken stream for a broken body, and would say so.
            if taken <= self.limit:
                await send(message)
            elif message["type"] == "http.response.start":
                await self._refuse(send)

        with suppress(_TooLarge):
            await self.app(scope, counted, guarded)

    async def _refuse(self, send: Send) -> None:
        detail = json.dumps({"detail": f"expected a body of at most {self.limit} bytes"}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(detail)).encode()),
            (b"connection", b"close"),
        ]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": detail})
