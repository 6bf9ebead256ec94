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


def rows(folder: Path, *words: str) -> dict[str, dict[str, str]]:
    """Return the rows of the CSV file by run."""
    out = score(folder, *words, "--csv").out
    return {row["run"]: row for row in csv.DictReader(out.splitlines())}


def report(folder: Path, *words: str) -> dict[str, Any]:
    """Return the JSON output."""
    result: dict[str, Any] = json.loads(score(folder, *words, "--json").out)
    return result


RUNS = ("bad.jsonl", "good.jsonl", "twin.jsonl", "labels.jsonl")


def test_runs_are_ranked_and_equal_ones_share_a_rank(folder: Path) -> None:
    ended = score(folder, *RUNS)
    assert ended.code == 0, ended.err
    lines = [line.split()[:2] for line in ended.out.splitlines()]
    at = lines.index(["rank", "run"]) + 1
    assert lines[at : at + 4] == [["1", "good"], ["1", "twin"], ["*", "always-yes"], ["3", "bad"]]


@pytest.mark.parametrize("width", [80, 120])
def test_every_line_fits_the_terminal(folder: Path, width: int) -> None:
    long = "a-run-whose-name-is-longer-than-any-table-can-show-of-model-{}.jsonl"
    for number in (1, 2):
        (folder / long.format(number)).write_bytes((folder / "good.jsonl").read_bytes())
    runs = [long.format(1), long.format(2), *RUNS]
    ended = score(folder, *runs, "--pairs", "--details", width=width)
    assert max(map(len, ended.out.splitlines())) <= width
    board = ended.out.split("\n\n")[1].splitlines()
    assert len({line.split()[1] for line in board}) == 7  # the shortened names are different
    assert ("kappa" in score(folder, *RUNS, width=width).out) == (width > 80)
    one = score(folder, "good.jsonl", "labels.jsonl", width=width)
    assert max(map(len, one.out.splitlines())) <= width


def test_pairs_are_with_the_best_run_and_the_baselines(folder: Path) -> None:
    def pairs(*words: str) -> set[tuple[str, str]]:
        comparisons = report(folder, *RUNS, *words)["comparisons"]
        return {(one["run"], one["against"]) for one in comparisons}

    assert pairs() == set()
    always = {(run, "always-yes") for run in ("bad", "good", "twin")}
    assert pairs("--pairs") == {("bad", "good"), ("twin", "good"), *always}
    assert pairs("--pairs", "--baseline", "bad.jsonl") == {
        *(("twin", "good"), ("good", "bad"), ("twin", "bad")),
        *always - {("bad", "always-yes")},
    }


def test_a_missing_line_shifts_no_label(folder: Path) -> None:
    whole = lines(1)
    run_file(folder / "less.jsonl", [*whole[:2], *whole[3:]])
    row = rows(folder, "less.jsonl", "good.jsonl", "labels.jsonl")["less"]
    assert row["lost_debates"] == "1"
    assert float(row["mean_f1"]) > 0.9
    alone = score(folder, "less.jsonl", "labels.jsonl")
    assert alone.code == 2
    assert "less.jsonl: expected 24 lines as in labels.jsonl, got 23" in alone.err
    assert "--debates FILE" in alone.err
    assert score(folder, "less.jsonl", "labels.jsonl", "--by-place").code == 0
    debates_file(folder / "debates.jsonl", dict.fromkeys(NAMES, 2))
    assert report(folder, "less.jsonl", "labels.jsonl")["matched_by"] == "debates.jsonl"


def test_another_run_is_refused_with_the_place_of_the_difference(folder: Path) -> None:
    changed = lines()
    changed[4]["simulation"]["userTurns"][1]["systemResponse"]["utterance"] = "Something else."
    run_file(folder / "other.jsonl", changed)
    run_file(folder / "stranger.jsonl", [evaluation([YES, YES], f"{name}!") for name in NAMES])
    debates_file(folder / "debates.jsonl", dict.fromkeys(NAMES, 2))
    for name, place in (("other", ":5: simulation.userTurns[1]: "), ("stranger", ":1: simulation")):
        ended = score(folder, f"{name}.jsonl", "labels.jsonl")
        assert ended.code == 2, ended.err
        assert f"{name}.jsonl{place}" in ended.err, ended.err
    assert score(folder, "stranger.jsonl", "labels.jsonl", "--by-place").code == 0


