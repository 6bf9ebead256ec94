"""A run is checked before it is uploaded: what is wrong is told by file and line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.terminal import touche_rad
from touche_rad.demo import demo_file
from touche_rad.files.records import short_repr

CLAIMS = demo_file("claims.tsv")
Change = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize("name", ["simulations", "evaluations", "responses"])
def test_our_own_output_is_valid(runs: Path, demo_index_path: Path, name: str) -> None:
    ended = touche_rad("check", runs / f"{name}.jsonl", "-i", demo_index_path)
    lines = len((runs / f"{name}.jsonl").read_text().splitlines())
    verdict = "valid, but not a file to upload" if name == "responses" else "valid"
    first, *rest = ended.out.splitlines()
    assert ended.code == 0
    assert first == f"{runs / name}.jsonl: {name}, {lines} lines: {verdict}"
    assert not [line for line in rest if line.startswith("fault")]
    assert touche_rad("check", runs / f"{name}.jsonl", "--quiet").out == ""


def test_a_whole_run_is_compared_with_its_input(runs: Path, tmp_path: Path) -> None:
    run = runs / "simulations.jsonl"
    assert touche_rad("check", run, "--input", CLAIMS).code == 0
    ended = touche_rad("check", run, "--input", demo_file("debates.jsonl"))
    assert ended.code == 1
    assert f"{run}: 10 debates, and {demo_file('debates.jsonl')} has 20" in ended.out
    other = tmp_path / "other"
    other.write_text("".join(run.read_text().splitlines(True)[::-1]))
    claim = repr(CLAIMS.read_text().splitlines()[1].split("\t")[0])[:37]
    assert f":1: {CLAIMS} has {claim}" in touche_rad("check", other, "--input", CLAIMS).out
    other.write_text(run.read_text().replace('"description": "', '"description": "Not '))
    assert findings(run, "--input", other) == [(None, f"{other} has none of its 10")]


def test_a_lost_line_keeps_the_place_of_the_others(runs: Path, tmp_path: Path) -> None:
    lines = (runs / "simulations.jsonl").read_text().splitlines()
    run = tmp_path / "run.jsonl"
    run.write_text("\n".join([*lines[:5], "{}", "nonsense", *lines[7:]]) + "\n")
    ended = touche_rad("check", run, "--input", CLAIMS)
    faults = [line.split()[1:] for line in ended.out.splitlines() if line.startswith("fault")]
    assert sorted(faults) == [
        ["1", "the", "debate", "is", "lost"],
        ["1", "the", "line", "cannot", "be", "read"],
    ]
    assert (
        f"It cannot be repaired: get the file again, or make the run again: touche-rad simulate {CLAIMS}"
        in ended.out
    )


@pytest.mark.parametrize("line", ["{}", '{"simulation": '])
def test_verdicts_on_a_lost_debate_are_a_warning(runs: Path, tmp_path: Path, line: str) -> None:
    lines = (runs / "simulations.jsonl").read_text().splitlines()
    run, judged = tmp_path / "run.jsonl", tmp_path / "judged.jsonl"
    run.write_text("\n".join([*lines[:2], line, *lines[3:]]))
    assert touche_rad("judge", run, "--skip-bad", "-o", judged).code == 0
    ended = touche_rad("check", judged, "--input", run)
    assert ended.code == 0, ended.out
    assert "fault" not in ended.out, ended.out
    assert "warning      1  the debate is lost\n" in ended.out
    assert touche_rad("check", judged, "--input", runs / "simulations.jsonl").code == 0


def findings(*words: str | Path) -> list[tuple[int | None, str]]:
    (record,) = json.loads(touche_rad("check", *words, "--json").out)
    assert record["verdict"] == "not valid"
    return [(one["line"], one["message"]) for one in record["findings"]]


@pytest.mark.parametrize("name", [{"id": "d{}"}, {}])
def test_debates_that_are_twice_missing_or_additional_are_named(
    runs: Path, tmp_path: Path, name: dict[str, str]
) -> None:
    rows = [json.loads(line) for line in (runs / "simulations.jsonl").open()]
    lines = [json.dumps(row | name).replace("d{}", f"d{at}") + "\n" for at, row in enumerate(rows)]
    claims, run, source = CLAIMS.read_text().splitlines(True), tmp_path / "r", tmp_path / "s"
    claim = short_repr(claims[4].split("\t")[0])
    run.write_text("".join([*lines[:4], *lines[3:]]))
    twice = [(5, "line 5 repeats line 4")]
    assert findings(run) == findings(run, "--input", CLAIMS)[1:] == twice
    source.write_text("".join([*claims[:5], *claims[4:]]))
    assert touche_rad("check", run, "--input", source).code == 0, "the input has it twice, too"
    run.write_text("".join([*lines[:3], *lines[4:]]))
    assert findings(run, "--input", CLAIMS)[1:] == [(None, f"no debate on {claim}")]
    run.write_text("".join(lines))
    source.write_text("".join([*claims[:4], *claims[5:]]))
    assert findings(run, "--input", source)[1:] == [(4, f"not in {source}: {claim}")]


def test_half_a_gzip_counts_the_lines_that_were_read(runs: Path, tmp_path: Path) -> None:
    packed, run = (
        gzip.compress((runs / "evaluations.jsonl").read_bytes()),
        tmp_path / "run.jsonl.gz",
    )
    run.write_bytes(packed[: len(packed) * 9 // 10])
    ((line, _),) = findings(run)
    assert f": evaluations, {(line or 0) - 1} lines: not valid" in touche_rad("check", run).out


def test_verdicts_on_other_responses_are_a_fault(runs: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (runs / "simulations.jsonl").open()]
    says("Another answer.")(rows[2])
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = touche_rad("check", runs / "evaluations.jsonl", "--input", other)
    assert ended.code == 1
    assert "evaluations.jsonl:3: the responses are not the" in ended.out


def answer(row: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = row["simulation"]["userTurns"][1]["systemResponse"]
    return result


def says(words: str) -> Change:
    def change(row: dict[str, Any]) -> None:
        answer(row)["utterance"] = answer(row)["response"]["content"] = words

    return change


def scored(value: Any) -> Change:
    def change(row: dict[str, Any]) -> None:
        row["userTurnsEvaluations"][0]["Quality"] = {"score": value}

    return change


def uncited(row: dict[str, Any]) -> None:
    answer(row)["response"]["arguments"] = []


def with_changes(runs: Path, folder: Path, kind: str, change: Change) -> Path:
    """Write a good run with a change in its fourth line."""
    rows = [json.loads(line) for line in (runs / f"{kind}.jsonl").read_text().splitlines()]
    change(rows[3])
    path = folder / "wrong.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


SIMULATIONS: dict[str, tuple[Change, str]] = {
    "lost": (lambda row: row.clear(), "an empty record"),
    "long": (says("word " * 61), "turn 2: the answer has 61 words, at most 60 are allowed"),
    "empty": (says(" "), "turn 2: the answer is empty"),
    "unanswered": (
        lambda row: row["simulation"]["userTurns"][1].pop("systemResponse"),
        "turn 2: there is no answer",
    ),
    "unknown": (
        lambda row: answer(row)["response"]["arguments"][0].update(id="nobody's"),
        'turn 2: the cited argument "nobody\'s" is not in the index',
    ),
    "altered": (
        lambda row: answer(row)["response"]["arguments"][0].update(text="Other words."),
        "has another text in the index",
    ),
    "unconfigured": (
        lambda row: row["simulation"].pop("configuration"),
        "TIRA refuses a line without simulation.configuration",
    ),
    "number": (lambda row: answer(row)["response"].update(content=42), "expected text, got 42"),
    "no content": (lambda row: answer(row)["response"].pop("content"), "expected text, got None"),
    "no turns": (lambda row: row["simulation"].update(userTurns=[]), "the debate has no turn"),
}
EVALUATIONS: dict[str, tuple[Change, str]] = {
    "text": (scored("0.7"), "a score is a text, not a number: "),
    "bare": (lambda row: row.pop("simulation"), "there is no simulation"),
    "over": (scored(1.5), "turn 1: Quality has the score 1.5, not 0 to 1"),
    "null": (scored(None), "turn 1: Quality has no score"),
    "missing": (
        lambda row: row["userTurnsEvaluations"][0].pop("Manner"),
        "turn 1: Manner has no score",
    ),
    "short": (
        lambda row: row["userTurnsEvaluations"].pop(),
        "1 turns are judged, and 2 are answered",
    ),
}
CASES = [("simulations", name) for name in SIMULATIONS] + [
    ("evaluations", name) for name in EVALUATIONS
]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_each_fault_is_reported_with_its_line(
    runs: Path, demo_index_path: Path, tmp_path: Path, kind: str, name: str
) -> None:
    change, message = {"simulations": SIMULATIONS, "evaluations": EVALUATIONS}[kind][name]
    wrong = with_changes(runs, tmp_path, kind, change)
    ended = touche_rad("check", wrong, "-i", demo_index_path)
    assert ended.code == 1
    assert f"    {wrong}:4: " in ended.out
    (record,) = json.loads(touche_rad("check", wrong, "-i", demo_index_path, "--json").out)
    assert not record["good"]
    (fault,) = [one for one in record["findings"] if one["level"] == "fault"]
    assert fault["line"] == 4
    assert message in f"{fault['kind']}: {fault['message']}"


@pytest.mark.parametrize(
    ("verdict", "is_fallback"),
    [
        ({"explanation": "timeout", "fallback": True}, True),
        ({"explanation": "no verdict (timeout); fallback score 1.0"}, True),  # earlier versions
        ({"explanation": "no verdict (timeout); 1.0 stands in for it"}, True),
        ({"explanation": "no verdict: it is missing in the run"}, True),
        ({"explanation": "no verdict is as easy as this one"}, False),
        ({"explanation": "fine", "fallback": "no"}, False),
    ],
)
def test_a_fallback_score_is_a_warning(
    runs: Path, tmp_path: Path, verdict: dict[str, Any], is_fallback: bool
) -> None:
    lines = (runs / "evaluations.jsonl").read_text().splitlines()
    record = json.loads(lines[0])
    record["userTurnsEvaluations"][1]["Manner"] = {"score": 1.0, **verdict}
    run = tmp_path / "run.jsonl"
    run.write_text("\n".join([json.dumps(record), *lines[1:]]) + "\n")
    (result,) = json.loads(touche_rad("check", run, "--json").out)
    assert result["good"]
    warnings = [finding for finding in result["findings"] if "fallback" in finding["kind"]]
    messages = ["turn 2: Manner has a fallback score"] if is_fallback else []
    assert [warning["message"] for warning in warnings] == messages


def test_a_score_that_is_a_text_and_a_lost_debate_have_kinds_of_their_own(
    runs: Path, tmp_path: Path
) -> None:
    lines = (runs / "evaluations.jsonl").read_text().splitlines()
    quoted, number = json.loads(lines[0]), json.loads(lines[1])
    quoted["userTurnsEvaluations"][0]["Manner"]["score"] = "null, got '1'"
    number["userTurnsEvaluations"][0]["Manner"]["score"] = ["null, got '1'"]
    run = tmp_path / "run.jsonl"
    run.write_text("\n".join([json.dumps(quoted), json.dumps(number), "{}", *lines[3:]]) + "\n")
    (result,) = json.loads(touche_rad("check", run, "--json").out)
    kinds = {finding["line"]: finding["kind"] for finding in result["findings"]}
    assert kinds[1] == "a score is a text, not a number"
    assert kinds[2] == "the line cannot be read"
    assert kinds[3] == "the debate is lost"


def test_an_answer_that_cites_nothing_is_a_warning(runs: Path, tmp_path: Path) -> None:
    path = with_changes(runs, tmp_path, "simulations", uncited)
    ended = touche_rad("check", path)
    assert ended.code == 0
    assert f"    {path}:4: turn 2: nothing is cited" in ended.out


@pytest.mark.parametrize("text", ["", "{", "hello\n"])
def test_a_file_that_is_no_run_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    ended = touche_rad("check", path)
    assert ended.code == 1
    summary, group, example = ended.out.splitlines()[:3]
    assert summary.endswith(": not valid")
    what = "line" if text else "file"
    assert group.split(maxsplit=2) == ["fault", "1", f"the {what} cannot be read"]
    assert example.startswith(f"    {path}")


def test_several_runs_begin_with_a_line_each(runs: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{")
    good = runs / "simulations.jsonl"
    lines = touche_rad("check", broken, good, tmp_path).out.splitlines()
    missing = touche_rad("check", tmp_path / "none", good)
    assert missing.code == 2
    assert "none: cannot be read: No such file" in missing.out
    assert "It cannot be repaired: get the file again" in missing.out
    assert lines[-1] == f"1 of 3 runs are valid; the first that is not: {broken}"
    assert touche_rad("check", good, good).out.endswith("\n2 of 2 runs are valid\n")
    ends = ("unknown format, 1 line: not valid", "simulations, 10 lines: valid")
    assert lines[0] == f"{broken}: {ends[0]}"
    assert lines[1] == f"{good}: {ends[1]}"
    assert lines[2].endswith(": not valid")
    assert lines[3:5] == ["", str(broken)]


def test_a_folder_must_contain_exactly_one_run(runs: Path, tmp_path: Path) -> None:
    assert "exactly one *.jsonl, found none" in touche_rad("check", tmp_path).out
    (tmp_path / "simulations.jsonl").write_bytes((runs / "simulations.jsonl").read_bytes())
    (tmp_path / "status.json").write_text("{}")
    good = touche_rad("check", tmp_path)
    assert good.code == 0
    assert f"{tmp_path}/simulations.jsonl: " in good.out
    (tmp_path / "another.jsonl").write_text("")
    two = touche_rad("check", tmp_path)
    assert two.code == 1
    assert "(of 2): to check each, touche-rad check " in two.out


def test_many_findings_are_grouped_with_three_examples_each(runs: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (runs / "simulations.jsonl").read_text().splitlines()]
    for row in rows:
        says("word " * 70)(row)
        row["simulation"].pop("configuration")
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text("".join(json.dumps(row) + "\n" for row in rows * 20))
    lines = touche_rad("check", wrong).out.splitlines()
    assert len(lines) <= 25
    (at,) = [n for n, line in enumerate(lines) if "more than 60 words" in line]
    assert lines[at].split()[:2] == ["fault", "200"]
    examples = [line.startswith(f"    {wrong}:{n}: ") for n, line in enumerate(lines[at + 1 :], 1)]
    assert examples[:3] == [True] * 3
    assert not examples[3]
    (record,) = json.loads(touche_rad("check", wrong, "--json").out)
    assert len(record["findings"]) == sum(group["count"] for group in record["groups"])


def fallbacks(what: str, count: int) -> list[dict[str, Any]]:
    """Fallbacks as the status of a run counts them."""
    return [{"plugin": "sinai", "by": "verbatim", "what": what, "count": count}]


STATUSES: dict[str, tuple[dict[str, Any], int, str]] = {
    "demo": ({"demo": True}, 1, "not fit to upload: demo index"),
    "all": (
        {"fallbacks": fallbacks("answers", 20), "counts": {"answers": 20}},
        1,
        "not fit to upload: all answers are fallbacks",
    ),
    "some": (
        {"fallbacks": fallbacks("answers", 3), "counts": {"answers": 20}},
        0,
        "3 of 20 answers are fallbacks",
    ),
    "another run's": ({"demo": True, "output": "other.jsonl"}, 0, ": valid"),
    "the user's": ({"fallbacks": fallbacks("utterances", 20)}, 0, "20 utterances are fallbacks"),
    "no status": ({"fallbacks": "x", "counts": []}, 0, ": valid"),
}


@pytest.mark.parametrize("beside", ["simulations.jsonl.status.json", "status.json"])
@pytest.mark.parametrize("case", STATUSES)
def test_the_status_beside_a_run_says_whether_it_is_fit(
    runs: Path, tmp_path: Path, case: str, beside: str
) -> None:
    fields, code, message = STATUSES[case]
    (tmp_path / "simulations.jsonl").write_bytes((runs / "simulations.jsonl").read_bytes())
    status = {"verb": "simulate", "output": "/elsewhere/simulations.jsonl", **fields}
    (tmp_path / beside).write_text(json.dumps(status))
    ended = touche_rad("check", tmp_path / "simulations.jsonl")
    assert ended.code == code, ended.out
    assert message in ended.out
    (tmp_path / "simulations.jsonl").write_text((runs / "simulations.jsonl").read_text() + "{}\n")
    verdict = f": not valid; {message}" if code else ": not valid"
    assert verdict in touche_rad("check", tmp_path / "simulations.jsonl").out
