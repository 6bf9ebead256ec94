"""Panels' scores of the sides against people's scores, as in InspireScore's tables 2 and 7."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scipy import stats

from tests.cases import with_cases
from tests.records import write_lines
from tests.refusals import expect_error
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.contest import Contest, Outcome
from touche_rad.contests.score_report import SideRow
from touche_rad.contests.scoring import score_contests
from touche_rad.errors import InputError
from touche_rad.files.contests import Judgement

SIDES = {"ann": "pro", "bob": "con"}
OURS = [(0.9, 0.2), (0.4, 0.5), (0.7, 0.1)]
PEOPLE = [(8.0, 3.0), (6.0, 5.0), (9.0, 4.0)]


def score_sides(
    golds: list[dict[str, Any]], scores: list[dict[str, dict[str, float | None]]]
) -> list[SideRow]:
    contests = [
        Contest.model_validate({"id": str(n), "motion": "m", "sides": SIDES, "gold": gold})
        for n, gold in enumerate(golds)
    ]
    outcomes = [
        Judgement(id=str(n), judge="j", outcome=Outcome(winner="ann", scores=scores_of_sides))
        for n, scores_of_sides in enumerate(scores)
    ]
    truth = write_lines("contests.jsonl", map(files.contest_line, contests))
    run = write_lines("outcomes.jsonl", map(files.judgement_line, outcomes))
    return list(score_contests([run], truth, samples=20).sides)


def of_sides(name: str, pairs: list[tuple[float, float]]) -> list[dict[str, Any]]:
    return [{who: {name: mark} for who, mark in zip(SIDES, pair, strict=True)} for pair in pairs]


def test_each_side_of_each_debate_is_a_sample() -> None:
    golds = [{"scores": scores} for scores in of_sides("general", PEOPLE)]
    (row,) = score_sides(golds, of_sides("total", OURS))
    ours, people = sum(OURS, ()), sum(PEOPLE, ())
    assert row.dimension == "total"
    assert row.people == "overall"
    assert row.sides == 6
    assert row.pearson == pytest.approx(stats.pearsonr(ours, people).statistic)
    assert row.spearman == pytest.approx(stats.spearmanr(ours, people).statistic)
    assert row.kendall == pytest.approx(stats.kendalltau(ours, people).statistic)


def test_annotators_are_averaged_and_so_are_dimensions_without_an_overall_score() -> None:
    golds = [
        {
            "scores": {
                who: {"argument_clarity": [mark - 1, mark, mark + 1], "topic_relevance": 5}
                for who, mark in zip(SIDES, pair, strict=True)
            }
        }
        for pair in PEOPLE
    ]
    rows = score_sides(golds, of_sides("argument_clarity", OURS))
    assert [row.people for row in rows] == ["overall", "argument_clarity"]
    assert rows[0].pearson == pytest.approx(rows[1].pearson), "the other dimension is constant"


def test_a_side_without_a_score_is_left_out() -> None:
    golds = [{"scores": scores} for scores in of_sides("general", PEOPLE)]
    ours = of_sides("total", OURS)
    ours[0]["bob"]["total"] = None
    (row,) = score_sides(golds, ours)
    assert row.sides == 5


@with_cases(("scores", "problem"), "contests/wrong_scores.json")
def test_scores_of_another_form_are_named(scores: Any, problem: str) -> None:
    with expect_error(problem, InputError):
        score_sides([{"scores": scores}], of_sides("total", OURS[:1]))


def test_without_winners_and_peoples_scores_the_mean_scores_of_debaters_remain() -> None:
    ours = of_sides("total", OURS)
    ours[0]["bob"]["total"] = ours[1]["bob"]["total"] = None
    score_sides([{}, {}, {}], ours)
    run = touche_rad("score outcomes.jsonl contests.jsonl --json")
    means = {row["debater"]: row["mean"] for row in json.loads(run.out)["means"]}
    mean = pytest.approx(sum(of_ann for of_ann, _ in OURS) / 3)
    assert means == {"ann": mean, "bob": OURS[2][1]}, "one score of a debater of three debates"
