"""`ask(prompt, schema)`: a valid object, or one exception that says what went wrong.

The server is asked to keep to the schema while it decodes; one that cannot is asked for JSON, and
then for plain text. What is not valid is sent back once with what is wrong with it. Faults that may
pass are tried again, later each time; a deadline holds over all of it.
"""

from __future__ import annotations

import asyncio
import copy
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import anyio
from pydantic import BaseModel

from touche_rad.models.backend import Backend
from touche_rad.models.cache import Cache, key_of
from touche_rad.models.endpoint import NONE, Endpoint, Where
from touche_rad.models.extract import Chances, NotFound, chances, extracted, probabilities
from touche_rad.models.faults import (
    BadRequest,
    Busy,
    Cut,
    Empty,
    Invalid,
    Late,
    ModelError,
    NotCached,
    Overflow,
    Refusal,
)
from touche_rad.models.flight import first_to_ask
from touche_rad.models.limiter import Limiter
from touche_rad.models.occasion import Occasion, occasion
from touche_rad.models.prefixes import Prefixes
from touche_rad.models.prompts import Message
from touche_rad.models.schemas import bounded_schema
from touche_rad.models.trace import Trace
from touche_rad.models.usage import Cost, Usage

S = TypeVar("S", bound=BaseModel)
T = TypeVar("T")

DEADLINE: Final = 120.0
TRIES: Final = 6
FIRST_WAIT, LONGEST_WAIT = 0.25, 20.0
_MODES: Final = ("json_schema", "json_object", "text")
_BLANKS: Final = 20
_FORMAT_WORDS: Final = (
    "response_format",
    "json_schema",
    "guided",
    "structured",
    "grammar",
    "schema",
)


@dataclass(frozen=True)
class Settings:
    """How a model answers; part of what an answer is cached by."""

    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 1024


@dataclass
class _Call:
    """One `ask` while it is under way."""

    step: str
    occasion: Occasion
    end: float
    cost: Cost = field(default_factory=Cost)

    @property
    def left(self) -> float:
        return self.end - time.monotonic()


@dataclass
class _Here:
    """What belongs to one event loop."""

    limiter: Limiter
    asked: dict[str, anyio.Lock] = field(default_factory=dict)


