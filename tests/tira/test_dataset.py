"""Datasets for TIRA: what is written, what TIRA's client says of it, and the evaluator."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.terminal import Ended, touche_rad
from tests.tira.client import call_client
from tests.tira.places import committed
from touche_rad.demo import demo_file
from touche_rad.score.export import PROTOTEXT

CLAIMS, DEBATES, LABELS = map(demo_file, ("claims.tsv", "debates.jsonl", "labels.jsonl"))
OFFICIAL = [
    f"{maxim} {name}"
    for maxim in ("quantity", "quality", "relation", "manner")
    for name in ("precision", "recall", "f1")
]


def written(kind: str, place: Path, *more: str | Path) -> Ended:
    given = [CLAIMS, "--turns", "1"] if kind == "debaters" else [DEBATES, LABELS]
    return touche_rad("dataset", kind, *given, "-o", place, *more)


def readme(place: Path) -> dict[str, dict[str, dict[str, object]]]:
    front: dict[str, dict[str, dict[str, object]]] = yaml.safe_load(
        (place / "README.md").read_text().split("---\n")[1]
    )
    return front


def measures(folder: Path) -> dict[str, float]:
    found = re.findall(r'key: "(.*)"\n value: "(.*)"', (folder / PROTOTEXT).read_text())
    return {key: float(value) for key, value in found}


def judged(judge: str, simulations: Path, folder: Path) -> Path:
    """A run's folder, as TIRA gives it to the evaluator."""
    folder.mkdir(parents=True)
    ended = touche_rad("judge", simulations, "-j", judge, "-o", folder / "evaluations.jsonl")
    assert ended.code == 0, ended.err
    return folder


def test_the_input_of_judges_is_blind_and_the_truths_are_the_labels(tmp_path: Path) -> None:
    assert written("judges", tmp_path / "ours").code == 0
    text = (tmp_path / "ours/inputs/simulations.jsonl").read_text()
    first = json.loads(text.splitlines()[0])["simulation"]
    assert set(first["configuration"]) == {"topic"}
    turn = first["userTurns"][0]["systemResponse"]
    assert set(turn) == {"utterance", "response"}
    assert set(turn["response"]["arguments"][0]) == {"id", "text"}
    truths = (tmp_path / "ours/truths/rad-labels.jsonl").read_text()
    assert re.sub(', "words": "[0-9a-f]{32}"', "", truths) == LABELS.read_text()
    smoke = (tmp_path / "ours-smoke/truths/rad-labels.jsonl").read_text()
    assert smoke.splitlines() == truths.splitlines()[:2]
    assert readme(tmp_path / "ours-smoke")["configs"][0]["data_files"][0]["split"] == "train"  # type: ignore[index]
    assert str(tmp_path) not in (tmp_path / "ours/README.md").read_text()


def test_labels_of_other_debates_are_refused(tmp_path: Path) -> None:
    fewer = tmp_path / "labels.jsonl"
    fewer.write_text("\n".join(LABELS.read_text().splitlines()[1:]) + "\n")
    ended = touche_rad("dataset", "judges", DEBATES, fewer, "-o", tmp_path / "out")
    assert ended.code == 2
    assert "debate 20 has 3 turns" in ended.err
    first, *rest = LABELS.read_text().splitlines()
    fewer.write_text("\n".join([json.dumps(json.loads(first)[1:]), *rest]) + "\n")
    ended = touche_rad("dataset", "judges", DEBATES, fewer, "-o", tmp_path / "out")
    assert "debate 1 has 3 turns" in ended.err
    assert not (tmp_path / "out").exists()


def test_the_evaluator_gives_judges_the_official_scores_and_no_label(tmp_path: Path) -> None:
    written("judges", tmp_path / "ours")
    run = judged("length", tmp_path / "ours/inputs/simulations.jsonl", tmp_path / "run")
    out = tmp_path / "out"
    ended = touche_rad("dataset", "evaluate", run, tmp_path / "ours/truths", "-o", out)
    assert ended.code == 0, ended.err
    assert [path.name for path in out.iterdir()] == [PROTOTEXT]
    scored = tmp_path / "scored"
    touche_rad("score", run / "evaluations.jsonl", LABELS, "-o", scored)
    assert (out / PROTOTEXT).read_text().startswith((scored / PROTOTEXT).read_text())
    assert list(measures(out)) == [*OFFICIAL, "mean f1"]


