"""Agreement of annotators on a maxim: Cohen's kappa of each pair, Krippendorff's alpha of all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from touche_rad.debate import Maxim
from touche_rad.labelling.study import Study
from touche_rad.score.measures import alpha, count, kappa
from touche_rad.score.tables import Columns, Item, Part, Printed, table


class PairRow(Item):
    """The agreement of two annotators on a maxim, on the turns where both say yes or no."""

    first: str
    second: str
    maxim: Maxim
    turns: int
    same: float | None
    kappa: float | None


class AlphaRow(Item):
    """Krippendorff's alpha of all annotators on a maxim."""

    maxim: Maxim
    turns: int
    """Turns with at least two answers."""
    alpha: float | None


class Agreement(Printed):
    """The agreement of all annotators."""

    pairs: tuple[PairRow, ...] = ()
    alphas: tuple[AlphaRow, ...] = ()

    def parts(self) -> Iterator[Part]:
        """Yield the tables of the terminal output."""
        yield table(_PAIRS, self.pairs)
        yield table(_ALPHAS, self.alphas)


_PAIRS: Columns = (
    ("agreement", "{first} and {second}"),
    ("maxim", "{maxim}"),
    ("turns", "{turns}"),
    ("same", "{same:percent}"),
    ("kappa", "{kappa:.3f}"),
)
_ALPHAS: Columns = (
    ("all annotators", "{maxim}"),
    ("turns", "{turns}"),
    ("Krippendorff's alpha", "{alpha:.3f}"),
)


def agreement(study: Study) -> Agreement:
    """Return the agreement of the annotators of a study."""
    return Agreement(
        pairs=tuple(
            _pair(study, first, second, maxim)
            for first, second in combinations(study.annotators, 2)
            for maxim in Maxim
        ),
        alphas=tuple(_alpha(study, maxim) for maxim in Maxim if len(study.annotators) > 1),
    )


def _pair(study: Study, first: str, second: str, maxim: Maxim) -> PairRow:
    both = [
        (one[maxim], other[maxim])
        for place, one in study.answers[first].items()
        if (other := study.answers[second].get(place)) is not None
        and one.get(maxim) is not None
        and other.get(maxim) is not None
    ]
    counts = count((int(bool(a)), float(bool(b))) for a, b in both)
    same = sum(a == b for a, b in both) / len(both) if both else None
    return PairRow(
        first=first, second=second, maxim=maxim, turns=len(both), same=same, kappa=kappa(counts)
    )


def _alpha(study: Study, maxim: Maxim) -> AlphaRow:
    places = {place for of_one in study.answers.values() for place in of_one}
    units = [list(study.votes(place, maxim).values()) for place in places]
    units = [unit for unit in units if len(unit) > 1]
    return AlphaRow(maxim=maxim, turns=len(units), alpha=alpha(units))
