"""Estimate the model calls of a run: process a few debates with example answers, and extrapolate.

Every plugin can be estimated, because its own code decides what it sends. Nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from touche_rad import files
from touche_rad.contest import Contest
from touche_rad.debate import Debate
from touche_rad.errors import InputError, WorkError
from touche_rad.files.outputs import Status
from touche_rad.models.usage import Cost
from touche_rad.runs.journal import Done, Tally
from touche_rad.runs.work import RunOptions, Work

SAMPLE: Final = 4
"""Debates that are processed for an estimate."""
TURNS: Final = ("answers", "verdicts", "speeches")
"""The counts of a run that say how much it processed."""


class Range(BaseModel):
    """An estimate: for short answers of the model, for usual ones, and for long ones."""

    model_config = ConfigDict(frozen=True)

    low: float = 0.0
    expected: float = 0.0
    high: float = 0.0

    def __add__(self, other: Range) -> Range:
        return Range(
            low=self.low + other.low,
            expected=self.expected + other.expected,
            high=self.high + other.high,
        )

    def scaled(self, factor: float) -> Range:
        """Return all three numbers times a factor."""
        return Range(
            low=self.low * factor, expected=self.expected * factor, high=self.high * factor
        )


class Estimate(BaseModel):
    """The model calls and tokens that a run is expected to need."""

    model_config = ConfigDict(frozen=True)

    debates: int = 0
    sampled: int = 0
    """Debates that were processed for the estimate."""
    turns: Mapping[str, int] = {}
    """Answers, verdicts or speeches of the run."""
    calls: Range = Range()
    prompt_tokens: Range = Range()
    completion_tokens: Range = Range()
    seconds: float = 0.0
    """Seconds of the plugins' own work, without the model."""
    stand_ins: int = 0
    """Results of a fallback in the sample: the plugin did not accept the example answers."""

    def __add__(self, other: Estimate) -> Estimate:
        """Return the estimate of two parts of a run on the same debates."""
        return Estimate(
            debates=self.debates,
            sampled=self.sampled,
            turns={**self.turns, **other.turns},
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            seconds=self.seconds + other.seconds,
            stand_ins=self.stand_ins + other.stand_ins,
        )

    def line(self) -> str:
        """Return the estimate for the terminal."""
        tokens = self.prompt_tokens + self.completion_tokens
        return (
            f"estimated: {_shown(self.calls)} calls, {_shown(tokens)} tokens"
            " (usual, lowest, highest)"
        )

    def compare(self, usage: Mapping[str, Any]) -> str:
        """Return a line with the estimate and what a run spent.

        Args:
            usage: The total of the run's usage; answers from the cache count as calls.
        """
        spent = usage["calls"] + usage["from_cache"]
        tokens = usage["prompt_tokens"] + usage["completion_tokens"]
        return f"{self.line()}; spent: {spent:,} calls, {tokens:,} tokens"

    def limited(self, calls: int | None, tokens: int | None) -> Estimate:
        """Return the estimate with the budget of the run."""
        limit = self
        if calls is not None and self.calls.high > calls:
            limit = limit._capped(limit.calls, calls)
        if tokens is not None:
            both = limit.prompt_tokens + limit.completion_tokens
            if both.high > tokens:
                limit = limit._capped(both, tokens)
        return limit

    def _capped(self, used: Range, most: float) -> Estimate:
        def cap(one: Range) -> Range:
            def part(name: str) -> float:
                whole = getattr(used, name)
                share = min(1.0, most / whole) if whole else 1.0
                return float(getattr(one, name)) * share

            return Range(low=part("low"), expected=part("expected"), high=part("high"))

        fields = ("calls", "prompt_tokens", "completion_tokens")
        return self.model_copy(update={name: cap(getattr(self, name)) for name in fields})


def _shown(one: Range) -> str:
    return f"{one.expected:,.0f} ({one.low:,.0f} to {one.high:,.0f})"


_KEPT: Final = 200
"""Units that are kept while the input is read; a longer one is read again for its sample."""
Choose = Callable[[int], Iterable[int]]
"""Returns the numbers of the units to process, given the number of units."""
LEAST: Final = 10
"""Debates from which a run with a model makes an estimate at its start."""


