"""Datasets for TIRA: what is written, what TIRA's client says of it, and the evaluator."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.records import write_lines, write_records
from tests.terminal import Ended, touche_rad
from tests.tira.client import call_client
from tests.tira.places import committed
from touche_rad.debate import NOTHING_FOUND
from touche_rad.demo import demo_file
from touche_rad.score.export import PROTOTEXT

CLAIMS, DEBATES, LABELS = map(demo_file, ("claims.tsv", "debates.jsonl", "labels.jsonl"))
OFFICIAL = [
    f"{maxim} {name}"
    for maxim in ("quantity", "quality", "relation", "manner")
    for name in ("precision", "recall", "f1")
]


def write_dataset(kind: str, place: str | Path = "ours", *options: str | Path) -> Ended:
    inputs = [CLAIMS, "--turns", "1"] if kind == "debaters" else [DEBATES, LABELS]
    return touche_rad("dataset", kind, *inputs, "-o", place, *options)


def read_front_matter(place: Path) -> dict[str, dict[str, dict[str, object]]]:
    front: dict[str, dict[str, dict[str, object]]] = yaml.safe_load(
        (place / "README.md").read_text().split("---\n")[1]
    )
    return front


def read_measures(folder: str | Path = "out") -> dict[str, float]:
    measures = re.findall(r'key: "(.*)"\n value: "(\d.*)"', Path(folder, PROTOTEXT).read_text())
    return {key: float(value) for key, value in measures}


def run_judge(judge: str) -> Path:
    """A run's folder, as TIRA gives it to the evaluator."""
    folder = Path("run")
    folder.mkdir()
    touche_rad("judge ours/inputs/simulations.jsonl -j", judge, "-o", folder / "evaluations.jsonl")
    return folder


def test_the_input_of_judges_is_blind_and_the_truths_are_the_labels(tmp_path: Path) -> None:
    write_dataset("judges")
    text = Path("ours/inputs/simulations.jsonl").read_text()
    first = json.loads(text.splitlines()[0])["simulation"]
    assert set(first["configuration"]) == {"topic"}
    turn = first["userTurns"][0]["systemResponse"]
    assert set(turn) == {"utterance", "response"}
    assert set(turn["response"]["arguments"][0]) == {"id", "text"}
    truths = Path("ours/truths/rad-labels.jsonl").read_text()
    assert re.sub(', "words": "[0-9a-f]{32}"', "", truths) == LABELS.read_text()
    smoke = Path("ours-smoke/truths/rad-labels.jsonl").read_text()
    assert smoke.splitlines() == truths.splitlines()[:2]
    assert read_front_matter(Path("ours-smoke"))["configs"][0]["data_files"][0]["split"] == "train"  # type: ignore[index]
    assert str(tmp_path) not in Path("ours/README.md").read_text()


def test_labels_of_other_debates_are_refused() -> None:
    fewer = "labels.jsonl"
    write_lines(fewer, LABELS.read_text().splitlines()[1:])
    touche_rad("dataset judges -o out", DEBATES, fewer, code=2, err="debate 20 ")
    first, *rest = LABELS.read_text().splitlines()
    write_lines(fewer, [json.dumps(json.loads(first)[1:]), *rest])
    touche_rad("dataset judges -o out", DEBATES, fewer, code=2, err="debate 1 ")
    touche_rad("dataset judges -o out", CLAIMS, fewer, code=2, err="got claims: give the labelled")
    assert not Path("out").exists()


def test_the_evaluator_gives_judges_the_official_scores_and_no_label() -> None:
    write_dataset("judges")
    run = run_judge("length")
    path = run / "evaluations.jsonl"
    write_lines(path, [*(lines := path.read_text().splitlines()), lines[2]])  # the first counts
    out = Path("out")
    touche_rad(
        "dataset evaluate",
        run,
        "ours/truths",
        "-o",
        out,
        err="given twice",
        out=" over 60 labelled turns of 20 debates",
    )
    assert [path.name for path in out.iterdir()] == [PROTOTEXT]
    scores = Path("scored")
    touche_rad("score", run / "evaluations.jsonl", LABELS, "-o", scores)
    assert (out / PROTOTEXT).read_text().startswith((scores / PROTOTEXT).read_text())
    assert list(read_measures(out)) == [*OFFICIAL, "mean f1"]


@pytest.fixture(name="run")
def _run() -> Path:
    """The folder of a run of always-yes on the debates of `ours`."""
    write_dataset("judges")
    return run_judge("always-yes")


