"""Send a request with retries, concurrency limit, budget and deadline; read the reply."""

from __future__ import annotations

import asyncio
import random
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

import anyio

from touche_rad.models.call import Call, Trace
from touche_rad.models.endpoint import NONE, Backend
from touche_rad.models.errors import (
    BadRequest,
    Busy,
    EmptyReply,
    InvalidAnswer,
    ModelError,
    NotCached,
    PromptTooLong,
    Refusal,
    Timeout,
    Truncated,
)
from touche_rad.models.output import probabilities
from touche_rad.models.usage import Cost, Usage

MOST: Final = 256
_SLOWER: Final = 2.0
"""Answers that take so many times the quickest mean that more calls do not help."""
_FORGOTTEN: Final = 1.02
"""By how much the quickest answer is forgotten with each new one: loads change."""


class Limiter:
    """An adaptive bound, fair between those who wait."""

    def __init__(self, most: int = MOST, first: int = 8) -> None:
        """Start with `first` calls at once, never more than `most`."""
        self.most = max(1, most)
        self.limit = float(min(first, self.most))
        self.flying = 0
        self._quickest = float("inf")
        self._waiting: OrderedDict[str, deque[anyio.Event]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, whose: str = "") -> AsyncIterator[None]:
        """Wait until a call may be made for somebody, and hold its place."""
        if self.flying >= int(self.limit) or self._waiting:
            await self._wait(whose)
        else:
            self.flying += 1
        try:
            yield
        finally:
            self.flying -= 1
            self._wake()

    async def _wait(self, whose: str) -> None:
        called = anyio.Event()
        self._waiting.setdefault(whose, deque()).append(called)
        self._wake()
        try:
            await called.wait()
        except BaseException:
            if called.is_set():  # the place was given away in the same moment
                self.flying -= 1
            else:
                self._leave(whose, called)
            self._wake()
            raise

    def _leave(self, whose: str, called: anyio.Event) -> None:
        mine = self._waiting[whose]
        mine.remove(called)
        if not mine:
            del self._waiting[whose]

    def _wake(self) -> None:
        while self._waiting and self.flying < int(self.limit):
            whose, line = self._waiting.popitem(last=False)
            called = line.popleft()
            if line:
                self._waiting[whose] = line
            self.flying += 1
            called.set()

    def answered(self, seconds: float) -> None:
        """Note an answer: more at once, unless answers have become slow."""
        self._quickest = min(self._quickest * _FORGOTTEN, seconds)
        if seconds <= _SLOWER * self._quickest or self.limit < 4:
            self.limit = min(self.most, self.limit + 4 / max(1.0, self.limit))

    def busy(self) -> None:
        """Note that the server had too much: half as many at once."""
        self.limit = max(1.0, self.limit / 2)


_BLANKS: Final = 20


def _first(reply: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise EmptyReply(f"{model}: the answer holds no choice")
    first: Mapping[str, Any] = choices[0]
    message = first.get("message")
    if isinstance(message, dict) and message.get("refusal"):
        raise Refusal(f"{model} refused: {str(message['refusal'])[:200]}")
    if first.get("finish_reason") == "content_filter":
        raise Refusal(f"{model} refused: content filter")
    return first


def words_of(reply: Mapping[str, Any], model: str) -> str:
    """Return what the model said, or raise why there is nothing whole."""
    first = _first(reply, model)
    message = first.get("message")
    said = message.get("content") if isinstance(message, dict) else None
    if first.get("finish_reason") == "length":
        cut = Truncated(f"{model}: the answer was cut off; allow more tokens")
        cut.blank = isinstance(said, str) and len(said) - len(said.rstrip()) >= _BLANKS
        raise cut
    if not isinstance(said, str) or not said.strip():
        raise EmptyReply(f"{model}: the answer holds no words")
    return said


def chosen(reply: Mapping[str, Any], choices: tuple[str, ...]) -> dict[str, float]:
    """Return how likely each choice was; where the server does not say, the chosen one has 1."""
    first = _first(reply, str(reply.get("model", "the model")))
    tokens = (first.get("logprobs") or {}).get("content") or [{}]
    likely = probabilities(tokens[0].get("top_logprobs") if tokens else None, choices)
    if likely is not None:
        return likely
    message = first.get("message") or {}
    said = str(message.get("content") or "").strip().strip("\"'.").lower()
    fitting = [choice for choice in choices if said.startswith(choice.lower())]
    if len(fitting) != 1:
        raise InvalidAnswer(f"the answer is none of {', '.join(choices)}: {said[:80]!r}")
    return {choice: float(choice == fitting[0]) for choice in choices}


def check_room(reply: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """Raise where an answer was cut off before its own bound: the prompt left it no room."""
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or first.get("finish_reason") != "length":
        return
    written = cost_of(reply).completion_tokens
    if 0 < written < body["max_tokens"]:
        raise PromptTooLong(f"{body['model']}: the prompt leaves room for {written} tokens only")


def cost_of(reply: Mapping[str, Any]) -> Cost:
    """Return the tokens that the server says it used."""
    told = reply.get("usage")
    if not isinstance(told, dict):
        return Cost()
    cost = Cost(
        prompt_tokens=_whole(told.get("prompt_tokens")),
        completion_tokens=_whole(told.get("completion_tokens")),
    )
    details = told.get("prompt_tokens_details")
    if isinstance(details, dict):
        cost.cached_tokens = _whole(details.get("cached_tokens"))
    return cost


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


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
                if not error.retryable or tries >= TRIES or pause >= call.left:
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
        if call.context.deadline is None:  # a start takes as long as it takes, and a turn does not
            call.end += waited
        if call.left <= 0:
            raise Timeout(f"{self.place}: no time is left")
        self.usage.reserve()
        call.cost.calls += 1
        limiter = self._limiter
        begun = time.monotonic()
        try:
            with anyio.fail_after(call.left):
                async with limiter.turn(call.context.debate):
                    begun = time.monotonic()
                    reply = await self.backend.complete(body, max(0.001, call.left))
        except TimeoutError:
            late = Timeout(f"{self.place}: no turn came before the deadline")
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
