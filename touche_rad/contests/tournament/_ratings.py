"""Bradley-Terry ratings of debaters from their wins.

A debater of strength p wins against one of strength q with probability p / (p + q); a tie is half a
win for both. As a prior, each debater has `prior` virtual ties against a debater of average
strength. So a debater with only wins or only losses has a finite rating, a debater without games
is average, and the maximum is unique.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from touche_rad.score.significance import Floats, Measured, resampled_sums

AVERAGE: Final = 1000.0
"""The rating of average strength."""
_SCALE: Final = 400 / np.log(10)
"""As in Elo's scale: a debater that is ten times as strong has 400 points more."""
_MAX_STEPS: Final = 200
_LONGEST_STEP: Final = 1.0
_TOLERANCE: Final = 1e-12
"""Steps shorter than this change no rating that is shown."""


def strengths(wins: Floats, prior: float = 1.0) -> Floats:
    """Return the logarithms of the strengths, by Newton's method.

    Args:
        wins: How often the row won against the column, ties as halves, (..., debaters, debaters).
        prior: Virtual ties of each debater with a debater of strength 1; above 0.
    """
    if prior <= 0:
        raise ValueError("prior: expected a number above 0")
    games = wins + np.swapaxes(wins, -1, -2)
    won = wins.sum(axis=-1) + prior / 2
    theta: Floats = np.zeros(wins.shape[:-1])
    diagonal = np.arange(wins.shape[-1])
    for _ in range(_MAX_STEPS):
        chance = expit(theta[..., :, None] - theta[..., None, :])
        chance_of_prior = expit(theta)
        slope = won - (games * chance).sum(axis=-1) - prior * chance_of_prior
        # The curve is the matrix of second derivatives, with the opposite sign.
        bends = games * chance * (1 - chance)
        curve = -bends
        curve[..., diagonal, diagonal] = (
            bends.sum(axis=-1)
            - bends[..., diagonal, diagonal]
            + prior * chance_of_prior * (1 - chance_of_prior)
        )
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        # A full step from afar would overshoot, so a long one is shortened.
        length = np.abs(step).max(axis=-1, initial=0.0, keepdims=True)
        theta = theta + step * np.minimum(1.0, _LONGEST_STEP / np.maximum(length, _TOLERANCE))
        if length.max(initial=0.0) < _TOLERANCE:
            break
    return theta


def as_ratings(theta: Floats) -> Floats:
    """Convert strengths to the scale of ratings."""
    ratings: Floats = AVERAGE + _SCALE * theta
    return ratings


def rate(
    by_claim: NDArray[Any], *, prior: float = 1.0, samples: int = 1000, seed: int = 0
) -> Sequence[Measured]:
    """Rate debaters, with bootstrap samples.

    Args:
        by_claim: Wins by claim, ties as halves: (claims, debaters, debaters).
        prior: See `strengths`.
        samples: Number of bootstrap samples of claims (debates on one claim are not independent).
        seed: Random seed of the bootstrap.
    """
    observed = as_ratings(strengths(by_claim.sum(axis=0).astype(np.float64), prior)).tolist()
    sums = resampled_sums(by_claim, samples, seed) if samples else None
    if sums is None:
        return [Measured(rating) for rating in observed]
    resampled = as_ratings(strengths(sums, prior))
    return [Measured(rating, resampled[:, number]) for number, rating in enumerate(observed)]
