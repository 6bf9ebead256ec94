"""Debaters ranked by people's labels on the debates of several runs."""

from __future__ import annotations

import csv
import json
import shutil
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.cases import with_cases
from tests.records import change_parts, read_records
from tests.report.makers import Page
from tests.score.makers import YES, evaluation, labels_file, run_file, simulations_file
from tests.screens import check_screen
from tests.terminal import touche_rad
from touche_rad import frames
from touche_rad.debate import Maxim
from touche_rad.files.labels import digest

CLAIMS = 30
SHARES = {"team1": 0.98, "team2": 0.3}
CHANCE = np.random.default_rng(5)
LABELS = {team: (CHANCE.random((CLAIMS, 2)) < share).astype(int) for team, share in SHARES.items()}
"""The labels of each team's turns, two for each claim."""


@pytest.fixture(autouse=True)
def _write_runs() -> None:
    """Two teams on the same claims; their judge is wrong on each tenth claim; and mixed labels."""
    labels = []
    for team, of_team in LABELS.items():
        judged = []
        for claim, of_debate in enumerate(of_team.tolist()):
            says = [abs(label - (claim % 10 == 0)) for label in of_debate]
            line = evaluation([(score,) * 4 for score in says], f"{team}.{claim}")
            turns = line["simulation"]["userTurns"]
            turns[0]["utterance"] = f"Claim {claim}."
            of_people = []
            for turn, label in zip(turns, of_debate, strict=True):
                words = digest(turn["utterance"], turn["systemResponse"]["utterance"])
                of_people.append({**dict.fromkeys(Maxim, label), "words": words})
            labels.insert(claim, of_people)
            judged.append(line)
        run_file(f"{team}.judged.jsonl", judged)
        simulations_file(f"{team}.jsonl", judged)
    run_file("labels.jsonl", labels)


def score(*words: str) -> dict[str, Any]:
    return touche_rad("score --json --samples 500", *words).json  # type: ignore[no-any-return]


def board_of(*words: str) -> Any:
    """Write a report, and return its only ranking."""
    touche_rad("report -o page.html --replace", *words)
    (board,) = Page("page.html").data["report"]["boards"]
    return board


def test_debaters_are_ranked_by_the_labels_on_their_turns() -> None:
    report = score("team2.jsonl", "team1.jsonl", "labels.jsonl")
    for row in report["rows"]:
        assert row["yes"] == pytest.approx(LABELS[row["run"]].mean())
        assert row["low"] < row["yes"] < row["high"]
    assert report["ranking"][1] == {"run": "team2", "rank": 2, "place": 2}
    assert report["claims"] == CLAIMS
    assert report["comparisons"][0]["p_holm"] < 0.05
    lines = read_records("team1.jsonl")
    for line in lines:  # equal to people
        line["simulation"]["userTurns"][0]["systemResponse"]["response"]["seconds"] = 1
    run_file("twin.jsonl", lines)
    for runs in (("team1.jsonl", "twin.jsonl"), ("twin.jsonl", "team1.jsonl")):
        rows = score(*runs, "labels.jsonl")["rows"]
        assert [row | {"run": ""} for row in rows[:5]] == [row | {"run": ""} for row in rows[5:]]
    words = "score team1.jsonl team2.jsonl labels.jsonl"
    check_screen("score.people", touche_rad(words))
    for row in csv.DictReader(touche_rad(words, "--csv").out.splitlines()):
        assert [row["turns"], row["labelled"], row["mean_unsettled"]] == ["60", "60", ""]


def test_a_run_without_a_label_has_the_same_debates_and_faults_in_a_report() -> None:
    labels = read_records("labels.jsonl")
    for turn in chain(*labels[:CLAIMS]):  # of team2
        turn.update(dict.fromkeys(Maxim))
    run_file("few.jsonl", labels)
    run_file("team2.judged.jsonl", read_records("team2.judged.jsonl")[1:])
    pages = []
    for options in ("", "--labels few.jsonl"):
        words = f"report team1.judged.jsonl team2.judged.jsonl -o page.html --replace {options}"
        ended = touche_rad(words, code=None)
        report = Page("page.html").data["report"]
        pages.append((report["claims"], report["files"]["rows"][:2]))
    assert pages[0] == pages[1]
    lost = "missing or lost debates, which count as no: team2.judged 1"
    assert report["warnings"] == ["not scored: team2.judged", lost]
    assert "label more turns (touche-rad label RUN... -o few.jsonl goes on)" in ended.err


