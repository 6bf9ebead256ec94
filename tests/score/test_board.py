"""The command `score` with many runs: ranks, matching, missing verdicts, and output formats."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.score.makers import debates_file, evaluation, labels_file, run_file
from tests.terminal import Ended, touche_rad

NAMES = [f"debate-{number:02}" for number in range(24)]
YES, NO = (1, 1, 1, 1), (0, 0, 0, 0)
LABELS = [[YES if (debate + turn) % 3 else NO for turn in range(2)] for debate in range(24)]


def flipped(turn: Sequence[int]) -> list[int]:
    return [1 - label for label in turn]


def lines(wrong: int = 0) -> list[Any]:
    """Evaluations that are wrong on the first debates."""
    return [
        evaluation([flipped(turn) for turn in turns] if at < wrong else turns, name)
        for at, (name, turns) in enumerate(zip(NAMES, LABELS, strict=True))
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    labels_file(tmp_path / "labels.jsonl", LABELS)
    for name, wrong in {"bad": 15, "good": 1, "twin": 1}.items():
        run_file(tmp_path / f"{name}.jsonl", lines(wrong))
    return tmp_path


def score(folder: Path, *words: str, width: int = 80) -> Ended:
    return touche_rad(
        "score", *words, "--samples", "200", "-q", cwd=folder, env={"COLUMNS": str(width)}
    )


RUNS = ("bad.jsonl", "good.jsonl", "twin.jsonl", "labels.jsonl")


def test_runs_are_ranked_and_equal_ones_share_a_rank(folder: Path) -> None:
    ended = score(folder, *RUNS)
    assert ended.code == 0, ended.err
    shown = [line.split()[:2] for line in ended.out.splitlines()]
    at = shown.index(["rank", "run"])
    assert shown[at + 1 : at + 5] == [
        ["1", "good"],
        ["1", "twin"],
        ["*", "always-yes"],
        ["3", "bad"],
    ]
    assert "p (Holm)" not in ended.out


@pytest.mark.parametrize("width", [80, 120])
def test_every_line_fits_the_terminal(folder: Path, width: int) -> None:
    long = "a-run-whose-name-is-longer-than-any-table-can-show-of-model-{}.jsonl"
    for number in (1, 2):
        (folder / long.format(number)).write_bytes((folder / "good.jsonl").read_bytes())
    runs = [long.format(1), long.format(2), *RUNS]
    ended = score(folder, *runs, "--all-pairs", "--details", width=width)
    assert max(map(len, ended.out.splitlines())) <= width
    board = ended.out.split("\n\n")[1].splitlines()
    assert len({line.split()[1] for line in board}) == 7  # the shortened names are different
    assert ("kappa" in score(folder, *RUNS, width=width).out) == (width > 80)
    one = score(folder, "good.jsonl", "labels.jsonl", width=width)
    assert max(map(len, one.out.splitlines())) <= width


def test_pairs_are_with_the_best_run_and_the_baselines(folder: Path) -> None:
    def pairs(*words: str) -> set[tuple[str, str]]:
        read = json.loads(score(folder, *RUNS, "--json", *words).out)
        return {(one["run"], one["against"]) for one in read["comparisons"]}

    assert pairs() == set()
    always = {(run, "always-yes") for run in ("bad", "good", "twin")}
    assert pairs("--pairs") == {("bad", "good"), ("twin", "good"), *always}
    assert pairs("--all-pairs") == {
        ("twin", "bad"),
        *pairs("--pairs") - {("bad", "good")},
        ("good", "bad"),
    }
    marked = pairs("--pairs", "--baseline", "bad.jsonl")
    assert marked == {
        ("twin", "good"),
        ("good", "bad"),
        ("twin", "bad"),
        *always - {("bad", "always-yes")},
    }


def test_a_missing_line_shifts_no_label(folder: Path) -> None:
    whole = lines(1)
    run_file(folder / "less.jsonl", [*whole[:2], *whole[3:]])
    ended = score(folder, "less.jsonl", "good.jsonl", "labels.jsonl", "--csv")
    rows = {row["run"]: row for row in csv.DictReader(ended.out.splitlines())}
    assert rows["less"]["lost_debates"] == "1"
    assert float(rows["less"]["mean_f1"]) > 0.9
    alone = score(folder, "less.jsonl", "labels.jsonl")
    assert alone.code == 2
    assert "less.jsonl: expected 24 lines as in labels.jsonl, got 23" in alone.err
    assert "--debates FILE" in alone.err
    assert "--by-place" in alone.err
    assert score(folder, "less.jsonl", "labels.jsonl", "--by-place").code == 0
    debates_file(folder / "debates.jsonl", dict.fromkeys(NAMES, 2))
    beside = score(folder, "less.jsonl", "labels.jsonl")
    assert beside.code == 0
    assert "by id and text with debates.jsonl" in beside.out


def test_another_run_is_refused_with_the_place_of_the_difference(folder: Path) -> None:
    changed = lines()
    changed[4]["simulation"]["userTurns"][1]["systemResponse"]["utterance"] = "Something else."
    run_file(folder / "other.jsonl", changed)
    debates_file(folder / "debates.jsonl", dict.fromkeys(NAMES, 2))
    ended = score(folder, "other.jsonl", "labels.jsonl")
    assert ended.code == 2
    assert "other.jsonl:5: simulation.userTurns[1]: " in ended.err
    assert "debate 5 of debates.jsonl" in ended.err
    run_file(folder / "stranger.jsonl", [evaluation([YES, YES], f"{name}!") for name in NAMES])
    assert (
        "stranger.jsonl:1: simulation.userTurns[0]"
        in score(folder, "stranger.jsonl", "labels.jsonl").err
    )
    assert score(folder, "stranger.jsonl", "labels.jsonl", "--by-place").code == 0


def test_a_lost_debate_counts_as_no_is_skipped_or_is_an_error(folder: Path) -> None:
    whole = lines()
    run_file(folder / "lost.jsonl", [*whole[:2], {}, *whole[3:]])

    def labelled(*words: str) -> dict[str, tuple[str, str]]:
        ended = score(folder, "lost.jsonl", "good.jsonl", "labels.jsonl", "--csv", *words)
        rows = csv.DictReader(ended.out.splitlines())
        return {row["run"]: (row["mean_labelled"], row["lost_debates"]) for row in rows}

    assert labelled() == labelled("--missing", "no")
    assert labelled()["lost"] == ("192", "1")
    assert labelled("--missing", "skip")["lost"] == ("184", "1")
    assert labelled("--missing", "skip")["good"] == ("184", "0")
    refused = score(folder, "lost.jsonl", "good.jsonl", "labels.jsonl", "--missing", "error")
    assert refused.code == 2
    assert "lost.jsonl: missing debate (debate 3): expected a verdict for each label" in refused.err


def test_a_judge_keeps_a_lost_debate_as_noes(folder: Path) -> None:
    debates = [
        {"simulation": line["simulation"]} if line else {}
        for line in (*lines()[:2], {}, *lines()[3:])
    ]
    run_file(folder / "run.jsonl", debates)
    ended = touche_rad("judge", "run.jsonl", "-j", "length", "-o", "judged.jsonl", cwd=folder)
    assert ended.code == 0, ended.err
    assert "lost debate: 1" in ended.err
    judged = [json.loads(line) for line in (folder / "judged.jsonl").read_text().splitlines()]
    assert len(judged) == 24
    verdicts = judged[2]["userTurnsEvaluations"]
    assert [turn[maxim]["score"] for turn in verdicts for maxim in turn] == [0.0] * 8
    assert score(folder, "judged.jsonl", "labels.jsonl", "--strict").code == 0
    read = json.loads(score(folder, "judged.jsonl", "labels.jsonl", "--json").out)
    assert read["lost"] == {"judged": 1}
    assert read["official"]


def test_names_of_files_are_no_formulas_and_no_columns(folder: Path) -> None:
    (folder / "=1+1|x\x1b[31m.jsonl").write_bytes((folder / "good.jsonl").read_bytes())
    runs = ("./=1+1|x\x1b[31m.jsonl", *RUNS)
    rows = list(csv.DictReader(score(folder, *runs, "--csv").out.splitlines()))
    assert "'=1+1|x" in [row["run"] for row in rows]
    assert {row["rank"] for row in rows} == {"1", "", "4"}
    table = score(folder, *runs, "--md").out
    (row,) = (line for line in table.splitlines()[5:] if "=1+1" in line)
    assert row.startswith("| 1 | =1+1\\|x | ")
    assert "\x1b" not in score(folder, *runs).out


def test_formats_and_options_that_do_not_fit_are_refused(folder: Path) -> None:
    assert "cannot be used together" in score(folder, *RUNS, "--md", "--csv").err
    assert "cannot be used together" in score(folder, *RUNS, "--by-place", "--debates", "x").err
    (folder / "q.txt").write_text("q1 0 a 1\nq2 0 a 1\n")
    (folder / "x.run").write_text("q1 Q0 a 1 2.0 t\nq2 Q0 a 1 2.0 t\n")
    assert "--missing is not for qrels" in score(folder, "x.run", "q.txt", "--missing", "no").err
    rows = list(csv.DictReader(score(folder, "x.run", "q.txt", "--csv").out.splitlines()))
    assert [(row["rank"], row["run"], row["RR"]) for row in rows] == [("1", "x", "1.0")]


def test_skip_bad_keeps_the_places(folder: Path) -> None:
    whole = (folder / "good.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "byte.jsonl").write_bytes(b"".join([*whole[:2], b"\xff\n", *whole[3:]]))
    assert "byte.jsonl:3: expected UTF-8" in score(folder, "byte.jsonl", "labels.jsonl").err
    ended = score(folder, "byte.jsonl", "labels.jsonl", "--skip-bad", "--json")
    read = json.loads(ended.out)
    assert read["lost"] == {"byte": 1}
    assert read["rows"][0]["f1"] > 0.9
    assert "warning: 1 invalid line of runs skipped; the first: " in ended.err
    assert "byte.jsonl:3: expected UTF-8" in ended.err


def test_skip_bad_skips_lines_of_runs_and_never_of_the_truth(folder: Path) -> None:
    labels = (folder / "labels.jsonl").read_text().splitlines()
    (folder / "odd.jsonl").write_text("\n".join([*labels[:2], '{"x', *labels[3:]]) + "\n")
    (folder / "x.run").write_text("q1 Q0 a 1 2.0 t\nbroken\nq2 Q0 a 1 2.0 t\n")
    (folder / "q.txt").write_text("q1 0 a 1\nq2 0 a 1\n")
    (folder / "odd.txt").write_text("q1 0 a 1\nbroken\nq2 0 a 1\n")
    ended = score(folder, "x.run", "q.txt", "--skip-bad", "--json")
    assert (ended.code, "x.run:2: " in ended.err) == (0, True), ended.err
    for run, truth in (("good.jsonl", "odd.jsonl"), ("x.run", "odd.txt")):
        for more in ((), ("--skip-bad",)):
            refused = score(folder, run, truth, *more)
            assert (refused.code, truth in refused.err) == (2, True)
