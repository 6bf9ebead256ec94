from __future__ import annotations

import pytest

from judges.grice.reference import LengthJudge, RandomJudge, length_score
from tests.cases import with_cases
from tests.judges.makers import debate
from tests.refusals import expect_error
from touche_rad.debate import Maxim
from touche_rad.errors import OptionError
from touche_rad.plugins import Services, find


def random_scores(seed: int, text: str = "Zoos save species.", p: float = 0.5) -> list[float]:
    judge = RandomJudge(RandomJudge.Options(p=p), Services(seed=seed))
    return [judge.judge(debate(text, "a"))[maxim].score for maxim in Maxim]


def test_random_differs_by_seed_debate_and_maxim():
    drawn = [tuple(random_scores(seed)) for seed in range(20)]
    assert len(set(drawn)) > 5
    assert any(len(set(row)) == 2 for row in drawn)
    texts = [tuple(random_scores(0, f"Zoos save {at} species.")) for at in range(20)]
    assert len(set(texts)) > 5


def test_random_says_yes_as_often_as_told():
    scores = [score for seed in range(500) for score in random_scores(seed, p=0.2)]
    assert 0.17 < sum(scores) / len(scores) < 0.23
    assert set(random_scores(1, p=0)) == {0.0}
    assert set(random_scores(1, p=1)) == {1.0}


def test_random_takes_text_that_no_file_can_hold():
    assert len(random_scores(1, "\ud800 \x00 🦒")) == 4


@with_cases(("words", "score"), "judges/scores_of_lengths.json")
def test_length_rises_to_its_middle_and_falls(words, score):
    assert length_score(words, 15, 60) == pytest.approx(score)


def test_length_with_one_length_alone():
    assert [length_score(words, 10, 10) for words in (9, 10, 11)] == pytest.approx([0.45, 1.0, 0])


def test_length_counts_as_the_task_counts():
    judge = LengthJudge(LengthJudge.Options(), Services())
    verdict = judge.judge(debate("one two  three\nfour-five"))[Maxim.MANNER]
    assert verdict.rationale == "4 words; 15 to 60 are a yes"
    assert not verdict.yes


@with_cases(("name", "options"), "judges/wrong_options_of_references.json")
def test_a_wrong_option_is_named(name, options):
    with expect_error(next(iter(options)), OptionError):
        find("judge", name).make(Services(), options)
