"""A direct way from the connection to the debater, for ordinary requests to POST /.

Reading a request and writing its answer takes h11, Starlette and FastAPI several times as long as
a search takes. The task's client, and whoever asks many questions, sends the same plain kind of
request: whole, small and valid. `DirectProtocol` answers these itself. All others, also those that
are refused, take the way through FastAPI, which gives the same bytes and describes the errors.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import h11

from touche_rad.debate import Debate
from touche_rad.serve.limits import DEFAULT_HEADERS, Gatekeeper, TimedProtocol

log = logging.getLogger("touche_rad")

_FIRST_LINE: Final = b"POST / HTTP/1.1"
_LONGEST_HEAD: Final = 8 * 2**10
_LONGEST_BODY: Final = 64 * 2**10
_BODY_SECONDS: Final = 1.0
"""Time that the rest of a body has; then FastAPI's way waits for it, with its own limits."""
_NAME: Final = re.compile(rb"[0-9a-z!#$%&'*+.^_`|~-]+")
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_NOT_PLAIN: Final = frozenset(
    (
        b"transfer-encoding",
        b"expect",
        b"upgrade",
        b"te",
        b"trailer",
        b"forwarded",
        b"x-forwarded-for",
        b"x-forwarded-proto",
    )
)
"""Headers that change how a request is read, or who its client is."""
_ANSWERED: Final = b"HTTP/1.1 200 OK\r\n"
_FIXED: Final = b"content-type: application/json\r\n" + b"".join(
    b"%b: %b\r\n" % one for one in DEFAULT_HEADERS
)


def plain_headers(head: bytes) -> dict[bytes, bytes] | None:
    """Return the headers of a plain request to POST /, which is read in one way only; else None.

    Args:
        head: All lines before the empty one.
    """
    first, *lines = head.split(b"\r\n")
    if first != _FIRST_LINE or not head.isascii() or len(head) > _LONGEST_HEAD:
        return None
    headers: dict[bytes, bytes] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        name = name.lower()
        if not colon or name in headers or not _NAME.fullmatch(name) or _CONTROL.search(value):
            return None
        headers[name] = value.strip(b" \t")
    length = headers.get(b"content-length", b"")
    if (
        not _NOT_PLAIN.isdisjoint(headers)
        or headers.get(b"connection", b"keep-alive").lower() != b"keep-alive"
        or headers.get(b"content-type", b"").partition(b";")[0].lower() != b"application/json"
        or b"host" not in headers
        or not length.isdigit()
        or len(length) > 9
        or int(length) > _LONGEST_BODY
    ):
        return None
    return headers


class DirectWay:
    """What `DirectProtocol` needs of the application."""

    def __init__(
        self,
        gatekeeper: Gatekeeper,
        read: Callable[[bytes], Debate | None],
        answer: Callable[[Debate], Awaitable[bytes]],
    ) -> None:
        """Make it.

        Args:
            gatekeeper: Who may ask, and how many at a time.
            read: Returns the debate of a valid body, else None.
            answer: Returns the body of the answer.
        """
        self.gatekeeper, self.read, self.answer = gatekeeper, read, answer

    def is_open_to(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a request may be answered now."""
        return self.gatekeeper.refusal("POST", "/", headers) is None


class DirectProtocol(TimedProtocol):
    """HTTP that answers plain requests to POST / itself, and passes all others on."""

    def __init__(self, way: DirectWay, **given: Any) -> None:
        super().__init__(**given)
        self._way = way
        self._begun = b""
        """A plain request whose body has not arrived whole."""
        self._missing = 0
        self._limit: asyncio.TimerHandle | None = None
        self._answers = False
        self._later = b""
        """What arrived while a request is answered."""
        self._is_last = False

    def data_received(self, data: bytes) -> None:
        """Answer a plain request, or pass on what arrived."""
        if self._answers:
            self._later += data
            self.flow.pause_reading()
        elif self._begun:
            self._go_on(data)
        elif not data.startswith(_FIRST_LINE) or self._is_elsewhere() or not self._begin(data):
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting for the rest of a body."""
        self._forget()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Finish the request that was begun."""
        if self._answers:
            self._is_last = True
            return
        self._pass_on()
        super().shutdown()

    def _is_elsewhere(self) -> bool:
        """Whether the other way is in the middle of a request."""
        return (
            self._is_answering()
            or self.conn.their_state is not h11.IDLE
            or bool(self.conn.trailing_data[0])
        )

    def _begin(self, data: bytes) -> bool:
        """Take a request whose head is whole and plain; return whether it was taken."""
        head, end, body = data.partition(b"\r\n\r\n")
        headers = plain_headers(head) if end else None
        if headers is None or not self._way.is_open_to(headers):
            return False
        missing = int(headers[b"content-length"]) - len(body)
        if missing > 0:
            self._unset_keepalive_if_required()
            self._begun, self._missing = data, missing
            self._limit = self.loop.call_later(_BODY_SECONDS, self._pass_on)
            return True
        debate = None if missing else self._way.read(body)
        if debate is None:
            return False
        self._stop()
        self._unset_keepalive_if_required()
        self._answers = True
        task = self.loop.create_task(self._answer(debate))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return True

    def _go_on(self, data: bytes) -> None:
        self._begun += data
        self._missing -= len(data)
        if self._missing <= 0:
            whole = self._begun
            self._forget()
            if not self._begin(whole):
                super().data_received(whole)

    def _pass_on(self) -> None:
        """Pass on a request whose body has not arrived whole."""
        begun = self._begun
        self._forget()
        if begun:
            super().data_received(begun)

    def _forget(self) -> None:
        self._begun = b""
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    async def _answer(self, debate: Debate) -> None:
        """Answer a request, then go on with what arrived meanwhile."""
        load = self._way.gatekeeper.load
        load.requests += 1
        try:
            body = await self._way.answer(debate)
            if self.flow.write_paused:
                await self.flow.drain()
        except Exception:
            # As with any web server: the client is told, and the log has the cause.
            log.exception("an answer failed")
            self._is_last, body = True, b""
        finally:
            load.requests -= 1
        self._answers = False
        if self.transport.is_closing():
            return
        self.transport.write(self._response(body) if body else _FAILED)
        if self._is_last:
            self.transport.close()
        self.on_response_complete()
        later, self._later = self._later, b""
        if later and not self._is_last:
            self.data_received(later)

    def _response(self, body: bytes) -> bytes:
        if self.access_log and self.client is not None:
            client = f"{self.client[0]}:{self.client[1]}"
            self.access_logger.info('%s - "%s %s HTTP/%s" %d', client, "POST", "/", "1.1", 200)
        first = b"".join(b"%b: %b\r\n" % one for one in self.server_state.default_headers)
        return b"%bcontent-length: %d\r\n%b\r\n%b" % (_ANSWERED + first, len(body), _FIXED, body)


_FAILED: Final = (
    b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 21\r\n"
    b"content-type: text/plain; charset=utf-8\r\n\r\nInternal Server Error"
)
