"""A run is checked before it is uploaded: what is wrong is told by file and line."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cases import with_cases
from tests.demo import CLAIMS, DEBATES, LABELS
from tests.records import END_OF_RUN, change_parts, copy_lines, read_records, write_records
from tests.score.makers import run_file, simulations_file
from tests.screens import check_screen
from tests.terminal import touche_rad


@pytest.mark.parametrize("name", ["simulations", "evaluations", "responses"])
def test_our_own_output_is_valid(runs: Path, demo_index_path: Path, name: str) -> None:
    ended = touche_rad("check", runs / f"{name}.jsonl", "-i", demo_index_path)
    lines = len((runs / f"{name}.jsonl").read_text().splitlines())
    verdict = "valid, but not a file to upload" if name == "responses" else "valid"
    record = check_record(runs / f"{name}.jsonl")
    counts = [20, 60] if name == "responses" else [10, 20]
    assert [record["debates"], record["turns"]] == counts
    first, *rest = ended.out.splitlines()
    assert first == f"{runs / name}.jsonl: {name}, {lines} lines: {verdict}"
    assert not [line for line in rest if line.startswith("fault")]
    assert touche_rad("check --quiet", runs / f"{name}.jsonl").out == ""


def test_a_run_has_the_order_of_its_input(runs: Path) -> None:
    reordered = run_file("reordered", read_records(runs / "simulations.jsonl")[::-1])
    claim = CLAIMS.read_text().splitlines()[-1].split("\t")[0]
    ((line, message),) = findings(reordered, "--input", CLAIMS)
    assert line == 1
    assert message.startswith("10 of 10 debates")
    assert f"“{claim}” is debate 10 there" in message


def test_a_run_on_other_debates_has_one_finding(runs: Path) -> None:
    run, source = runs / "simulations.jsonl", Path("source")
    source.write_text(run.read_text().replace('"description": "', '"description": "Not '))
    ((line, message),) = findings(run, "--input", source)
    assert line is None
    assert str(source) in message


def test_a_lost_line_keeps_the_place_of_the_others(runs: Path) -> None:
    rows = read_records(runs / "simulations.jsonl")
    rows[5:7] = [{}, "nonsense"]
    run = run_file("run.jsonl", rows)
    assert [line for line, _ in findings(run, "--input", CLAIMS)] == [6, 7]


def test_the_screen_of_a_damaged_run(runs: Path) -> None:
    rows = read_records(runs / "simulations.jsonl")
    run_file("good.jsonl", rows)
    for row in rows[:5]:
        answer = row["simulation"]["userTurns"][1]["systemResponse"]
        answer["utterance"] = answer["response"]["content"] = "word " * 61
    rows[5:9] = [{}, "nonsense"]
    run_file("run.jsonl", rows)
    shutil.copy(CLAIMS, "claims.tsv")
    command = ("check", "run.jsonl", "good.jsonl", "--input", "claims.tsv", "-i", "demo")
    check_screen("check.damaged", touche_rad(*command, code=1))


def test_labels_are_no_run_but_have_lines() -> None:
    touche_rad("check", LABELS, code=1, out="labels, 20 lines: not valid\n")


@pytest.mark.parametrize("line", ["{}", '{"simulation": '])
def test_verdicts_on_a_lost_debate_are_a_warning(runs: Path, line: str) -> None:
    lines = (runs / "simulations.jsonl").read_text().splitlines()
    run = run_file("run.jsonl", [*lines[:2], line, *lines[3:]])
    judged = "judged.jsonl"
    touche_rad("judge --skip-bad", run, "-o", judged)
    touche_rad("check", judged, "--input", run, out="judged.jsonl:3: lost in the debates that were")
    record = check_record(judged, "--input", run)
    assert record["good"]
    assert [finding["line"] for finding in record["findings"] if finding["line"]] == [3]
    assert (record["debates"], record["lost"]) == (9, 1)
    touche_rad("check", judged, "--input", runs / "simulations.jsonl", code=1, out="the input has")
    copy_lines(judged, judged, 9)
    again = " -o run.new.jsonl\n  touche-rad judge run.new.jsonl --skip-bad -o judged.new.jsonl"
    touche_rad("check", judged, "--input", CLAIMS, code=1, out=again)


def check_record(*words: str | Path) -> dict[str, Any]:
    """Return the JSON output of `check` on a run."""
    (record,) = touche_rad("check --json", *words, code=None).json
    result: dict[str, Any] = record
    return result


def findings(*words: str | Path) -> list[tuple[int | None, str]]:
    """Return line and message of what is wrong with a run."""
    record = check_record(*words)
    assert record["verdict"] == "not valid"
    return [(finding["line"], finding["message"]) for finding in record["findings"]]


@pytest.fixture(params=[True, False])
def lines(runs: Path, request: pytest.FixtureRequest) -> list[str]:
    """The lines of a run, with ids and without."""
    result = []
    for at, row in enumerate(read_records(runs / "simulations.jsonl")):
        name = {"id": f"d{at}"} if request.param else {}
        result.append(json.dumps(row | name) + "\n")
    return result


CLAIM_LINES = CLAIMS.read_text().splitlines(True)
"""The heads, and ten claims."""


def test_a_debate_that_is_there_twice_is_named(lines: list[str]) -> None:
    run, source = Path("run"), Path("source")
    run.write_text("".join([*lines[:4], *lines[3:]]))
    twice = [(5, "line 5 repeats line 4")]
    unsure = "line 5 repeats line 4, which is right only if the input has it twice: --input"
    assert findings(run) == [(5, unsure)]
    assert findings(run, "--input", CLAIMS)[1:] == twice
    source.write_text("".join([*CLAIM_LINES[:5], *CLAIM_LINES[4:]]))
    touche_rad("check", run, code=1, out="a debate is given twice")
    touche_rad("check", run, "--input", source)  # the input has it twice, too
    source.write_text(f"{CLAIM_LINES[0]}Cats purr.\tbase\n")
    touche_rad("check", run, "--input", source, code=1, out="of its 11: check --input")


def test_recorded_debates_may_be_the_claims_of_a_judged_run(runs: Path) -> None:
    """A simulated user takes their claims only."""
    messages = [{"role": "user", "content": "U."}, {"role": "assistant", "content": "S."}]
    recorded = [
        {"id": str(at), "claim": line.split("\t")[0], "simulated_debate": messages}
        for at, line in enumerate(CLAIM_LINES[1:])
    ]
    source = write_records("recorded.jsonl", *recorded)
    lines = (runs / "evaluations.jsonl").read_text().splitlines(True)
    run = Path("run.jsonl")
    run.write_text("".join(lines))
    touche_rad("check", run, "--input", source, out="evaluations, 10 lines: valid\n")
    run.write_text("".join(lines[1:]))
    lacking = touche_rad("check", run, "--input", source, code=1, out="a debate is missing")
    assert f"judge {source}" not in lacking.out


def test_a_missing_debate_is_named(lines: list[str]) -> None:
    run = Path("run")
    claim = CLAIM_LINES[4].split("\t")[0]
    for others in (lines[4:], [lines[4], *lines[4:]], lines[:3:-1]):
        run.write_text("".join([*lines[:3], *others]))
        messages = [message for _, message in findings(run, "--input", CLAIMS)]
        assert f"no debate on “{claim}”" in messages
    assert "6 of 9 debates are not in the order" in " ".join(messages)
    run.write_text("".join([*lines[:3], "{}\n", *lines[5:]]))
    groups = check_record(run, "--input", CLAIMS)["groups"]
    touche_rad(
        "check", run, "--input", CLAIMS, code=1, out="run: 9 lines (8 debates, 1 lost), and "
    )
    assert {"kind": "a debate is missing", "level": "fault", "count": 1} in groups


def test_an_additional_debate_is_named(lines: list[str]) -> None:
    run, source = Path("run"), Path("source")
    run.write_text("".join(lines))
    source.write_text("".join([*CLAIM_LINES[:4], *CLAIM_LINES[5:]]))
    ((line, message),) = findings(run, "--input", source)[1:]
    assert line == 4
    assert CLAIM_LINES[4].split("\t")[0] in message


def test_half_a_gzip_counts_the_lines_that_were_read(runs: Path) -> None:
    packed = gzip.compress((runs / "evaluations.jsonl").read_bytes())
    run = Path("run.jsonl.gz")
    run.write_bytes(packed[: len(packed) * 9 // 10])
    record = check_record(run)
    (finding,) = record["findings"]
    assert record["debates"] == finding["line"] - 1
    assert record["lost"] == 0


def test_responses_are_compared_with_their_input(runs: Path) -> None:
    rows = read_records(runs / "responses.jsonl")
    source = DEBATES
    touche_rad("check", runs / "responses.jsonl", "--input", source)
    rows[5]["messages"][0]["content"] = "Zoos?"
    run = run_file("run", [*rows[7:9], *rows[1:7], *rows[9:]])
    touche_rad("judge -o judged", run, code=2, err=":8: expected the lines of ")
    kinds = check_record(run, "--input", source)["groups"]
    assert {group["kind"]: group["count"] for group in kinds if group["level"] == "fault"} == {
        "the number of responses is not the input's": 1,
        "a response is additional": 1,
        "a response is missing": 2,
        "the order is not the input's": 1,
    }


def test_verdicts_on_other_responses_are_a_fault(runs: Path) -> None:
    rows = read_records(runs / "simulations.jsonl")
    answer = "simulation.userTurns.1.systemResponse.response"
    change_parts(rows[2], {"simulation.userTurns.1.utterance": "Why?"})
    change_parts(rows[4], {f"{answer}.arguments": []})
    change_parts(rows[6], {f"{answer}.arguments.0.score": 0.5})
    source = run_file("source.jsonl", rows)
    record = check_record(runs / "evaluations.jsonl", "--input", source)
    assert [(found["line"], found["level"], found["kind"]) for found in record["findings"]] == [
        (3, "fault", "the responses are not the input's"),
        (5, "warning", "the citations are not the input's"),
    ]
    words = ("check", runs / "evaluations.jsonl", "--input", source)
    touche_rad(
        *words,
        code=1,
        out="If --input is right, the run was made on another input: make it again:\n",
    )
    warned = check_record(runs / "simulations.jsonl", "--input", source)["findings"]
    assert [warning["line"] for warning in warned if "user's" in warning["kind"]] == [3]


@with_cases(("kind", "changes", "level", "message"), "score/faults_and_warnings.json")
def test_each_fault_and_warning_is_reported_with_its_line(
    runs: Path, demo_index_path: Path, kind: str, changes: dict[str, Any], level: str, message: str
) -> None:
    is_fault = level == "fault"
    rows = read_records(runs / f"{kind}.jsonl")
    change_parts(rows[3], changes)
    wrong = run_file("wrong.jsonl", rows)
    touche_rad("check", wrong, "-i", demo_index_path, code=is_fault, out=f"    {wrong}:4: ")
    record = check_record(wrong, "-i", demo_index_path)
    assert record["good"] != is_fault
    (finding,) = [finding for finding in record["findings"] if finding["level"] == level]
    assert finding["line"] == 4
    assert message in f"{finding['kind']}: {finding['message']}"


@with_cases(("explanation", "fallback", "warns"), "score/a_fallback_score_is_a_warning.json")
def test_a_fallback_score_is_a_warning(
    runs: Path, explanation: str, fallback: Any, warns: bool
) -> None:
    rows = read_records(runs / "evaluations.jsonl")
    verdict = rows[0]["userTurnsEvaluations"][1]["Manner"]
    verdict |= {"score": 1.0, "explanation": explanation}
    if fallback is not None:
        verdict["fallback"] = fallback
    run = run_file("run.jsonl", rows)
    result = check_record(run)
    assert result["good"]
    warnings = [finding for finding in result["findings"] if "fallback" in finding["kind"]]
    places = [warning["message"].split(" has ")[0] for warning in warnings]
    assert places == ["turn 2: Manner"] * warns


def test_judge_writes_the_configuration_that_tira_wants(runs: Path) -> None:
    rows = read_records(runs / "simulations.jsonl")
    for row in rows:
        del row["simulation"]["configuration"]
    out = "judged.jsonl"
    touche_rad("judge -j length", run_file("converted.jsonl", rows), "-o", out)
    judged = read_records(out)
    assert [row["simulation"].pop("configuration") for row in judged] == [{}] * len(rows)
    assert check_record(out)["findings"] == []
    record = check_record(run_file("without.jsonl", judged))
    assert record["good"]
    assert record["groups"][0]["kind"] == "the configuration is missing"
    assert record["groups"][0]["level"] == "warning"


def test_an_argument_that_is_cited_twice_is_a_warning(runs: Path) -> None:
    rows = read_records(runs / "simulations.jsonl")
    response = rows[3]["simulation"]["userTurns"][1]["systemResponse"]["response"]
    response["arguments"] *= 2
    (finding,) = check_record(run_file("wrong.jsonl", rows))["findings"]
    assert finding["line"] == 4
    assert finding["kind"] == "an argument is cited twice"


@pytest.mark.parametrize(
    ("text", "line"), [("", None), ("{", 1), ('[{"simulation": {}}]\n', 1), ("{}\n{}\n", 1)]
)
def test_a_file_that_is_no_run_is_reported(text: str, line: int | None) -> None:
    path = Path("x.jsonl")
    path.write_text(text)
    assert "judge" not in touche_rad("check", path, "--input", CLAIMS, code=1).out
    record = check_record(path)
    (finding,) = record["findings"]
    assert finding["line"] == line
    assert finding["level"] == "fault"
    assert record["lines"] == record["lost"] == len(text.splitlines())


def test_a_run_that_does_not_exist_is_another_exit_code(runs: Path) -> None:
    touche_rad("check none", runs / "simulations.jsonl", code=2, out="none: ")


def test_the_only_run_in_a_folder_is_checked(runs: Path, tmp_path: Path) -> None:
    Path("status.json").write_text("{}")
    touche_rad("check", tmp_path, code=1, out="found none")
    shutil.copy(runs / "simulations.jsonl", tmp_path)
    touche_rad("check", tmp_path, out=f"{tmp_path}/simulations.jsonl: ")
    touche_rad("check --fix", tmp_path, "-o", runs / "fixed.jsonl")
    Path("two.jsonl").touch()
    ended = touche_rad("check", tmp_path, code=1, out="simulations.jsonl and two.jsonl")
    assert f"touche-rad check {tmp_path}/*.jsonl" in ended.out
    touche_rad("check --fix", tmp_path, "-o", runs / "no.jsonl", code=2, err="one run file")


def test_of_debates_on_one_claim_a_line_has_the_one_with_its_words(runs: Path) -> None:
    rows = read_records(runs / "evaluations.jsonl")
    for row in rows:
        row["simulation"]["configuration"]["topic"]["description"] = "Zoos."
    simulations_file("pool.jsonl", rows)
    rows[2]["userTurnsEvaluations"][0]["Quality"]["score"] = "0.7"
    run_file("run.jsonl", rows[::-1])
    (checked,) = touche_rad("check run.jsonl --input pool.jsonl --json", code=1).json
    kinds = [issue["kind"] for issue in checked["findings"]]
    assert kinds == ["the order is not the input's", "a line has a text as score, not a number"]


@pytest.mark.parametrize(
    "beside",
    ["simulations.jsonl.status.json", "status.json", "earlier.status.json", "copied.status.json"],
)
@with_cases(("fields", "code", "message"), "score/statuses_beside_runs.json")
def test_the_status_beside_a_run_says_whether_it_is_fit(
    runs: Path, fields: dict[str, Any], code: int, message: str, beside: str
) -> None:
    run = Path(shutil.copy(runs / "simulations.jsonl", "."))
    status = {**END_OF_RUN, "output": "/elsewhere/simulations.jsonl", **fields}
    is_renamed = beside.startswith(("earlier", "copied"))
    if is_renamed and "output" not in fields:
        digest = hashlib.sha256(run.read_bytes()).hexdigest()
        status |= {"output": "earlier name.jsonl", "sha256": digest}
    Path(beside.replace("copied", run.name)).write_text(json.dumps(status))
    touche_rad("check", run, code=code, out=message)
    if is_renamed:
        return
    run.write_text((runs / "simulations.jsonl").read_text() + "{}\n")
    verdict = f": not valid; {message}" if code else ": not valid"
    touche_rad("check", run, code=1, out=verdict)


@pytest.mark.parametrize("fields", [{"demn": True}, {"version": "x" * 9_000_000}])
def test_a_status_with_a_damaged_key_or_of_many_megabytes_is_not_read(
    runs: Path, fields: dict[str, Any]
) -> None:
    run = Path(shutil.copy(runs / "simulations.jsonl", "."))
    status = {**END_OF_RUN, "output": run.name, **fields}
    Path(f"{run}.status.json").write_text(json.dumps(status))
    touche_rad("check", run, out="warning      1  the status beside it cannot be read: damaged")


def test_a_folder_as_input_is_refused_with_its_files(runs: Path) -> None:
    shutil.copy(CLAIMS, "claims.tsv")
    touche_rad(
        "check --input .",
        runs / "simulations.jsonl",
        code=2,
        err="a file of the folder: claims.tsv\n",
    )


def test_answers_that_were_cut_are_counted(demo_index_path: Path) -> None:
    words = "respond --max-words 10 -d verbatim -o short.jsonl -q"
    touche_rad(words, DEBATES, "-i", demo_index_path)
    (result,) = touche_rad("check short.jsonl --json", code=None).json
    counts = {group["kind"]: group["count"] for group in result["groups"]}
    assert counts["answer cut"] > 10
    answers = read_records("short.jsonl")
    for issue in result["findings"]:
        if issue["kind"] == "answer cut":
            turn = answers[issue["line"] - 1]["turn"] + 1
            assert issue["message"].startswith(f"turn {turn}: ")
