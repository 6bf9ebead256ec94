"""Agreement of annotators: Cohen's kappa of each pair, Krippendorff's alpha of all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from touche_rad.labelling._study import Study
from touche_rad.score.audit import AGREEMENT_COLUMNS, PairAgreement, pair_agreement
from touche_rad.score.measures import alpha
from touche_rad.score.tables import Columns, FrozenRecord, Part, Printed, table


class AlphaRow(FrozenRecord):
    """Krippendorff's alpha of all annotators on a criterion."""

    maxim: str
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


_ALPHAS: Columns = {
    "{maxim}": "all annotators",
    "{turns}": "turns",
    "{alpha:.3f}": "Krippendorff's alpha",
}


def agreement(study: Study) -> Agreement:
    """Return the agreement of the annotators of a study."""
    places = {place for of_one in study.answers.values() for place in of_one}
    votes = {key: [study.votes(place, key) for place in places] for key in study.criteria.keys}
    pairs, alphas = [], []
    for first, second in combinations(study.annotators, 2):
        for key, units in votes.items():
            both = [
                (bool(one[first]), bool(one[second])) for one in units if {first, second} <= {*one}
            ]
            pairs.append(pair_agreement(first, second, key, both))
    for key, units in votes.items():
        several = [list(one.values()) for one in units if len(one) > 1]
        alphas.append(AlphaRow(maxim=key, turns=len(several), alpha=alpha(several)))
    return Agreement(pairs=tuple(pairs), alphas=tuple(alphas))
