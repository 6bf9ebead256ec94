"""The verbs end to end, as a person and as TIRA call them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.demo import CLAIMS, DEBATES
from tests.records import copy_lines, read_json, read_records
from tests.screens import check_messages, check_screen
from tests.terminal import Ended, touche_rad
from touche_rad import files


@pytest.mark.long
def test_the_demo_writes_runs_scores_and_a_report(tmp_path: Path) -> None:
    ended = touche_rad("demo -o out", out="always-yes")
    assert ended.out.rstrip().endswith(f"Report: {tmp_path / 'out' / 'report.html'}")
    out = Path("out")
    assert len(list(files.read_debates(out / "simulations-grounded.jsonl"))) == 10
    assert len(list(files.read_evaluations(out / "judge-grounded.jsonl"))) == 20
    assert "quality f1" in (out / "scores" / "judge-grounded" / "evaluation.prototext").read_text()
    assert (out / "debaters.html").read_text().startswith("<!doctype html>")
    assert read_json(out / "verbatim.jsonl.status.json")["identity"]["index"]
    again = touche_rad("demo --quiet --replace -o", out)
    assert len(again.err) < len(ended.err), "each step is quiet, too"


def test_one_utterance_is_answered_on_the_screen() -> None:
    answered = touche_rad('respond --say "Zoos should be closed."')
    check_screen("respond.say", answered)
    as_json = touche_rad('respond --say "Zoos should be closed." --json').json
    assert as_json["content"] == answered.out.splitlines()[0]


def run_under_tira(
    verb: str, source: Path, *options: str, code: int = 0, **env: str
) -> tuple[Ended, Path, dict[str, object]]:
    """Run a verb as TIRA does; return how it ended, its output folder and its status."""
    folder = Path("input")
    out = Path("output")
    folder.mkdir(exist_ok=True)
    (folder / "data-of-any-name").write_bytes(source.read_bytes())
    (folder / "configuration.json").write_text(
        '{"simulation": {\n"topic": {"description": "{{TOPIC_DESCRIPTION}}"},\n"maxTurns": 2}}'
    )
    places = {"inputDataset": str(folder.resolve()), "outputDir": str(out.resolve())}
    ended = touche_rad(verb, *options, env={**places, **env}, code=code)
    return ended, out, read_json(out / "status.json")


@pytest.mark.parametrize(
    ("verb", "source", "output", "count"),
    [
        ("simulate", CLAIMS, "simulations.jsonl", 10),
        ("judge", DEBATES, "evaluations.jsonl", 20),
        ("respond", DEBATES, "responses.jsonl", 60),
    ],
)
def test_under_tira_no_argument_is_needed(verb: str, source: Path, output: str, count: int) -> None:
    _, out, status = run_under_tira(verb, source)
    assert {path.name for path in out.iterdir()} == {output, "status.json"}
    assert status["verb"] == verb
    assert status["state"] == "done"
    rows: list[Any] = read_records(out / output)
    assert len(rows) == count
    if verb == "simulate":
        assert all(len(row["simulation"]["userTurns"]) == 2 for row in rows)
    if verb != "respond":
        assert all({"configuration", "userTurns"} <= set(row["simulation"]) for row in rows)


@pytest.mark.parametrize(
    ("folder", "fix"),
    [
        ("none", "check its path"),
        (str(DEBATES), "give a folder that has this run alone"),
        (".", "give the folder"),
    ],
)
def test_a_wrong_folder_of_tira_is_explained(folder: str, fix: str) -> None:
    touche_rad("judge", env={"inputDataset": folder, "outputDir": "out"}, code=2, err=fix)


def test_under_tira_the_status_reports_a_failure() -> None:
    source = Path("sim.jsonl")
    source.write_text(DEBATES.read_text() + "{\n")
    ended, _, status = run_under_tira("judge", source, code=2)
    assert status["state"] == "failed"
    assert ":21: " in ended.err
    _, out, status = run_under_tira("judge", source, "--skip-bad")
    assert status["skipped"] == 1
    assert len(read_records(out / "evaluations.jsonl")) == 21


def test_each_verb_says_how_many_answers_cite_nothing() -> None:
    Path("claims.tsv").write_text("TOPIC_DESCRIPTION\tUSER\nXyzzy.\tbase\n")
    for number, words in enumerate(
        (
            "simulate claims.tsv --turns 2",
            "judge run-0",
            "respond run-0",
            "simulate claims.tsv --both-sides --rounds 1",
        )
    ):
        touche_rad(f"{words} -i demo -o run-{number}", err=" 2 answers citing nothing)")


@pytest.mark.parametrize("judge", ["always-yes", "grice"])
def test_judge_prints_the_lines_that_it_would_write(judge: str) -> None:
    printed = touche_rad("judge --json", DEBATES, "-j", judge)
    assert printed.err == ""
    output = Path("out.jsonl")
    touche_rad("judge", DEBATES, "-j", judge, "-o", output)
    assert printed.out == output.read_text("utf-8")


def test_printed_verdicts_skip_or_refuse_invalidread_jsonl() -> None:
    source = Path("debates.jsonl")
    source.write_text("{\n{\n" + DEBATES.read_text("utf-8"), "utf-8")
    refused = touche_rad("judge --json", source, code=2, err=f"{source}:1")
    assert refused.out == ""
    skipped = touche_rad("judge --json --skip-bad", source, err="; then debates.jsonl:2\n")
    assert len(skipped.out.splitlines()) == 22
    assert skipped.err.startswith("warning: ")
    source.write_text("\n" + DEBATES.read_text("utf-8"), "utf-8")
    touche_rad(
        "judge --json", source, err="warning: empty lines left out: 1, the first is line 1\n"
    )


BROKEN = """
from touche_rad.plugins import judge

