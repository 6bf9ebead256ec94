"""A user-simulation endpoint, such as that of the task's organisers.

Requests are as those of the organisers' client: the first one contains the claim, later ones the
conversation, in which the user has the role `assistant`. Unlike that client, this one repeats
requests after temporary errors, and all waiting has a time limit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import Field

from touche_rad import http
from touche_rad.calls import current_context
from touche_rad.debate import SYSTEM, USER, Debate
from touche_rad.errors import UserError
from touche_rad.models.errors import BadReply, EmptyReply, Unreachable, model_error
from touche_rad.plugins import Options as PluginOptions
from touche_rad.records import UpTo20
from touche_rad.text import clean, excerpt, is_blank

BASE_USER: Final = "base-user"
POLICY = http.RequestPolicy(first_wait=0.5)
"""The user's options have the number of tries and the time limit of each."""
_ROLES: Final = {USER: "assistant", SYSTEM: "user"}
"""The endpoint's model is the user: its utterances have the role `assistant`."""
_CHECK: Final = http.RequestPolicy(seconds=3.0, connect=1.5)


class OfficialUser:
    """Asks a user-simulation endpoint, such as the organisers': --user URL."""

    class Options(PluginOptions):
        """Options."""

        model: str = ""
        """the user's name at the endpoint (default: column USER)"""
        max_words: Annotated[int, Field(ge=20)] = 100
        """maximum words of an utterance"""
        timeout: Annotated[float, Field(gt=0, le=3600)] = 60
        """time limit of a request in seconds"""
        tries: UpTo20 = 4
        """maximum requests for an utterance"""

    def __init__(self, url: str, options: Options) -> None:
        """Check the address; nothing is sent yet."""
        if not http.valid_address(url):
            raise UserError(
                "--user: expected http://HOST:PORT/PATH without a name or a password in it"
            )
        self.url = url
        self.options = options

    @property
    def place(self) -> str:
        """The address without its query, which may contain a key."""
        return self.url.partition("?")[0].partition("#")[0]

    def describe(self, debate: Debate) -> Mapping[str, Any]:
        """Return the address and the user's name at the endpoint."""
        return {"url": self.place, "model": self._name(debate)}

    async def check(self) -> None:
        """Raise NoEndpoint if nothing answers at the address; the user is asked nothing."""
        request = http.Request(self.place, "HEAD", self.url)
        async with http.open_client() as client:
            try:
                await http.send(client, request, _CHECK)
            except http.NoConnection as error:
                raise NoEndpoint(
                    error.what, fix="start the server, or pass another address (--user URL)"
                ) from None
            except http.RequestError:
                return  # It is there: it is slow, or answers no HEAD.

    async def open(self, claim: Debate) -> str:
        """Ask for the first utterance about a claim."""
        text = clean(claim.claim)
        options = {"options": {"claim": text}} if text else {}
        return await self._ask({"model": self._name(claim), **options})

    async def reply(self, debate: Debate) -> str:
        """Ask what comes next in the conversation."""
        messages = [
            {"role": _ROLES[speaker], "content": clean(text)} for speaker, text in debate.spoken
        ]
        return await self._ask({"model": self._name(debate), "messages": messages})

    def _name(self, debate: Debate) -> str:
        return self.options.model or clean(debate.user) or BASE_USER

    async def _ask(self, body: Mapping[str, Any]) -> str:
        """Ask until there is an answer."""
        request = http.Request(self.place, "POST", self.url, body)
        policy = replace(POLICY, tries=self.options.tries, seconds=self.options.timeout)
        deadline = current_context().deadline
        end = math.inf if deadline is None else deadline
        async with http.open_client() as client:
            try:
                return str(await http.send(client, request, policy, end=end, read=self._read))
            except http.RequestError as error:
                raise model_error(error) from None

    def _read(self, value: object) -> str:
        """Return `message.content` of an answer; other fields are ignored."""
        message = value.get("message") if isinstance(value, dict) else None
        text = message.get("content") if isinstance(message, dict) else None
        if not isinstance(text, str):
            raise BadReply(
                f"{self.place}: expected message.content, got {excerpt(json.dumps(value), 60)!r}"
            )
        if is_blank(text):
            raise EmptyReply(f"{self.place}: the answer holds no words")
        return text


class NoEndpoint(Unreachable):
    """Nothing answers at the address."""

    problem = "user unreachable"
