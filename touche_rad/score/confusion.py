"""Measures of answers against labels, by the kind of the answers: yes or no, scales, categories.

A table has a row for each label and a column for each answer, in the order of the criterion. The
formulas take any array of tables, so that all bootstrap samples are measured in one step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from touche_rad.criteria import Criteria, Criterion
from touche_rad.debate import Verdict
from touche_rad.score.measures import says_yes
from touche_rad.score.significance import Floats

MAIN: Final[Mapping[str, str]] = {
    "yes-no": "f1",
    "scale": "weighted_kappa",
    "categories": "macro_f1",
}
"""The measure by which runs are ranked, by the kind of the answers."""
_MISSING: Final = {"yes-no": "no", "scale": "the lowest answer", "categories": "no category"}
"""What a missing verdict counts as."""
TITLES: Final = {"f1": "F1", "weighted_kappa": "weighted kappa", "macro_f1": "macro F1"}


def missing_answer(criteria: Criteria) -> str:
    """Say what a missing verdict counts as."""
    return " or ".join(dict.fromkeys(_MISSING[criterion.answers.kind] for criterion in criteria))


def place_of_score(criterion: Criterion, score: float | None) -> int:
    """Return the place of a verdict among the answers.

    A missing verdict is a no or the lowest answer; of categories it is a further one.
    """
    answers = criterion.answers
    if answers.kind == "categories":
        return len(answers.values) if score is None else int(score)
    if score is None:
        return 0
    if answers.kind == "yes-no":
        return int(says_yes(score))
    return answers.names.index(str(answers.nearest(score)))


def place_of_verdict(criterion: Criterion, verdict: Verdict | None) -> int | None:
    """Return the place of a verdict among the answers; None if the judge gave none."""
    if verdict is None:
        return None
    if criterion.answers.kind != "categories":
        return None if verdict.score is None else place_of_score(criterion, verdict.score)
    return None if verdict.answer is None else criterion.answers.names.index(str(verdict.answer))


def score_of_place(criterion: Criterion, place: int) -> float:
    """Return the score of an answer, or the place of a category."""
    score = criterion.answers.score(criterion.answers.values[place].value)
    return place if score is None else score


def label_score(labels: Mapping[str, Any], criterion: Criterion) -> float:
    """Return the score of a label; nan without one."""
    place = labels.get(criterion.key)
    return np.nan if place is None else score_of_place(criterion, place)


def size_of(criterion: Criterion) -> int:
    """Return the number of rows and columns of a table."""
    return len(criterion.answers.values) + (criterion.answers.kind == "categories")


def count_answers(pairs: Iterable[Sequence[int | None]], size: int) -> Floats:
    """Count pairs of a label and an answer by their places; those without a label are left out."""
    table = np.zeros((size, size))
    for label, answer in pairs:
        if label is not None and answer is not None:
            table[label, answer] += 1
    return table


def distances(criterion: Criterion) -> Floats:
    """Return how far each two answers are apart: the square on a scale, else 1."""
    size = size_of(criterion)
    if criterion.answers.kind != "scale":
        return 1 - np.eye(size)
    numbers = np.array([int(name) for name in criterion.answers.names], dtype=np.float64)
    result: Floats = (numbers[:, None] - numbers) ** 2
    return result


def _total(tables: Floats) -> Floats:
    """Return the sum of the cells of each table."""
    result: Floats = tables.sum(axis=(-2, -1))
    return result


def _ratio(sums: Floats, totals: Floats, default: float = 0.0) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(totals > 0, sums / totals, default)


def f1(tables: Floats) -> Floats:
    """Return F1 of yes; 0 if there is no true positive."""
    hits = 2 * tables[..., 1, 1]
    return _ratio(hits, hits + tables[..., 0, 1] + tables[..., 1, 0])


def macro_f1(tables: Floats) -> Floats:
    """Return the mean F1 of the categories that are labels or answers."""
    hits = 2 * np.diagonal(tables, axis1=-2, axis2=-1)[..., :-1]
    totals = (tables.sum(axis=-1) + tables.sum(axis=-2))[..., :-1]
    return _ratio(_ratio(hits, totals).sum(axis=-1), (totals > 0).sum(axis=-1))


def distance(tables: Floats, apart: Floats) -> Floats:
    """Return the mean distance of label and answer."""
    return _ratio(_total(tables * apart), _total(tables))


def kappa(tables: Floats, apart: Floats) -> Floats:
    """Return Cohen's kappa, weighted by distances: 1 - observed / expected distance (Cohen 1968).

    It is 0 if both sides always give one answer.
    """
    expected = tables.sum(axis=-1)[..., :, None] * tables.sum(axis=-2)[..., None, :]
    return 1 - _ratio(distance(tables, apart), distance(expected, apart), 1.0)


def ac2(tables: Floats, apart: Floats) -> Floats:
    """Return Gwet's AC2, which is high where nearly all answers are equal (Gwet 2014).

    (o - e) / (1 - e), with o the observed agreement weighted by distances, and e = T / (q (q - 1))
    times the sum of p (1 - p): T is the sum of the weights, q the number of answers and p the mean
    share of an answer. Without distances it is AC1.
    """
    near = 1 - apart / apart.max()
    counts = tables.sum(axis=-1) + tables.sum(axis=-2)
    shares = _ratio(counts, counts.sum(axis=-1, keepdims=True))
    scale = near.sum() / (len(near) * (len(near) - 1))
    expected = scale * (shares * (1 - shares)).sum(axis=-1)
    return _ratio(1 - distance(tables, 1 - near) - expected, 1 - expected)


def coincidences(units: Iterable[Sequence[int]], size: int) -> Floats:
    """Count the pairs of answers to the same unit, so that each answer counts once."""
    table = np.zeros((size, size))
    for answers in units:
        counts = np.bincount(answers, minlength=size)
        if len(answers) > 1:
            table += (np.outer(counts, counts) - np.diag(counts)) / (len(answers) - 1)
    return table


def alpha(tables: Floats, apart: Floats) -> Floats:
    """Return Krippendorff's alpha of coincidences: 1 - observed / expected distance.

    Units may have any number of answers (Krippendorff 2011); nan if all answers are equal. The
    library krippendorff has the GPL and our licence is Apache 2.0, so only the tests use it.
    """
    counts = tables.sum(axis=-1)
    totals = counts.sum(axis=-1)
    products = counts[..., :, None] * counts[..., None, :]
    expected = _total(products * apart)
    observed = (totals - 1) * _total(tables * apart)
    return 1 - _ratio(observed, expected, np.nan)


def spearman(tables: Floats) -> Floats:
    """Return Spearman's correlation with mean ranks of ties; 0 if one side is constant."""
    products = tables
    spread: Any = 1.0
    for axis in (-1, -2):
        counts = tables.sum(axis=axis, keepdims=True)
        total = counts.sum(axis=(-2, -1), keepdims=True)
        ranks = counts.cumsum(axis=-3 - axis) - (counts + total) / 2  # minus their mean
        products = products * ranks
        spread = spread * _total(counts * ranks**2)
    return _ratio(_total(products), np.sqrt(spread))


def main_measure(criterion: Criterion, tables: Floats) -> Floats:
    """Return the measure by which runs are ranked."""
    kind = criterion.answers.kind
    if kind == "scale":
        return kappa(tables, distances(criterion))
    return f1(tables) if kind == "yes-no" else macro_f1(tables)
