"""Equal budgets of model calls and tokens for each debater in each debate, and their costs.

A budget is for one debater in one debate, so that it depends neither on the order of the debates
nor on an interrupted run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from touche_rad.calls import CallContext, current_context
from touche_rad.contests.two_sides import Game
from touche_rad.models import Model
from touche_rad.models.errors import ModelError, OverBudget
from touche_rad.models.sending import Cost, Usage
from touche_rad.score.tables import FrozenRecord


class Costs(FrozenRecord):
    """The model calls and tokens of a debater."""

    calls: int
    from_cache: int
    prompt_tokens: int
    completion_tokens: int
    failures: int


@dataclass
class PerDebate(Usage):
    """A debater's usage; `max_calls` and `max_tokens` are limits per debate."""

    run: Usage = field(default_factory=Usage)
    """The usage of the run."""
    debates: dict[str, Usage] = field(default_factory=dict)

    def _usage_of(self, debate: str) -> Usage:
        return self.debates.setdefault(debate, Usage(self.max_calls, self.max_tokens))

    def reserve(self) -> None:
        """Count a call against the budgets of the debate and the run.

        Cache hits count too, so that a repeated run gives the same debates.
        """
        with self._lock:
            usage = self._usage_of(current_context().caller.debate)
            calls = usage.total.calls + usage.total.from_cache
            if self.max_calls is not None and calls >= self.max_calls:
                raise OverBudget(f"the budget of {self.max_calls} calls per debate is used up")
            usage.reserve()
        self.run.reserve()

    def usual_seconds(self) -> float:
        """Return the mean time of the run's calls."""
        return self.run.usual_seconds()

    def spend(self, cost: Cost) -> None:
        """Add the tokens of a reply."""
        self._usage_of(current_context().caller.debate).spend(cost)
        self.run.spend(cost)

    def count_fault(self, error: ModelError) -> None:
        """Count a failed call for the run."""
        self.run.count_fault(error)

    def note(self, context: CallContext, step: str, cost: Cost) -> None:
        """Record a call here and for the run."""
        # Without `use`, so that only the usage of the run shows the call to an observer.
        self._usage_of(context.caller.debate).note(replace(context, use=None), step, cost)
        self.run.note(context, step, cost)


class Budgets:
    """Gives each debater the same model with its own budget and account."""

    def __init__(self, max_calls: int | None = None, max_tokens: int | None = None) -> None:
        self._max_calls = max_calls
        self._max_tokens = max_tokens
        self._usages: dict[str, PerDebate] = {}

    def model_of(self, model: Model, name: str) -> Model:
        """Return the model with the budget of a debater."""
        usage = PerDebate(self._max_calls, self._max_tokens, run=model.usage)
        self._usages[name] = usage
        return model.copy(usage=usage)

    def costs(self, game: Game) -> Mapping[str, int]:
        """Return the costs of a debate as counts that `costs_in` reads."""
        counts: dict[str, int] = {}
        for name in (game.pro, game.con):
            usage = self._usages[name].debates.get(game.id) if name in self._usages else None
            if usage is not None and usage.steps:  # it made a call
                for field_name in Costs.model_fields:
                    counts[f"{field_name} of {name}"] = getattr(usage.total, field_name)
        return counts


def costs_in(counts: Mapping[str, int], names: Sequence[str]) -> dict[str, Costs]:
    """Return the costs of each debater with model calls from the counts of a run."""
    costs = {}
    for name in names:
        if f"calls of {name}" in counts:
            fields = {key: counts.get(f"{key} of {name}", 0) for key in Costs.model_fields}
            costs[name] = Costs(**fields)
    return costs
