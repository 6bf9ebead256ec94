"""The user of the task's organisers: an endpoint that is sent the debate and says what comes next.

Its prompts are theirs. It is asked as their own client asks it: first with the claim, then with the
conversation, in which the user is the `assistant`. It differs from their client where a debate is
at stake: a fault that may pass is tried again, and nothing is waited for without an end.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import anyio
import httpx
from pydantic import Field

from touche_rad.debate import Debate
from touche_rad.errors import UserError
from touche_rad.models.context import current_context
from touche_rad.models.errors import (
    BadReply,
    BadRequest,
    Busy,
    EmptyReply,
    ModelError,
    Timeout,
    Unreachable,
)
from touche_rad.plugins import Options as PluginOptions
from touche_rad.text import clean

BASE_USER: Final = "base-user"
LARGEST: Final = 16 * 2**20
FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0
_LATER: Final = frozenset((408, 409, 425, 429))


class OfficialUser:
    """Asks a user-simulation endpoint, such as the organisers'."""

    class Options(PluginOptions):
        """How it is asked."""

        model: str = Field("", description="the user's name there [default: column USER]")
        max_words: int = Field(100, ge=20, description="the most words of an utterance")
        timeout: float = Field(60, gt=0, le=3600, description="seconds of one request")
        tries: int = Field(4, ge=1, le=20, description="requests for one utterance")

    def __init__(self, url: str, options: Options | None = None) -> None:
        """Remember the address; nothing is sent yet."""
        self.url = _checked(url)
        self.options = options or OfficialUser.Options()
        self._given_up = False

    @property
    def place(self) -> str:
        """The address without what may be a key in it."""
        return self.url.partition("?")[0].partition("#")[0]

    def describe(self, debate: Debate) -> Mapping[str, Any]:
        """Return the address and the user's name there."""
        return {"url": self.place, "model": self._name(debate)}

    async def open(self, claim: Debate) -> str:
        """Ask for the first words on a claim."""
        stated = clean(claim.claim)
        options = {"options": {"claim": stated}} if stated else {}
        return await self._said({"model": self._name(claim), **options})

    async def reply(self, debate: Debate) -> str:
        """Ask what comes next in the conversation."""
        return await self._said({"model": self._name(debate), "messages": mirrored(debate)})

    def _name(self, debate: Debate) -> str:
        return self.options.model or clean(debate.user) or BASE_USER

    async def _said(self, body: Mapping[str, Any]) -> str:
        """Ask until there are words; while nobody answers there, a turn is worth one try."""
        sent = json.dumps(body).encode("ascii")
        tries = 1 if self._given_up else self.options.tries
        for left in reversed(range(tries)):
            try:
                said = await self._once(sent)
            except ModelError as error:
                wait = _wait(tries - 1 - left, error.after)
                if not error.retryable or not left or wait >= self._seconds_left():
                    self._given_up = error.retryable
                    raise
                await anyio.sleep(wait)
            else:
                self._given_up = False
                return said
        raise AssertionError("the last try returns or raises")

    def _seconds_left(self) -> float:
        end = current_context().deadline
        return float("inf") if end is None else end - time.monotonic()

    async def _once(self, sent: bytes) -> str:
        seconds = min(self.options.timeout, self._seconds_left())
        try:
            with anyio.fail_after(max(0.001, seconds)):
                status, held, headers = await self._exchanged(sent)
        except TimeoutError:
            raise Slow(f"{self.place}: no answer within {seconds:.3g} s") from None
        except (httpx.HTTPError, ssl.SSLError, OSError) as error:
            told = " ".join(str(error).split()) or type(error).__name__
            raise Unreachable(f"{self.place}: {told[:200]}") from None
        if status >= 500 or status in _LATER:
            raise Busy(f"{self.place}: {status}", after=_after(headers))
        if status != httpx.codes.OK:
            raise BadRequest(f"{self.place}: {status}")
        return self._read(held)

    async def _exchanged(self, sent: bytes) -> tuple[int, bytes, httpx.Headers]:
        headers = {"Content-Type": "application/json"}
        async with (
            httpx.AsyncClient(verify=self._trusted, timeout=None) as client,
            client.stream("POST", self.url, content=sent, headers=headers) as reply,
        ):
            held = bytearray()
            async for part in reply.aiter_bytes():
                held += part
                if len(held) > LARGEST:
                    raise BadReply(f"{self.place}: the answer is larger than {LARGEST} bytes")
            return reply.status_code, bytes(held), reply.headers

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()

    def _read(self, held: bytes) -> str:
        """Return `message.content`; whatever else the answer holds is nobody's business."""
        try:
            value = json.loads(held)
        except (ValueError, RecursionError):
            raise BadReply(f"{self.place}: expected JSON, got {held[:60]!r}") from None
        message = value.get("message") if isinstance(value, dict) else None
        said = message.get("content") if isinstance(message, dict) else None
        if not isinstance(said, str):
            raise BadReply(f"{self.place}: expected message.content, got {held[:60]!r}")
        if not said.strip():
            raise EmptyReply(f"{self.place}: the answer holds no words")
        return said


class Slow(Timeout):
    """One request took too long; another may not."""

    retryable = True


def mirrored(debate: Debate) -> list[dict[str, str]]:
    """Return the conversation as the user sees it: what the user said is the assistant's."""
    messages: list[dict[str, str]] = []
    for turn in debate.turns:
        messages.append({"role": "assistant", "content": clean(turn.utterance)})
        if turn.response is not None:
            messages.append({"role": "user", "content": clean(turn.response.content)})
    return messages


def _checked(url: str) -> str:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        parts = httpx.URL()
    if parts.scheme not in ("http", "https") or not parts.host or parts.userinfo:
        raise UserError("--user: expected http://HOST:PORT/PATH without a name or a password in it")
    return url


def _wait(before: int, after: float | None) -> float:
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0**before)
    return wait if after is None else max(wait, min(after, 3 * LONGEST_WAIT))


def _after(headers: httpx.Headers) -> float | None:
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if seconds >= 0 else None