def test_the_evaluator_counts_missing_verdicts_as_no_unless_strict(tmp_path: Path) -> None:
    written("judges", tmp_path / "ours")
    truths = tmp_path / "ours/truths"
    run = judged("always-yes", tmp_path / "ours/inputs/simulations.jsonl", tmp_path / "run")
    path = run / "evaluations.jsonl"
    first, *rest = path.read_text().splitlines()
    record = json.loads(first)
    del record["userTurnsEvaluations"][0]["Quantity"]
    path.write_text("\n".join([json.dumps(record), *rest]) + "\n")
    ended = touche_rad("dataset", "evaluate", run, truths, "-o", tmp_path / "out")
    assert "missing verdict: line 1, debate 1, turn 1" in ended.err
    assert measures(tmp_path / "out")["quantity recall"] == 42 / 43
    strict = touche_rad("dataset", "evaluate", run, truths, "-o", tmp_path / "s", "--strict")
    assert strict.code == 2
    wrong = touche_rad("dataset", "evaluate", run, truths, "-o", tmp_path / "s", "-j", "length")
    assert "leave it out" in wrong.err
    path.write_text("\n".join(["nonsense", *rest]) + "\n")
    told = touche_rad("dataset", "evaluate", run, truths, "-o", tmp_path / "s").err
    assert f"; repair it with touche-rad check {path} --input DEBATES --fix -o NEW" in told
    path.write_text("\n".join(rest) + "\n")
    short = touche_rad("dataset", "evaluate", run, truths, "-o", tmp_path / "s")
    assert (short.code, "expected 20 lines" in short.err) == (2, True)
    foreign = [line.replace('"utterance": "', '"utterance": "Other: ') for line in rest[:10]]
    path.write_text("\n".join(foreign) + "\n")
    for more in ((), ("--strict",)):
        ended = touche_rad("dataset", "evaluate", run, truths, "-o", tmp_path / "s", *more)
        assert ended.code == 2
        assert ("not on the labelled debates" in ended.err, "--fix" in ended.err) == (True, False)
    other = touche_rad("dataset", "evaluate", run, tmp_path / "ours/inputs", "-o", tmp_path / "n")
    assert (f"give {truths}" in other.err, (tmp_path / "n").exists()) == (True, False)
    path.write_text("")
    empty = touche_rad("dataset", "evaluate", run, truths, "-o", tmp_path / "s")
    assert "evaluations.jsonl is empty" in empty.err


def test_the_evaluator_lets_a_judge_score_debaters_and_counts_lost_debates(tmp_path: Path) -> None:
    written("debaters", tmp_path / "ours", "--turns", "3")
    truths, run, out = tmp_path / "ours/truths", tmp_path / "run", tmp_path / "out"
    run.mkdir()
    lines = ["{}"]
    for row, line in zip(CLAIMS.read_text().splitlines()[2:], DEBATES.open(), strict=False):
        record = json.loads(line)
        record["simulation"]["configuration"]["topic"]["description"] = row.partition("\t")[0]
        lines.append(json.dumps(record))
    (run / "simulations.jsonl").write_text("\n".join(lines) + "\n")
    told = touche_rad("dataset", "evaluate", run, truths, "-o", out, "-j", "always-yes", "--quiet")
    assert told.code == 0, told.err
    found = measures(out)
    assert found["missing responses"] == 3
    assert found["quantity"] == found["mean"] == 27 / 30
    assert (out / "evaluations.jsonl").is_file()
    other = lines[2].replace("Zoos do more harm than good", "Zoos do good")
    (run / "simulations.jsonl").write_text("\n".join([*lines[:2], other, *lines[3:]]) + "\n")
    ended = touche_rad("dataset", "evaluate", run, truths, "-o", tmp_path / "other")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert "run/simulations.jsonl:3: expected a claim of " in ended.err


@pytest.mark.parametrize("more", [(), ("--strict",)])
def test_a_run_on_other_debates_is_refused_if_the_truths_have_digests(
    more: tuple[str, ...], tmp_path: Path
) -> None:
    written("judges", tmp_path / "ours")
    source, truths = tmp_path / "ours/inputs/simulations.jsonl", tmp_path / "ours/truths"
    first, second, *rest = source.read_text().splitlines()
    record = json.loads(second)
    record["simulation"]["userTurns"][1]["utterance"] = "Other words."
    source.write_text("\n".join([first, json.dumps({"id": "d2", **record}), *rest]) + "\n")
    run, out = judged("length", source, tmp_path / "run"), tmp_path / "out"
    ended = touche_rad("dataset", "evaluate", run, truths, "-o", out, *more)
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert "run/evaluations.jsonl:2: simulation.userTurns[1]: expected the words of" in ended.err
    assert "got others in debate 'd2': the run is not on the labelled debates" in ended.err
    lines = (run / "evaluations.jsonl").read_text().splitlines()[::-1]
    (run / "evaluations.jsonl").write_text("\n".join(lines) + "\n")
    strict = touche_rad("dataset", "evaluate", run, truths, "-o", out, "--strict")
    assert "the run is in another order; repair it with" in strict.err
    (truths / "rad-labels.jsonl").write_text(LABELS.read_text())  # older truths have no digests
    assert touche_rad("dataset", "evaluate", run, truths, "-o", out, *more).code == 0


@pytest.mark.services
@pytest.mark.parametrize(("kind", "verb"), [("judges", "judge"), ("debaters", "simulate")])
def test_the_client_checks_a_dataset_runs_its_baseline_and_evaluates_it(
    kind: str, verb: str, tmp_path: Path
) -> None:
    """With the command that the README gives for the smoke set, `docker` apart."""
    place = tmp_path / "repository" / "rad"
    place.parent.mkdir()
    assert written(kind, place).code == 0
    committed(place.parent)
    smoke = place.with_name("rad-smoke")
    (line,) = re.findall("^tira-cli dataset.*--dry-run$", (smoke / "README.md").read_text(), re.M)
    words = [str(smoke) if word == smoke.name else word for word in shlex.split(line)]
    env = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "TOUCHE_RAD_INDEX": "demo"}
    ended = call_client(words, smoke / "inputs", tmp_path / "log.jsonl", env)
    assert ended.code == 0, ended.told
    assert "The truth data is valid" in ended.told
    assert "The evaluation of the baseline produced valid outputs" in ended.told
    assert ended.runs[0]["command"].startswith(f"touche-rad {verb} ")
    (evaluated,) = ended.evaluations
    assert evaluated["image"] == "touche-rad:evaluator"
    assert measures(Path(evaluated["out"]))
