"""One model call: its deadline, cost and trace line; and the budget of a run."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from touche_rad.models.context import CallContext, current_context
from touche_rad.models.errors import OverBudget
from touche_rad.models.prompts import Message
from touche_rad.secrets import redact


@dataclass
class Cost:
    """Counts of one step, debate or run."""

    calls: int = 0
    from_cache: int = 0
    retries: int = 0
    repairs: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    prompt_letters: int = 0
    shared_letters: int = 0
    """Letters of prompts that began an earlier prompt: what a prefix cache can serve."""
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
    """All costs of a run, by plugin, step and debate, and the budget they come out of."""

    max_calls: int | None = None
    max_tokens: int | None = None
    seconds: float | None = None
    """How long the run may ask at all."""
    total: Cost = field(default_factory=Cost)
    steps: dict[str, dict[str, Cost]] = field(default_factory=dict)
    debates: dict[str, Cost] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def reserve(self) -> None:
        """Take one call out of the budget before it is made.

        Raises:
            OverBudget: There is none left.
        """
        with self._lock:
            spent = self.total.prompt_tokens + self.total.completion_tokens
            if self.max_calls is not None and self.total.calls >= self.max_calls:
                raise OverBudget(f"the budget of {self.max_calls} calls is spent")
            if self.max_tokens is not None and spent >= self.max_tokens:
                raise OverBudget(f"the budget of {self.max_tokens} tokens is spent")
            if self.seconds is not None and time.monotonic() - self.begun >= self.seconds:
                raise OverBudget(f"the run's {self.seconds:g} seconds are over")
            self.total.calls += 1

    def spend(self, cost: Cost) -> None:
        """Count what one reply used at once, so that the budget sees it."""
        with self._lock:
            self.total.prompt_tokens += cost.prompt_tokens
            self.total.completion_tokens += cost.completion_tokens

    def note(self, context: CallContext, step: str, cost: Cost) -> None:
        """Count what was asked; its calls and tokens are in the total already."""
        with self._lock:
            rest = Cost(**vars(cost))
            rest.calls = rest.prompt_tokens = rest.completion_tokens = 0
            self.total.add(rest)
            of_plugin = self.steps.setdefault(context.plugin or "other", {})
            of_plugin.setdefault(step, Cost()).add(cost)
            if context.debate:
                self.debates.setdefault(context.debate, Cost()).add(cost)

    @property
    def used(self) -> bool:
        """Whether anything was asked at all."""
        return bool(self.steps)

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
                "debates": _spread(list(self.debates.values())),
            }


def _spread(costs: list[Cost]) -> dict[str, Any]:
    """Return how much the debates cost, on average and at most."""
    told: dict[str, Any] = {"count": len(costs)}
    if costs:
        for name in ("calls", "prompt_tokens", "completion_tokens", "seconds"):
            values = [getattr(cost, name) for cost in costs]
            told[name] = {
                "mean": round(sum(values) / len(values), 3),
                "most": round(max(values), 3),
            }
    return told


BLOCK: Final = 64
"""Characters that are known together or not at all: 16 tokens, the server's block, are as many."""
MOST: Final = 2_000_000


class Prefixes:
    """Remembers the beginnings of prompts, block by block, as a prefix cache does."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()
        self._lock = threading.Lock()

    def cost_of(self, messages: Sequence[Message]) -> Cost:
        """Note a prompt; return its length and how much of it began an earlier one, in letters."""
        text = "".join(f"\x00{message.role}\x00{message.content}" for message in messages)
        data = text.encode("utf-8", "replace")
        shared, chain, still = 0, b"", True
        with self._lock:
            for start in range(0, len(data) - BLOCK + 1, BLOCK):
                piece = data[start : start + BLOCK]
                chain = hashlib.blake2b(chain + piece, digest_size=12).digest()
                if still and chain in self._known:
                    shared += BLOCK
                    continue
                still = False
                if len(self._known) < MOST:
                    self._known.add(chain)
        return Cost(prompt_letters=len(data), shared_letters=shared)


@dataclass
class Call:
    """What it is counted under, when it must be over, and what it has cost so far."""

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
        """How many seconds are left."""
        return self.end - time.monotonic()


log = logging.getLogger("touche_rad")


class Trace:
    """A file of JSON lines, or none; one that cannot be written costs no answer."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._told = False

    def tell(
        self,
        call: Call,
        body: Mapping[str, Any],
        answer: Mapping[str, Any] | None,
        *,
        fault: str = "",
        begun: float | None = None,
    ) -> None:
        """Append what was sent and what came of it; what the cache answered never began."""
        seconds = None if begun is None else round(time.monotonic() - begun, 4)
        self._write({
            **call.context.record(), "step": call.step, "cached": begun is None,
            "seconds": seconds, "asked": body, "answer": answer, "fault": fault,
        })  # fmt: skip

    def _write(self, record: Mapping[str, Any]) -> None:
        if self.path is None:
            return
        line = redact(json.dumps(record, ensure_ascii=True)) + "\n"
        try:
            with self._lock, self.path.open("a", encoding="ascii") as out:
                out.write(line)
        except OSError as error:
            if not self._told:
                log.warning("the trace %s cannot be written: %s", self.path, error)
                self._told = True
