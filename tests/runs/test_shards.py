"""The parts of a run, merged, are the files of the run on one machine. 8 CPU seconds together."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.records import copy_lines, read_cases, read_json, read_status, write_records
from tests.terminal import Ended, touche_rad
from touche_rad.demo import demo_file
from touche_rad.files.append_log import AppendLog
from touche_rad.runs.journal import RUN

TIMES = ("output", "started", "finished", "seconds", "errors")
"""What differs between two runs on one machine, too."""
RESPOND = ("respond", "debates.jsonl", "-i", "demo", "-d", "verbatim")
JUDGE = ("judge", "debates.jsonl", "-j", "length")
ASKED = ("judge", "debates.jsonl", "-j", "zsl", "-m", "scripted:said.jsonl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("debates.jsonl", "claims.tsv"):
        copy_lines(demo_file(name), tmp_path / name, 4)
    script = [{"when": "city centres", "answer": "perhaps"}, {"answer": "yes"}]
    write_records(tmp_path / "said.jsonl", *script)
    (tmp_path / "yes.jsonl").write_text(json.dumps(script[1]))
    return tmp_path


def run(folder: Path, words: Sequence[str], out: str, *options: str) -> Ended:
    ended = touche_rad(*words, "-o", out, "-q", *options, cwd=folder, code=None)
    assert ended.code in (0, 1), ended.err
    return ended


def run_shards(folder: Path, words: Sequence[str], count: int = 2, *options: str) -> None:
    for number in range(1, count + 1):
        run(folder, words, "run.jsonl", "--shard", f"{number}/{count}", *options)


def merge(folder: Path, *words: str, code: int = 0, err: str = "") -> Ended:
    parts = words or ("run.jsonl.shards",)
    return touche_rad("merge", *parts, "-o", "run.jsonl", code=code, err=err, cwd=folder)


def status(path: Path) -> dict[str, Any]:
    return {key: value for key, value in read_json(path).items() if key not in TIMES}


def without_seconds(value: Any) -> Any:
    """Drop times, and the letters that prompts share with earlier prompts of the same process."""
    if isinstance(value, dict):
        dropped = ("seconds",)
        return {key: without_seconds(value[key]) for key in value if key not in dropped}
    return value


@pytest.mark.parametrize(
    "words",
    [
        RESPOND,
        JUDGE,
        ("judge", "debates.jsonl", "-j", "grice"),
        ("simulate", "claims.tsv", "-i", "demo", "-d", "verbatim", "--turns", "2"),
        ("simulate", "claims.tsv", "-i", "demo", "-d", "verbatim", "--both-sides", "--rounds", "1"),
        ASKED,
    ],
)
def test_merged_shards_are_the_run_of_one_machine(folder: Path, words: tuple[str, ...]) -> None:
    run(folder, words, "whole.jsonl")
    run_shards(folder, words)
    ended = merge(folder)
    assert ended.code in (0, 1), ended.err
    assert (folder / "run.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
    merged = status(folder / "run.jsonl.status.json")
    assert without_seconds(merged) == without_seconds(status(folder / "whole.jsonl.status.json"))
    run(folder, words, "run.jsonl")  # the same run: no --replace is needed


def test_parts_share_a_cache(folder: Path) -> None:
    words = (*JUDGE[:-1], "zsl", "-m", "scripted:yes.jsonl", "--cache", "cache")
    run_shards(folder, words)
    run(folder, words, "again.jsonl", "--shard", "2/2")
    again = read_status(folder / "again.jsonl.shards/2-of-2/again.jsonl")
    total = again["usage"]["total"]
    assert total["from_cache"] > total["calls"]  # invalid answers are not cached


def test_a_budget_is_shared_by_the_parts(folder: Path) -> None:
    run_shards(folder, ASKED, 2, "--max-calls", "7")
    merge(folder, code=1, err="budget")
    merged = read_status(folder / "run.jsonl")
    assert merged["usage"]["total"]["calls"] == 7


def test_more_shards_than_debates(folder: Path) -> None:
    run(folder, JUDGE, "whole.jsonl")
    run_shards(folder, JUDGE, 5)
    merge(folder)
    assert (folder / "run.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


def test_a_finished_part_is_not_made_again(folder: Path) -> None:
    run_shards(folder, JUDGE, 2)
    part = folder / "run.jsonl.shards/1-of-2/run.jsonl"
    before = read_status(part)
    touche_rad(*JUDGE, "-o", "run.jsonl", "--shard", "1/2", cwd=folder, err="shard 1/2")
    assert read_status(part) == before
    run(folder, JUDGE, "run.jsonl", "--shard", "1/2", "--restart")
    assert read_status(part) != before


def test_a_missing_shard_is_named(folder: Path) -> None:
    run_shards(folder, JUDGE, 3)
    shutil.rmtree(folder / "run.jsonl.shards/2-of-3")
    merge(folder, code=2, err="shard 2/3")
    run(folder, JUDGE, "run.jsonl", "--shard", "2/3")
    merge(folder)


def test_parts_of_different_runs_are_refused(folder: Path) -> None:
    run_shards(folder, JUDGE, 2)
    run(folder, JUDGE, "other.jsonl", "--shard", "1/3")
    merge(folder, "run.jsonl.shards", "other.jsonl.shards", code=2, err="shards was 2")
    run(folder, (*JUDGE[:-1], "always-yes"), "other.jsonl", "--shard", "2/2", "--replace")
    places = ("run.jsonl.shards/1-of-2", "other.jsonl.shards/2-of-2")
    merge(folder, *places, code=2, err="judge was")
    twice = folder / "copy" / "1-of-2"
    shutil.copytree(folder / "run.jsonl.shards/1-of-2", twice)
    merge(folder, "run.jsonl.shards", "copy", code=2, err="shard 1/2")
    assert not (folder / "run.jsonl").exists()


@pytest.mark.parametrize("name", ["units.jsonl", "run.jsonl.status.json"])
def test_a_damaged_part_is_refused(folder: Path, name: str) -> None:
    run_shards(folder, JUDGE, 2)
    damaged = folder / "run.jsonl.shards/2-of-2" / name
    damaged.write_text(damaged.read_text("utf-8").rpartition('{"unit"')[0])
    ended = merge(folder, code=1, err="units.jsonl")
    assert "--shard 2/2" in ended.err
    assert not (folder / "run.jsonl").exists()


@pytest.mark.parametrize(("fields", "of_unit", "code"), read_cases("runs/forged_parts.json"))
def test_a_part_made_to_harm_is_refused(
    folder: Path, fields: dict[str, Any], of_unit: dict[str, Any], code: int
) -> None:
    run(folder, JUDGE, "run.jsonl", "--shard", "1/1")
    part = folder / "run.jsonl.shards/1-of-1"
    beside = part / "run.jsonl.status.json"
    honest = read_json(beside)
    forged = {**honest, "sha256": sha256(b"{}\n").hexdigest(), **fields, "done": 1}
    forged["identity"] = honest["identity"] | fields.get("identity", {})
    beside.write_text(json.dumps(forged))
    (part / "units.jsonl").unlink()
    AppendLog(part / "units.jsonl", RUN, forged).append({"unit": 0, "lines": ["{}"], **of_unit})
    lines = merge(folder, code=code).err.splitlines()
    assert len(lines) <= 2 or code == 0
    assert "internal error" not in lines[-1]


def test_an_unfinished_part_is_refused(folder: Path) -> None:
    run_shards(folder, JUDGE, 2)
    part = folder / "run.jsonl.shards/2-of-2"
    (part / "units.jsonl").rename(part / "run.jsonl.part")
    merge(folder, code=2, err="2-of-2")
    assert not (folder / "run.jsonl").exists()


@pytest.mark.parametrize("place", [".", "nowhere"])
def test_a_folder_without_a_part_is_refused(folder: Path, place: str) -> None:
    merge(folder, place, code=2, err=place)


def test_an_output_of_another_run_is_kept(folder: Path) -> None:
    run_shards(folder, JUDGE, 2)
    (folder / "run.jsonl").write_text('{"text": "mine"}\n')
    merge(folder, code=2, err="--replace")
    merge(folder, "run.jsonl.shards", "--replace")


@pytest.mark.parametrize(
    ("words", "message"),
    read_cases("runs/wrong_shards.json"),
)
def test_a_shard_that_cannot_be_made(folder: Path, words: tuple[str, ...], message: str) -> None:
    touche_rad(*JUDGE, *words, cwd=folder, code=2, err=message)


@pytest.mark.long
def test_the_slurm_array_writes_the_run_of_one_machine(folder: Path) -> None:
    run(folder, JUDGE, "whole.jsonl")
    script = Path(__file__).parents[2] / "docs" / "recipes" / "slurm-array.sh"
    words = ["bash", script, *JUDGE[:2], "run.jsonl", *JUDGE[2:]]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for task in ("1", "2"):
        slurm = {"SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_COUNT": "2"}
        subprocess.run(words, cwd=folder, env={**os.environ, "PATH": path, **slurm}, check=True)
    merge(folder)
    assert (folder / "run.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()
