"""The reward of an answer, by which candidates are ranked."""

from __future__ import annotations

import anyio
import pytest

from tests.runs.fakes import debate_of
from touche_rad.contest import SYSTEM, TIE, USER, Outcome
from touche_rad.debate import Response
from touche_rad.errors import OptionError, UserError
from touche_rad.plugins import Services
from touche_rad.runs.rewards import Reward, lead


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


def test_a_judge_rewards_by_its_mean_score() -> None:
    reward = Reward("always-yes", Services(), {})
    answered = debate_of("Zoos should be closed.").with_response(Response(content="No."))
    assert anyio.run(reward.of, answered) == 1.0


def test_an_unknown_judge_or_panel_is_named_with_the_nearest_name() -> None:
    with pytest.raises(OptionError, match=r"'lenght'.*'length'"):
        Reward("lenght", Services(), {})


def test_a_judge_without_its_model_is_refused() -> None:
    with pytest.raises(UserError, match="judge zsl"):
        Reward("zsl", Services(), {})