@judge("broken")
class Broken:
    def __init__(self, options, services): pass
    def judge(self, debate): raise ZeroDivisionError("a bug of the judge")
"""


def test_printed_verdicts_that_are_all_missing_fail(tmp_path: Path) -> None:
    plugin = Path("broken.py")
    plugin.write_text(BROKEN)
    call = ("--plugin broken.py judge -j broken --json", DEBATES)
    failed = touche_rad(*call, code=1, err="error: ")
    assert len(failed.out.splitlines()) == 20
    strict = touche_rad(*call, "--strict", code=1, err="ZeroDivisionError")
    assert strict.out == ""
    assert {path.name for path in tmp_path.iterdir()} <= {"broken.py", "__pycache__"}


def test_a_command_without_an_index_names_the_command_that_makes_one(tmp_path: Path) -> None:
    messages = {}
    for line in (
        "respond DEBATES -o run.jsonl",
        "respond DEBATES --explain",
        "simulate CLAIMS -o run.jsonl",
        "simulate CLAIMS -o run.jsonl --both-sides",
        "serve --port 0",
        "tournament CLAIMS -d grounded -d verbatim -o cup",
        "retrieve CLAIMS -o run",
    ):
        paths = {"DEBATES": DEBATES, "CLAIMS": CLAIMS}
        ended = touche_rad(*(paths.get(word, word) for word in line.split()), code=2)
        assert ended.err.count("\n") == 1, line
        assert list(tmp_path.iterdir()) == [], line
        messages[f"touche-rad {line}"] = ended
    check_messages("no-index", messages)


def test_one_answer_on_the_demo_collection_that_the_user_chose_has_no_note() -> None:
    by_default = touche_rad('respond --say "Zoos should be closed."')
    chosen = touche_rad('respond --say "Zoos should be closed." -i demo')
    assert chosen.out == by_default.out
    assert chosen.err == ""


def test_the_demo_collection_is_a_location_of_an_index() -> None:
    for source, queries in ((CLAIMS, 10), (DEBATES, 60)):
        out = Path(f"{source.stem}.run")
        touche_rad("retrieve -i demo -k 2", source, "-o", out)
        rows = list(files.read_run(out))
        assert len(rows) == 2 * queries
        assert len({row.query for row in rows}) == queries
    checks = touche_rad("doctor -i demo --json").json
    assert [check["ok"] for check in checks if check["what"] == "index"] == [True]


@pytest.mark.services
def test_the_demo_collection_can_be_the_fallback_index() -> None:
    fallback = ("-i", "elasticsearch:http://127.0.0.1:9/none", "--fallback-index", "demo")
    touche_rad('respond --say "Zoos are cruel."', *fallback)


def test_an_index_in_a_folder_demo_is_not_mistaken_for_the_demo_collection(tmp_path: Path) -> None:
    Path("arguments.jsonl").write_text('{"id": "1", "text": "Zoos save rare animals."}\n')
    touche_rad("index arguments.jsonl -o demo", code=2, err="demo")
    touche_rad("index arguments.jsonl -o", tmp_path / "demo")
    say = ("respond", "--say", "Zoos are bad.", "-d", "verbatim", "-i")
    touche_rad(*say, "./demo", code=None, out="rare animals")


def test_under_tira_a_run_on_the_demo_collection_says_so() -> None:
    claims = Path("claims.tsv")
    copy_lines(CLAIMS, claims, 2)
    options = "--turns 1 -d verbatim -m http://x/v1#x".split()
    ended, _, status = run_under_tira("simulate", claims, *options)
    assert status["demo"] is True
    warnings: Any = status["warnings"]
    assert [warning["kind"] for warning in warnings] == ["demo index"]
    check_screen("simulate.tira", ended)


def test_an_image_built_without_a_collection_says_so(demo_index_path: Path) -> None:
    """Its index comes from the environment; where it lies and what it is called says nothing."""
    image = {"TOUCHE_RAD_INDEX": str(demo_index_path)}
    respond = ("respond", DEBATES, "--last-only", "-d", "verbatim", "-o")
    touche_rad(*respond, "r", env=image, err="warning: ")
    assert "warning" not in touche_rad(*respond, "c", "-i", demo_index_path).err


def test_a_judge_that_uses_no_index_is_fit_to_hand_in(demo_index_path: Path) -> None:
    image = {"TOUCHE_RAD_INDEX": str(demo_index_path)}
    ended, _, status = run_under_tira("judge", DEBATES, "-j", "length", **image)
    assert not status["demo"]
    assert status["warnings"] == []
    assert "not fit" not in ended.err
