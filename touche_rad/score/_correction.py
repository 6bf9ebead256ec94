"""Correct what a judge says about a run by a sample of human labels.

A judge gives verdicts on all turns, people label some of them. Two estimates use both:

- Prediction-powered inference (Angelopoulos et al. 2023), with its power tuning: the mean of the
  labels plus a multiple of what the judge says about all turns more than about the labelled ones.
  It is right where the labelled turns are a random sample, however poor the judge is.
- The F1 of the judge on all turns: the means of the labels where it says yes and where it says no,
  each times its share of all turns.

Turns of one debate are alike, so each error is summed by debate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from touche_rad.criteria import Criteria
from touche_rad.files import Labels
from touche_rad.files.labels import is_unsettled
from touche_rad.frozen import frozen
from touche_rad.score.rates import AnswerShare
from touche_rad.score.significance import (
    CONFIDENCE,
    FEWEST_FOR_INTERVAL,
    Floats,
    Measured,
    resampled_sums,
    share_interval,
)

_UNLIKELY: Final = 3.0
"""Standard errors between labelled turns and others that a random sample hardly ever has."""


Scores = Mapping[str, float | None]
"""The judge's scores of a turn, by the key of the criterion; of a category, its place."""


JudgeFigures = dict[str, Any]
"""The fields of a row that are of its judge: `judge_yes`, and `f1` with its interval."""


class TurnAnswers(NamedTuple):
    """What a judge and people say of a turn."""

    debate: int
    scores: Scores
    labels: Sequence[Labels]
    """People's labels: of equal debates there may be several."""


@frozen
class JudgedTurns:
    """The turns of a run on one maxim."""

    debates: NDArray[np.int64]
    """The number of each turn's debate."""
    scores: Floats
    """The judge's score of each turn, 0 to 1; yes from 0.5."""
    labels: Floats
    """0 to 1 by people, nan where nobody labelled the turn."""
    is_scale: bool = False
    """Whether answers are between yes and no, too."""

    @property
    def verdicts(self) -> Floats:
        """The judge's verdicts, 1 or 0; on a scale, its scores."""
        return self.scores if self.is_scale else (self.scores >= 0.5).astype(np.float64)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which turns have a label."""
        return ~np.isnan(self.labels)

    @property
    def labelled_debates(self) -> int:
        """The number of debates with a label."""
        return len(np.unique(self.debates[self.labelled]))

    def contradictions(self, place: str) -> Iterator[str]:
        """Yield the judge's means on labelled turns and on others, if no random sample has them."""
        labelled = self.labelled
        if labelled.all() or not labelled.any():
            return
        inside = float(self.verdicts[labelled].mean())
        outside = float(self.verdicts[~labelled].mean())
        variance = self.verdicts.var() * (1 / labelled.sum() + 1 / (~labelled).sum())
        if abs(inside - outside) > _UNLIKELY * variance**0.5:
            yield (
                f"{place}: the labelled turns are no random sample, so the estimates are wrong: "
                f"the judge's mean is {inside:.0%} on them, and {outside:.0%} on the others"
            )


def judged_turns(share: AnswerShare, turns: Sequence[TurnAnswers]) -> JudgedTurns:
    """Return what judge and people say of turns on a criterion; a missing verdict is a no."""
    return JudgedTurns(
        np.array([turn.debate for turn in turns]),
        np.array([share.of_score(turn.scores.get(share.criterion.key)) for turn in turns]),
        np.array([share.of_labels(turn.labels) for turn in turns]),
        is_scale=share.criterion.answers.kind == "scale",
    )


def count_unsettled(turns: Sequence[TurnAnswers], criteria: Criteria) -> dict[str, int]:
    """Count the turns on which people disagree and that have no label, by criterion."""
    counts = dict.fromkeys(criteria.keys, 0)
    for turn in turns:
        for key in counts:
            counts[key] += any(is_unsettled(labels, key) for labels in turn.labels)
    return counts


@frozen
class Mean:
    """An estimated mean, and each debate's part of its error."""

    value: float
    parts: Floats


def yes_rate(sample: JudgedTurns, expected: Floats | None = None) -> Mean:
    """Return the share of yes that people would give to all turns, prediction-powered.

    `expected` is how many turns each debate should have, if some are lost: they are no.
    """
    mean = _powered(sample)
    if expected is None:
        return mean
    missing = len(expected) - len(mean.parts)
    mean = Mean(float(np.clip(mean.value, 0.0, 1.0)), np.pad(mean.parts, (0, missing)))
    present = np.bincount(sample.debates, minlength=len(expected))
    there = float(present.sum() / expected.sum())
    return _product(mean, Mean(there, (present - there * expected) / expected.sum()))


