"""The parts of a run, merged, are the files of the run on one machine. 8 CPU seconds together."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.cases import with_cases
from tests.records import copy_lines, read_json, read_status, write_records
from tests.terminal import Ended, touche_rad
from touche_rad.demo import demo_file
from touche_rad.files.append_log import AppendLog
from touche_rad.runs.journal import RUN

TIMES = ("output", "started", "finished", "seconds", "errors")
"""What differs between two runs on one machine, too."""
JUDGE = "judge debates.jsonl -j length"
ASKED = "judge debates.jsonl -j zsl -m scripted:said.jsonl"


@pytest.fixture(autouse=True)
def _files() -> None:
    for name in ("debates.jsonl", "claims.tsv"):
        copy_lines(demo_file(name), name, 4)
    script = [{"when": "city centres", "answer": "perhaps"}, {"answer": "yes"}]
    write_records("said.jsonl", *script)
    Path("yes.jsonl").write_text(json.dumps(script[1]))


def run(line: str, out: str, options: str = "") -> Ended:
    ended = touche_rad(f"{line} -q -o {out} {options}", code=None)
    assert ended.code in (0, 1), ended.err
    return ended


def run_shards(line: str, count: int = 2, options: str = "") -> None:
    for number in range(1, count + 1):
        run(line, "run.jsonl", f"--shard {number}/{count} {options}")


def merge(parts: str = "run.jsonl.shards", code: int = 0, err: str = "") -> Ended:
    return touche_rad(f"merge -o run.jsonl {parts}", code=code, err=err)


def check_same_as_whole() -> None:
    assert Path("run.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


def status(path: str | Path) -> dict[str, Any]:
    return {key: value for key, value in read_json(path).items() if key not in TIMES}


def without_seconds(value: Any) -> Any:
    """Drop times, and the letters that prompts share with earlier prompts of the same process."""
    if isinstance(value, dict):
        dropped = ("seconds",)
        return {key: without_seconds(value[key]) for key in value if key not in dropped}
    return value


@pytest.mark.parametrize(
    "line",
    [
        "respond debates.jsonl -i demo -d verbatim",
        JUDGE,
        "judge debates.jsonl -j grice",
        "simulate claims.tsv -i demo -d verbatim --turns 2",
        "simulate claims.tsv -i demo -d verbatim --both-sides --rounds 1",
        ASKED,
    ],
)
def test_merged_shards_are_the_run_of_one_machine(line: str) -> None:
    run(line, "whole.jsonl")
    run_shards(line)
    ended = merge()
    assert ended.code in (0, 1), ended.err
    check_same_as_whole()
    merged = status("run.jsonl.status.json")
    assert without_seconds(merged) == without_seconds(status("whole.jsonl.status.json"))
    run(line, "run.jsonl")  # the same run: no --replace is needed


def test_parts_share_a_cache() -> None:
    line = "judge debates.jsonl -j zsl -m scripted:yes.jsonl --cache cache"
    run_shards(line)
    run(line, "again.jsonl", "--shard 2/2")
    again = read_status("again.jsonl.shards/2-of-2/again.jsonl")
    total = again["usage"]["total"]
    assert total["from_cache"] > total["calls"]  # invalid answers are not cached


def test_a_budget_is_shared_by_the_parts() -> None:
    run_shards(ASKED, 2, "--max-calls 7")
    merge(code=1, err="budget")
    merged = read_status("run.jsonl")
    assert merged["usage"]["total"]["calls"] == 7


def test_more_shards_than_debates() -> None:
    run(JUDGE, "whole.jsonl")
    run_shards(JUDGE, 5)
    merge()
    check_same_as_whole()


def test_a_finished_part_is_not_made_again() -> None:
    run_shards(JUDGE, 2)
    part = "run.jsonl.shards/1-of-2/run.jsonl"
    before = read_status(part)
    touche_rad(f"{JUDGE} -o run.jsonl --shard 1/2", err=f"{part} is finished already")
    assert read_status(part) == before
    run(JUDGE, "run.jsonl", "--shard 1/2 --restart")
    assert read_status(part) != before


def test_a_missing_shard_is_named() -> None:
    run_shards(JUDGE, 3)
    shutil.rmtree("run.jsonl.shards/2-of-3")
    merge(code=2, err="shard 2/3")
    run(JUDGE, "run.jsonl", "--shard 2/3")
    merge()


def test_parts_of_different_runs_are_refused() -> None:
    run_shards(JUDGE, 2)
    run(JUDGE, "other.jsonl", "--shard 1/3")
    merge("run.jsonl.shards other.jsonl.shards", code=2, err="shards was 2")
    run("judge debates.jsonl -j always-yes", "other.jsonl", "--shard 2/2 --replace")
    merge("run.jsonl.shards/1-of-2 other.jsonl.shards/2-of-2", code=2, err="judge was")
    shutil.copytree("run.jsonl.shards/1-of-2", "copy/1-of-2")
    merge("run.jsonl.shards copy", code=2, err="shard 1/2")
    assert not Path("run.jsonl").exists()


@pytest.mark.parametrize("name", ["units.jsonl", "run.jsonl.status.json"])
def test_a_damaged_part_is_refused(name: str) -> None:
    run_shards(JUDGE, 2)
    damaged = Path(f"run.jsonl.shards/2-of-2/{name}")
    damaged.write_text(damaged.read_text("utf-8").rpartition('{"unit"')[0])
    ended = merge(code=None, err=name)
    assert ended.code
    assert ("--shard 2/2" if name == "units.jsonl" else "run the same command again") in ended.err
    assert not Path("run.jsonl").exists()


@with_cases(("fields", "of_unit", "code"), "runs/forged_parts.json")
def test_a_part_made_to_harm_is_refused(
    fields: dict[str, Any], of_unit: dict[str, Any], code: int
) -> None:
    run(JUDGE, "run.jsonl", "--shard 1/1")
    part = Path("run.jsonl.shards/1-of-1")
    beside = part / "run.jsonl.status.json"
    honest = read_json(beside)
    forged = {**honest, "sha256": sha256(b"{}\n").hexdigest(), **fields, "done": 1}
    forged["identity"] = honest["identity"] | fields.get("identity", {})
    beside.write_text(json.dumps(forged))
    (part / "run.jsonl").write_text("{}\n")
    (part / "units.jsonl").unlink()
    AppendLog(part / "units.jsonl", RUN, forged).append({"unit": 0, "lines": ["{}"], **of_unit})
    lines = merge(code=code).err.splitlines()
    assert len(lines) <= 2 or code == 0
    assert "internal error" not in lines[-1]


def test_an_unfinished_part_is_refused() -> None:
    run_shards(JUDGE, 2)
    part = Path("run.jsonl.shards/2-of-2")
    (part / "units.jsonl").rename(part / "run.jsonl.part")
    merge(code=2, err="2-of-2")
    assert not Path("run.jsonl").exists()


@pytest.mark.parametrize("place", [".", "nowhere"])
def test_a_folder_without_a_part_is_refused(place: str) -> None:
    merge(place, code=2, err=place)


def test_an_output_of_another_run_is_kept() -> None:
    run_shards(JUDGE, 2)
    Path("run.jsonl").write_text('{"text": "mine"}\n')
    merge(code=2, err="--replace")
    merge("run.jsonl.shards --replace")


@with_cases(("words", "message"), "runs/wrong_shards.json")
def test_a_shard_that_cannot_be_made(words: list[str], message: str) -> None:
    touche_rad(JUDGE, *words, code=2, err=message)


@pytest.mark.long
def test_the_slurm_array_writes_the_run_of_one_machine() -> None:
    run(JUDGE, "whole.jsonl")
    script = ROOT / "docs" / "recipes" / "slurm-array.sh"
    words = ["bash", script, *"judge debates.jsonl run.jsonl -j length".split()]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for task in ("1", "2"):
        slurm = {"SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_COUNT": "2"}
        subprocess.run(words, env={**os.environ, "PATH": path, **slurm}, check=True)
    merge()
    check_same_as_whole()
