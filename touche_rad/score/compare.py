"""Several runs against each other: which differences are more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from touche_rad.score import bootstrap
from touche_rad.score.result import Comparison


@dataclass(frozen=True)
class Measured:
    """A figure as observed, and what it would have been in each draw; None where none was made."""

    value: float
    draws: bootstrap.Floats | None = None

    @property
    def interval(self) -> tuple[float, float] | tuple[None, None]:
        """The middle 95 % of the draws."""
        return (None, None) if self.draws is None else bootstrap.interval(self.draws)


Figures = Mapping[str, Mapping[str, Measured]]
"""By run, then by measure."""


def pairs(
    runs: Sequence[str], *, baseline: str | None = None, beside: str | None = None
) -> list[tuple[str, str]]:
    """Which run is compared to which: all pairs, or all with the baseline, and all with `beside`.

    The later run stands first, so that a difference tells what it adds to the earlier one.
    """
    if baseline is None:
        found = [(later, earlier) for earlier, later in combinations(runs, 2)]
    else:
        found = [(run, baseline) for run in runs if run != baseline]
    return found + [(run, beside) for run in runs if beside is not None]


def comparisons(
    figures: Figures, chosen: Sequence[tuple[str, str]], measures: Sequence[str]
) -> tuple[Comparison, ...]:
    """Compare each pair by each measure; Holm's correction is over all of them together."""
    found = [
        _compare(run, against, measure, figures[run][measure], figures[against][measure])
        for run, against in chosen
        for measure in measures
    ]
    corrected = bootstrap.holm([row.p for row in found if row.p is not None])
    if len(corrected) < len(found):
        return tuple(found)
    return tuple(
        row.model_copy(update={"p_holm": p}) for row, p in zip(found, corrected, strict=True)
    )


def _compare(run: str, against: str, measure: str, ours: Measured, theirs: Measured) -> Comparison:
    difference = ours.value - theirs.value
    if ours.draws is None or theirs.draws is None:
        return Comparison(run=run, against=against, measure=measure, difference=difference)
    tested = bootstrap.compare(difference, ours.draws - theirs.draws)
    return Comparison(
        run=run,
        against=against,
        measure=measure,
        difference=difference,
        low=tested.low,
        high=tested.high,
        p=tested.p,
        p_holm=tested.p,
    )