def evaluate(*options: str, truths: str = "truths", **checks: Any) -> Ended:
    call = ("dataset", "evaluate", "run", f"ours/{truths}", "-o", "out")
    return touche_rad(*call, *options, **checks)


def test_the_evaluator_counts_missing_verdicts_as_no_unless_strict(run: Path) -> None:
    path = run / "evaluations.jsonl"
    first, *rest = path.read_text().splitlines()
    record = json.loads(first)
    del record["userTurnsEvaluations"][0]["Quantity"]
    write_lines(path, [json.dumps(record), *rest])
    evaluate("--strict", code=2)
    evaluate(err="turn 1")
    assert read_measures()["quantity recall"] == 42 / 43
    write_lines(path, [*rest, first])
    evaluate("--strict", "--replace", code=2, err="--input JUDGED_DEBATES says how to")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["nonsense"], "evaluations.jsonl says"),
        ([], "expected 20 lines"),
    ],
)
def test_a_run_with_another_number_of_debates_is_refused(
    run: Path, lines: list[str], expected: str
) -> None:
    path = run / "evaluations.jsonl"
    write_lines(path, [*lines, *path.read_text().splitlines()[1:]])
    evaluate("--strict", code=2, err=expected)
    if lines:  # a line that cannot be read is a lost debate
        lost = evaluate(err="lost debates: 1; the first: ")
        write_lines(path, ["{}", *path.read_text().splitlines()[1:]])
        assert evaluate("--replace").out == lost.out


def test_the_evaluator_names_the_folder_or_option_that_is_wrong(run: Path) -> None:
    evaluate("-j", "length", code=2, err="-j")
    evaluate(truths="inputs", code=2, err="give ours/truths")
    shutil.copy(run / "evaluations.jsonl", run / "run.fixed.jsonl")
    evaluate(code=2, err="evaluations.jsonl, run.fixed.jsonl: move all but one away; of a run and")
    (run / "run.fixed.jsonl").unlink()
    (run / "evaluations.jsonl").rename("others.jsonl")
    (run / "evaluations.jsonl").symlink_to(Path("others.jsonl").resolve())
    evaluate(code=2, err="leads out of run")
    Path("others.jsonl").write_text("")
    Path("others.jsonl").replace(run / "evaluations.jsonl")
    evaluate(code=2, err="evaluations.jsonl")
    assert not Path("out").exists()


def debates_on_claims() -> list[Any]:
    """The records of a debater's run on the demo's claims; the first debate is lost."""
    records: list[Any] = [{}]
    for row, line in zip(CLAIMS.read_text().splitlines()[2:], DEBATES.open(), strict=False):
        record = json.loads(line)
        record["simulation"]["configuration"]["topic"]["description"] = row.partition("\t")[0]
        records.append(record)
    return records


def evaluate_debater(records: list[Any], *options: str) -> Ended:
    write_dataset("debaters", "ours", "--turns", "3")
    Path("run").mkdir()
    write_records("run/simulations.jsonl", *records)
    return evaluate(*options)


@pytest.mark.parametrize("run", ["complete", "shuffled", "too long"])
def test_the_evaluator_lets_a_judge_score_debaters_and_counts_lost_debates(run: str) -> None:
    records = debates_on_claims()
    if run == "shuffled":
        records.reverse()
    if run == "too long":  # a fourth turn and a second debate hide no lost ones
        turns = records[1]["simulation"]["userTurns"]
        turns.append(turns[-1])
        records.insert(1, records[1])
    ended = evaluate_debater(records, "-j", "always-yes")
    assert ("given twice" in ended.err) == (run == "too long")
    measures = read_measures()
    assert measures["missing responses"] == 3
    assert measures["quantity"] == 27 / 30
    assert measures["mean"] == 27 / 30
    assert measures["too long responses"] == 0
    assert measures["uncited responses"] == 1, "one of the demo's responses"
    assert Path("out/evaluations.jsonl").is_file()
    readme = Path("ours/README.md").read_text()
    assert "ours/truths -i INDEX" in readme


