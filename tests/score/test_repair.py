"""`check --fix` repairs a run without changing an utterance, and the repaired run passes the check."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cases import with_cases
from tests.demo import CLAIMS
from tests.records import (
    END_OF_RUN,
    change_parts,
    copy_lines,
    read_records,
    read_status,
    write_lines,
)
from tests.score.makers import NO, YES, labels_file, run_file
from tests.terminal import touche_rad
from touche_rad.criteria import grice

OUT = "new.jsonl"
Row = dict[str, Any]
Rows = list[Any]


def utterances(rows: Rows) -> set[tuple[str, ...]]:
    """Return the utterances of user and system, by debate."""
    result = set()
    for row in filter(None, rows):
        texts: list[str] = []
        for turn in row["simulation"]["userTurns"]:
            texts += [turn["utterance"], turn["systemResponse"]["utterance"]]
        result.add(tuple(texts))
    return result


def body(row: Row) -> Row:
    record: Row = row["simulation"]["userTurns"][0]["systemResponse"]["response"]
    return record


def verdicts(row: Row) -> Row:
    turn: Row = row["userTurnsEvaluations"][1]
    return turn


def changed_lines(before: Rows, after: Rows) -> list[int]:
    return [at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]


@with_cases(("kind", "changes"), "score/defects_to_repair.json")
def test_a_defect_is_repaired(
    runs: Path, demo_index_path: Path, kind: str, changes: dict[str, Any]
) -> None:
    source = CLAIMS if kind == "simulations" else runs / "simulations.jsonl"
    good = read_records(runs / f"{kind}.jsonl")
    rows = copy.deepcopy(good)
    change_parts(rows[3], changes)
    wrong = run_file("wrong.jsonl", rows)
    before = wrong.read_bytes()
    options = ("--input", source, "-i", demo_index_path)
    touche_rad("check --fix", wrong, *options, "-o", OUT, out="repaired     ")
    repaired = touche_rad("check", OUT, *options).out
    advice = touche_rad("check", wrong, *options, code=None).out
    assert ("valid, too, but each" in advice) == ("by --fix" in repaired), "a verdict was missing"
    assert wrong.read_bytes() == before
    result = read_records(OUT)
    assert utterances(result) == utterances(good)
    assert changed_lines(good, result) in ([], [3])
    if not any(path.endswith(("arguments", "response")) for path in changes):
        assert body(result[3])["arguments"] == body(good[3])["arguments"]


def test_a_null_is_left_out_of_the_citations(runs: Path) -> None:
    rows = read_records(runs / "simulations.jsonl")
    body(rows[3])["arguments"].append(None)
    touche_rad("check --fix", run_file("wrong.jsonl", rows), "-o", OUT, out="repaired     ")
    assert read_records(OUT) == read_records(runs / "simulations.jsonl")


def test_a_misspelt_key_of_a_maxim_keeps_its_verdict(runs: Path) -> None:
    rows = read_records(runs / "evaluations.jsonl")
    turn = verdicts(rows[3])
    turn["quality"] = turn.pop("Quality")
    touche_rad("check --fix", run_file("wrong.jsonl", rows), "-o", OUT, out="repaired     ")
    assert read_records(OUT) == read_records(runs / "evaluations.jsonl")


def test_a_missing_verdict_is_marked_as_a_fallback(runs: Path) -> None:
    rows = read_records(runs / "evaluations.jsonl")
    verdicts(rows[3])["Quality"] = {"score": None, "explanation": "", "milliseconds": 7}
    wrong = run_file("wrong.jsonl", rows)
    touche_rad("check --fix", wrong, "-o", OUT, out="warning      1  a verdict is missing")
    quality = verdicts(read_records(OUT)[3])["Quality"]
    assert quality.pop("explanation") == quality.pop("fallback") != ""
    assert quality == {"score": 0, "milliseconds": 7}


def test_what_needs_a_new_answer_is_not_repaired(runs: Path, demo_index_path: Path) -> None:
    rows = read_records(runs / "simulations.jsonl")
    answer = rows[0]["simulation"]["userTurns"][0]["systemResponse"]
    answer["utterance"] = answer["response"]["content"] = "word " * 70
    rows[1] = {}
    body(rows[2])["arguments"] = [{"id": "nobody's"}]
    wrong = run_file("wrong.jsonl", rows)
    with wrong.open("a") as file:
        file.write('{"simulation": \n')
    ended = touche_rad("check --fix --json", wrong, "-i", demo_index_path, "-o", OUT, code=1)
    (record,) = ended.json
    assert list(record["repaired"].values()) == [1]
    faults = {finding["line"] for finding in record["findings"] if finding["level"] == "fault"}
    assert faults == {1, 2, 3, 11}
    result = read_records(OUT)
    assert result[1] == {}
    assert result[10] == {}
    assert result[3] == rows[3]
    assert body(result[0])["content"] == "word " * 70


def test_no_repair_is_offered_that_mends_no_fault(runs: Path) -> None:
    rows = read_records(runs / "simulations.jsonl")
    answer = rows[0]["simulation"]["userTurns"][0]["systemResponse"]
    answer["utterance"] = answer["response"]["content"] = None
    wrong = run_file("wrong.jsonl", rows)
    assert "--fix" not in touche_rad("check", wrong, code=1).out


@pytest.fixture
def named_rows(runs: Path) -> Rows:
    """Simulations with an id each."""
    return [
        row | {"id": f"d{at}"} for at, row in enumerate(read_records(runs / "simulations.jsonl"))
    ]


def test_a_debate_that_is_there_twice_stays_so(named_rows: Rows) -> None:
    run = run_file("run.jsonl", [*named_rows, named_rows[0]])
    touche_rad("check --fix", run, "-o", OUT, code=1, err="this is a copy", out="line 11 ")
    assert read_records(OUT) == read_records(run)


def test_an_id_of_two_debates_is_changed(named_rows: Rows) -> None:
    for row in named_rows[1:3]:
        row["id"] = "d0"
    run = run_file("run.jsonl", named_rows)
    touche_rad("check --fix", run, "-o", OUT)
    assert [row["id"] for row in read_records(OUT)[:4]] == ["d0", "d0-2", "d0-3", "d3"]


def test_an_unfit_run_stays_unfit(named_rows: Rows) -> None:
    run = run_file("run.jsonl", [*named_rows, named_rows[1] | {"id": 1}])
    status = {**END_OF_RUN, "output": "run.jsonl", "demo": True}
    run.with_name("run.jsonl.status.json").write_text(json.dumps(status))
    for words in (("check", run, "--fix", "-o", OUT), ("check", OUT)):
        touche_rad(*words, code=1, out="demo index")


@pytest.mark.parametrize("name", ["judged.jsonl", "renamed.jsonl"])
def test_a_changed_run_and_its_repair_keep_only_the_command_of_the_status(
    runs: Path, name: str, demo_index_path: Path
) -> None:
    touche_rad("judge -i demo -o judged.jsonl", runs / "simulations.jsonl")
    run = Path("judged.jsonl").rename(name)
    Path("judged.jsonl.status.json").rename(f"{name}.status.json")
    touche_rad(f"check {name} --fix -o same.jsonl", err="this is a copy")
    assert read_status("same.jsonl")["identity"]["judge"] == "grounded"
    Path("bare").mkdir()
    shutil.copy(run, "bare/run.jsonl")
    touche_rad("check bare/run.jsonl --fix -o equal.jsonl")
    copy_lines(run, run, 9)
    warning = "the run was changed after it was written, or the status beside it is of another run"
    touche_rad("check", run, out=f"warning      1  {warning}\n    {run}: fallbacks are unknown")
    touche_rad("score", run, err=warning)
    # A copy in another folder is as much changed, and the same command made it.
    touche_rad(f"check {name} --fix -o bare/fixed.jsonl", out=warning)
    again = f"touche-rad judge {runs / 'simulations.jsonl'} -i "
    write_lines(Path("bare/fixed.jsonl"), ["{}"])
    touche_rad("check bare/fixed.jsonl", code=1, out=f"{again}demo -o bare/fixed.new.jsonl")
    # The folder of the index may be another one there.
    touche_rad(
        "check bare/fixed.jsonl -i", demo_index_path, code=1, out=f"{again}{demo_index_path}"
    )


def test_a_repair_follows_no_link_to_a_status(runs: Path) -> None:
    touche_rad("judge -o away/judged.jsonl", runs / "simulations.jsonl")
    shutil.copy("away/judged.jsonl", "run.jsonl")
    copy_lines(Path("run.jsonl"), Path("run.jsonl"), 9)
    Path("run.jsonl.status.json").symlink_to("away/judged.jsonl.status.json")
    touche_rad("check run.jsonl --fix -o fixed.jsonl")
    assert not Path("fixed.jsonl.status.json").exists()


DAMAGES: dict[str, Callable[[Rows], Any]] = {
    "a record is lost": lambda rows: rows[3].clear(),
    "a line is missing": lambda rows: rows.pop(3),
    "a line cannot be read": lambda rows: rows.__setitem__(3, "nonsense"),
    "a line has a misspelt key": lambda rows: rows[3].update(simulation={"userTurn": []}),
    "the order is another": lambda rows: rows.reverse(),
    "an empty line": lambda rows: rows.insert(3, ""),
    "a debate is there twice": lambda rows: rows.insert(5, rows[2]),
}


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("kind", ["simulations", "evaluations"])
def test_a_run_is_repaired_with_its_input(runs: Path, name: str, kind: str) -> None:
    good = read_records(runs / f"{kind}.jsonl")
    rows = copy.deepcopy(good)
    DAMAGES[name](rows)
    wrong = run_file("wrong.jsonl", rows)
    is_played = kind == "simulations"
    source = CLAIMS if is_played else runs / "simulations.jsonl"
    words = ("check", wrong, "--input", source)
    is_lost = name.startswith("a line") or name == "a record is lost"
    ended = touche_rad(*words, "--fix", "-o", OUT, code=is_played and is_lost)
    assert ("on its line of the input" in ended.out) == (name == "the order is another")
    assert ("a lost debate added" in ended.out) == (name == "a line is missing")
    result = read_records(OUT)
    assert changed_lines(good, result) == [3] * is_lost
    is_seen = is_lost and len(rows) == len(good)  # also without the input
    if name == "a debate is there twice" or (is_seen and not is_played):
        heading = "a no" if is_seen else "repair it"
        touche_rad("check", wrong, code=1, out=f"{heading}:\n  touche-rad check wrong.jsonl ")
    if is_played:
        advice = touche_rad(*words, code=1).out
        assert ("--fix" in advice) == (name != "a record is lost")
        assert ("To make it valid, make it again (" in advice) == is_lost
        assert ("the debate is lost" in ended.out) == is_lost == ({} in result)
    else:
        played = read_records(source)
        DAMAGES[name](played)
        run_file("JUDGED_DEBATES", played)
        advice = touche_rad("check --input", CLAIMS, wrong, code=1).out
        assert "A repair alone does not" not in advice
        for line in advice.splitlines():
            if line.startswith("  touche-rad"):
                touche_rad(line.removeprefix("  touche-rad"), code=None)
        touche_rad("check wrong.fixed.jsonl --input", CLAIMS)
        assert f"judge {CLAIMS}" not in advice
    if name == "a line cannot be read":
        touche_rad("judge -o judged", wrong, code=2, err=f"; touche-rad check {wrong} says")
    if is_lost and not is_played:
        assert verdicts(result[3])["Manner"]["score"] == 0


WITHOUT_VERDICT: dict[str, Callable[[Rows], Any]] = {
    **{name: DAMAGES[name] for name in ("a record is lost", "a line is missing")},
    "a list is empty": lambda rows: rows[3].update(userTurnsEvaluations=[]),
    "all scores are null": lambda rows: rows[3].update(
        userTurnsEvaluations=[{name: {"score": None} for name in grice().names}] * 2
    ),
}


@pytest.mark.parametrize("name", WITHOUT_VERDICT)
def test_a_repaired_run_has_the_scores_of_the_damaged_one(runs: Path, name: str) -> None:
    rows = read_records(runs / "evaluations.jsonl")
    labels = labels_file("labels.jsonl", [[YES, NO]] * len(rows))
    WITHOUT_VERDICT[name](rows)
    simulations = runs / "simulations.jsonl"
    folders = [Path("damaged"), Path("fixed")]
    for folder in folders:
        folder.mkdir()
    wrong, fixed = (folder / "run.jsonl" for folder in folders)
    touche_rad("check --fix", run_file(wrong, rows), "--input", simulations, "-o", fixed)
    for words in ([], [labels]):
        before, after = (
            touche_rad("score --json --debates", simulations, run, *words).json
            for run in (wrong, fixed)
        )
        assert before["rows"] == after["rows"]
        assert before.get("debates") == after.get("debates")
    assert before["lost"] == after["lost"] == {"run": 1}
    count = "(9 debates, 1 lost): valid\nwarning      1  the debate is lost\n"
    touche_rad("check", fixed, "--input", simulations, out=count)


def test_valid_verdicts_on_a_lost_debate_are_not_repaired(runs: Path) -> None:
    rows = read_records(runs / "simulations.jsonl")
    played = run_file("played.jsonl", [*rows[:2], {}])
    touche_rad("judge -o judged.jsonl", played)
    ended = touche_rad("check judged.jsonl --fix -o same.jsonl --input", played)
    assert "nothing was repaired: this is a copy" in ended.err
    assert Path("same.jsonl").read_bytes() == Path("judged.jsonl").read_bytes()


def test_a_debate_of_an_empty_line_of_the_parameter_file_is_left_out(runs: Path) -> None:
    good = read_records(runs / "simulations.jsonl")
    empty = copy.deepcopy(good[0])
    empty["simulation"]["configuration"]["topic"]["description"] = ""
    wrong = run_file("wrong.jsonl", [*good, empty])
    words = ("check", wrong, "--input", CLAIMS)
    touche_rad(*words, code=1, out=":11: a debate without a claim: the parameter file has an")
    touche_rad(*words, "--fix", "-o", OUT)
    assert read_records(OUT) == good
    # It may be the debate on the claim that no other line has.
    run_file(wrong, [*good[1:], empty, empty])
    touche_rad(*words, "--fix", "-o", "same.jsonl", code=1, err="this is a copy")


@pytest.mark.parametrize("options", [("--fix",), ("-o", "new.jsonl"), ("--fix", "-o", "run.jsonl")])
def test_the_repaired_run_never_replaces_a_file(runs: Path, options: tuple[str, ...]) -> None:
    run = run_file("run.jsonl", read_records(runs / "simulations.jsonl"))
    before = run.read_bytes()
    ended = touche_rad("check run.jsonl", *options, code=2)
    assert len(ended.err.splitlines()) == 1
    assert run.read_bytes() == before
    assert not Path("new.jsonl").exists()
