"""Agreement of annotators on a maxim: Cohen's kappa of each pair, Krippendorff's alpha of all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from touche_rad.debate import Maxim
from touche_rad.labelling.study import Study
from touche_rad.score.audit.figures import AGREEMENT_COLUMNS, PairAgreement, pair_agreement
from touche_rad.score.measures import alpha
from touche_rad.score.tables import Columns, Item, Part, Printed, table


class AlphaRow(Item):
    """Krippendorff's alpha of all annotators on a maxim."""

    maxim: Maxim
    turns: int
    """Turns with at least two answers."""
    alpha: float | None


class Agreement(Printed):
    """The agreement of all annotators."""

    pairs: tuple[PairAgreement, ...] = ()
    alphas: tuple[AlphaRow, ...] = ()

    def parts(self) -> Iterator[Part]:
        """Yield the tables of the terminal output."""
        yield table(AGREEMENT_COLUMNS, self.pairs)
        yield table(_ALPHAS, self.alphas)


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


def _pair(study: Study, first: str, second: str, maxim: Maxim) -> PairAgreement:
    votes = (study.votes(place, maxim) for place in study.answers[first])
    both = [(bool(of[first]), bool(of[second])) for of in votes if first in of and second in of]
    return pair_agreement(first, second, maxim, both)


def _alpha(study: Study, maxim: Maxim) -> AlphaRow:
    places = {place for of_one in study.answers.values() for place in of_one}
    units = [list(study.votes(place, maxim).values()) for place in places]
    units = [unit for unit in units if len(unit) > 1]
    return AlphaRow(maxim=maxim, turns=len(units), alpha=alpha(units))