def test_lost_debates_make_people_as_uncertain_as_a_judge_that_agrees() -> None:
    for team, of_team in LABELS.items():
        lines = read_records(f"{team}.judged.jsonl")
        for line, labels in zip(lines, of_team.tolist(), strict=True):
            for turn, label in zip(line["userTurnsEvaluations"], labels, strict=True):
                turn |= {maxim: {"score": label} for maxim in turn}
        if team == "team1":
            lines[:18] = [{}] * 18
        run_file(f"{team}.judged.jsonl", lines)
        simulations_file(f"{team}.jsonl", lines)
    runs = ["team1.judged.jsonl", "team2.judged.jsonl"]
    run_file("short.jsonl", lines[:17:-1])
    for others, first in ((runs[:1], 18), (["short.jsonl", *runs], 0), ([*runs, "short.jsonl"], 0)):
        touche_rad("report -o page.html --replace", *others)
        claims = Page("page.html").data["data-debates"]["claims"]
        assert claims == [f"{place + 1}. Claim {place}." for place in range(first, CLAIMS)]
    of_judge = score(*runs)["rows"]
    of_people = score("team1.jsonl", "team2.jsonl", "labels.jsonl")["rows"]
    # A run has the same interval alone, where nobody knows the claims of its lost debates.
    for rows, words in ((of_judge, [".judged"]), (of_people, ["", "labels.jsonl"])):
        alone = score(f"team1{words[0]}.jsonl", *words[1:])
        assert alone["rows"] == [row for row in rows if row["run"].startswith("team1")]
    for judge, people in zip(of_judge, of_people, strict=True):
        for key in ("yes", "low", "high"):
            assert people[key] == pytest.approx(judge[key], abs=1e-9)
    assert of_people[0]["yes"] == pytest.approx(LABELS["team1"][18:].sum() / 2 / CLAIMS)


@pytest.mark.parametrize("kind", ["", ".judged"])
def test_copies_empty_files_and_few_labels_make_no_judges_and_no_leader(kind: str) -> None:
    lines = read_records(f"team1{kind}.jsonl")
    labels = read_records("labels.jsonl")
    variant = read_records(f"team2{kind}.jsonl")
    variant[:-3] = json.loads(json.dumps(variant[:-3]).replace("Reason", "Cause"))
    run_file("few.jsonl", variant)  # three debates are the same, and labelled
    run_file("copy.jsonl", lines)
    Path("empty.jsonl").touch()
    run_file("labels.jsonl", [*labels, *labels[:9]])
    runs = ("empty.jsonl", "few.jsonl", f"team1{kind}.jsonl", "copy.jsonl", f"team2{kind}.jsonl")
    ended = touche_rad(
        "score --json",
        *runs,
        "labels.jsonl",
        code=1,
        err=f"equal files: team1{kind}.jsonl, copy.jsonl",
    )
    report = ended.json
    ranks = {row["run"]: row["rank"] for row in report["ranking"]}
    assert ranks == {f"team1{kind}": 1, "copy": 1, f"team2{kind}": 3, "few": None}
    assert list(ranks)[-1] == "few"
    assert (
        "few: labels on fewer than 6 debates of the run: no interval and no rank" in report["notes"]
    )
    assert "empty.jsonl" in ended.err.splitlines()[-1]


@with_cases(("runs", "kind"), "score/runs_are_of_judges_if_they_have_the_same.json")
def test_runs_are_of_judges_if_they_have_the_same_debates(runs: str, kind: str) -> None:
    lines = read_records("team1.judged.jsonl")
    run_file("shuffled.judged.jsonl", lines[::-1])
    run_file("first.judged.jsonl", lines[:20])
    run_file("last.judged.jsonl", lines[10:])
    change_parts(lines[5], {"simulation.userTurns.1.utterance": "Damaged."})
    run_file("damaged.judged.jsonl", lines)
    shutil.copy("team1.jsonl", "responses.judged.jsonl")
    paths = [f"{run}.judged.jsonl" for run in runs.split()]
    call = ("score", *paths, "labels.jsonl")
    assert touche_rad(*call, "--json", code=None).json["kind"] == kind
    what = "debaters" if kind == "shares" else "judges"
    shown = touche_rad(*call, code=None, out=f"Ranked as {what}: ")
    is_refused = "damaged" in runs and kind != "shares"
    assert ("the run is not on the labelled debates" in shown.err) == is_refused


