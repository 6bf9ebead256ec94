"""The smallest difference that a data set can show: statistical power by debates.

A comparison finds a true difference of this size in about 80 % of the cases, with a two-sided test
at 5 %. Turns of one debate are alike, so the variance grows by the design effect
1 + (turns per debate - 1) * CORRELATION. `benchmarks/power.py` checks the formula for F1 by
simulation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Final

from touche_rad.debate import Maxim

Z: Final = 1.959964 + 0.841621
"""Quantiles of the normal distribution for a two-sided test at 5 % and for a power of 80 %."""
CORRELATION: Final = 0.1
"""Assumed correlation of the differences in two turns of one debate."""
YES: Final = 0.75
"""Assumed share of yes, where no labels are given."""
ACCURACY: Final = 0.7
"""Assumed accuracy of two panels."""


@dataclass(frozen=True)
class Detectable:
    """The smallest difference in a measure that the data can show."""

    measure: str
    difference: float

    def line(self) -> str:
        """Return the difference for the terminal."""
        found = f"{self.difference:.3f}" if self.difference < 1 else "too few debates"
        return f"{self.measure}: {found}"


def smallest(
    variance: float, debates: int, turns: float, *, correlation: float = CORRELATION
) -> float:
    """Return the smallest difference of means.

    Args:
        variance: Variance of the difference in one turn.
        debates: Number of debates.
        turns: Number of turns of all debates.
        correlation: Correlation of the differences in two turns of one debate.
    """
    if not debates or not turns:
        return inf
    effect = 1 + (turns / debates - 1) * correlation
    return Z * sqrt(variance * max(1.0, effect) / turns)


def f1_variance(yes: float) -> float:
    """Return the variance, in one turn, of the difference in F1 between two judges.

    Both judges say yes as often as the labels do, have the F1 of a judge that always says yes, and
    err independently of each other. Two judges that err on the same turns differ less.

    Args:
        yes: Share of the labels that are yes.
    """
    if not 0 < yes < 1:
        return 0.0
    f1 = 2 * yes / (1 + yes)
    false_yes = min(1.0, (1 - f1) * yes / (1 - yes))
    on_yes = yes * 2 * f1 * (1 - f1) * (2 - f1) ** 2
    on_no = (1 - yes) * 2 * false_yes * (1 - false_yes) * f1**2
    return (on_yes + on_no) / (2 * yes) ** 2


def judges(
    debates: int, turns: int, labels: Iterable[Sequence[Mapping[Maxim, int | None]]] | None = None
) -> list[Detectable]:
    """Return the smallest differences in F1 between two judges.

    Args:
        debates: Number of debates.
        turns: Number of judged responses.
        labels: Labels by debate and turn, if they are known.
    """
    if labels is None:
        one = smallest(f1_variance(YES), debates, turns)
        return [
            Detectable("F1 on one maxim", one),
            Detectable("mean F1 of the four maxims", one / 2),
        ]
    known = [[dict(turn) for turn in debate] for debate in labels]
    found = []
    for maxim in Maxim:
        given = [
            [turn[maxim] for turn in debate if turn.get(maxim) is not None] for debate in known
        ]
        flat = [label for debate in given for label in debate]
        share = sum(label == 1 for label in flat) / len(flat) if flat else 0.0
        with_labels = sum(map(bool, given))
        least = smallest(f1_variance(share), with_labels, len(flat)) or inf
        found.append(Detectable(f"F1 on {maxim.value}", least))
    shown = [one.difference for one in found if one.difference < inf]
    mean = sqrt(sum(one**2 for one in shown)) / len(shown) if shown else inf
    return [*found, Detectable("mean F1 of the four maxims", mean)]


def debaters(debates: int, turns: int) -> list[Detectable]:
    """Return the smallest differences between two debaters that answer the same debates."""
    variance = 2 * YES * (1 - YES)
    return [
        Detectable("share of yes on one maxim", smallest(variance, debates, turns)),
        wins(debates, 1),
    ]


def wins(claims: int, debates: int) -> Detectable:
    """Return the smallest distance of a share of wins from one half.

    Args:
        claims: Number of claims.
        debates: Number of debates of two debaters on each claim.
    """
    least = smallest(0.25, claims, claims * debates)
    return Detectable("share of wins, above .5", least)


def panels(contests: int) -> list[Detectable]:
    """Return the smallest difference in accuracy between two panels on the same debates."""
    variance = 2 * ACCURACY * (1 - ACCURACY)
    return [Detectable("accuracy", smallest(variance, contests, contests))]
