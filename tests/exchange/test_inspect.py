"""Logs for inspect_ai: what they contain, and that inspect_ai reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.terminal import Ended, touche_rad
from touche_rad.demo import demo_file

DEBATES, LABELS = demo_file("debates.jsonl"), demo_file("labels.jsonl")


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Path:
    out = tmp_path / "run" / "judged.jsonl"
    assert touche_rad("judge", DEBATES, "-j", "length", "-o", out).code == 0
    return out


def exported(folder: Path, *words: str | Path) -> tuple[Ended, list[dict[str, Any]]]:
    ended = touche_rad("export", "inspect", *words, "-o", folder)
    return ended, [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def test_each_response_is_a_sample_with_its_verdicts_and_labels(run: Path, tmp_path: Path) -> None:
    ended, (log,) = exported(tmp_path / "logs", run, "--labels", LABELS)
    assert ended.code == 0, ended.err
    assert (log["version"], log["status"], log["eval"]["model"]) == (
        2,
        "success",
        "touche-rad/length",
    )
    assert len(log["samples"]) == log["results"]["total_samples"] == 60
    sample = log["samples"][4]
    assert sample["id"] == "02.2"
    assert [one["role"] for one in sample["input"]] == ["user", "assistant", "user"]
    assert sample["messages"] == [*sample["input"], sample["output"]["choices"][0]["message"]]
    judged = json.loads(run.read_text().splitlines()[1])["userTurnsEvaluations"][1]
    assert {name.capitalize(): one["value"] for name, one in sample["scores"].items()} == {
        name: one["score"] for name, one in judged.items()
    }
    assert sample["target"] == "quantity: no, quality: no, relation: no, manner: yes"
    (quantity,) = (one for one in log["results"]["scores"] if one["name"] == "quantity")
    official = json.loads(touche_rad("score", run, LABELS, "--json").out)
    row = next(one for one in official["rows"] if one["maxim"] == "quantity")
    assert quantity["metrics"]["accuracy"]["value"] == pytest.approx(row["accuracy"])
    assert quantity["metrics"]["share of yes"]["value"] == pytest.approx(row["yes_rate"])


def test_the_tokens_of_the_judges_model_are_those_of_the_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    yes = dict.fromkeys(("quantity", "quality", "relation", "manner"), "yes")
    Path("answers.jsonl").write_text(json.dumps({"answer": json.dumps(yes)}) + "\n")
    Path("one.jsonl").write_text(DEBATES.read_text().splitlines()[0] + "\n")
    words = ("one.jsonl", "-j", "zsl", "-m", "scripted:answers.jsonl", "-o", "zsl.jsonl")
    assert touche_rad("judge", *words).code == 0
    _, (log,) = exported(tmp_path / "logs", "zsl.jsonl")
    total = json.loads(Path("zsl.jsonl.status.json").read_text())["usage"]["total"]
    (usage,) = log["stats"]["model_usage"].items()
    assert usage[0] == "scripted:answers.jsonl"
    assert usage[1]["input_tokens"] == total["prompt_tokens"] > 0
    assert usage[1]["total_tokens"] == total["prompt_tokens"] + total["completion_tokens"]
    score = log["samples"][0]["scores"]["quality"]
    assert score["explanation"].startswith("yes")
    assert score["answer"] == log["samples"][0]["output"]["completion"]


def test_a_run_without_verdicts_has_no_scores_and_lost_debates_can_be_skipped(
    tmp_path: Path,
) -> None:
    lines = DEBATES.read_text().splitlines()
    (tmp_path / "simulations.jsonl").write_text("\n".join([lines[0], "{}", lines[2]]) + "\n")
    given = tmp_path / "simulations.jsonl"
    assert exported(tmp_path / "logs", given)[0].code == 2
    ended, (log,) = exported(tmp_path / "logs", given, "--skip-bad", "--labels", LABELS)
    assert "1 invalid lines skipped" in ended.err
    assert [one["id"][0] for one in log["samples"]] == ["1"] * 3 + ["3"] * 3
    assert log["results"]["scores"] == []
    assert log["samples"][3]["target"] == "quantity: yes, quality: yes, relation: yes, manner: yes"


def test_too_few_labels_and_another_output_are_refused(run: Path, tmp_path: Path) -> None:
    few = tmp_path / "labels.jsonl"
    few.write_text(LABELS.read_text().splitlines()[0] + "\n")
    ended, logs = exported(tmp_path / "logs", run, "--labels", few)
    assert (ended.code, logs) == (2, [])
    assert "expected 20 lines" in ended.err
    exported(tmp_path / "logs", run)
    ended, _ = exported(tmp_path / "logs", run, "--labels", LABELS)
    assert (ended.code, "--replace" in ended.err) == (2, True)


@pytest.mark.services
def test_inspect_ai_reads_the_logs(run: Path, tmp_path: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    exported(tmp_path / "logs", run, DEBATES, "--labels", LABELS)
    logs = {one.task: read_eval_log(one.name) for one in list_eval_logs(str(tmp_path / "logs"))}
    assert set(logs) == {"judged", "debates"}
    (results, samples) = logs["judged"].results, logs["judged"].samples
    assert results is not None
    assert samples is not None
    assert [one.name for one in results.scores] == ["quantity", "quality", "relation", "manner"]
    sample = samples[0]
    assert sample.scores is not None
    assert sample.scores["manner"].answer == sample.output.completion
    assert sample.output.completion == sample.messages[-1].text