def test_turns_on_which_people_disagree_are_counted_by_debater() -> None:
    labels = read_records("labels.jsonl")
    for turns in labels[: CLAIMS + 3]:  # all debates of team2, and three of team1
        turns[0]["annotators"] = {"ana": {"quality": 0}, "ben": {"quality": 1}}
        turns[0]["quality"] = None
    run_file("labels.jsonl", labels)
    runs = ("team1.judged.jsonl", "team2.judged.jsonl", "labels.jsonl")
    rows = score(*runs, "--correct")["rows"]
    counts = {(row["run"], row["maxim"]): row["unsettled"] for row in rows}
    assert [*counts.values()] == [None, 0, 3, 0, 0, None, 0, CLAIMS, 0, 0]
    note = f"team2.judged: quality: {CLAIMS} turns left out: people disagree (label --settle)"
    touche_rad("score --correct", *runs, out=note)
    board = board_of(*runs[:2], "--labels", runs[2])
    assert [note] in board["tables"][0]["rows"]
    assert board["measure"] == "share of yes of people"


def test_the_title_names_the_best_also_if_it_has_too_few_labels() -> None:
    labels = read_records("labels.jsonl")
    run_file("labels.jsonl", [*labels[:6], *labels[-3:]])  # of team2, and of team1
    board = board_of("team1.jsonl", "team2.jsonl", "--labels", "labels.jsonl")
    labelled = [(row["run"], row["cells"][-1]) for row in board["rows"]]
    assert labelled == [("team2", "12"), ("team1", "6")]
    title = "No ranks: differences are not tested; team1 has the highest share of yes of people"
    assert board["title"] == title
    assert board["note"].startswith("9 claims with labels. ")
    assert board["text"][-1] == "Compared as debaters: the runs have different responses."


@pytest.mark.parametrize("words", [(), ("--correct",)])
def test_what_a_run_of_debaters_lacks_counts_as_no(words: tuple[str, ...]) -> None:
    run_file("part.jsonl", read_records("team2.judged.jsonl")[20:])
    run_file("copy.jsonl", read_records("team1.judged.jsonl")[::-1])
    runs = ("part.jsonl", "copy.jsonl", "team2.judged.jsonl", "team1.judged.jsonl")
    report = score(*runs, "labels.jsonl", *words)
    rows = {row["run"]: row for row in report["rows"] if row["maxim"] == "mean"}
    expected = LABELS["team2"][20:].mean() * 10 / CLAIMS
    assert rows["part"]["yes"] == pytest.approx(expected)
    assert 0 < rows["part"]["low"] < expected < rows["part"]["high"] < 10 / CLAIMS
    assert report["debates"]["part"] == f"10 of {CLAIMS}"
    assert [*report["labelled"].values()] == [20, 60, 60, 60]
    assert set(report["turns"].values()) == {60}
    assert report["without_missing"]["part"] == pytest.approx(3 * expected)
    note = "missing or lost debates, which count as no: part 20 (.35 without them)"
    assert note in report["notes"]
    labelled = [note for note in report["notes"] if "labelled of" in note]
    maxims = "labelled of 60 turns: quantity {0}, quality {0}, relation {0}, manner {0}"
    assert sorted(labelled) == [
        f"copy, team2.judged and team1.judged: {maxims.format(60)}",
        f"part: {maxims.format(20)}",
    ]
    (against_part,) = [
        row["difference"]
        for row in report["comparisons"]
        if (row["run"], row["measure"]) == ("part", "mean")
    ]
    assert against_part == pytest.approx(expected - LABELS["team1"].mean())
    places = [(ranked["run"], ranked["place"]) for ranked in report["ranking"]]
    assert places == [("copy", 1), ("team1.judged", 1), ("team2.judged", 3), ("part", 4)]
    again = score(*runs[::-1], "labels.jsonl", *words)
    assert {str(row) for row in again["rows"]} == {str(row) for row in report["rows"]}


