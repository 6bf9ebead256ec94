"""A model call: its budget, cost and trace; and how it is sent, with retries until its deadline."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import anyio

from touche_rad.calls import CallContext, current_context
from touche_rad.events import log
from touche_rad.files.outputs import Cost
from touche_rad.files.records import append_text
from touche_rad.files.traces import TRACE_FORMAT
from touche_rad.http import RequestPolicy
from touche_rad.models.endpoint import Backend
from touche_rad.models.errors import (
    BadRequest,
    ModelError,
    NotCached,
    OverBudget,
    PromptTooLong,
    Timeout,
    Truncated,
)
from touche_rad.models.output import Fields, NoObject, Question, first_choice, has_scores
from touche_rad.text import redact


@dataclass
class Usage:
    """Costs of a run by plugin and step, and its budget; all calls are made in the event loop."""

    max_calls: int | None = None
    max_tokens: int | None = None
    seconds: float | None = None
    """Seconds after which the run makes no more calls."""
    total: Cost = field(default_factory=Cost)
    steps: defaultdict[str, defaultdict[str, Cost]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Cost))
    )
    """By plugin and step."""
    faults: Counter[str] = field(default_factory=Counter)
    """Failed calls by kind of error."""
    first_fault: str = ""
    begun: float = field(default_factory=time.monotonic)

    def reserve(self) -> None:
        """Count one call before it is made; raise OverBudget if the budget is used up."""
        spent = self.total.prompt_tokens + self.total.completion_tokens
        if self.max_calls is not None and self.total.calls >= self.max_calls:
            raise OverBudget(f"the budget of {self.max_calls} calls is used up")
        if self.max_tokens is not None and spent >= self.max_tokens:
            raise OverBudget(f"the budget of {self.max_tokens} tokens is used up")
        if self.seconds is not None and time.monotonic() - self.begun >= self.seconds:
            raise OverBudget(f"the {self.seconds:g} seconds for model calls are over")
        self.total.calls += 1

    def note(self, context: CallContext, step: str, cost: Cost) -> None:
        """Add the cost of a call; its calls and tokens are in the total already."""
        self.total.add(replace(cost, calls=0, prompt_tokens=0, completion_tokens=0))
        self.steps[context.caller.plugin or "other"][step].add(cost)
        if context.use and context.use.observe:
            context.use.observe({"event": "model", "step": step, **cost.record()})

    def count_fault(self, error: ModelError) -> None:
        """Count a call that failed after all its retries."""
        kind = type(error).__name__
        self.faults[kind] += 1
        if not self.first_fault:
            self.first_fault = redact(f"{kind}: {error}")

    def record(self) -> Mapping[str, Any]:
        """Return the counts for a run's record."""
        plugins: dict[str, Mapping[str, Any]] = {}
        for plugin, costs in sorted(self.steps.items()):
            plugins[plugin] = {step: cost.record() for step, cost in sorted(costs.items())}
        return {
            "total": self.total.record(),
            "plugins": plugins,
            "faults": dict(self.faults.most_common()),
            "first_fault": self.first_fault,
        }

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the costs that another process recorded."""
        self.total.add(Cost(**record["total"]))
        for plugin, steps in record["plugins"].items():
            for step, cost in steps.items():
                self.steps[plugin][step].add(Cost(**cost))
        self.faults.update(record["faults"])
        self.first_fault = self.first_fault or record["first_fault"]


@dataclass
class Call:
    """One request of a plugin: its step, context, deadline and cost so far."""

    step: str
    context: CallContext
    usage: Usage
    end: float
    cost: Cost = field(default_factory=Cost)

    @classmethod
    @contextmanager
    def counted(cls, step: str, usage: Usage, seconds: float) -> Iterator[Call]:
        """Begin a call, which ends at its own deadline or at that of its plugin; count it."""
        context = current_context()
        begun = time.monotonic()
        end = begun + seconds
        if context.deadline is not None:
            end = min(end, context.deadline)
        call = cls(step, context, usage, end)
        try:
            yield call
        except ModelError as error:
            call.cost.failures += 1
            usage.count_fault(error)
            if context.use:
                context.use.failures.append(error)
            raise
        else:
            if context.use:
                context.use.answered += 1
        finally:
            call.cost.seconds = time.monotonic() - begun
            usage.note(context, step, call.cost)


@dataclass
class Trace:
    """A file with one JSON line per call; a write error is only logged."""

    path: Path | None
    _warned: bool = False

    def write(
        self,
        call: Call,
        body: Mapping[str, Any],
        answer: Mapping[str, Any] | None,
        *,
        fault: str = "",
        begun: float | None = None,
    ) -> None:
        """Append a request and its answer or error; without `begun` the cache answered."""
        if not self.path:
            return
        record = {
            "format": TRACE_FORMAT,
            **call.context.caller.record(),
            "step": call.step,
            "cached": begun is None,
            "seconds": None if begun is None else round(time.monotonic() - begun, 4),
            "asked": body,
            "answer": answer,
            "fault": fault,
        }
        line = redact(json.dumps(record)) + "\n"
        try:
            append_text(self.path, line)
        except OSError as error:
            if not self._warned:
                log.warning("the trace %s cannot be written: %s", self.path, error)
                self._warned = True


def cost_of(reply: Mapping[str, Any]) -> Cost:
    """Return the token counts of the reply; what is no count is 0."""
    usage = reply.get("usage")
    counts = dict(usage) if isinstance(usage, dict) else {}
    for kind in ("prompt", "completion"):
        details = counts.get(f"{kind}_tokens_details")
        counts |= details if isinstance(details, dict) else {}
    names = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
    return Cost(
        **{name: max(0, counts[name]) for name in names if isinstance(counts.get(name), int)}
    )


RETRIES = RequestPolicy(tries=6, longest_retry_after=math.inf)
"""How often a call is sent; its deadline limits the waits."""
_RETRY_AFTER: Final = 15.0
"""Seconds after which one call of a server that is down is retried again."""


@dataclass
class Sender:
    """Sends requests to one backend; it learns what the server accepts and whether it works."""

    backend: Backend | None
    trace: Trace
    slots: anyio.Semaphore
    """One for each call that may be open at a time."""
    error: ModelError | None = None
    """The last error of a call that failed after all its retries; None if the server works."""
    has_scores: bool = True
    """Whether the server gives log probabilities where they are asked for."""
    _retried: float = 0.0
    _thinks: bool = False
    """Whether thoughts used up the tokens of an answer."""
    _accepted: dict[str, int] = field(default_factory=dict)
    """For each model and kind of question, how many of its forms the server refused before one."""

    def set_down(self, error: ModelError) -> None:
        """Record that the server does not work: calls are not retried for long."""
        self.error = error
        self._retried = time.monotonic()

    async def ask(
        self,
        call: Call,
        question: Question,
        bodies: Sequence[Mapping[str, Any]],
        think_tokens: int,
        *,
        thinks: bool,
    ) -> Fields:
        """Send the first body that the server accepts; retry retryable errors; read the reply.

        `bodies` has the best request first; the next question of its kind begins with the one that
        was accepted. If the model `thinks`, or does so without an answer, `think_tokens` are added.
        """
        policy = RETRIES
        now = time.monotonic()
        if self.error and now - self._retried < _RETRY_AFTER:
            policy = replace(RETRIES, tries=1)
        else:
            self._retried = now
        model = str(bodies[0]["model"])
        key = f"{model} {question.kind}"
        at = accepted = self._accepted.get(key, 0)
        tries = 0
        while True:
            try:
                reply, thinks = await self._send(call, bodies[at], think_tokens, thinks=thinks)
                answer = question.read(reply, model)
            except NoObject:
                self._accepted[key] = accepted
                raise
            except BadRequest:
                at = accepted = at + 1
                if at == len(bodies):
                    raise
            except Truncated as error:
                if bodies[at]["max_tokens"] == 1 and not error.thinking:  # one token is too few
                    at = accepted = at + 1
                elif not error.begun and not thinks:
                    thinks = True
                    self._thinks = self._thinks or error.thinking
                elif error.blank and at < len(question.forms) - 1:
                    at = len(question.forms) - 1
                else:
                    raise
            except ModelError as error:
                tries += 1
                pause = policy.pause(tries, error, call.end)
                if pause is None:
                    if error.is_down:
                        self.set_down(error)
                    raise
                call.cost.retries += 1
                await anyio.sleep(pause)
            else:
                self._accepted[key] = accepted
                if question.kind != "object" and not has_scores(reply):
                    self.has_scores = False
                return answer

    async def _send(
        self, call: Call, body: Mapping[str, Any], think_tokens: int, *, thinks: bool
    ) -> tuple[Mapping[str, Any], bool]:
        """Wait until one more call may be open, and send a request.

        The reply comes with whether tokens for thoughts were added: meanwhile another call may have
        learned that the model thinks.

        Without a deadline of the plugin, the call's time limit counts neither this time nor that in
        which the backend starts.
        """
        backend = self.backend
        if not backend:
            raise NotCached("the answer is not in the cache, and there is no endpoint (EMPTY)")
        waits = call.context.deadline is None
        began_to_wait = time.monotonic()
        try:
            with anyio.fail_after(None if waits else call.end - began_to_wait):
                await backend.ready()
                await self.slots.acquire()
        except TimeoutError:
            raise Timeout(f"{backend.place}: no place before the deadline") from None

        try:
            begun = time.monotonic()
            if waits:
                call.end += begun - began_to_wait
            if call.end <= begun:
                raise Timeout(f"{backend.place}: no time is left before the deadline")
            call.usage.reserve()
            call.cost.calls += 1
            use = call.context.use
            if use and use.observe:
                use.observe({"event": "asking", "step": call.step, "sent": call.cost.calls})
            thinks = thinks or self._thinks
            if thinks:
                body = {**body, "max_tokens": body["max_tokens"] + think_tokens}
            try:
                reply = await self._complete(call, backend, body)
            except ModelError as error:
                self.trace.write(call, body, None, fault=str(error), begun=begun)
                raise
        finally:
            self.slots.release()
        self.error = None

        cost = cost_of(reply)
        # The budget counts the tokens of each reply at once.
        call.usage.total.prompt_tokens += cost.prompt_tokens
        call.usage.total.completion_tokens += cost.completion_tokens
        call.cost.add(cost)
        self.trace.write(call, body, reply, begun=begun)
        model = str(body["model"])
        is_cut = first_choice(reply, model).get("finish_reason") == "length"
        # A server cuts an answer before its maximum where prompt and answer fill the context.
        if is_cut and 0 < cost.completion_tokens < body["max_tokens"]:
            raise PromptTooLong(f"{model}: the prompt leaves only {cost.completion_tokens} tokens")
        return reply, thinks

    async def _complete(
        self, call: Call, backend: Backend, body: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return the first reply to a request, which is sent once more after half of its time.

        It is not sent again to a server whose calls usually take long, or while all slots are in
        use: more requests would make such a server slower still.
        """
        seconds = call.end - time.monotonic()
        attempts = [asyncio.create_task(backend.complete(body, seconds))]
        try:
            done, _ = await asyncio.wait(attempts, timeout=seconds / 2)
            total = call.usage.total
            usual = total.seconds / max(total.calls, 1)
            if not done and self.slots.value and 0 < 3 * usual < seconds / 2:
                with suppress(OverBudget):
                    call.usage.reserve()
                    call.cost.calls += 1
                    call.cost.retries += 1
                    attempts.append(asyncio.create_task(backend.complete(body, seconds / 2)))
            error: ModelError = Timeout(backend.place)
            for attempt in asyncio.as_completed(attempts):
                try:
                    return await attempt
                except ModelError as failure:
                    error = failure
            raise error
        finally:
            for task in attempts:
                task.cancel()
