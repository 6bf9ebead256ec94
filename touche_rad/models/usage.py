"""What asking cost, and how much may still be asked."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from touche_rad.models.faults import OverBudget


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
    seconds: float = 0.0

    def add(self, other: Cost) -> None:
        """Add another's counts."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def record(self) -> dict[str, Any]:
        """Return the counts for a run's record."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass
class Usage:
    """All costs of a run, by step, and the budget they come out of."""

    max_calls: int | None = None
    max_tokens: int | None = None
    total: Cost = field(default_factory=Cost)
    steps: dict[str, Cost] = field(default_factory=dict)
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
            self.total.calls += 1

    def note(self, step: str, cost: Cost) -> None:
        """Count what a call cost; the call itself was counted when it was reserved."""
        with self._lock:
            own = Cost(**{**cost.record(), "calls": 0})
            self.total.add(own)
            self.steps.setdefault(step, Cost()).add(cost)

    def record(self) -> Mapping[str, Any]:
        """Return the counts for a run's record."""
        with self._lock:
            steps = {name: cost.record() for name, cost in sorted(self.steps.items())}
            return {"total": self.total.record(), "steps": steps}
