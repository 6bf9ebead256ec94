"""Equal budgets of model calls and tokens for each debater in each debate, and their costs.

A budget is for one debater in one debate, so that it depends neither on the order of the debates
nor on an interrupted run.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from touche_rad.calls import CallContext, current_context
from touche_rad.contests.two_sides import Game
from touche_rad.models import Model
from touche_rad.models.errors import ModelError, OverBudget
from touche_rad.models.usage import Cost, Usage

COST_FIELDS = ("calls", "from_cache", "prompt_tokens", "completion_tokens", "failures")
"""The fields of a debater's costs."""


@dataclass
class PerDebate(Usage):
    """A debater's usage; `max_calls` and `max_tokens` are limits per debate."""

    whole: Usage = field(default_factory=Usage)
    debates: dict[str, Cost] = field(default_factory=dict)
    _begun: dict[str, int] = field(default_factory=dict, repr=False)
    _tokens: dict[str, int] = field(default_factory=dict, repr=False)
    _mine: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def reserve(self) -> None:
        """Count a call against the budgets of the debate and the run.

        Cache hits count too, so that a repeated run gives the same debates.
        """
        debate = current_context().debate
        with self._mine:
            known = self.debates.get(debate, Cost()).from_cache
            begun = self._begun.get(debate, 0)
            if self.max_calls is not None and begun + known >= self.max_calls:
                raise OverBudget(f"the budget of {self.max_calls} calls per debate is used up")
            if self.max_tokens is not None and self._tokens.get(debate, 0) >= self.max_tokens:
                raise OverBudget(f"the budget of {self.max_tokens} tokens per debate is used up")
            self._begun[debate] = begun + 1
        self.whole.reserve()

    def spend(self, cost: Cost) -> None:
        """Add the tokens of a reply."""
        debate = current_context().debate
        with self._mine:
            used = cost.prompt_tokens + cost.completion_tokens
            self._tokens[debate] = self._tokens.get(debate, 0) + used
        self.whole.spend(cost)

    def count_fault(self, error: ModelError) -> None:
        """Count a failed call for the run."""
        self.whole.count_fault(error)

    def note(self, context: CallContext, step: str, cost: Cost) -> None:
        """Record a call here and for the run."""
        super().note(context, step, cost)
        with self._mine:
            self.debates.setdefault(context.debate, Cost()).add(cost)
        self.whole.note(context, step, cost)


class Budgets:
    """Gives each debater the same model with its own budget and account."""

    def __init__(self, max_calls: int | None = None, max_tokens: int | None = None) -> None:
        self.max_calls, self.max_tokens = max_calls, max_tokens
        self._of: dict[str, PerDebate] = {}

    def model_of(self, model: Model, name: str) -> Model:
        """Return the model with the budget of a debater."""
        usage = PerDebate(self.max_calls, self.max_tokens, whole=model.usage)
        self._of[name] = usage
        return model.spending(usage)

    def costs(self, game: Game) -> Mapping[str, int]:
        """Return the costs of a debate as counts that `costs_in` reads."""
        counts: dict[str, int] = {}
        for name in (game.pro, game.con):
            cost = self._of[name].debates.get(game.id) if name in self._of else None
            for what in COST_FIELDS if cost is not None else ():
                counts[f"{what} of {name}"] = getattr(cost, what)
        return counts


def costs_in(counts: Mapping[str, int], names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the costs of each debater with model calls from the counts of a run."""
    return {
        name: {what: counts.get(f"{what} of {name}", 0) for what in COST_FIELDS}
        for name in names
        if any(f"{what} of {name}" in counts for what in COST_FIELDS)
    }
