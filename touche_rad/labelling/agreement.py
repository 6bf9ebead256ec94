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
    turns_by_key = {}
    for key in study.criteria.keys:
        turns_by_key[key] = [study.votes(place, key) for place in study.places]
    pairs = []
    for first, second in combinations(study.annotators, 2):
        for key, turns in turns_by_key.items():
            labels = [
                (bool(votes[first]), bool(votes[second]))
                for votes in turns
                if first in votes and second in votes
            ]
            pairs.append(pair_agreement(first, second, key, labels))
    alphas = []
    for key, turns in turns_by_key.items():
        several = [list(votes.values()) for votes in turns if len(votes) > 1]
        alphas.append(AlphaRow(maxim=key, turns=len(several), alpha=alpha(several)))
    return Agreement(pairs=tuple(pairs), alphas=tuple(alphas))