def test_labels_of_some_turns_are_corrected_by_a_judge() -> None:
    lines = read_records("labels.jsonl")
    without = [[{"words": turn["words"]} for turn in turns] for turns in lines[::3]]
    lines[::3] = without
    named = [[{**turn, "criteria": "grice"} for turn in turns] for turns in lines]
    run_file("labels.jsonl", named)  # as labels of several runs
    words = ("team1.judged.jsonl", "team2.judged.jsonl", "labels.jsonl")
    plain = score(*words)
    report = score(*words, "--correct")
    assert len(plain["notes"]) == len(report["notes"]) == 1
    shown = touche_rad("score --correct", *words, out="estimated share of yes of").out
    assert "each category" not in shown
    assert "--pairs" not in touche_rad("score team1.jsonl", words[2]).out
    for before, row in zip(plain["rows"], report["rows"], strict=True):
        truth = LABELS[row["run"].partition(".")[0]].mean()
        assert abs(row["yes"] - truth) < 0.08
        if row["maxim"] == "mean":
            assert row["high"] - row["low"] < before["high"] - before["low"]
        assert 0 <= row["low"] <= row["high"] <= 1
    assert report["ranking"][0]["run"] == "team1.judged"
    of_team1 = [row for row in report["rows"] if row["run"] == "team1.judged"]
    assert score(words[0], words[2], "--correct")["rows"] == of_team1
    run_file("labels.jsonl", lines[CLAIMS:])  # those of team 1
    rows = score(words[0], words[2], "--correct")["rows"]
    assert rows[1:] == [pytest.approx(row) for row in of_team1[1:]]
    part = read_records(words[0])[:-1]
    run_file("missing.jsonl", part)
    run_file("lost.jsonl", [*part, {}])
    rows = score("missing.jsonl", "lost.jsonl", words[2], "--correct")["rows"]
    assert [{**row, "run": "lost"} for row in rows[:5]] == rows[5:]


def test_what_a_run_lost_is_corrected_in_one_way_however_labels_are_matched() -> None:
    """By words as those of several runs, by words or by place as those of one, or with a gap."""
    lines = read_records("team1.judged.jsonl")
    run_file("lost.jsonl", [*lines[:-1], {}])
    labels = read_records("labels.jsonl")[CLAIMS:]
    labels[::3] = [[{"words": turn["words"]} for turn in turns] for turns in labels[::3]]
    pooled = [[{**turn, "criteria": "grice"} for turn in turns] for turns in labels]
    by_place = [[{**turn, "words": ""} for turn in turns] for turns in labels]
    shown = set()
    for variant in (pooled, labels, by_place, [*by_place[:-1], []]):
        run_file("few.jsonl", variant)
        rows = score("lost.jsonl", "few.jsonl", "--correct")["rows"]
        shown.add(str([(row["judge_yes"], row["yes"]) for row in rows]))
        printed = touche_rad("score lost.jsonl few.jsonl --correct", out=f"29 of {CLAIMS} debates")
        assert max(map(len, printed.out.splitlines())) <= 80
    assert len(shown) == 1


def test_a_run_without_labels_is_named() -> None:
    text = Path("team1.jsonl").read_text()
    Path("other.jsonl").write_text(text.replace("Reason", "Cause"))
    touche_rad(
        "score other.jsonl team1.jsonl labels.jsonl",
        code=1,
        err="other.jsonl: its responses are not those that are labelled in labels.jsonl",
    )


@pytest.mark.parametrize("line", [{"simulation": {"configuration": {}}}, {}])
def test_a_run_that_lost_all_debates_has_no_yes_of_people(line: Any) -> None:
    run_file("lost.jsonl", [line] * CLAIMS)
    report = score("lost.jsonl", "team1.jsonl", "labels.jsonl", "--skip-bad")
    assert report["rows"][0]["high"] == 0
    assert report["debates"] == {"lost": "0 of 30", "team1": "30 of 30"}


def test_the_labelled_debates_may_have_lost_some() -> None:
    played = read_records("team1.jsonl")
    run_file("lost.jsonl", [{}, *played[1:]])
    expected = score("team1.judged.jsonl", "labels.jsonl", "--debates", "team1.jsonl")
    report = score("team1.judged.jsonl", "labels.jsonl", "--debates", "lost.jsonl")
    assert [report["debates"], expected["debates"]] == [CLAIMS - 1, CLAIMS]
    run_file("own-labels.jsonl", [[], *read_records("labels.jsonl")[CLAIMS + 1 :]])
    touche_rad("score lost.jsonl own-labels.jsonl --debates lost.jsonl", out="29 of 30 debates")