class Model:
    """A language model behind a backend, a cache before it, or the cache alone."""

    def __init__(
        self,
        at: Where | Backend,
        *,
        cache: Path | None = None,
        usage: Usage | None = None,
        trace: Path | None = None,
        settings: Settings | None = None,
        deadline: float = DEADLINE,
        at_once: int = 256,
    ) -> None:
        """Make a model; nothing is sent yet.

        Args:
            at: Where it is; with the address EMPTY only the cache answers.
            cache: The folder of answers given before.
            usage: The budget and the counts.
            trace: A file that gets a line for each call.
            settings: How the model answers.
            deadline: The seconds that one answer may take in all.
            at_once: The most calls in flight.
        """
        self.backend: Backend | None
        if isinstance(at, Where):
            self.backend = Endpoint(at) if at.real else None
        else:
            self.backend = at
        self.name = at.model
        self.settings = settings or Settings()
        self.usage = usage or Usage()
        self._deadline = deadline
        self._at_once = at_once
        self._cache = Cache(cache) if cache else None
        self._trace = Trace(trace) if trace else None
        self._here: WeakKeyDictionary[asyncio.AbstractEventLoop, _Here] = WeakKeyDictionary()
        self._mode = 0
        self._prefixes = Prefixes()

    def with_settings(self, **changed: Any) -> Model:
        """Return the same model, answering in another manner: same backend, cache and budget."""
        other = copy.copy(self)
        other.settings = replace(self.settings, **changed)
        return other

    @property
    def place(self) -> str:
        """Where the model is, for a person."""
        return self.backend.place if self.backend else NONE

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the answers: the model's name and settings, and not where it runs."""
        return {"name": self.name, **vars(self.settings)}

    def spending(self, usage: Usage) -> Model:
        """Return the same model, on another account: all but the usage is shared."""
        twin = copy.copy(self)
        twin.usage = usage
        return twin

    async def close(self) -> None:
        """Close the connections, and stop what was started."""
        if self.backend is not None:
            await self.backend.close()

    @property
    def _loop(self) -> _Here:
        return self._here.setdefault(asyncio.get_running_loop(), _Here(Limiter(self._at_once)))

    async def ask(
        self,
        messages: Sequence[Message],
        schema: type[S],
        *,
        step: str = "ask",
        deadline: float | None = None,
        shorten: Callable[[Sequence[Message]], Sequence[Message] | None] | None = None,
    ) -> S:
        """Return an object of the schema.

        Args:
            messages: What the model is told.
            schema: What it must answer with.
            step: The name that the call is counted under.
            deadline: The seconds this answer may take; by default the model's.
            shorten: Makes a prompt shorter that is too long for the model, or gives it up (None).

        Raises:
            ModelError: There is no valid answer; the exception's kind says why.
        """
        call = self._call(step, deadline)
        value, _ = await self._counted(
            call, self._object(call, list(messages), schema, shorten, ())
        )
        return value

    async def ask_scored(
        self,
        messages: Sequence[Message],
        schema: type[S],
        choices: Sequence[str] = ("yes", "no"),
        *,
        step: str = "ask",
        deadline: float | None = None,
        shorten: Callable[[Sequence[Message]], Sequence[Message] | None] | None = None,
    ) -> tuple[S, Chances]:
        """Return an object of the schema, and how likely each choice was where one stands in it.

        The chances are by field, in the order of the answer; a server without logprobs gives none.
        """
        call = self._call(step, deadline)
        work = self._object(call, list(messages), schema, shorten, tuple(choices))
        return await self._counted(call, work)

    async def ask_choice(
        self,
        messages: Sequence[Message],
        choices: Sequence[str],
        *,
        step: str = "choice",
        deadline: float | None = None,
    ) -> dict[str, float]:
        """Return the probability of each choice, from the logprobs of the answer's first token.

        A server without logprobs gives the chosen one 1 and the others 0.
        """
        call = self._call(step, deadline)
        return await self._counted(call, self._choice(call, list(messages), tuple(choices)))

    def _call(self, step: str, deadline: float | None) -> _Call:
        now = occasion()
        end = time.monotonic() + (deadline or self._deadline)
        return _Call(step, now, end if now.until is None else min(end, now.until))

    async def ask_all(
        self,
        asked: Sequence[Callable[[], Awaitable[T]]],
        report: Callable[[int, int], None] | None = None,
    ) -> list[T | ModelError]:
        """Make many calls at once; one that fails is its exception, the others go on."""
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

    async def _counted(self, call: _Call, work: Awaitable[T]) -> T:
        begun = time.monotonic()
        try:
            return await work
        except ModelError:
            call.cost.failures += 1
            raise
        finally:
            call.cost.seconds = time.monotonic() - begun
            self.usage.note(call.occasion, call.step, call.cost)

    async def _object(
        self,
        call: _Call,
        messages: list[Message],
        schema: type[S],
        shorten: Callable[[Sequence[Message]], Sequence[Message] | None] | None,
        choices: tuple[str, ...],
    ) -> tuple[S, Chances]:
        """Answer from the cache, or ask; what came of it is kept under what was asked first."""
        self._note_prefix(call, messages)
        body = self._body(messages)
        if choices:
            body |= {"logprobs": True, "top_logprobs": 20}
        key = _key(body, schema.__name__, [_schema(schema), *choices])
        async with self._one_at_a_time(call, key):
            kept = self._kept(call, key, body)
            if kept is not None:
                return extracted(str(kept["said"]), schema), _chances(kept.get("chances"))
            while True:
                try:
                    reply, value = await self._valid(call, messages, schema, choices)
                except Overflow:
                    shorter = shorten(messages) if shorten else None
                    if shorter is None or list(shorter) == messages:
                        raise
                    messages = list(shorter)
                else:
                    found = chances(reply, choices) if choices else ()
                    said = _content(reply, self.name)
                    self._keep(key, body, {"said": said, "chances": found})
                    return value, found

    async def _valid(
        self, call: _Call, messages: list[Message], schema: type[S], choices: tuple[str, ...]
    ) -> tuple[Mapping[str, Any], S]:
        """Ask, and once more with what is wrong with the answer."""
        reply = await self._said(call, self._body(messages), schema, choices)
        said = _content(reply, self.name)
        try:
            return reply, extracted(said, schema)
        except NotFound as error:
            told = str(error)
        call.cost.repairs += 1
        again = [*messages, Message("assistant", said), Message("user", _repair(told))]
        reply = await self._said(call, self._body(again), schema, choices)
        try:
            return reply, extracted(_content(reply, self.name), schema)
        except NotFound as error:
            raise Invalid(
                f"{self.name}: the answer does not fit {schema.__name__}: {error}"
            ) from None

    async def _choice(
        self, call: _Call, messages: list[Message], choices: tuple[str, ...]
    ) -> dict[str, float]:
        self._note_prefix(call, messages)
        body = self._body(messages) | {"max_tokens": 8, "logprobs": True, "top_logprobs": 20}
        key = _key(body, "choice", list(choices))
        async with self._one_at_a_time(call, key):
            kept = self._kept(call, key, body)
            if kept is not None:
                before: dict[str, float] = json.loads(str(kept["said"]))
                return before
            plain = {name: body[name] for name in body if "logprobs" not in name}
            ladder = [
                {**body, **_one_of(choices)},
                body,
                plain,
            ]
            reply = await self._read(call, ladder, _told_choice(choices))
            found = _chosen(reply, choices)
            self._keep(key, body, {"said": json.dumps(found)})
            return found

    def _note_prefix(self, call: _Call, messages: Sequence[Message]) -> None:
        letters, shared = self._prefixes.seen(messages)
        call.cost.prompt_letters += letters
        call.cost.shared_letters += shared

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {
            "model": self.name,
            "messages": [message.wire() for message in messages],
            **vars(self.settings),
        }

    async def _said(
        self,
        call: _Call,
        body: Mapping[str, Any],
        schema: type[BaseModel],
        choices: tuple[str, ...],
    ) -> Mapping[str, Any]:
        """Ask by the strictest means the server has; what it has not is remembered."""
        likely = {"logprobs": True, "top_logprobs": 20} if choices else {}
        freely = False
        while True:
            mode = "text" if freely else _MODES[self._mode]
            wanted = {**body, **_format(mode, schema)}
            bodies = [{**wanted, **likely}, wanted] if likely else [wanted]
            try:
                return await self._read(call, bodies, _told_words)
            except BadRequest as error:
                if mode == "text" or not any(word in str(error).lower() for word in _FORMAT_WORDS):
                    raise
                self._mode += 1
            except Cut as error:
                if not error.blank or mode == "text":
                    raise
                freely = True

    async def _read(
        self,
        call: _Call,
        bodies: Sequence[Mapping[str, Any]],
        check: Callable[[Mapping[str, Any], str], None],
    ) -> Mapping[str, Any]:
        """Send the first body that the server takes; what may pass is tried again."""
        wait, tries = FIRST_WAIT, 0
        bodies = list(bodies)
        while True:
            try:
                reply = await self._sent(call, bodies[0])
                _check_room(reply, bodies[0])
                check(reply, self.name)
            except BadRequest:
                if len(bodies) == 1:
                    raise
                bodies.pop(0)
            except ModelError as error:
                tries += 1
                pause = error.after if error.after is not None else wait * random.uniform(0.5, 1.5)
                if not error.passing or tries >= TRIES or pause >= call.left:
                    raise
                call.cost.retries += 1
                await anyio.sleep(pause)
                wait = min(2 * wait, LONGEST_WAIT)
            else:
                return reply

    async def _sent(self, call: _Call, body: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.backend is None:
            raise NotCached("the answer is not in the cache, and there is no endpoint (EMPTY)")
        waited = await self.backend.ready()
        if call.occasion.until is None:  # a start takes as long as it takes, and a turn does not
            call.end += waited
        if call.left <= 0:
            raise Late(f"{self.place}: no time is left")
        self.usage.reserve()
        call.cost.calls += 1
        limiter = self._loop.limiter
        begun = time.monotonic()
        try:
            with anyio.fail_after(call.left):
                async with limiter.turn(call.occasion.debate):
                    begun = time.monotonic()
                    reply = await self.backend.complete(body, max(0.001, call.left))
        except TimeoutError:
            late = Late(f"{self.place}: no turn came before the deadline")
            self._told(call, body, None, str(late), begun)
            raise late from None
        except ModelError as error:
            if isinstance(error, Busy):
                limiter.busy()
            self._told(call, body, None, str(error), begun)
            raise
        limiter.answered(time.monotonic() - begun)
        used = _cost_of(reply)
        self.usage.spend(used)
        call.cost.add(used)
        self._told(call, body, reply, "", begun)
        return reply

    def _kept(self, call: _Call, key: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        kept = self._cache.get(key) if self._cache else None
        if kept is None or "said" not in kept:
            return None
        call.cost.from_cache += 1
        self._told(call, body, kept, "", None)
        return kept

    def _keep(self, key: str, body: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        if self._cache is not None:
            self._cache.put(key, body, answer)

    @asynccontextmanager
    async def _one_at_a_time(self, call: _Call, key: str) -> AsyncIterator[None]:
        """Equal requests at the same time: the first asks, the others find its answer."""
        if self._cache is None:
            yield
            return
        asked = self._loop.asked
        lock = asked.setdefault(key, anyio.Lock())
        try:
            async with lock:
                if self.backend is None or self._cache.has(key):
                    yield
                    return
                async with first_to_ask(self._cache.folder, key, lambda: call.left):
                    yield
        finally:
            if not lock.locked() and not lock.statistics().tasks_waiting:
                asked.pop(key, None)

    def _told(
        self,
        call: _Call,
        body: Mapping[str, Any],
        answer: Mapping[str, Any] | None,
        fault: str,
        begun: float | None,
    ) -> None:
        """Trace a call; one that the cache answered has no time."""
        if self._trace is None:
            return
        seconds = None if begun is None else round(time.monotonic() - begun, 4)
        self._trace.write({
            **call.occasion.record(), "step": call.step, "cached": begun is None,
            "seconds": seconds, "asked": body, "answer": answer, "fault": fault,
        })  # fmt: skip


def _key(body: Mapping[str, Any], name: str, schema: Any) -> str:
    return key_of({"body": body, "name": name, "schema": schema})


def _schema(schema: type[BaseModel]) -> dict[str, Any]:
    return bounded_schema(schema)


def _format(mode: str, schema: type[BaseModel]) -> dict[str, Any]:
    if mode == "json_schema":
        inner = {"name": schema.__name__, "schema": _schema(schema), "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": inner}}
    return {"response_format": {"type": "json_object"}} if mode == "json_object" else {}


def _repair(told: str) -> str:
    return f"That is not valid: {told}. Answer again with nothing but the corrected JSON object."


def _first(reply: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Empty(f"{model}: the answer holds no choice")
    first: Mapping[str, Any] = choices[0]
    message = first.get("message")
    if isinstance(message, dict) and message.get("refusal"):
        raise Refusal(f"{model} refused: {str(message['refusal'])[:200]}")
    if first.get("finish_reason") == "content_filter":
        raise Refusal(f"{model} refused: content filter")
    return first


def _content(reply: Mapping[str, Any], model: str) -> str:
    first = _first(reply, model)
    message = first.get("message")
    said = message.get("content") if isinstance(message, dict) else None
    if first.get("finish_reason") == "length":
        cut = Cut(f"{model}: the answer was cut off; allow more tokens")
        cut.blank = isinstance(said, str) and len(said) - len(said.rstrip()) >= _BLANKS
        raise cut
    if not isinstance(said, str) or not said.strip():
        raise Empty(f"{model}: the answer holds no words")
    return said


def _chosen(reply: Mapping[str, Any], choices: tuple[str, ...]) -> dict[str, float]:
    first = _first(reply, str(reply.get("model", "the model")))
    tokens = (first.get("logprobs") or {}).get("content") or [{}]
    likely = probabilities(tokens[0].get("top_logprobs") if tokens else None, choices)
    if likely is not None:
        return likely
    message = first.get("message") or {}
    said = str(message.get("content") or "").strip().strip("\"'.").lower()
    fitting = [choice for choice in choices if said.startswith(choice.lower())]
    if len(fitting) != 1:
        raise Invalid(f"the answer is none of {', '.join(choices)}: {said[:80]!r}")
    return {choice: float(choice == fitting[0]) for choice in choices}


def _check_room(reply: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """An answer that was cut off before its own bound had no room left behind the prompt."""
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or first.get("finish_reason") != "length":
        return
    written = _cost_of(reply).completion_tokens
    if 0 < written < body["max_tokens"]:
        raise Overflow(f"{body['model']}: the prompt leaves room for {written} tokens only")


def _cost_of(reply: Mapping[str, Any]) -> Cost:
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


def _told_words(reply: Mapping[str, Any], model: str) -> None:
    _content(reply, model)


def _told_choice(choices: tuple[str, ...]) -> Callable[[Mapping[str, Any], str], None]:
    def check(reply: Mapping[str, Any], _: str) -> None:
        _chosen(reply, choices)

    return check


def _one_of(choices: tuple[str, ...]) -> dict[str, Any]:
    return {"structured_outputs": {"choice": list(choices)}}


def _chances(kept: Any) -> Chances:
    return tuple((str(name), dict(likely)) for name, likely in kept or ())
