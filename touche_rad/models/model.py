"""`Model.ask(prompt, schema)`: a valid object, or one exception that names the problem."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
from pydantic import BaseModel

from touche_rad.models.cache import Answers, Row, key_of
from touche_rad.models.endpoint import Address, Backend, Endpoint
from touche_rad.models.errors import InvalidAnswer, ModelError, PromptTooLong, Truncated
from touche_rad.models.output import (
    Chances,
    answer_text,
    bounded_schema,
    chances,
    is_scored,
    parse_object,
)
from touche_rad.models.pool import Pool
from touche_rad.models.prompts import Message
from touche_rad.models.sending import LIKELY, JsonFormat, Sender, one_of
from touche_rad.models.usage import Call, Prefixes, Trace, Usage


@dataclass(frozen=True)
class Settings:
    """Sampling settings of a model; part of the cache key."""

    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 1024


T = TypeVar("T")


async def all_of(
    asked: Sequence[Callable[[], Awaitable[T]]],
    report: Callable[[int, int], None] | None = None,
) -> list[T | ModelError]:
    """Make all calls in parallel; a failed call gives its exception as its result."""
    found: list[T | ModelError | None] = [None] * len(asked)
    done = 0

    async def one(place: int) -> None:
        nonlocal done
        try:
            found[place] = await asked[place]()
        except ModelError as error:
            found[place] = error
        done += 1
        if report is not None:
            report(done, len(asked))

    async with anyio.create_task_group() as group:
        for place in range(len(asked)):
            group.start_soon(one, place)
    return [one for one in found if one is not None]


Item = TypeVar("Item")


async def ask_in_parts(
    items: Sequence[Item], size: int,
    ask: Callable[[Sequence[Item]], Awaitable[Sequence[T]]], failed: Callable[[Item, str], T],
) -> list[T]:  # fmt: skip
    """Ask about all items, `size` in a call, and return one result per item.

    A part whose prompt or answer does not fit is asked again in halves, down to single items: n
    items cost at most 2n - 1 calls. `failed` makes the result of an item without an answer.
    """

    async def whole_or_halves(part: Sequence[Item]) -> list[T]:
        try:
            return list(await ask(part))
        except ModelError as error:
            if len(part) == 1 or not isinstance(error, Truncated | PromptTooLong | InvalidAnswer):
                return [failed(item, str(error)) for item in part]
        half = len(part) // 2
        return [*await whole_or_halves(part[:half]), *await whole_or_halves(part[half:])]

    parts = [items[at : at + size] for at in range(0, len(items), size)]
    results = await all_of([partial(whole_or_halves, part) for part in parts])
    return [one for part in results if not isinstance(part, ModelError) for one in part]


S = TypeVar("S", bound=BaseModel)
Shorten = Callable[[Sequence[Message]], Sequence[Message] | None]
"""Shortens a prompt that is too long for the model; None if it cannot be shortened."""

DEADLINE: Final = 120.0
_PROBE: Final = 10.0
"""Time limit in seconds of a request that checks whether the server works."""


class Model:
    """A language model with a cache, a budget and a trace."""

    def __init__(
        self,
        at: Address | Backend,
        *,
        cache: Path | None = None,
        behind: Path | None = None,
        usage: Usage | None = None,
        trace: Path | None = None,
        settings: Settings | None = None,
        deadline: float = DEADLINE,
        at_once: int = 256,
        shared: bool = False,
    ) -> None:
        """Make a model without sending anything.

        Args:
            at: Address or backend; with the address EMPTY only the cache answers.
            cache: Folder of the cache; None for no cache.
            behind: Folder of another cache, of which answers are only read.
            usage: Budget and costs.
            trace: File with one line per call; None for no trace.
            settings: Sampling settings.
            deadline: Time limit of an answer in seconds, with all retries.
            at_once: Maximum parallel calls.
            shared: Whether others use the backend too, so that `close` leaves it open.
        """
        self.backend: Backend | None
        if isinstance(at, Address):
            self.backend = Endpoint(at) if at.real else None
        else:
            self.backend = at
        self.name = at.model
        self.settings = settings or Settings()
        self._deadline = deadline
        self._shared = shared
        traced = Trace(trace)
        self._sender = Sender(self.backend, usage or Usage(), traced, at_once)
        self._answers = Answers(cache, traced, behind)
        self._format = JsonFormat(self.name)
        self._prefixes = Prefixes()
        self.warnings: list[str] = []
        """What a user must know about the endpoints."""

    def begin_trace(self) -> None:
        """Delete the trace of an earlier run: a new run begins."""
        if self._sender.trace.path is not None:
            self._sender.trace.path.unlink(missing_ok=True)

    def with_settings(self, **changed: Any) -> Model:
        """Return the same model with other settings; backend, cache and budget are shared."""
        other = copy.copy(self)
        other.settings = replace(self.settings, **changed)
        return other

    @property
    def place(self) -> str:
        """Where the model is, to show to a user."""
        return self._sender.place

    @property
    def usage(self) -> Usage:
        """Budget and costs of its calls."""
        return self._sender.usage

    @property
    def identity(self) -> dict[str, Any]:
        """Name and settings: what the answers depend on."""
        return {"name": self.name, **vars(self.settings)}

    def spending(self, usage: Usage) -> Model:
        """Return the same model with another budget; everything else is shared."""
        twin = copy.copy(self)
        twin._sender = replace(self._sender, usage=usage)
        return twin

    def take_answers(self) -> list[Row]:
        """Return the rows of the cache that were added since the last call."""
        return self._answers.take()

    def keep_answers(self, rows: Sequence[Row]) -> None:
        """Add rows that other processes made to the cache."""
        self._answers.insert(rows)

    async def check(self) -> None:
        """Check before a run that the endpoint can be reached and has the model.

        Endpoints of a list that cannot be used are added to `warnings`.

        Raises:
            ModelError: No endpoint can be used.
        """
        if isinstance(self.backend, Endpoint | Pool):
            try:
                self.warnings += await self.backend.check()
            finally:
                await self.backend.close()

    def set_down(self, error: ModelError, warning: str) -> None:
        """Record that the endpoint cannot be used, so that calls are not retried for long."""
        self.warnings.append(warning)
        self._sender.health.failed(error)

    @property
    def problem(self) -> ModelError | None:
        """Why the last calls failed if the server does not work; None if it works."""
        return self._sender.health.error

    async def check_after_failure(self) -> None:
        """Check that the server works, if the last calls failed because it does not.

        Raises:
            ModelError: The server does not work.
        """
        if self.backend is None or self._sender.health.error is None:
            return
        asked = self._body([Message("user", "Hello")]) | {"max_tokens": 1}
        try:
            await self.backend.complete(asked, _PROBE)
        except ModelError as error:
            if error.is_down:
                raise
        self._sender.health.error = None

    async def close(self) -> None:
        """Close connections and stop a server that was started."""
        if self.backend is not None and not self._shared:
            await self.backend.close()

    async def ask(
        self,
        messages: Sequence[Message],
        schema: type[S],
        *,
        step: str = "ask",
        deadline: float | None = None,
        shorten: Shorten | None = None,
        max_tokens: int | None = None,
    ) -> S:
        """Return an object of the schema.

        Args:
            messages: The prompt.
            schema: Schema of the answer.
            step: Name of the call in costs and traces.
            deadline: Time limit in seconds; by default the model's.
            shorten: Shortens a prompt that is too long for the model.
            max_tokens: Token limit of the answer if this step needs more than the setting.

        Raises:
            ModelError: There is no valid answer; the class says why.
        """
        value, _ = await self.ask_scored(
            messages, schema, (), step=step, deadline=deadline, shorten=shorten,
            max_tokens=max_tokens,
        )  # fmt: skip
        return value

    async def ask_scored(
        self,
        messages: Sequence[Message],
        schema: type[S],
        choices: Sequence[str] = ("yes", "no"),
        *,
        step: str = "ask",
        deadline: float | None = None,
        shorten: Shorten | None = None,
        max_tokens: int | None = None,
    ) -> tuple[S, Chances]:
        """Return an object of the schema, and the probability of each choice per field.

        The fields are in the order of the answer. Without log probabilities the list is empty.
        """
        call = Call.now(step, deadline or self._deadline)
        limit = max(max_tokens or 0, self.settings.max_tokens)
        asked = self.with_settings(max_tokens=limit)
        work = asked._object(call, list(messages), schema, shorten, tuple(choices))
        return await self._counted(call, work)

    async def ask_choice(
        self,
        messages: Sequence[Message],
        choices: Sequence[str],
        *,
        step: str = "choice",
        deadline: float | None = None,
        shorten: Shorten | None = None,
    ) -> dict[str, float]:
        """Return the probability of each choice, from the log probabilities of the first token.

        Without log probabilities the answer has probability 1 and the others 0. The model gets one
        chance to correct an answer that is none of the choices.
        """
        call = Call.now(step, deadline or self._deadline)
        work = self._choice(call, list(messages), shorten, tuple(choices))
        return await self._counted(call, work)

    async def ask_all(
        self,
        asked: Sequence[Callable[[], Awaitable[T]]],
        report: Callable[[int, int], None] | None = None,
    ) -> list[T | ModelError]:
        """Make calls in parallel; a failed call gives its exception as its result."""
        return await all_of(asked, report)

    async def _counted(self, call: Call, work: Awaitable[T]) -> T:
        begun, use = time.monotonic(), call.context.model_use
        try:
            value = await work
        except ModelError as error:
            call.cost.failures += 1
            self.usage.count_fault(error)
            if use is not None:
                use.failures.append(error)
            raise
        else:
            if use is not None:
                use.answered += 1
            return value
        finally:
            call.cost.seconds = time.monotonic() - begun
            self.usage.note(call.context, call.step, call.cost)

    async def _object(
        self,
        call: Call,
        messages: list[Message],
        schema: type[S],
        shorten: Shorten | None,
        choices: tuple[str, ...],
    ) -> tuple[S, Chances]:
        """Answer from the cache or the backend; store under the key of the unshortened prompt."""
        call.cost.add(self._prefixes.cost_of(messages))
        body = self._body(messages) | (LIKELY if choices else {})
        key = _key(body, schema.__name__, [bounded_schema(schema), *choices])
        async with self._answers.one_at_a_time(call, key, asks=self.backend is not None):
            kept = self._answers.found(call, key, body)
            if kept is not None:
                return parse_object(str(kept["said"]), schema), _chances(kept.get("chances"))
            while True:
                try:
                    reply, value = await self._format.valid(
                        self._sender, call, self._body(messages), schema, choices
                    )
                except PromptTooLong:
                    shorter = shorten(messages) if shorten else None
                    if shorter is None or list(shorter) == messages:
                        raise
                    messages = list(shorter)
                else:
                    found = chances(reply, choices) if choices else ()
                    self._note_scores(not choices or is_scored(reply))
                    said = answer_text(reply, self.name)
                    self._answers.keep(key, body, {"said": said, "chances": found})
                    return value, found

    async def _choice(
        self,
        call: Call,
        messages: list[Message],
        shorten: Shorten | None,
        choices: tuple[str, ...],
    ) -> dict[str, float]:
        call.cost.add(self._prefixes.cost_of(messages))
        limit = {"max_tokens": 8}
        key = _key(self._body(messages) | limit | LIKELY, "choice", list(choices))
        async with self._answers.one_at_a_time(call, key, asks=self.backend is not None):
            kept = self._answers.found(call, key, self._body(messages))
            if kept is not None:
                before: dict[str, float] = json.loads(str(kept["said"]))
                return before
            body = self._body(messages)
            while True:
                try:
                    found, scored = await one_of(
                        self._sender, call, self._body(messages) | limit, choices
                    )
                except PromptTooLong:
                    shorter = shorten(messages) if shorten else None
                    if shorter is None or list(shorter) == messages:
                        raise
                    messages = list(shorter)
                else:
                    self._note_scores(scored)
                    self._answers.keep(key, body, {"said": json.dumps(found)})
                    return found

    def _note_scores(self, scored: bool) -> None:
        """Warn once if a server gives no log probabilities."""
        line = f"{self.place}: no log probabilities, so scores are 0 or 1; vLLM gives them"
        if not scored and isinstance(self.backend, Endpoint | Pool) and line not in self.warnings:
            self.warnings.append(line)

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {
            "model": self.name,
            "messages": [message.wire() for message in messages],
            **vars(self.settings),
        }


def _key(body: dict[str, Any], name: str, schema: Any) -> str:
    return key_of({"body": body, "name": name, "schema": schema})


def _chances(kept: Any) -> Chances:
    return tuple((str(name), dict(likely)) for name, likely in kept or ())
