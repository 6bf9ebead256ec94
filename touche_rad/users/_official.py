"""A user-simulation endpoint, such as that of the task's organisers.

Requests are as those of the organisers' client: the first one contains the claim, later ones the
conversation, in which the user has the role `assistant`. Unlike that client, this one repeats
requests after temporary errors, and all waiting has a time limit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from pydantic import Field

from touche_rad.calls import current_context
from touche_rad.debate import Debate
from touche_rad.errors import UserError
from touche_rad.models.endpoint import LARGEST, Client, NoReply, Reply, TooLarge
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
from touche_rad.text import clean, excerpt

BASE_USER: Final = "base-user"
FIRST_WAIT, LONGEST_WAIT = 0.5, 20.0
_CHECK_SECONDS: Final = 3.0
_LATER: Final = frozenset((408, 409, 425, 429))


class OfficialUser:
    """Asks a user-simulation endpoint, such as the organisers'."""

    class Options(PluginOptions):
        """Options."""

        model: str = Field("", description="the user's name at the endpoint (default: column USER)")
        max_words: int = Field(100, ge=20, description="maximum words of an utterance")
        timeout: float = Field(60, gt=0, le=3600, description="time limit of a request in seconds")
        tries: int = Field(4, ge=1, le=20, description="maximum requests for an utterance")

    def __init__(self, url: str, options: Options | None = None) -> None:
        """Check the address; nothing is sent yet."""
        self.url = _check_url(url)
        self.options = options or OfficialUser.Options()

    @property
    def place(self) -> str:
        """The address without its query, which may contain a key."""
        return self.url.partition("?")[0].partition("#")[0]

    def describe(self, debate: Debate) -> Mapping[str, Any]:
        """Return the address and the user's name at the endpoint."""
        return {"url": self.place, "model": self._name(debate)}

    async def check(self) -> None:
        """Raise NoEndpoint if nothing answers at the address; the user is asked nothing."""
        try:
            with anyio.move_on_after(_CHECK_SECONDS):  # it is there, and slow
                async with Client() as client:
                    await client.send("HEAD", self.url, connect=_CHECK_SECONDS / 2)
        except NoReply as error:
            fix = "start the server, or pass another address (--user URL)"
            raise NoEndpoint(f"{self.place}: {error}", fix=fix) from None

    async def open(self, claim: Debate) -> str:
        """Ask for the first utterance about a claim."""
        text = clean(claim.claim)
        options = {"options": {"claim": text}} if text else {}
        return await self._ask({"model": self._name(claim), **options})

    async def reply(self, debate: Debate) -> str:
        """Ask what comes next in the conversation."""
        return await self._ask({"model": self._name(debate), "messages": mirror(debate)})

    def _name(self, debate: Debate) -> str:
        return self.options.model or clean(debate.user) or BASE_USER

    async def _ask(self, body: Mapping[str, Any]) -> str:
        """Ask until there is an answer."""
        content = json.dumps(body).encode("ascii")
        for number in range(1, self.options.tries + 1):
            try:
                return await self._request(content)
            except ModelError as error:
                wait, is_last = _wait(number - 1, error.after), number == self.options.tries
                if not error.retryable or is_last or wait >= self._seconds_left():
                    raise
                await anyio.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _seconds_left(self) -> float:
        end = current_context().deadline
        return float("inf") if end is None else end - time.monotonic()

    async def _request(self, content: bytes) -> str:
        seconds = min(self.options.timeout, self._seconds_left())
        try:
            with anyio.fail_after(max(0.001, seconds)):
                async with Client() as client:
                    reply = await client.send("POST", self.url, content, largest=LARGEST)
        except TimeoutError:
            raise Slow(f"{self.place}: no answer within {seconds:.3g} s") from None
        except NoReply as error:
            raise Unreachable(f"{self.place}: {error}") from None
        except TooLarge:
            raise BadReply(f"{self.place}: the answer is larger than {LARGEST} bytes") from None
        if reply.status >= 500 or reply.status in _LATER:
            raise Busy(f"{self.place}: {reply.status}", after=reply.retry_after)
        if reply.status != HTTPStatus.OK:
            raise BadRequest(f"{self.place}: {reply.status}")
        return self._parse(reply)

    def _parse(self, reply: Reply) -> str:
        """Return `message.content` of an answer; other fields are ignored."""
        body = reply.content.decode("utf-8", "replace")
        try:
            value = reply.json()
        except ValueError:
            raise BadReply(f"{self.place}: expected JSON, got {excerpt(body, 60)!r}") from None
        message = value.get("message") if isinstance(value, dict) else None
        text = message.get("content") if isinstance(message, dict) else None
        if not isinstance(text, str):
            raise BadReply(f"{self.place}: expected message.content, got {excerpt(body, 60)!r}")
        if not text.strip():
            raise EmptyReply(f"{self.place}: the answer holds no words")
        return text


class NoEndpoint(Unreachable):
    """Nothing answers at the address."""

    problem = "user unreachable"


class Slow(Timeout):
    """A request exceeded its time limit; it is repeated."""

    retryable = True


def mirror(debate: Debate) -> list[dict[str, str]]:
    """Return the conversation as the user sees it: its utterances have the role `assistant`."""
    messages: list[dict[str, str]] = []
    for turn in debate.turns:
        messages.append({"role": "assistant", "content": clean(turn.utterance)})
        if turn.response is not None:
            messages.append({"role": "user", "content": clean(turn.response.content)})
    return messages


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # such as a port that is no number
        valid = False
    if not valid or "@" in parts.netloc or any(map(str.isspace, url)):
        raise UserError("--user: expected http://HOST:PORT/PATH without a name or a password in it")
    return url


def _wait(before: int, after: float | None) -> float:
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0**before)
    return wait if after is None else max(wait, min(after, 3 * LONGEST_WAIT))