def test_debates_of_one_run_say_which_labels_of_several_runs_count() -> None:
    """The judge of a run is scored on all debates of the run, and on no other run's."""
    labels = read_records("labels.jsonl")
    run_file("of-team1.jsonl", labels[CLAIMS:])
    expected = score("team1.judged.jsonl", "of-team1.jsonl")
    words = ("labels.jsonl", "--debates", "team1.jsonl")
    report = score("team1.judged.jsonl", *words)
    assert report["rows"] == expected["rows"]
    (problem,) = [problem for problem in report["problems"] if problem["run"] == "labels.jsonl"]
    assert problem["message"].startswith(f"{CLAIMS} labelled debates are of other runs")
    # The file may have the debates of all runs, and labels only on some of the debates of the run.
    debates = [*read_records("team2.jsonl"), *read_records("team1.jsonl")]
    run_file("all.jsonl", debates)
    pooled = ("labels.jsonl", "--debates", "all.jsonl")
    assert score("team1.judged.jsonl", *pooled)["rows"] == expected["rows"]
    # A judge does not gain by the debates that it leaves out.
    run_file("part.jsonl", read_records("team1.judged.jsonl")[:-3])
    for truth in (words, pooled):
        part = score("part.jsonl", *truth)
        assert part["lost"] == {"part": 3}
        assert part["rows"][0]["recall"] < report["rows"][0]["recall"]
    for file in ("all.jsonl", None):
        both = frames.agreement(
            "part.jsonl", "team2.judged.jsonl", labels="labels.jsonl", debates=file
        )
        assert [*both.groupby("run")["debate"].nunique()] == [CLAIMS - 3, CLAIMS]
    # A run alone has the debates and people's answers that it has beside others.
    alone = frames.agreement("part.jsonl", labels="labels.jsonl", debates="all.jsonl")
    assert alone["debate"].nunique() == CLAIMS - 3
    beside = score("part.jsonl", "team2.judged.jsonl", *pooled, "--correct")["rows"]
    of_part = score("part.jsonl", *pooled, "--correct")["rows"]
    assert [row["yes"] for row in of_part] == [row["yes"] for row in beside if row["run"] == "part"]
    touche_rad("report part.jsonl -o p.html --labels", *pooled)
    faults = Page("p.html").data["report"]["faults"]
    assert [text[:17] for _, _, text, _ in faults if "on no line" in text] == ["3 missing debates"]
    assert "not with --correct" in "".join(problem["message"] for problem in part["problems"])
    # Of what a run lost, no label may say more than that it is lost.
    of_team1 = labels[CLAIMS:]
    unlabelled = [*of_team1[:-3], *[[{} for _ in row] for row in of_team1[-3:]]]
    run_file("own.jsonl", unlabelled)
    run_file("lost.jsonl", [*read_records("part.jsonl"), {}])
    own = score("lost.jsonl", "own.jsonl", "--debates", "team1.jsonl")
    assert {problem["message"] for problem in own["problems"]} == {"nothing is labelled there"}
    run_file("few.jsonl", debates[:-8])
    run_file("few-labels.jsonl", labels[:-8])
    some = score("team1.judged.jsonl", "few-labels.jsonl", "--debates", "few.jsonl")
    assert (some["debates"], some["lost"]) == (CLAIMS - 8, {"team1.judged": 0})
    # A debate is the labels' line, also in messages on lines of the run.
    run_file("pooled.jsonl", [[{**turn, "criteria": "grice"} for turn in row] for row in labels])
    people = frames.labels("pooled.jsonl")
    both = frames.agreement("team1.judged.jsonl", "team2.judged.jsonl", labels="pooled.jsonl")
    key = ["debate", "turn", "criterion", "label"]
    assert len(both.merge(people, on=key)) == len(both) == 16 * CLAIMS
    rows = "score team1.judged.jsonl team2.judged.jsonl pooled.jsonl --per turn"
    touche_rad(rows, out="\nteam2.judged,")
    touche_rad("score part.jsonl", *words, out="the first: labels.jsonl line 58:")
    run_file("pooled.jsonl", read_records("pooled.jsonl")[::-1])  # an order of their own
    mixed = touche_rad("score team1.judged.jsonl pooled.jsonl").out
    assert "reordered" not in mixed
    assert "scorer would" not in mixed
    for run in (("team1.jsonl", *words), ("team1.judged.jsonl", *words, "--correct")):
        people = score(*run)["rows"]
        assert people[0]["yes"] == pytest.approx(LABELS["team1"].mean())
    board = board_of("team1.judged.jsonl", "--labels", *words)
    means = {row["run"]: row["value"] for row in report["rows"] if row["maxim"] == "mean"}
    assert {row["run"]: row["value"] for row in board["rows"]} == pytest.approx(means)