def f1(sample: JudgedTurns) -> Mean | None:
    """Return the F1 that the judge would have if all turns were labelled.

    It is None if no turn has a label where the judge says yes, or none where it says no.
    """
    judged_yes = _mean(sample, sample.verdicts, np.ones_like(sample.labelled))
    judged_no = Mean(1 - judged_yes.value, -judged_yes.parts)
    people_yes = []
    for verdict, judged in ((1.0, judged_yes), (0.0, judged_no)):
        labelled = sample.labelled & (sample.verdicts == verdict)
        if labelled.any():
            people_yes.append(_product(judged, _mean(sample, sample.labels, labelled)))
        elif judged.value > 0:
            return None
        else:
            people_yes.append(judged)
    right, missed = people_yes
    total = judged_yes.value + right.value + missed.value
    # F1 is a ratio of means: the error of each debate by its derivatives.
    value = 2 * right.value / total if total else 0.0
    errors_of_total = judged_yes.parts + right.parts + missed.parts
    return Mean(value, (2 * right.parts - value * errors_of_total) / (total or 1.0))


def judge_figures(share: AnswerShare, sample: JudgedTurns, expected: Floats) -> JudgeFigures:
    """Return what the judge says of all turns that are `expected`, and its F1.

    Scales and categories have no F1.
    """
    figures: JudgeFigures = {"judge_yes": float(sample.verdicts.sum() / expected.sum())}
    mean = f1(sample) if share.criterion.answers.kind == "yes-no" else None
    if mean is not None:
        measured = interval(mean, sample)
        low, high = measured.interval
        figures |= {"f1": measured.value, "f1_low": low, "f1_high": high}
    return figures


def _product(first: Mean, second: Mean) -> Mean:
    """Return the product of two means."""
    parts = first.parts * second.value + first.value * second.parts
    return Mean(first.value * second.value, parts)


def _mean(sample: JudgedTurns, values: Floats, counted: NDArray[np.bool_]) -> Mean:
    """Return the mean of the turns that count, with the part of each debate of its error."""
    value = float(values[counted].mean())
    errors = np.where(counted, values - value, 0.0) / counted.sum()
    return Mean(value, np.bincount(sample.debates, weights=errors).astype(np.float64))


def _powered(sample: JudgedTurns) -> Mean:
    """Return the mean of the labels, corrected by what is predicted for all turns."""
    labelled = _mean(sample, sample.labels, sample.labelled)
    inside = _mean(sample, sample.scores, sample.labelled)
    everywhere = _mean(sample, sample.scores, np.ones_like(sample.labelled))
    # How much more is predicted for labelled turns than for all.
    gap = inside.value - everywhere.value
    gap_parts = inside.parts - everywhere.parts
    spread = float((gap_parts**2).sum())
    # The multiple of the predictions that makes the interval smallest.
    slope = float((labelled.parts * gap_parts).sum()) / spread if spread > 1e-12 else 0.0
    debates = sample.labelled_debates
    # The slope was chosen so that the parts are small: one more degree of freedom is spent.
    wider = np.sqrt((debates - 1) / (debates - 2)) if slope and debates > 2 else 1.0
    parts = wider * (labelled.parts - slope * gap_parts)
    return Mean(labelled.value - slope * gap, parts)


def draw(mean: Mean, parts: Floats, samples: int, seed: int) -> Floats | None:
    """Return a mean in bootstrap samples of its debates' parts; None with too few debates."""
    sums = resampled_sums(parts, samples, seed)
    return None if sums is None else mean.value + sums - parts.sum()


def interval(mean: Mean, sample: JudgedTurns) -> Measured:
    """Return a share with its interval, which too few labelled debates do not have."""
    value = float(np.clip(mean.value, 0.0, 1.0))
    debates = sample.labelled_debates
    if debates < FEWEST_FOR_INTERVAL:
        return Measured(value)
    # Of n debates with an error the sample variance has n - 1 degrees of freedom.
    with_error = max(int(np.count_nonzero(mean.parts)), 2)
    variance = float((mean.parts**2).sum()) * with_error / (with_error - 1)
    tail = float(stdtrit(debates - 1, (1 + CONFIDENCE) / 2))  # of Student's t
    # A share of 0 or 1 has no measured variance; then each debate counts as one label.
    spread = value * (1 - value)
    effective = spread / variance if variance > 1e-12 and spread > 1e-12 else float(debates)
    return Measured(value, limits=share_interval(value, effective, tail))