def test_the_evaluator_counts_long_responses_and_those_without_citation() -> None:
    records = debates_on_claims()
    responses = [turn["systemResponse"] for turn in records[1]["simulation"]["userTurns"]]
    for response, words in zip(responses, (60, 61, 1), strict=True):
        text = " ".join(["word"] * words)
        response["utterance"] = text
        response["response"]["content"] = text
    responses[2]["response"]["arguments"] = []
    responses[1]["response"]["fallback"] = "timeout"
    blank = records[2]["simulation"]["userTurns"][0]["systemResponse"]
    blank["utterance"] = blank["response"]["content"] = " "
    none = records[2]["simulation"]["userTurns"][1]["systemResponse"]
    none["utterance"] = none["response"]["content"] = NOTHING_FOUND
    ended = evaluate_debater(records, "-j", "always-yes")
    assert ended.out == (
        "mean share of yes .900 over 30 responses to 10 claims, judged by always-yes\n"
    )
    for warning in (
        "missing responses: 3",
        "empty responses: 1",
        "too long responses: 1",
        "no-argument responses: 1",
        "fallback responses: 1",
    ):
        assert f"{warning} of 30\n" in ended.err
    measures = read_measures()
    assert measures["too long responses"] == 1
    assert measures["uncited responses"] == 2
    assert measures["fallback responses"] == 1


def test_debates_on_other_claims_and_invalid_lines_of_a_debater_do_not_count() -> None:
    records = debates_on_claims()
    records[2]["simulation"]["configuration"]["topic"]["description"] = "Zoos do good."
    ended = evaluate_debater(records, "-j", "always-yes")
    assert "lost debates: 2; the first: " in ended.err, "one is lost, and one is foreign"
    assert "given twice" not in ended.err
    assert read_measures()["mean"] == 24 / 30
    run = "run/simulations.jsonl"
    write_lines(run, [json.dumps(records[1]), "nonsense"])
    lost = evaluate("-j", "always-yes", "--replace")
    assert f"lost debates: 1; the first: {run}:2: " in lost.err
    assert read_measures()["mean"] == 3 / 30
    write_lines(run, [json.dumps(records[1]), ""])
    evaluate("-j", "always-yes", "--replace", err="empty lines left out: 1, the first is line 2\n")
    write_records(run, {}, records[2], records[2])
    assert f"{run}:2: " in evaluate("--replace", code=2).error


def test_the_evaluator_says_which_judge_it_is_and_whether_with_an_index() -> None:
    evaluated = evaluate_debater(debates_on_claims(), "-i", "demo")
    assert "claims, judged by grounded with an index" in evaluated.out
    assert 'value: "grounded with an index"' in Path("out", PROTOTEXT).read_text()
    Path("out").rename("other")
    evaluate(out="claims, judged by grounded without an index (-i)")
    touche_rad("score out other", out="Not ranked: the runs were judged with different")


@pytest.mark.parametrize("strictness", [(), ("--strict",)])
def test_a_run_on_other_debates_is_refused_if_the_truths_have_digests(
    strictness: tuple[str, ...],
) -> None:
    write_dataset("judges")
    source, truths = Path("ours/inputs/simulations.jsonl"), Path("ours/truths")
    first, second, *rest = source.read_text().splitlines()
    record = json.loads(second)
    record["simulation"]["userTurns"][1]["utterance"] = "Other words."
    write_lines(source, [first, json.dumps({"id": "d2", **record}), *rest])
    run, out = run_judge("length"), "out"
    ended = touche_rad(
        "dataset evaluate", run, truths, "-o", out, *strictness, code=2, err="debate 'd2'"
    )
    assert "run/evaluations.jsonl:2: simulation.userTurns[1]: " in ended.error
    assert "--fix" not in ended.err
    (truths / "rad-labels.jsonl").write_text(LABELS.read_text())  # older truths have no digests
    touche_rad("dataset evaluate", run, truths, "-o", out, *strictness)


@pytest.mark.services
@pytest.mark.parametrize(("kind", "verb"), [("judges", "judge"), ("debaters", "simulate")])
def test_the_client_checks_a_dataset_runs_its_baseline_and_evaluates_it(
    tmp_path: Path, kind: str, verb: str
) -> None:
    """With the command that the README gives for the smoke set, `docker` apart."""
    place = tmp_path / "repository/rad"
    place.parent.mkdir()
    write_dataset(kind, place)
    committed(place.parent)
    smoke = place.with_name("rad-smoke")
    (line,) = re.findall("^tira-cli dataset.*--dry-run$", (smoke / "README.md").read_text(), re.M)
    words = [str(smoke) if word == smoke.name else word for word in shlex.split(line)]
    env = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "TOUCHE_RAD_INDEX": "demo"}
    ended = call_client(words, smoke / "inputs", tmp_path / "log.jsonl", env)
    assert ended.code == 0, ended.text
    assert "The truth data is valid" in ended.text
    assert "The evaluation of the baseline produced valid outputs" in ended.text
    assert ended.runs[0]["command"].startswith(f"touche-rad {verb} ")
    (evaluated,) = ended.evaluations
    assert evaluated["image"] == "touche-rad:evaluator"
    assert read_measures(Path(evaluated["out"]))
