"""Whole debates scored: the papers' arithmetic, constant predictors, biases, and what is amiss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cases import with_cases
from tests.records import read_json, write_lines, write_records
from tests.screens import check_screen
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.contest import TIE, Contest, Outcome, Speech
from touche_rad.contests.score_report import ContestReport, ContestRow
from touche_rad.contests.scoring import score_contests
from touche_rad.files.contests import Judgement
from touche_rad.report.boards import boards_of

SIDES = {"Pia": "pro", "Con": "con"}


def contest_of_two(number: int, gold: dict[str, Any], words: tuple[int, int] = (3, 3)) -> Contest:
    speeches = tuple(
        Speech(speaker=name, text="word " * count) for name, count in zip(SIDES, words, strict=True)
    )
    return Contest(id=str(number), motion="m", sides=SIDES, speeches=speeches, gold=gold)


def outcome(winner: str | None, scores: tuple[float, float] | None = None) -> Outcome:
    marks = dict(zip(SIDES, scores, strict=True)) if scores else {}
    return Outcome(
        winner=winner,
        winners={"general": winner},
        scores={name: {"general": mark} for name, mark in marks.items()},
        reason="" if winner else "why not",
    )


def score_runs(contests: Sequence[Contest], *runs: Sequence[Judgement]) -> ContestReport:
    truth = write_lines("contests.jsonl", map(files.contest_line, contests))
    paths = []
    for number, run in enumerate(runs, 1):
        paths.append(write_lines(f"run{number}.jsonl", map(files.judgement_line, run)))
    return score_contests(paths, truth, samples=200)


def find_row(
    report: ContestReport, run: str, dimension: str = "general", **fields: str
) -> ContestRow:
    rows = [
        row
        for row in report.rows
        if (row.run, row.dimension) == (run, dimension)
        and all(getattr(row, key) == value for key, value in fields.items())
    ]
    assert len(rows) == 1, rows
    return rows[0]


def judgements_of(contests: Sequence[Contest], outcomes: Sequence[Outcome]) -> list[Judgement]:
    return [
        Judgement(id=c.id, judge="j", outcome=o) for c, o in zip(contests, outcomes, strict=True)
    ]


@with_cases(("dimension", "pro", "tie", "con", "rmse"), "contests/rmse_of_always_tie.json")
def test_the_rmse_of_always_tie_follows_from_the_votes(
    dimension: str, pro: int, tie: int, con: int, rmse: float
) -> None:
    golds = ["Pia"] * pro + [TIE] * tie + ["Con"] * con
    contests = [contest_of_two(n, {dimension: gold}) for n, gold in enumerate(golds)]
    run = judgements_of(contests, [outcome("Con")] * len(contests))
    report = score_runs(contests, run)
    always = find_row(report, "always tie", dimension)
    assert always.rmse == pytest.approx(rmse, abs=0.005)
    assert always.accuracy == pytest.approx(tie / 100)
    assert find_row(report, "always con", dimension).accuracy == pytest.approx(con / 100)
    assert find_row(report, "at random", dimension).accuracy == pytest.approx(1 / 3)


BP_WINNERS = (
    [("OG",)] * 2
    + [("CG",)] * 2
    + [("CO",)] * 2
    + [("OO", "OG")] * 6
    + [("OO", "CG")] * 6
    + [("OO", "CO")] * 4
)


def test_with_four_teams_any_gold_winner_is_correct() -> None:
    teams = {"OG": "pro", "OO": "con", "CG": "pro", "CO": "con"}
    contests = [
        Contest(
            id=str(n),
            motion="m",
            sides=teams,
            gold={"general": list(won)},
            speeches=tuple(Speech(speaker=team, text="x") for team in teams),
        )
        for n, won in enumerate(BP_WINNERS)
    ]
    half = [
        Outcome(winner="CO") if n < 11 else Outcome(winner=None, reason="too long")
        for n in range(22)
    ]
    report = score_runs(contests, judgements_of(contests, half))
    assert find_row(report, "always OO").accuracy == pytest.approx(16 / 22)
    assert find_row(report, "at random").accuracy == pytest.approx(0.4318, abs=5e-5)
    ours, text = find_row(report, "run1"), "\n".join(report.lines())
    assert "0 of 22 debates (two sides)" in text
    assert "Pearson" not in text
    assert ours.completed == 0.5
    assert ours.rmse is None
    right = sum("CO" in won for won in BP_WINNERS[:11])
    assert ours.accuracy == pytest.approx(right / 22), "what was not judged is wrong"
    assert ours.accuracy_completed == pytest.approx(right / 11)


def test_a_verdict_that_names_only_a_side_is_right_if_a_winner_is_on_it() -> None:
    teams = {"OG": "pro", "OO": "con", "CG": "pro", "CO": "con"}
    contests = [
        Contest(id=str(n), motion="m", sides=teams, gold={"general": list(won)})
        for n, won in enumerate(BP_WINNERS)
    ]
    run = [Outcome(winner=None, details={"side": "pro", "by_verdict": {"general": "pro"}})] * 21
    verdicts = judgements_of(contests, [*run, Outcome(winner=None)])
    report = score_runs(contests, verdicts, verdicts)
    ours = find_row(report, "run1")
    assert ours.completed == pytest.approx(21 / 22)
    assert [same.debates for same in report.same] == [21]
    right = sum("OG" in won or "CG" in won for won in BP_WINNERS[:21])
    assert ours.accuracy == pytest.approx(right / 22)
    assert find_row(report, "always side pro").accuracy == pytest.approx(16 / 22)
    assert find_row(report, "always side con").accuracy == pytest.approx(18 / 22)


def test_biases_of_winners() -> None:
    contests = [contest_of_two(n, {"general": "Pia"}, words=(1, 9)) for n in range(4)]
    after = ["Con", "Pia", TIE, None]
    run = [
        Judgement(id=c.id, judge="j", outcome=outcome("Con"), swapped=outcome(won))
        for c, won in zip(contests, after, strict=True)
    ]
    (bias,) = score_runs(contests, run).biases
    assert bias.con == 1.0
    assert bias.con_gold == 0.0
    assert bias.last == 1.0
    assert bias.last_gold == 0.0
    assert bias.longest == 1.0
    assert bias.longest_gold == 0.0
    assert bias.swapped == 3, "one of the swapped debates has no winner"
    assert bias.flipped == pytest.approx(2 / 3)
    assert bias.stays_with_side == pytest.approx(1 / 3)


def test_panels_without_known_winners_have_shares_of_who_won() -> None:
    contests = [contest_of_two(n, {}) for n in range(5)]
    winners = ("Pia", "Con", "Con", None, TIE)
    runs = (
        judgements_of(contests, [*map(outcome, winners)]),
        judgements_of(contests, [outcome("Pia")] * 5),
    )
    report = score_runs(contests, *runs)
    shares = [(row.run, row.pro, row.con, row.tie, row.none) for row in report.shares]
    assert shares == [("run1", 0.2, 0.4, 0.2, 0.2), ("run2", 1, 0, 0, 0)]
    (board,) = boards_of(report)
    sentences = [f"{board['title']}.", *board["text"][:-1]]
    assert sentences == [*report.winners()], "the sentences of score"
    words = ("score", "run1.jsonl", "run2.jsonl", "contests.jsonl")
    check_screen("score.contests-without-winners", touche_rad(*words))
    rows = touche_rad(*words, "--csv").out.splitlines()
    assert rows[0] == "run,judge,debates,pro,con,tie,none"
    assert rows[1].startswith("run1,j,5,")


def test_who_speaks_in_one_of_several_debates_has_no_row_of_means_or_wins() -> None:
    contests = [
        Contest(id=str(n), motion="m", sides={f"pro{n}": "pro", f"con{n}": "con"}) for n in range(2)
    ]
    outcomes = [
        Outcome(winner=f"pro{n}", scores={f"pro{n}": {"general": 2.0}, f"con{n}": {"general": 1.0}})
        for n in range(2)
    ]
    report = score_runs(contests, judgements_of(contests, outcomes))
    assert report.wins == []
    assert report.means == []
    alone = score_runs(contests[:1], judgements_of(contests[:1], outcomes[:1]))
    assert [(row.debater, row.points) for row in alone.wins] == [("pro0", 2), ("con0", 0)]
    assert [(row.debater, row.mean) for row in alone.means] == [("pro0", 2), ("con0", 1)]


def test_named_winners_and_winners_by_score_are_two_rows() -> None:
    contests = [contest_of_two(n, {"general": "Pia"}) for n in range(3)]
    named = Outcome(
        winner="Con", details={"by_score": {"general": "Con"}, "by_verdict": {"general": "Pia"}}
    )
    lost = named.model_copy(update={"details": {**named.details, "by_verdict": {"general": None}}})
    report = score_runs(contests, judgements_of(contests, [named, named, lost]))
    named, by_score = (
        find_row(report, "run1", basis="winner"),
        find_row(report, "run1", basis="score"),
    )
    assert named.accuracy_completed == 1.0
    assert named.completed == pytest.approx(2 / 3)
    assert by_score.accuracy == 0.0
    assert by_score.rmse == 100.0
    assert by_score.label == "run1", "the file has SC"
    assert named.label == "verdicts of run1", "the file has SC"
    assert [bias.con for bias in report.biases] == [1.0], "and all tables count it"
    (board,) = boards_of(report)
    values = {row["run"]: row["value"] for row in board["rows"]}
    assert values["run1"] == 0.0
    assert values["verdicts of run1"] == pytest.approx(2 / 3)
    assert len(values) == len(board["rows"])


def test_votes_computes_errors_against_each_vote() -> None:
    votes = [{"Pia": 3, TIE: 1}, {"Con": 1}]
    contests = [
        contest_of_two(n, {"general": gold, "votes": {"general": of}})
        for n, (gold, of) in enumerate(zip(("Pia", "Con"), votes, strict=True))
    ]
    score_runs(contests, judgements_of(contests, [outcome("Pia"), outcome("Pia")]))
    run, truth = Path("run1.jsonl"), Path("contests.jsonl")
    of_votes = score_contests([run], truth, samples=200, against="votes")
    ours = find_row(of_votes, "run1", basis="winner")
    assert ours.rmse == pytest.approx(100 * math.sqrt((3 * 0 + 0.25 + 1) / 5))
    assert ours.mae == pytest.approx(100 * (0.5 + 1) / 5)
    assert find_row(of_votes, "always con").mae == pytest.approx(100 * (3 * 1 + 0.5 + 0) / 5)
    assert find_row(of_votes, "always tie").rmse == pytest.approx(100 * math.sqrt(4 * 0.25 / 5))
    assert ours.accuracy == 0.5, "winner in `gold` is still winner in `gold`"
    touche_rad("score --votes", run, truth)
    bare = [contest_of_two(n, {"general": "Pia"}) for n in range(2)]
    score_runs(bare, judgements_of(bare, [outcome("Pia")] * 2))
    touche_rad("score --votes", run, truth, code=2, err="gold.votes")


def test_the_correlation_is_that_of_numpy_on_data_with_ties() -> None:
    chance = np.random.default_rng(3)
    golds = [str(name) for name in chance.choice(["Pia", TIE, "Con"], 60)]
    won = [str(name) for name in chance.choice(["Pia", TIE, "Con", ""], 60)]
    marks = chance.integers(1, 6, (60, 2)).tolist()
    contests = [contest_of_two(n, {"general": gold}) for n, gold in enumerate(golds)]
    outcomes = [
        outcome(name or None, (float(a), float(b))) for name, (a, b) in zip(won, marks, strict=True)
    ]
    ours = find_row(score_runs(contests, judgements_of(contests, outcomes)), "run1", basis="winner")
    at = {"Pia": 0.0, TIE: 0.5, "Con": 1.0}
    leads = np.array([b - a for a, b in marks])
    truth = np.array([at[gold] for gold in golds])
    assert ours.pearson == pytest.approx(np.corrcoef(leads, truth)[0, 1])
    assert (ours.rmse_low or 0) < (ours.rmse or 0) < (ours.rmse_high or 0)


def test_bootstrap_samples_without_a_judged_debate_are_skipped() -> None:
    contests = [contest_of_two(n, {"general": "Pia"}) for n in range(6)]
    run = judgements_of(contests, [outcome("Con"), *[outcome(None)] * 5])
    ours = find_row(score_runs(contests, run), "run1", basis="winner")
    assert ours.rmse_low == 100
    assert ours.rmse == 100
    assert ours.rmse_high == 100


def test_runs_are_compared_with_each_other() -> None:
    contests = [contest_of_two(n, {"general": "Pia"}) for n in range(5)]
    first = judgements_of(contests, [outcome(won) for won in ("Pia", "Con", "Pia", "Con", None)])
    also = [*contests[:3], contests[4]]
    second = judgements_of(also, [outcome(won) for won in ("Pia", "Con", "Con", "Pia")])
    report = score_runs(contests, first, second)
    (same,) = report.same
    assert same.debates == 3
    assert same.same == pytest.approx(2 / 3)
    assert same.kappa == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    assert report.missing == {"run2": ("3",)}
    assert "the first is 3" in "\n".join(report.lines())


def test_repeats_of_one_panel_have_a_row_of_means() -> None:
    contests = [contest_of_two(n, {"general": "Pia"}) for n in range(4)]
    first = judgements_of(contests, [outcome(won) for won in ("Pia", "Con", "Pia", "Con")])
    second = judgements_of(contests, [outcome(won) for won in ("Pia", "Pia", "Pia", None)])
    of_another_panel = [judgement.model_copy(update={"judge": "another"}) for judgement in first]
    report = score_runs(contests, first, second, of_another_panel)
    mean = find_row(report, "mean of 2 runs of j")
    assert mean.accuracy == pytest.approx((2 / 4 + 3 / 4) / 2)
    assert mean.completed == pytest.approx((1 + 3 / 4) / 2)
    assert mean.rmse == pytest.approx((100 * math.sqrt(2 / 4) + 0) / 2)
    assert not [row for row in report.rows if "another" in row.run], "one run has no mean"
    (equal,) = boards_of(score_runs(contests, first, of_another_panel))
    title = "No ranks: differences are not tested; run1 and run2 have the highest accuracy"
    assert title in equal["title"]


def test_panels_are_sorted_ranked_and_compared() -> None:
    ids = [{"id": f"c{number}"} for number in range(24)]
    ids[0] = {"id": ""}  # known by its line
    contests = [
        contest_of_two(number, {"general": "Pia"}).model_copy(update=ids[number])
        for number in range(24)
    ]
    keyed = [contests[0].model_copy(update={"id": "1"}), *contests[1:]]
    poor = judgements_of(keyed, [outcome("Con")] * 20 + [outcome("Pia")] * 4)
    good = judgements_of(keyed, [outcome("Pia")] * 23 + [outcome("Con")])
    score_runs(contests, poor, good)
    words = ("score", "run1.jsonl", "run2.jsonl", "contests.jsonl", "--pairs")
    result = touche_rad(*words, "--json").json
    rows = [(row["run"], row["accuracy"], row["rank"]) for row in result["rows"]]
    assert rows[:2] == [("always pro", 1.0, None), ("run2", 23 / 24, 1)]
    assert ("run1", 4 / 24, 2) in rows
    assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True)
    pairs = {(row["run"], row["against"]): row for row in result["comparisons"]}
    assert pairs["run1", "run2"]["p_holm"] < 0.05
    assert pairs["run2", "always pro"]["p_holm"] > 0.05
    touche_rad(*words[:-1], out="run1 is significantly worse than the baseline always pro")
    csv = touche_rad(*words, "--csv").out
    assert "run1,run2,accuracy on general," in csv
    (board,) = boards_of(score_runs(contests, poor, good))
    assert board["text"][0].startswith("run2 leads run1 by .79 accuracy, significantly ([")


def test_the_screen_of_scores_has_constant_predictors() -> None:
    contests = [contest_of_two(n, {"general": "Pia"}) for n in range(3)]
    score_runs(contests, judgements_of(contests, [outcome("Pia", (8, 2))] * 3))
    words = ("score", "run1.jsonl", "contests.jsonl")
    check_screen("score.contests", touche_rad(*words))
    assert touche_rad(*words, "--json").json["kind"] == "contests"


def score_one_contest() -> None:
    contests = [contest_of_two(0, {"general": "Pia"})]
    score_runs(contests, judgements_of(contests, [outcome("Pia")]))


@with_cases(("line", "expected"), "contests/wrong_outcomes.json")
def test_an_invalid_outcome_is_reported_with_its_line(line: dict[str, Any], expected: str) -> None:
    score_one_contest()
    run = "run1.jsonl"
    write_records(run, line)
    ended = touche_rad("score", run, "contests.jsonl", code=2, err=expected)
    assert "run1.jsonl:1:" in ended.err


@with_cases(("change", "expected"), "contests/wrong_contests.json")
def test_an_invalid_contest_is_reported(change: dict[str, Any], expected: str) -> None:
    score_one_contest()
    truth = "contests.jsonl"
    record = read_json(truth) | change
    write_records(truth, record)
    touche_rad("score run1.jsonl", truth, code=2, err=expected)


def test_verdicts_on_other_words_are_refused() -> None:
    truth, run = Path("contests.jsonl"), Path("run.jsonl")
    contest = contest_of_two(1, {"general": "Pia"})
    truth.write_text(files.contest_line(contest) + "\n", "utf-8")
    touche_rad("judge -j grice", truth, "-o", run)
    touche_rad("score", run, truth)
    for change in ({"motion": "other"}, {"speeches": contest.speeches[:1]}):
        truth.write_text(files.contest_line(contest.model_copy(update=change)), "utf-8")
        touche_rad("score", run, truth, code=2, err="contest '1'")


def test_a_bad_run_is_listed_and_the_others_are_scored() -> None:
    contests = [contest_of_two(1, {"general": "Pia"}), contest_of_two(2, {"general": "Con"})]
    good = judgements_of(contests, [outcome("Pia"), outcome("Con")])
    report = score_runs(contests, [Judgement(id="9", judge="j", outcome=outcome("Pia"))], good)
    assert list(report.refused) == ["run1"]
    assert find_row(report, "run2").accuracy == 1.0
