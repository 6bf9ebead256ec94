"""`check --fix` repairs a run without changing an utterance, and the repaired run passes the check."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.terminal import touche_rad
from touche_rad.demo import demo_file

CLAIMS = demo_file("claims.tsv")
Row = dict[str, Any]
Rows = list[Any]


def read(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, rows: Rows) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def utterances(rows: Rows) -> set[tuple[str, ...]]:
    """Everything that was said, by debate."""
    return {
        tuple(
            text
            for turn in row["simulation"]["userTurns"]
            for text in (turn["utterance"], turn["systemResponse"]["utterance"])
        )
        for row in rows
        if row
    }


def answer(row: Row, turn: int = 0) -> Row:
    found: Row = row["simulation"]["userTurns"][turn]["systemResponse"]
    return found


def body(row: Row, turn: int = 0) -> Row:
    found: Row = answer(row, turn)["response"]
    return found


def verdicts(row: Row) -> Row:
    found: Row = row["userTurnsEvaluations"][1]
    return found


IN_A_SIMULATION: dict[str, Callable[[Row], Any]] = {
    "citations are null": lambda row: body(row).update(arguments=None),
    "citations are missing": lambda row: body(row).pop("arguments"),
    "a citation is null": lambda row: body(row)["arguments"].append(None),
    "the utterance is null": lambda row: answer(row).update(utterance=None),
    "the content is missing": lambda row: body(row).pop("content"),
    "the response is missing": lambda row: answer(row).update(response=None),
    "the configuration is missing": lambda row: row["simulation"].pop("configuration"),
    "the id is a number": lambda row: row.update(id=17),
    "the id is null": lambda row: row.update(id=None),
}
IN_AN_EVALUATION: dict[str, Callable[[Row], Any]] = {
    "a score is null": lambda row: verdicts(row)["Quality"].update(score=None),
    "a maxim is missing": lambda row: verdicts(row).pop("Manner"),
    "a maxim is null": lambda row: verdicts(row).update(Manner=None),
    "a score is a text": lambda row: verdicts(row)["Quality"].update(score="0.72"),
    "a turn is missing": lambda row: row["userTurnsEvaluations"].pop(),
    "all turns are missing": lambda row: row.update(userTurnsEvaluations=None),
}


@pytest.mark.parametrize("name", [*IN_A_SIMULATION, *IN_AN_EVALUATION])
def test_a_defect_is_repaired(runs: Path, demo_index_path: Path, tmp_path: Path, name: str) -> None:
    kind, source = "evaluations", runs / "simulations.jsonl"
    if name in IN_A_SIMULATION:
        kind, source = "simulations", CLAIMS
    good = read(runs / f"{kind}.jsonl")
    rows = copy.deepcopy(good)
    {**IN_A_SIMULATION, **IN_AN_EVALUATION}[name](rows[3])
    wrong = write(tmp_path / "wrong.jsonl", rows)
    before = wrong.read_bytes()
    out, others = tmp_path / "new.jsonl", ("--input", source, "-i", demo_index_path)
    ended = touche_rad("check", wrong, *others, "--fix", "-o", out)
    assert ended.code == 0, (ended.out, ended.err)
    assert "repaired" in ended.out
    assert touche_rad("check", out, *others).code == 0
    assert wrong.read_bytes() == before
    result = read(out)
    assert utterances(result) == utterances(good)
    changed = [at for at, (old, new) in enumerate(zip(good, result, strict=True)) if old != new]
    assert changed in ([], [3])
    if name not in ("citations are null", "citations are missing", "the response is missing"):
        assert body(result[3])["arguments"] == body(good[3])["arguments"]


def test_what_needs_a_new_answer_is_not_repaired(
    runs: Path, demo_index_path: Path, tmp_path: Path
) -> None:
    rows = read(runs / "simulations.jsonl")
    body(rows[0])["content"] = answer(rows[0])["utterance"] = "word " * 70
    rows[1] = {}
    body(rows[2])["arguments"] = [{"id": "nobody's"}]
    wrong = write(tmp_path / "wrong.jsonl", rows)
    with wrong.open("a") as file:
        file.write('{"simulation": \n')
    out = tmp_path / "new.jsonl"
    ended = touche_rad("check", wrong, "-i", demo_index_path, "--fix", "-o", out)
    assert ended.code == 1
    assert "repaired     1  a line that cannot be read replaced" in ended.out
    assert "the answer has more than 60 words" in ended.out
    assert "the debate is lost" in ended.out
    made = read(out)
    assert made[1] == {}
    assert made[10] == {}
    assert made[3] == rows[3]
    assert body(made[0])["content"] == "word " * 70


def test_a_debate_that_is_there_twice_and_an_unfit_run_stay_so(runs: Path, tmp_path: Path) -> None:
    rows = [row | {"id": f"d{at}"} for at, row in enumerate(read(runs / "simulations.jsonl"))]
    run, out = write(tmp_path / "run.jsonl", [*rows, rows[0]]), tmp_path / "new.jsonl"
    ended = touche_rad("check", run, "--fix", "-o", out)
    assert ended.code == 1
    assert "line 11 repeats line 1" in ended.out
    assert not out.exists()
    assert "nothing could be repaired" in ended.err
    write(run, [*rows, rows[0], rows[1] | {"id": 1}])
    demo = {"output": "run.jsonl", "demo": True}
    run.with_name("run.jsonl.status.json").write_text(json.dumps(demo))
    for words in (("check", run, "--fix", "-o", out, "--replace"), ("check", out)):
        ended = touche_rad(*words)
        assert ended.code == 1
        assert "not fit to upload: demo index" in ended.out


DAMAGES: dict[str, Callable[[Rows], Any]] = {
    "a record is lost": lambda rows: rows[3].clear(),
    "a line is missing": lambda rows: rows.pop(3),
    "a line cannot be read": lambda rows: rows.__setitem__(3, "nonsense"),
    "the order is another": lambda rows: rows.reverse(),
    "a debate is there twice": lambda rows: rows.insert(5, rows[2]),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_evaluations_are_repaired_with_their_input(runs: Path, tmp_path: Path, name: str) -> None:
    good, source = read(runs / "evaluations.jsonl"), runs / "simulations.jsonl"
    rows, out = copy.deepcopy(good), tmp_path / "new.jsonl"
    DAMAGES[name](rows)
    wrong = write(tmp_path / "wrong.jsonl", rows)
    ended = touche_rad("check", wrong, "--input", source, "--fix", "-o", out)
    assert ended.code == 0, (ended.out, ended.err)
    result = read(out)
    changed = [at for at, (old, new) in enumerate(zip(good, result, strict=True)) if old != new]
    assert changed == ([3] if name.startswith("a line") or name == "a record is lost" else [])
    assert all(verdicts(result[at])["Manner"]["score"] == 0 for at in changed)


def test_the_repaired_run_never_replaces_a_file(runs: Path, tmp_path: Path) -> None:
    run = write(tmp_path / "run.jsonl", read(runs / "simulations.jsonl"))
    before = run.read_bytes()
    for words in (("--fix",), ("-o", tmp_path / "new.jsonl"), ("--fix", "-o", run)):
        ended = touche_rad("check", run, *words)
        assert ended.code == 2
        assert len(ended.err.splitlines()) == 1
    assert run.read_bytes() == before
    assert not (tmp_path / "new.jsonl").exists()
