"""Agreement of annotators: kappa and AC2 of each pair, Krippendorff's alpha of all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from touche_rad.labelling._study import Study
from touche_rad.labelling.exchanges import TurnPlace
from touche_rad.records import FrozenRecord
from touche_rad.score import confusion
from touche_rad.score.measures import mean
from touche_rad.score.significance import Floats, interval, resampled_sums
from touche_rad.score.tables import NONE, Columns, Part, Printed, cell, table

_SAMPLES = 2_000
MOST_IN_PAIRS: Final = 30
"""With more annotators, there are only the coefficients of all: 1,000 have 499,500 pairs."""


class Coefficient(FrozenRecord):
    """A measure of agreement, with its interval from a bootstrap of debates."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    def __format__(self, _: str) -> str:
        """Return the value, with its interval if there are enough debates."""
        interval_of_value = cell(" [{low:.2f}, {high:.2f}]", self)
        return cell("{value:.2f}", self) + interval_of_value.removeprefix(NONE)


class PairRow(FrozenRecord):
    """The agreement of two annotators on a criterion."""

    first: str
    second: str
    maxim: str
    turns: int
    """Turns that both have answered."""
    same: float | None
    kappa: Coefficient
    """Cohen's kappa; on a scale, weighted by the square of the difference."""
    ac2: Coefficient
    """Gwet's AC2, for answers of which one is rare."""


class AlphaRow(FrozenRecord):
    """Krippendorff's alpha of all annotators on a criterion."""

    maxim: str
    turns: int
    """Turns with at least two answers."""
    alpha: Coefficient
    """For nominal values; on a scale, for intervals."""


class Agreement(Printed):
    """The agreement of all annotators."""

    pairs: Sequence[PairRow] = ()
    alphas: Sequence[AlphaRow] = ()

    def parts(self) -> Iterator[Part]:
        """Yield the tables of the terminal output."""
        if not self.pairs:
            yield [f"no kappa of pairs: there are more than {MOST_IN_PAIRS} annotators"]
        yield table(_PAIRS, self.pairs)
        if len(self.pairs) != len(self.alphas):  # not of two annotators, who are one pair
            yield table(_ALPHAS, self.alphas)


_PAIRS: Columns = {
    "{first} and {second}": "agreement",
    "{maxim}": "question",
    "{turns}": "turns",
    "{same:percent}": "same",
    "{kappa}": "kappa (95 %)",
    "{ac2}": "AC2 (95 %)",
}
_ALPHAS: Columns = {
    "{maxim}": "all annotators",
    "{turns}": "turns",
    "{alpha}": "Krippendorff's alpha (95 %)",
}


def agreement(study: Study, seed: int = 0) -> Agreement:
    """Return the agreement of the annotators of a study."""
    annotators = study.annotators
    in_pairs = annotators if len(annotators) <= MOST_IN_PAIRS else []
    rows: list[PairRow] = []
    alphas = []
    for criterion in study.criteria:
        size = len(criterion.answers.values)
        apart = confusion.distances(criterion)[:size, :size]
        votes = {place: study.votes(place, criterion.key) for place in sorted(study.places)}
        for first, second in combinations(in_pairs, 2):
            units = _answers(votes, [first, second])
            tables = [confusion.count_answers(of_debate, size) for of_debate in units]
            turns = sum(map(len, units))
            equal = [a == b for of_debate in units for a, b in of_debate]
            kappa, ac2 = _estimates([confusion.kappa, confusion.ac2], tables, apart, seed)
            rows.append(
                PairRow(
                    first=first,
                    second=second,
                    maxim=criterion.key,
                    turns=turns,
                    same=mean(equal),
                    kappa=kappa,
                    ac2=ac2,
                )
            )
        units = _answers(votes, annotators)
        tables = [confusion.coincidences(of_debate, size) for of_debate in units]
        (alpha,) = _estimates([confusion.alpha], tables, apart, seed)
        alphas.append(AlphaRow(maxim=criterion.key, turns=sum(map(len, units)), alpha=alpha))
    return Agreement(pairs=rows, alphas=alphas)


def _answers(
    votes: Mapping[TurnPlace, Mapping[str, int]], annotators: Sequence[str]
) -> list[list[list[int]]]:
    """Return what these annotators answered where at least two of them did, by debate and turn."""
    by_debate: dict[int, list[list[int]]] = {}
    for place, votes_on_turn in votes.items():
        answers = [votes_on_turn[name] for name in annotators if name in votes_on_turn]
        if len(answers) > 1:
            by_debate.setdefault(place.debate, []).append(answers)
    return list(by_debate.values())


def _estimates(
    formulas: Sequence[Callable[[Floats, Floats], Floats]],
    tables: list[Floats],
    apart: Floats,
    seed: int,
) -> Iterator[Coefficient]:
    """Yield each measure of the tables of debates."""
    # In an order that the order of the debates does not decide.
    tables = sorted(tables, key=lambda table: table.tolist())
    sums = resampled_sums(np.array(tables), _SAMPLES, seed)
    for formula in formulas:
        value = float(formula(np.sum(tables, axis=0), apart)) if tables else math.nan
        if math.isnan(value):
            yield Coefficient()
        elif sums is None:
            yield Coefficient(value=value)
        else:
            draws = formula(sums, apart)
            low, high = interval(draws[~np.isnan(draws)])
            yield Coefficient(value=value, low=low, high=high)