@with_cases(("run", "labelled", "debates", "lost"), "score/equal_debates_of_other_runs.json")
def test_equal_debates_of_other_runs_are_not_missing(
    run: str, labelled: str, debates: int, lost: list[list[Any]]
) -> None:
    """Letters are claims, large ones with debates of another run; a point is an empty line.

    What is lost has its line of the labels, if it is known.
    """
    lines = [*read_records("team1.judged.jsonl")[:6], *read_records("team2.judged.jsonl")[:6], {}]
    line_of = dict(zip("abcdefABCDEF.", lines, strict=True))
    run_file("run.jsonl", [*map(line_of.get, run)])
    simulations_file("all.jsonl", [*map(line_of.get, labelled)])
    labels_file("labels.jsonl", [[YES, YES]] * len(labelled))
    report = score("run.jsonl", "labels.jsonl", "--debates", "all.jsonl")
    assert report["debates"] == debates
    assert lost == [
        [problem["kind"], problem["debate"]]
        for problem in report["problems"]
        if problem["counted_as_no"]
    ]


def test_reports_rank_as_score_does_whatever_the_order_and_the_way_debates_are_lost() -> None:
    runs = ("team2.judged.jsonl", "team1.judged.jsonl", "labels.jsonl")
    truth = (*runs[1:], "--debates", "team1.jsonl")

    def figures() -> list[Any]:
        result = []
        for kind in ("", ".judged"):
            paths = [f"team2{kind}.jsonl", f"team1{kind}.jsonl"]
            board = board_of(*paths, "--labels", runs[2])
            ranks = [(row["run"], row["rank"]) for row in board["rows"]]
            assert ranks == [(f"team1{kind}", 1), (f"team2{kind}", 2)]
            assert board["rows"][0]["value"] == pytest.approx(LABELS["team1"].mean())
            result.append(board)
        for words in (truth, (*truth, "--correct"), truth[:1], runs[:2], (*runs, "--correct")):
            report = score(*words)
            result += [report["rows"], report.get("comparisons")]
        return result

    lines = read_records("team2.judged.jsonl")
    copies = [
        {**lines[0], "userTurnsEvaluations": lines[at]["userTurnsEvaluations"]} for at in (1, 2, 3)
    ]
    run_file("team2.judged.jsonl", [*lines[:5], {}, {}, *lines[7:], *copies])
    run_file("team2.jsonl", [{}, *read_records("team2.jsonl")[1:]])
    before = figures()
    for path in Path().glob("*.jsonl"):
        lines = [line for line in read_records(path) if line]
        Random(path.name).shuffle(lines)
        run_file(path, lines)
    assert figures() == before


def test_two_lines_with_other_labels_of_the_same_turns_are_refused() -> None:
    labels = read_records("labels.jsonl")
    runs = "score team1.jsonl team2.jsonl labels.jsonl"
    run_file("labels.jsonl", [*labels, labels[3]])
    touche_rad(runs)
    labels.append([{**turn, Maxim.MANNER: 1 - turn[Maxim.MANNER]} for turn in labels[3]])
    run_file("labels.jsonl", labels)
    touche_rad(runs, code=2, err="labels.jsonl:61: manner: expected the label of line 4")


def test_labels_that_are_all_yes_do_not_make_a_mean_sure() -> None:
    labels = read_records("labels.jsonl")
    for debate in labels[:8]:  # of team2
        for turn in debate:
            turn |= dict.fromkeys(Maxim, 1)
    run_file("labels.jsonl", labels[:8] + labels[CLAIMS:])
    words = ("team1.judged.jsonl", "team2.judged.jsonl", "labels.jsonl")
    rows = [row for row in score(*words, "--correct")["rows"] if row["run"] == "team2.judged"]
    lows = [row["low"] for row in rows]
    assert lows == pytest.approx([lows[1]] * 5)
    assert 0.5 < lows[0] < 0.8