@pytest.mark.parametrize(
    ("name", "told", "advice"),
    [
        ("empty.jsonl", "is empty", False),
        ("arguments.jsonl", "expected verdicts, got arguments", False),
        ("debates.jsonl", "expected verdicts, got simulations", True),
    ],
)
def test_a_run_without_verdicts_is_named_with_its_kind(
    folder: Path, name: str, told: str, advice: bool
) -> None:
    (folder / "empty.jsonl").touch()
    (folder / "arguments.jsonl").write_text('{"id": "1", "text": "x"}\n')
    debates_file(folder / "debates.jsonl", dict.fromkeys(NAMES, 2))
    ended = score(folder, name, "labels.jsonl")
    assert ended.code == 2, ended.err
    assert told in ended.err, ended.err
    assert ("run `touche-rad judge" in ended.err) == advice


def test_a_lost_line_is_no_missing_debate_as_well(folder: Path) -> None:
    whole = lines()
    run_file(folder / "less.jsonl", [*whole[:2], *whole[3:9], {}, *whole[10:19], {}, *whole[20:]])
    shown = score(folder, "less.jsonl", "good.jsonl", "labels.jsonl").out
    assert "less: lost debate: 2 times, 16 verdicts counted as no; the" in shown
    assert "less: missing debate: debate 3: 8 verdicts counted as no" in shown


def test_a_wrong_key_of_a_maxim_is_named_once(folder: Path) -> None:
    text = (folder / "good.jsonl").read_text()
    (folder / "typo.jsonl").write_text(text.replace("Quantity", "quantitiy"))
    shown = score(folder, "typo.jsonl", "labels.jsonl").out
    assert shown.count("'quantitiy' is no maxim (did you mean 'Quantity'?)") == 1
    assert "unknown key" not in score(folder, "good.jsonl", "labels.jsonl").out


