"""The parts of a run, merged, are the files of the run on one machine. 8 CPU seconds together."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_examples import parse_call
from tests.records import read_json, read_status, write_records
from tests.terminal import Ended, touche_rad

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"
DEMO = Path(__file__).parents[2] / "touche_rad" / "demo"

TIMES = ("output", "started", "finished", "seconds", "errors")
"""What differs between two runs on one machine, too."""
RESPOND = ("respond", "debates.jsonl", "-i", "demo", "-d", "verbatim")
JUDGE = ("judge", "debates.jsonl", "-j", "length")
ASKED = ("judge", "debates.jsonl", "-j", "zsl", "-m", "scripted:said.jsonl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = (DEMO / "debates.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "debates.jsonl").write_text("".join(lines[:4]))
    (tmp_path / "claims.tsv").write_text(
        "".join((DEMO / "claims.tsv").read_text("utf-8").splitlines(True)[:4])
    )
    script = [{"when": "city centres", "answer": "perhaps"}, {"answer": "yes"}]
    write_records(tmp_path / "said.jsonl", *script)
    (tmp_path / "yes.jsonl").write_text(json.dumps(script[1]))
    return tmp_path


def run(folder: Path, words: Sequence[str], out: str, *options: str) -> Ended:
    ended = touche_rad(*words, "-o", out, "-q", *options, cwd=folder)
    assert ended.code in (0, 1), ended.err
    return ended


def run_shards(folder: Path, words: Sequence[str], count: int = 2, *options: str) -> None:
    for number in range(1, count + 1):
        run(folder, words, "run.jsonl", "--shard", f"{number}/{count}", *options)


def merge(folder: Path, *words: str, code: int = 0) -> Ended:
    parts = words or ("run.jsonl.shards",)
    return touche_rad("merge", *parts, "-o", "run.jsonl", code=code, cwd=folder)


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
    for suffix in (".trace.jsonl", ".errors.txt"):
        beside = folder / f"whole.jsonl{suffix}"
        assert beside.exists() == (folder / f"run.jsonl{suffix}").exists()
        if suffix == ".trace.jsonl" and beside.exists():
            prompts = set(_prompts(beside))
            assert prompts
            assert prompts == set(_prompts(folder / f"run.jsonl{suffix}"))
    run(folder, words, "run.jsonl")  # the same run: no --replace is needed


def _prompts(path: Path) -> list[str]:
    return [json.dumps(json.loads(line)["asked"]) for line in path.read_text().splitlines()]


def test_a_part_reads_the_cache_and_its_own_answers_are_merged(folder: Path) -> None:
    words = (*JUDGE[:-1], "zsl", "-m", "scripted:yes.jsonl", "--cache", "cache")
    run_shards(folder, words)
    assert not (folder / "cache").exists()  # machines do not share the file of a cache
    (note,) = (line for line in merge(folder).err.splitlines() if "touche-rad cache merge" in line)
    call = shlex.split(note.partition(": touche-rad ")[2].replace("CACHE", "cache"))
    touche_rad(*call, cwd=folder, code=0)
    run(folder, words, "again.jsonl", "--shard", "2/2")
    again = read_status(folder / "again.jsonl.shards/2-of-2/again.jsonl")
    total = again["usage"]["total"]
    assert total["from_cache"] > total["calls"]  # invalid answers are not cached


def test_a_budget_is_shared_by_the_parts(folder: Path) -> None:
    run_shards(folder, ASKED, 2, "--max-calls", "7")
    assert "budget" in merge(folder, code=1).err
    merged = read_status(folder / "run.jsonl")
    assert merged["usage"]["total"]["calls"] == 7


def test_more_shards_than_debates(folder: Path) -> None:
    run(folder, JUDGE, "whole.jsonl")
    run_shards(folder, JUDGE, 5)
    merge(folder)
    assert (folder / "run.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


def test_a_finished_part_is_not_made_again(folder: Path) -> None:
    run_shards(folder, JUDGE, 2)
    part = folder / "run.jsonl.shards/1-of-2/units.jsonl"
    before = part.read_bytes()
    again = touche_rad(*JUDGE, "-o", "run.jsonl", "--shard", "1/2", cwd=folder)
    assert "shard 1/2" in again.err
    assert part.read_bytes() == before
    run(folder, JUDGE, "run.jsonl", "--shard", "1/2", "--restart")
    assert part.read_bytes() != before


def test_a_part_names_the_shards_that_merge_also_needs(folder: Path) -> None:
    for number, needed in ((3, "1/6, 2/6, 4/6, 5/6, ..."), (1, "2/6, 4/6, 5/6, 6/6")):
        shard = ("--shard", f"{number}/6")
        ended = touche_rad(*JUDGE, "-o", "run.jsonl", *shard, cwd=folder)
        assert f": shard {needed}\n" in ended.err
    ended = touche_rad(*JUDGE, "-o", "run.jsonl", "--shard", "1/1", cwd=folder)
    assert ": shard" not in ended.err


def test_a_missing_shard_is_named_with_its_command(folder: Path) -> None:
    run_shards(folder, JUDGE, 3)
    shutil.rmtree(folder / "run.jsonl.shards/2-of-3")
    ended = merge(folder, code=2)
    assert "shard 2/3" in ended.err
    command = ended.err.strip().partition("make it: touche-rad ")[2].split()
    touche_rad(*command, cwd=folder, code=0)
    merge(folder)


def test_parts_of_different_runs_are_refused(folder: Path) -> None:
    run_shards(folder, JUDGE, 2)
    run(folder, JUDGE, "other.jsonl", "--shard", "1/3")
    mixed = merge(folder, "run.jsonl.shards", "other.jsonl.shards", code=2)
    assert "shards was 2" in mixed.err
    run(folder, (*JUDGE[:-1], "always-yes"), "other.jsonl", "--shard", "2/2", "--replace")
    places = ("run.jsonl.shards/1-of-2", "other.jsonl.shards/2-of-2")
    options = merge(folder, *places, code=2)
    assert "judge was" in options.err
    assert "-j length" in options.err
    twice = folder / "copy" / "1-of-2"
    shutil.copytree(folder / "run.jsonl.shards/1-of-2", twice)
    assert "shard 1/2" in merge(folder, "run.jsonl.shards", "copy", code=2).err
    assert not (folder / "run.jsonl").exists()


@pytest.mark.parametrize("missing", [1, -1], ids=["a unit", "the end"])
def test_a_damaged_part_is_refused(folder: Path, missing: int) -> None:
    run_shards(folder, JUDGE, 2)
    units = folder / "run.jsonl.shards/2-of-2/units.jsonl"
    lines = units.read_text("utf-8").splitlines(keepends=True)
    units.write_text("".join(line for line in lines if line != lines[missing]))
    ended = merge(folder, code=1)
    assert "units.jsonl" in ended.err
    assert "--shard 2/2" in ended.err
    assert not (folder / "run.jsonl").exists()


def test_an_unfinished_part_is_refused(folder: Path) -> None:
    run_shards(folder, JUDGE, 2)
    part = folder / "run.jsonl.shards/2-of-2"
    (part / "units.jsonl").rename(part / "run.jsonl.part")
    ended = merge(folder, code=2)
    assert "2-of-2" in ended.err
    assert not (folder / "run.jsonl").exists()


@pytest.mark.parametrize("place", [".", "nowhere"])
def test_a_folder_without_a_part_is_refused(folder: Path, place: str) -> None:
    ended = merge(folder, place, code=2)
    assert place in ended.err


def test_an_output_of_another_run_is_kept(folder: Path) -> None:
    run_shards(folder, JUDGE, 2)
    (folder / "run.jsonl").write_text('{"text": "mine"}\n')
    ended = merge(folder, code=2)
    assert "--replace" in ended.err
    merge(folder, "run.jsonl.shards", "--replace")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--shard", "4/3", "-o", "run.jsonl"), "--shard 4/3: "),
        (("--shard", "half", "-o", "run.jsonl"), "--shard half: "),
        (("--shard", "1/3"), "-o RUN"),
        (("--shard", "1/3", "-o", "run.jsonl", "--dry-run"), "--shard"),
    ],
)
def test_a_shard_that_cannot_be_made(folder: Path, words: tuple[str, ...], message: str) -> None:
    ended = touche_rad(*JUDGE, *words, cwd=folder, code=2)
    assert message in ended.err


SSH = """#!/bin/bash
# Stands in for ssh: each host is a home folder of this machine.
cd "$HOSTS_AT" && mkdir -p "$1" && cd "$1" && exec bash -c "$2"
"""


@pytest.mark.long
def test_the_recipes_write_the_run_of_one_machine(folder: Path) -> None:
    """8 CPU seconds: five calls in processes of their own."""
    run(folder, JUDGE, "whole.jsonl")
    stub = folder / "bin" / "ssh"
    stub.parent.mkdir()
    stub.write_text(SSH)
    stub.chmod(0o755)
    path = f"{stub.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "HOSTS_AT": str(folder / "hosts"), "HOSTS": "one two"}
    (folder / "hosts").mkdir()

    def run_script(name: str, out: str, **variables: str) -> None:
        words = ["bash", str(RECIPES / name), *JUDGE[:2], out, *JUDGE[2:]]
        env_of_script = {**env, **variables}
        subprocess.run(words, cwd=folder, env=env_of_script, check=True, capture_output=True)

    run_script("ssh.sh", "ssh.jsonl")
    for task in ("1", "2"):
        variables = {"SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_COUNT": "2"}
        run_script("slurm-array.sh", "run.jsonl", **variables)
    merge(folder)
    for name in ("ssh.jsonl", "run.jsonl"):
        assert (folder / name).read_bytes() == (folder / "whole.jsonl").read_bytes()
    job = yaml.safe_load((RECIPES / "kuberay.yml").read_text("utf-8"))
    words = shlex.split(job["spec"]["entrypoint"])
    parse_call(shlex.join(words[1:]))