def spread(units: int, most: int = SAMPLE) -> list[int]:
    """Return numbers of units that are spread over the input."""
    count = min(units, most)
    return [at * units // count for at in range(count)]


def spread_over_many(units: int) -> list[int]:
    """Return no numbers if there are few units: such a run ends soon, and shows its cost."""
    return spread(units) if units >= LEAST else []


@dataclass
class Input:
    """The sizes of all units, and the units of a sample; several samples read them once."""

    sizes: Sequence[int] = ()
    chosen: Mapping[int, Any] = field(default_factory=dict)

    def read(self, work: Work[Any], choose: Choose, bad: files.BadLines) -> None:
        """Read the input of some work unless it has been read before."""
        if self.sizes:
            return
        units = work.read(bad)
        first = list(islice(units, _KEPT))
        self.sizes = [_size(unit) for unit in chain(first, units)]
        if not self.sizes:
            raise InputError(work.source, "expected at least one debate, found none")
        numbers = set(choose(len(self.sizes)))
        last = max(numbers, default=-1)
        again = first if last < len(first) else work.read(files.BadLines(skip=True))
        found = enumerate(islice(again, last + 1))
        self.chosen = {number: unit for number, unit in found if number in numbers}


@dataclass
class Sample:
    """Processes some units in place of a run, and keeps the results in memory."""

    choose: Choose = spread
    input: Input = field(default_factory=Input)
    units: int = 0
    done: list[Done] = field(default_factory=list)
    scale: float = 1.0
    """Size of the whole input, in sizes of the sample."""
    seconds: float = 0.0
    sizes: list[int] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)
    """Size of each processed unit, and the cost of all units up to it."""

    async def __call__(self, work: Work[Any], options: RunOptions) -> Status:
        """Process the units one after the other."""
        if not work.source.is_file():
            raise InputError(work.source, "expected a file to read")
        self.input.read(work, self.choose, options.bad or files.BadLines())
        started, clock = datetime.now().astimezone(), time.monotonic()
        sizes, chosen = self.input.sizes, self.input.chosen
        self.units = len(sizes)
        self.scale = sum(sizes) / max(1, sum(sizes[number] for number in chosen))
        tally = Tally()
        for number, unit in chosen.items():
            try:
                self.done.append(await work.do(unit))
            except Exception as error:
                raise WorkError(
                    f"dry run: number {number + 1} failed: {type(error).__name__}: {error}"
                ) from error
            tally.add(self.done[-1])
            self.sizes.append(sizes[number])
            if options.model is not None:
                self.costs.append(replace(options.model.usage.total))
        self.seconds = time.monotonic() - clock
        return Status(
            verb=work.verb,
            state="done",
            units=self.units,
            done=len(self.done),
            started=started,
            finished=datetime.now().astimezone(),
            seconds=self.seconds,
            **tally.fields(),
        )

    def extrapolate(self, name: str) -> float:
        """Return the cost of the whole input.

        What the first unit costs more than the others is counted once: a plugin may prepare itself.
        """
        values = [float(getattr(cost, name)) for cost in self.costs]
        if not values:
            return 0.0
        whole = self.scale * values[-1]
        if len(values) == 1:
            return whole
        rate = (values[-1] - values[0]) / sum(self.sizes[1:])
        more = values[0] - rate * self.sizes[0]
        return rate * self.scale * sum(self.sizes) + more if more > 0 else whole

    @property
    def lines(self) -> list[str]:
        """The output of the sample."""
        return [line for one in self.done for line in one.lines]


def _size(unit: Any) -> int:
    """Return the number of turns of a unit."""
    if isinstance(unit, tuple):
        return max(1, len(unit[1]))
    if isinstance(unit, Debate):
        return max(1, len(unit.turns))
    return max(1, len(unit.speeches)) if isinstance(unit, Contest) else 1


def estimate_of(samples: Mapping[str, Sample], status: Status) -> Estimate:
    """Extrapolate the costs of samples.

    Args:
        samples: The sample with short, usual and long answers (`models.dry_run.LENGTHS`).
        status: The result of the sample with usual answers.
    """
    sample = samples["expected"]

    def ranged(name: str) -> Range:
        values = {length: one.extrapolate(name) for length, one in samples.items()}
        return Range(
            low=min(values.values()), expected=values["expected"], high=max(values.values())
        )

    return Estimate(
        debates=sample.units,
        sampled=len(sample.done),
        turns={
            name: round(sample.scale * count)
            for name, count in status.counts.items()
            if name in TURNS
        },
        calls=ranged("calls"),
        prompt_tokens=ranged("prompt_tokens"),
        completion_tokens=ranged("completion_tokens"),
        seconds=sample.scale * sample.seconds,
        stand_ins=status.replaced + status.counts.get("without a winner", 0),
    )