def test_a_bad_run_is_listed_and_the_others_are_scored(folder: Path) -> None:
    (folder / "broken.jsonl").write_text('{"x\n')
    runs = ("broken.jsonl", "good.jsonl", "none.jsonl", "bad.jsonl", "labels.jsonl")
    ended = score(folder, *runs)
    assert ended.code == 1
    errors = [line for line in ended.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 2
    assert errors[0].startswith("error: not scored: broken.jsonl:1: ")
    assert "cannot be read" in errors[1]
    assert "not scored" not in ended.out
    broken = rows(folder, *runs)["broken"]
    assert broken["rank"] == ""
    assert broken["mean_f1"] == ""
    assert errors[0] == f"error: not scored: {broken['error']}"
    result = report(folder, *runs, "--baseline", "none.jsonl")
    assert result["runs"] == ["good", "bad"]
    assert set(result["refused"]) == {"broken", "none"}
    assert score(folder, "broken.jsonl", "none.jsonl", "labels.jsonl").code == 2


def test_a_run_of_fallbacks_only_is_scored_with_a_warning(folder: Path) -> None:
    status: dict[str, Any] = {"output": "good.jsonl", "counts": {"verdicts": 96}}
    for count in (96, 95):
        status["fallbacks"] = [{"what": "verdicts", "count": count}]
        (folder / "good.jsonl.status.json").write_text(json.dumps(status))
        warnings = score(folder, *RUNS).err.splitlines()
        assert len(warnings) == (count == 96)
        assert ("good.jsonl: all verdicts are fallbacks" in "".join(warnings)) == (count == 96)


def test_a_judge_keeps_a_lost_debate_as_noes(folder: Path) -> None:
    debates = [{"simulation": line["simulation"]} for line in lines()]
    run_file(folder / "run.jsonl", [*debates[:2], {}, *debates[3:]])
    ended = touche_rad("judge", "run.jsonl", "-j", "length", "-o", "judged.jsonl", cwd=folder)
    assert ended.code == 0, ended.err
    assert "lost debate: 1" in ended.err
    judged = [json.loads(line) for line in (folder / "judged.jsonl").read_text().splitlines()]
    verdicts = judged[2]["userTurnsEvaluations"]
    assert [turn[maxim]["score"] for turn in verdicts for maxim in turn] == [0.0] * 8
    assert score(folder, "judged.jsonl", "labels.jsonl", "--strict").code == 0
    result = report(folder, "judged.jsonl", "labels.jsonl")
    assert result["lost"] == {"judged": 1}
    assert result["official"] is True


def test_names_of_files_are_no_formulas_and_no_columns(folder: Path) -> None:
    (folder / "=1+1|x\x1b[31m.jsonl").write_bytes((folder / "good.jsonl").read_bytes())
    runs = ("./=1+1|x\x1b[31m.jsonl", *RUNS)
    table = rows(folder, *runs)
    assert any(name.startswith("'=1+1|x") for name in table)
    assert {row["rank"] for row in table.values()} == {"1", "", "4"}
    assert "\x1b" not in score(folder, *runs).out


def test_formats_and_options_that_do_not_fit_are_refused(folder: Path) -> None:
    assert "cannot be used together" in score(folder, *RUNS, "--json", "--csv").err
    assert "cannot be used together" in score(folder, *RUNS, "--by-place", "--debates", "x").err
    (folder / "q.txt").write_text("q1 0 a 1\nq2 0 a 1\n")
    (folder / "x.run").write_text("q1 Q0 a 1 2.0 t\nq2 Q0 a 1 2.0 t\n")
    assert "--strict is not for qrels" in score(folder, "x.run", "q.txt", "--strict").err
    row = rows(folder, "x.run", "q.txt")["x"]
    assert row["rank"] == "1"
    assert row["RR"] == "1.0"


def test_skip_bad_keeps_the_places(folder: Path) -> None:
    whole = (folder / "good.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "byte.jsonl").write_bytes(b"".join([*whole[:2], b"\xff\n", *whole[3:]]))
    assert "byte.jsonl:3: expected UTF-8" in score(folder, "byte.jsonl", "labels.jsonl").err
    (folder / "cut.jsonl").write_bytes(b"".join([*whole[:2], b"{\n", *whole[3:]]))
    ended = score(folder, "byte.jsonl", "cut.jsonl", "labels.jsonl")
    assert "check cut.jsonl --input DEBATES --fix -o NEW (" in ended.err.splitlines()[1]
    ended = score(folder, "byte.jsonl", "labels.jsonl", "--skip-bad", "--json")
    result = json.loads(ended.out)
    assert result["lost"] == {"byte": 1}
    assert result["rows"][0]["f1"] > 0.9
    for name, text, told in (
        ("x.jsonl", "hello\n", "x.jsonl:1: is of no known kind"),
        ("x.status.json", "{\n}\n", "x.status.json:1: expected JSON"),
        ("claims.tsv", "TOPIC_DESCRIPTION\n" * 11, "claims.tsv: expected verdicts, got claims"),
    ):
        (folder / name).write_text(text)
        for more in ((), ("--strict",)):
            refused = score(folder, name, "labels.jsonl", *more)
            assert refused.code == 2
            assert "--fix" not in refused.err
            assert told in refused.err
    ended = score(folder, "claims.tsv", "byte.jsonl", "labels.jsonl", "--skip-bad")
    assert "lines of runs skipped: 1; the first: byte.jsonl:3: expected UTF-8" in ended.err


def test_skip_bad_never_skips_lines_of_the_truth(folder: Path) -> None:
    labels = (folder / "labels.jsonl").read_text().splitlines()
    (folder / "odd.jsonl").write_text("\n".join([*labels[:2], '{"x', *labels[3:]]) + "\n")
    (folder / "x.run").write_text("q1 Q0 a 1 2.0 t\nbroken\nq2 Q0 a 1 2.0 t\n")
    (folder / "q.txt").write_text("q1 0 a 1\nq2 0 a 1\n")
    (folder / "odd.txt").write_text("q1 0 a 1\nbroken\nq2 0 a 1\n")
    ended = score(folder, "x.run", "q.txt", "--skip-bad", "--json")
    assert ended.code == 0, ended.err
    assert "x.run:2: " in ended.err, ended.err
    for run, truth in (("good.jsonl", "odd.jsonl"), ("x.run", "odd.txt")):
        refused = score(folder, run, truth, "--skip-bad")
        assert refused.code == 2
        assert truth in refused.err
