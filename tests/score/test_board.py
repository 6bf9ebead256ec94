"""The command `score` with many runs: ranks, matching, missing verdicts, and output formats."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.records import END_OF_RUN, write_lines
from tests.score.makers import debates_file, evaluation, labels_file, run_file
from tests.screens import check_messages, check_screen
from tests.terminal import Ended, touche_rad

NAMES = [f"debate-{number:02}" for number in range(24)]
YES, NO = (1, 1, 1, 1), (0, 0, 0, 0)
LABELS = [[YES if (debate + turn) % 3 else NO for turn in range(2)] for debate in range(24)]


def lines_of_run(wrong: int = 0) -> list[Any]:
    """Evaluations that are wrong on the first debates."""
    lines = []
    for at, name in enumerate(NAMES):
        scores = [[1 - label for label in turn] if at < wrong else turn for turn in LABELS[at]]
        lines.append(evaluation(scores, name))
    return lines


@pytest.fixture(autouse=True)
def _write_runs() -> None:
    """Three runs, bad lines, and qrels with a TREC run."""
    labels_file("labels.jsonl", LABELS)
    for name, wrong in {"bad": 15, "good": 1, "twin": 1}.items():
        run_file(f"{name}.jsonl", lines_of_run(wrong))
    lines = lines_of_run(1)
    cut = run_file("cut.jsonl", [*lines[:2], "{", *lines[3:]]).read_bytes()
    Path("byte.jsonl").write_bytes(cut.replace(b"\n{\n", b"\n\xff\n"))
    Path("q.txt").write_text("q1 0 a 1\nq2 0 a 1\n")
    Path("x.run").write_text("q1 Q0 a 1 2.0 t\nq2 Q0 a 1 2.0 t\n")


def score(*words: str, width: int = 80, **checks: Any) -> Ended:
    call = ("score", *words, "--samples", "200", "-q")
    return touche_rad(*call, **checks, env={"COLUMNS": str(width)})


def rows(*words: str) -> dict[str, dict[str, str]]:
    """Return the rows of the CSV file by run."""
    out = score(*words, "--csv", code=None).out
    return {row["run"]: row for row in csv.DictReader(out.splitlines())}


def report(*words: str) -> dict[str, Any]:
    """Return the JSON output."""
    return score(*words, "--json", code=None).json  # type: ignore[no-any-return]


RUNS = ("bad.jsonl", "good.jsonl", "twin.jsonl", "labels.jsonl")


@pytest.mark.parametrize("width", [80, 120])
def test_every_line_fits_the_terminal(width: int) -> None:
    long_name = "a-run-whose-name-is-longer-than-any-table-can-show-of-model-{}.jsonl"
    for number in (1, 2):
        shutil.copy("good.jsonl", long_name.format(number))
    runs = [long_name.format(1), long_name.format(2), *RUNS]
    ended = score(*runs, "--pairs", width=width)
    assert max(map(len, ended.out.splitlines())) <= width
    assert "…" not in ended.out, "no name is cut"


def test_the_screens_of_one_run_and_of_several() -> None:
    check_screen("score.one-run", score("good.jsonl", "labels.jsonl"))
    check_screen("score.several-runs", score(*RUNS, "--pairs", "--baseline", "bad.jsonl"))
    copies = [shutil.copy("bad.jsonl", f"bad{number}.jsonl") for number in range(4)]
    check_screen("score.many-runs", score(*copies, *RUNS))
    run_file("less.jsonl", [*lines_of_run()[:2], {}, *lines_of_run()[3:9]])
    problems = score("less.jsonl", "good.jsonl", "labels.jsonl")
    check_screen("score.problems", problems)


def test_a_missing_line_shifts_no_label_beside_other_runs_and_alone_needs_the_debates() -> None:
    lines = lines_of_run(1)
    run_file("less.jsonl", [*lines[:2], *lines[3:]])
    row = rows("less.jsonl", "good.jsonl", "labels.jsonl")["less"]
    assert row["lost_debates"] == "1"
    assert float(row["mean_f1"]) > 0.9
    ended = score("less.jsonl", "labels.jsonl", code=2)
    for fact in ("less.jsonl: ", "24 lines", "got 23", "--debates FILE"):
        assert fact in ended.err
    debates_file("debates.jsonl", dict.fromkeys(NAMES, 2))
    run_file("bare.jsonl", [evaluation(labels) for labels in LABELS])
    shown = score("bare.jsonl", "less.jsonl", "labels.jsonl").out
    assert "bare has no texts: matched by position" in shown
    assert report("less.jsonl", "labels.jsonl")["matched_by"] == "debates.jsonl"


@pytest.mark.parametrize("name", ["changed", "stranger"])
def test_another_run_is_refused_with_the_place_of_the_difference(name: str) -> None:
    changed = lines_of_run()
    changed[4]["simulation"]["userTurns"][1]["systemResponse"]["utterance"] = "Something else."
    run_file("changed.jsonl", changed)
    run_file("stranger.jsonl", [evaluation([YES, YES], f"{name}!") for name in NAMES])
    debates_file("debates.jsonl", dict.fromkeys(NAMES, 2))
    ended = score(f"{name}.jsonl", "labels.jsonl", code=2)
    check_messages(f"score.{name}", {"score": ended})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("empty.jsonl", "empty"),
        ("arguments.jsonl", "got arguments"),
        ("list.jsonl", "got labels"),
    ],
)
def test_a_run_without_verdicts_is_named_with_its_kind(name: str, kind: str) -> None:
    Path("empty.jsonl").touch()
    Path("list.jsonl").write_text("[]\n")
    Path("arguments.jsonl").write_text('{"id": "1", "text": "x"}\n')
    score(name, "labels.jsonl", code=2, err=kind)


def problems_of(*words: str) -> list[dict[str, Any]]:
    problems: list[dict[str, Any]] = report(*words)["problems"]
    return problems


def test_a_wrong_key_of_a_maxim_is_named_once() -> None:
    text = Path("good.jsonl").read_text()
    Path("typo.jsonl").write_text(text.replace("Quantity", "quantitiy"))
    problems = problems_of("typo.jsonl", "labels.jsonl")
    (unknown,) = [problem for problem in problems if problem["kind"] == "unknown key"]
    assert "'quantitiy'" in unknown["message"]
    assert "'Quantity'" in unknown["message"]
    good = problems_of("good.jsonl", "labels.jsonl")
    assert "unknown key" not in {problem["kind"] for problem in good}


def test_a_bad_run_is_listed_and_the_others_are_scored() -> None:
    Path("broken.jsonl").write_text('{"x\n')
    runs = ("broken.jsonl", "good.jsonl", "none.jsonl", "bad.jsonl", "labels.jsonl")
    ended = score(*runs, code=1)
    errors = [line for line in ended.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 2
    assert "broken.jsonl:1: " in errors[0]
    assert "none.jsonl" in errors[1]
    broken = rows(*runs)["broken"]
    assert broken["rank"] == ""
    assert broken["mean_f1"] == ""
    assert broken["error"] in errors[0]
    result = report(*runs, "--baseline", "none.jsonl")
    assert result["runs"] == ["good", "bad"]
    assert set(result["refused"]) == {"broken", "none"}
    score("broken.jsonl", "none.jsonl", "labels.jsonl", code=2)


@pytest.mark.parametrize(("count", "warns"), [(192, True), (3, True), (0, False)])
def test_a_run_with_fallbacks_is_scored_with_a_warning(count: int, warns: bool) -> None:
    fallbacks = [{"what": "verdicts", "count": count}]
    status = {
        **END_OF_RUN,
        "output": "good.jsonl",
        "counts": {"verdicts": 192},
        "fallbacks": fallbacks,
    }
    Path("good.jsonl.status.json").write_text(json.dumps(status))
    warnings = score(*RUNS).err.splitlines()
    assert "equal files: good.jsonl, twin.jsonl" in warnings.pop(0)
    assert ["good.jsonl" in warning for warning in warnings] == [True] * warns


def test_a_judge_keeps_a_lost_debate_as_noes() -> None:
    debates = [{"simulation": line["simulation"]} for line in lines_of_run()]
    run_file("run.jsonl", [*debates[:2], {}, *debates[3:]])
    touche_rad(
        "judge run.jsonl -j length -o judged.jsonl",
        err="lost debate: 1",
    )
    score("judged.jsonl", "labels.jsonl", "--strict")
    result = report("judged.jsonl", "labels.jsonl")
    assert result["lost"] == {"judged": 1}
    assert result["official"] is True


def test_names_of_files_are_no_formulas_and_no_columns() -> None:
    name = "=1+1|x\x1b[31m\nerror: y.jsonl"
    shutil.copy("good.jsonl", name)
    runs = (f"./{name}", *RUNS)
    table = rows(*runs)
    assert any(name.startswith("'=1+1|x") for name in table)
    assert {row["rank"] for row in table.values()} == {"1", "", "4"}
    ended = score(*runs)
    assert "equal files: =1+1|x error: y.jsonl, " in ended.err
    assert "\x1b" not in ended.out + ended.err


@pytest.mark.parametrize(
    "words",
    [
        (*RUNS, "--json", "--csv"),
        (*RUNS, "--strict", "--debates", "good.jsonl"),
        ("x.run", "q.txt", "--strict"),
    ],
)
def test_options_that_do_not_fit_are_refused(words: tuple[str, ...]) -> None:
    ended = score(*words, code=2)
    assert any(word in ended.err for word in words if word.startswith("--"))


def test_the_screen_of_retrieval() -> None:
    Path("y.run").write_text("q1 Q0 b 1 2.0 t\nq1 Q0 a 2 1.0 t\nq2 Q0 b 1 2.0 t\n")
    check_screen("score.retrieval", score("x.run", "y.run", "q.txt", "--pairs"))


def test_bad_lines_are_refused_with_the_command_that_repairs_them() -> None:
    shutil.copy("cut.jsonl", "-$(cut).jsonl")
    ended = score("byte.jsonl", "cut.jsonl", "./-$(cut).jsonl", "labels.jsonl", code=2)
    byte, cut, other = ended.err.splitlines()
    assert "byte.jsonl:3: " in byte
    assert "cut.jsonl:3: " in cut
    assert "check cut.jsonl says how to repair it (" in cut
    assert "check './-$(cut).jsonl' says how to repair it (" in other


def test_skip_bad_keeps_the_places() -> None:
    ended = score("byte.jsonl", "labels.jsonl", "--skip-bad", "--json")
    result = ended.json
    assert result["lost"] == {"byte": 1}
    assert result["rows"][0]["f1"] > 0.9


@pytest.mark.parametrize("options", [(), ("--strict",)])
@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("x.jsonl", "hello\n", "x.jsonl:1: "),
        ("x.status.json", "{\n}\n", "x.status.json:1: "),
        ("claims.tsv", "TOPIC_DESCRIPTION\n" * 11, "claims.tsv: "),
    ],
)
def test_what_is_no_run_is_not_repaired(
    name: str, text: str, place: str, options: tuple[str, ...]
) -> None:
    Path(name).write_text(text)
    ended = score(name, "labels.jsonl", *options, code=2, err=place)
    assert "--fix" not in ended.err


def test_skipped_lines_of_refused_runs_are_not_counted() -> None:
    Path("claims.tsv").write_text("TOPIC_DESCRIPTION\n" * 11)
    score(
        "claims.tsv",
        "byte.jsonl",
        "labels.jsonl",
        "--skip-bad",
        code=1,
        err="byte.jsonl:3: ",
    )


def test_skip_bad_skips_lines_of_a_trec_run() -> None:
    Path("x.run").write_text("q1 Q0 a 1 2.0 t\nbroken\nq2 Q0 a 1 2.0 t\n")
    score("x.run", "q.txt", "--skip-bad", "--json", err="x.run:2: ")


def test_skip_bad_never_skips_lines_of_the_truth() -> None:
    labels = Path("labels.jsonl").read_text().splitlines()
    write_lines("odd.jsonl", [*labels[:2], '{"x', *labels[3:]])
    Path("odd.txt").write_text("q1 0 a 1\nbroken\nq2 0 a 1\n")
    for run, truth in (("good.jsonl", "odd.jsonl"), ("x.run", "odd.txt")):
        score(run, truth, "--skip-bad", code=2, err=truth)


def test_only_debates_with_labels_make_ranks_and_intervals_sure() -> None:
    nothing = (None,) * 4
    labels_file("labels.jsonl", [*LABELS[:5], *[[nothing, nothing]] * 19])
    runs = ("good.jsonl", "bad.jsonl", "labels.jsonl")
    score(*runs, out="labels.jsonl: 5 of 24 debates have labels, 10 labelled turns")
    scored = report(*runs)
    assert (scored["debates"], scored["turns"]) == (5, 10)
    assert {row["rank"] for row in scored["ranking"]} == {None}
    assert {row["low"] for row in scored["rows"]} == {None}
