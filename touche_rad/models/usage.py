"""What asking cost, and how much may still be asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from touche_rad.models.faults import OverBudget
from touche_rad.models.occasion import Occasion


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

    def note(self, occasion: Occasion, step: str, cost: Cost) -> None:
        """Count what was asked; its calls and tokens are in the total already."""
        with self._lock:
            rest = Cost(**vars(cost))
            rest.calls = rest.prompt_tokens = rest.completion_tokens = 0
            self.total.add(rest)
            of_plugin = self.steps.setdefault(occasion.plugin or "other", {})
            of_plugin.setdefault(step, Cost()).add(cost)
            if occasion.debate:
                self.debates.setdefault(occasion.debate, Cost()).add(cost)

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
