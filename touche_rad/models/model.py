"""`Model.ask(prompt, schema)`: a valid object, or one exception; and the backend of `-m`."""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

import anyio

from touche_rad.errors import OptionError
from touche_rad.files.records import drop_keys
from touche_rad.frozen import frozen
from touche_rad.lists import T, in_parts
from touche_rad.models.cache import VERSION, Cache
from touche_rad.models.endpoint import NONE, Address, Backend, Endpoint, parse_address
from touche_rad.models.errors import (
    InvalidAnswer,
    ModelError,
    PromptTooLong,
    Truncated,
    stored_error,
)
from touche_rad.models.output import (
    LIKELY,
    Chances,
    ChoiceQuestion,
    NoObject,
    ObjectQuestion,
    Question,
    S,
)
from touche_rad.models.prompts import Message, Shorten
from touche_rad.models.sending import Call, Sender, Trace, Usage
from touche_rad.models.thinking import Think, switch_of
from touche_rad.text import digest_of_text


@frozen
class Settings:
    """Settings of a model's requests."""

    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 1024
    think: Think = "auto"
    think_tokens: int = 2048
    """Tokens for thoughts, which are added to those of an answer."""
    server_fields: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, such as `top_p`."""

    def fields_for(self, model: str) -> dict[str, Any]:
        """Return the fields of a request, on which the answer and its key in the cache depend."""
        return {
            "temperature": self.temperature,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            **switch_of(model, self.think).fields,
            **self.server_fields,
        }


def open_backend(
    text: str | None,
    *,
    vllm: Mapping[str, str] | None = None,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
    log_file: Path | None = None,
) -> Address | Backend:
    """Return the address or backend that `-m` names, without starting anything."""
    kind, _, name = (text or "").partition(":")
    if vllm and kind != "vllm":
        raise OptionError("-O vllm.KEY=VALUE is for -m vllm:MODEL")
    if kind == "vllm":
        from touche_rad.models._vllm import Vllm

        return Vllm(name, vllm, seed=seed, report=report, log_file=log_file)
    if kind == "scripted":
        from touche_rad.models._scripted import Scripted

        return Scripted(Path(name))

    return parse_address(text)


DEADLINE: Final = 120.0
AT_ONCE: Final = 64
_WORD: Final = 8
"""Maximum tokens of an answer of one word."""
_PROBE: Final = 10.0
"""Time limit in seconds of a request that checks whether the server works."""


class Model:
    """A language model with a cache, a budget and a trace."""

    def __init__(
        self,
        backend_or_address: Address | Backend,
        *,
        cache: Path | None = None,
        usage: Usage | None = None,
        trace: Path | None = None,
        settings: Settings | None = None,
        deadline: float = DEADLINE,
        at_once: int = AT_ONCE,
    ) -> None:
        """Make a model without sending anything; with the address EMPTY only the cache answers.

        The deadline is the time limit of an answer in seconds, with all retries; at most `at_once`
        calls are open at a time.
        """
        self.backend: Backend | None = None
        if isinstance(backend_or_address, Backend):
            self.backend = backend_or_address
        elif backend_or_address.url != NONE:
            self.backend = Endpoint(backend_or_address)
        self.name = backend_or_address.model
        self.settings = settings or Settings()
        self.usage = usage or Usage()
        """Budget and costs of its calls."""
        self.warnings: list[str] = []
        """What a user must know about the endpoint."""
        self._deadline = deadline
        # A plugin may change the folder of the process.
        trace = trace and trace.absolute()
        self._sender = Sender(self.backend, Trace(trace), anyio.Semaphore(at_once))
        self._cache = Cache(cache.absolute()) if cache else None
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        """One for each request that is being answered, by its key."""

    def begin_trace(self) -> None:
        """Delete the trace of an earlier run: a new run begins."""
        if self._sender.trace.path:
            self._sender.trace.path.unlink(missing_ok=True)

    def copy(
        self, *, name: str | None = None, usage: Usage | None = None, **settings: Any
    ) -> Model:
        """Return the same model, or another of its server, with another budget or other settings.

        Everything else is shared.
        """
        model = copy.copy(self)
        model.name = name or self.name
        model.usage = usage or self.usage
        model.settings = replace(self.settings, **settings)
        return model

    @property
    def identity(self) -> dict[str, Any]:
        """Name and settings: what the answers depend on."""
        fields = self.settings.fields_for(self.name)
        return {"name": self.name, **fields, "think_tokens": self.settings.think_tokens}

    async def check(self) -> None:
        """Check before a run that an endpoint can be used, or raise ModelError."""
        if isinstance(self.backend, Endpoint):
            try:
                await self.backend.check()
            except ModelError as error:
                self._sender.set_down(error)  # if the run begins anyway
                raise
            self._sender.error = None

    @property
    def problem(self) -> ModelError | None:
        """Why the last calls failed if the server does not work; None if it works."""
        return self._sender.error

    async def check_after_failure(self) -> None:
        """Raise the server's error if it does not work; called after calls that failed."""
        if not self.backend or self._sender.error is None or not self.usage.faults:
            return
        try:
            await self.backend.complete_a_token(_PROBE)
        except ModelError as error:
            if error.is_down:
                raise
        self._sender.error = None

    async def close(self) -> None:
        """Close connections and stop a server that was started."""
        if self.backend:
            await self.backend.close()

    async def ask(
        self,
        messages: Sequence[Message],
        schema: type[S],
        *,
        step: str = "ask",
        shorten: Shorten | None = None,
        max_tokens: int | None = None,
    ) -> S:
        """Return an object of the schema, or raise a ModelError whose class says why there is none.

        `step` names the call in costs and traces; `shorten` shortens a prompt that is too long for
        the model; `max_tokens` is for a step that needs more than the setting.
        """
        answer: tuple[S, Chances] = await self._ask(
            ObjectQuestion(schema), messages, step, shorten, max_tokens
        )
        return answer[0]

    async def ask_scored(
        self,
        messages: Sequence[Message],
        schema: type[S],
        *,
        choices: Mapping[str, tuple[str, ...]],
        step: str = "ask",
        shorten: Shorten | None = None,
    ) -> tuple[S, Chances]:
        """Return an object of the schema, and the probabilities of the choices of each field.

        Without log probabilities the mapping is empty.
        """
        question = ObjectQuestion(schema, choices)
        scored: tuple[S, Chances] = await self._ask(question, messages, step, shorten, None)
        return scored

    async def ask_choice(
        self,
        messages: Sequence[Message],
        choices: Sequence[str],
        *,
        step: str = "choice",
        shorten: Shorten | None = None,
    ) -> dict[str, float]:
        """Return the probability of each choice, from the log probabilities of the answer's token.

        Without log probabilities the answer has probability 1 and the others 0. The model gets one
        chance to correct an answer that is none of the choices.
        """
        likely: dict[str, float] = await self._ask(
            ChoiceQuestion(tuple(choices)), messages, step, shorten, None
        )
        return likely

    @staticmethod
    async def ask_all(
        calls: Sequence[Callable[[], Awaitable[T]]],
        report: Callable[[int, int], None] | None = None,
    ) -> list[T | ModelError]:
        """Make calls in parallel; a failed call gives its exception as its result."""
        results: dict[int, T | ModelError] = {}

        async def call(place: int) -> None:
            try:
                results[place] = await calls[place]()
            except ModelError as error:
                results[place] = error
            if report:
                report(len(results), len(calls))

        async with anyio.create_task_group() as group:
            for place in range(len(calls)):
                group.start_soon(call, place)
        return [results[place] for place in range(len(calls))]

    async def _ask(
        self,
        question: Question,
        messages: Sequence[Message],
        step: str,
        shorten: Shorten | None,
        max_tokens: int | None,
    ) -> Any:
        """Return the answer from the cache; else ask, and store the answer, or why there is none.

        Without an endpoint a stored error is raised again; else the model is asked again. An answer
        to a shortened prompt has the key of the whole one.
        """
        body = self._body(messages)
        if question.kind == "choice":
            body["max_tokens"] = _WORD
        elif max_tokens is not None:
            body["max_tokens"] = max(max_tokens, self.settings.max_tokens)

        # The key is a hash of all that decides the answer, in a fixed order.
        decisive = body if question.kind == "object" else body | LIKELY
        request = [VERSION, {"body": decisive, "name": question.name, "schema": question.key}]
        key = digest_of_text(json.dumps(request, sort_keys=True))

        with Call.counted(step, self.usage, self._deadline) as call:
            if not self._cache:
                return question.result(await self._send(call, question, body, messages, shorten))
            # Equal parallel requests are sent once; the others wait for the stored answer.
            async with self._locks.setdefault(key, anyio.Lock()):
                stored = self._cache.get(key)
                if stored is not None:
                    try:
                        result = question.result(stored)
                    except (LookupError, TypeError, ValueError):
                        if not self.backend:
                            raise stored_error(stored) from None
                        self._cache.remove(key)  # an error, or damaged
                    else:
                        call.cost.from_cache += 1
                        self._sender.trace.write(call, body, stored)
                        return result
                try:
                    answer = await self._send(call, question, body, messages, shorten)
                except ModelError as error:
                    if self.backend:
                        self._cache.put(key, body, error.stored)
                    raise
                return question.result(self._cache.put(key, body, answer))

    async def _send(
        self,
        call: Call,
        question: Question,
        body: dict[str, Any],
        messages: Sequence[Message],
        shorten: Shorten | None,
    ) -> Mapping[str, Any]:
        """Ask; the model gets one chance to correct an answer that is not what was asked for."""
        settings = self.settings
        switch = switch_of(self.name, settings.think)
        bodies = [{**body, **form} for form in question.forms]
        added = switch.fields.keys() - settings.server_fields.keys()
        if added:  # a server may refuse them
            bodies += [drop_keys(form, added) for form in bodies]
        repaired = False
        while True:
            try:
                answer = await self._sender.ask(
                    call, question, bodies, settings.think_tokens, thinks=switch.thinks
                )
                break
            except NoObject as error:
                if repaired:
                    raise InvalidAnswer(
                        f"{self.name}: the answer does not fit {question.name}: {error}"
                    ) from None
                call.cost.repairs += 1
                repaired = True
                request = f"That is not valid: {error}. {question.how}."
                answered = Message("assistant", error.text).wire()
                wires = [*body["messages"], answered, Message("user", request).wire()]
            except PromptTooLong:
                shorter = shorten(messages) if shorten else None
                if shorter is None or list(shorter) == list(messages):
                    raise
                messages = shorter
                repaired = False
                wires = body["messages"] = [message.wire() for message in messages]
            bodies = [{**form, "messages": wires} for form in bodies]
        if not self._sender.has_scores and isinstance(self.backend, Endpoint):
            line = (
                f"{self.backend.place}: no log probabilities, so scores are those of the answers, "
                "such as 0 or 1; vLLM gives them"
            )
            if line not in self.warnings:
                self.warnings.append(line)
        return answer

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {
            "model": self.name,
            "messages": [message.wire() for message in messages],
            **self.settings.fields_for(self.name),
        }


Item = TypeVar("Item")


async def ask_in_parts(
    items: Sequence[Item],
    size: int,
    ask: Callable[[Sequence[Item]], Awaitable[Sequence[T]]],
    failed: Callable[[Item, str], T],
) -> list[T]:
    """Ask about all items, at most `size` in a call, and return one result per item.

    The calls are as few as possible, and about equally large. A part whose prompt or answer does
    not fit is asked again in halves, down to single items: n items cost at most 2n - 1 calls.
    `failed` makes the result of an item without an answer.
    """

    async def whole_or_halves(part: Sequence[Item]) -> list[T]:
        try:
            return list(await ask(part))
        except ModelError as error:
            if len(part) == 1 or not isinstance(error, Truncated | PromptTooLong | InvalidAnswer):
                return [failed(item, str(error)) for item in part]
        half = len(part) // 2
        return [*await whole_or_halves(part[:half]), *await whole_or_halves(part[half:])]

    calls = max(1, ceil(len(items) / size))
    step = max(1, ceil(len(items) / calls))
    parts = [partial(whole_or_halves, part) for part in in_parts(items, step)]
    results: list[T] = []
    for result in await Model.ask_all(parts):
        if not isinstance(result, ModelError):
            results += result
    return results
