"""The reward of an answer, by which candidates are ranked."""

from __future__ import annotations

import pytest

from touche_rad.contest import SYSTEM, TIE, USER, Outcome
from touche_rad.runs.rewards import lead


def outcome_of(winner: str | None, system: object, user: object) -> Outcome:
    return Outcome.model_validate({"winner": winner, "scores": {SYSTEM: system, USER: user}})


@pytest.mark.parametrize(
    ("outcome", "reward"),
    [
        (outcome_of(USER, {"general": 7, "total": 1}, {"general": 4, "total": 9}), 3),
        (outcome_of(USER, {"total": 2}, {"general": None, "total": 5}), -3),
        (outcome_of(SYSTEM, {"general": 7}, {}), 1),
        (outcome_of(USER, {"argument": 7}, {"argument": 4}), -1),
        (outcome_of(TIE, {}, {}), 0),
        (outcome_of(None, {}, {}), None),
    ],
)
def test_a_panel_rewards_by_its_scores_or_by_the_winner(
    outcome: Outcome, reward: float | None
) -> None:
    assert lead(outcome) == reward
