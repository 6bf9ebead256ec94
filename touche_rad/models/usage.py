"""One model call: its deadline, cost and trace line; and the budget of a run."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from touche_rad.calls import CallContext, current_context
from touche_rad.models.errors import ModelError, OverBudget
from touche_rad.text import redact


@dataclass
class Cost:
    """Cost of a step, debate or run."""

    calls: int = 0
    from_cache: int = 0
    retries: int = 0
    repairs: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0

    def add(self, other: Cost) -> None:
        """Add another's counts."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def record(self) -> dict[str, Any]:
        """Return the counts for a run's record."""
        counts = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**counts, "seconds": round(self.seconds, 3)}


@dataclass
class Usage:
    """Costs of a run by plugin and step, and its budget."""

    max_calls: int | None = None
    max_tokens: int | None = None
    seconds: float | None = None
    """Seconds after which the run makes no more calls."""
    total: Cost = field(default_factory=Cost)
    steps: dict[str, dict[str, Cost]] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    """Failed calls by kind of error."""
    first_fault: str = ""
    begun: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def reserve(self) -> None:
        """Count one call before it is made; raise OverBudget if the budget is used up."""
        with self._lock:
            spent = self.total.prompt_tokens + self.total.completion_tokens
            if self.max_calls is not None and self.total.calls >= self.max_calls:
                raise OverBudget(f"the budget of {self.max_calls} calls is used up")
            if self.max_tokens is not None and spent >= self.max_tokens:
                raise OverBudget(f"the budget of {self.max_tokens} tokens is used up")
            if self.seconds is not None and time.monotonic() - self.begun >= self.seconds:
                raise OverBudget(f"the {self.seconds:g} seconds for model calls are over")
            self.total.calls += 1

    def spend(self, cost: Cost) -> None:
        """Count the tokens of a reply for the budget."""
        with self._lock:
            self.total.prompt_tokens += cost.prompt_tokens
            self.total.completion_tokens += cost.completion_tokens

    def note(self, context: CallContext, step: str, cost: Cost) -> None:
        """Add the cost of a call; its calls and tokens are in the total already."""
        with self._lock:
            self.total.add(replace(cost, calls=0, prompt_tokens=0, completion_tokens=0))
            of_plugin = self.steps.setdefault(context.plugin or "other", {})
            of_plugin.setdefault(step, Cost()).add(cost)
        if context.observe is not None:
            context.observe({"event": "model", "step": step, **cost.record()})

    def count_fault(self, error: ModelError) -> None:
        """Count a call that failed after all its retries."""
        with self._lock:
            kind = type(error).__name__
            self.faults[kind] = self.faults.get(kind, 0) + 1
            self.first_fault = self.first_fault or redact(f"{kind}: {error}")

    def record(self) -> Mapping[str, Any]:
        """Return the counts for a run's record."""
        with self._lock:
            plugins = {
                plugin: {step: cost.record() for step, cost in sorted(steps.items())}
                for plugin, steps in sorted(self.steps.items())
            }
            return {
                "total": self.total.record(),
                "plugins": plugins,
                "faults": dict(sorted(self.faults.items(), key=lambda one: -one[1])),
                "first_fault": self.first_fault,
            }

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the costs that another process recorded."""
        with self._lock:
            self.total.add(Cost(**record["total"]))
            for plugin, steps in record["plugins"].items():
                mine = self.steps.setdefault(plugin, {})
                for step, cost in steps.items():
                    mine.setdefault(step, Cost()).add(Cost(**cost))
            for kind, count in record["faults"].items():
                self.faults[kind] = self.faults.get(kind, 0) + count
            self.first_fault = self.first_fault or record["first_fault"]


@dataclass
class Call:
    """One request of a plugin: its step, context, deadline and cost so far."""

    step: str
    context: CallContext
    end: float
    cost: Cost = field(default_factory=Cost)

    @classmethod
    def now(cls, step: str, seconds: float) -> Call:
        """Start a call with this time limit, or the earlier deadline of the context."""
        here = current_context()
        end = time.monotonic() + seconds
        return cls(step, here, end if here.deadline is None else min(end, here.deadline))

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self.end - time.monotonic()


log = logging.getLogger("touche_rad")


@dataclass
class Trace:
    """A file with one JSON line per call; a write error is only logged."""

    FORMAT: ClassVar = 1
    """The format of a line; `touche_rad.files.traces` reads it."""
    path: Path | None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
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
        if self.path is None:
            return
        record = {
            "format": self.FORMAT,
            **call.context.record(),
            "step": call.step,
            "cached": begun is None,
            "seconds": None if begun is None else round(time.monotonic() - begun, 4),
            "asked": body,
            "answer": answer,
            "fault": fault,
        }
        line = redact(json.dumps(record, ensure_ascii=True)) + "\n"
        try:
            with self._lock, self.path.open("a", encoding="ascii") as out:
                out.write(line)
        except OSError as error:
            if not self._warned:
                log.warning("the trace %s cannot be written: %s", self.path, error)
                self._warned = True


def cost_of(reply: Mapping[str, Any]) -> Cost:
    """Return the token counts of the reply."""
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        return Cost()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
    prompt, completion, cached = (
        count if isinstance(count, int) and count > 0 else 0 for count in counts
    )
    return Cost(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached)
