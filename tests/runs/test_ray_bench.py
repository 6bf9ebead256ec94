"""`bench --engine ray`: the files of one process, also after kills, and with two models."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.editions.makers import contents, write_bench
from tests.runs.ray_worlds import PLUGIN, ended
from tests.terminal import touche_rad, touche_rad_process

PLAN = """
format = 1
name = "marked"
claims = "claims.tsv"
debates = "debates.jsonl"
labels = "labels.jsonl"
index = "demo"
turns = 2
samples = 100
seeds = [0, 1]
users = { rules = "rules" }
debaters = { marking = "marking", verbatim = "verbatim" }
judges = { length = "length", grounded = "grounded" }
"""
WAITING = '''
import time
from pathlib import Path

from touche_rad.debate import Response
from touche_rad.plugins import debater


class Waiting:
    """Answers the first claim at once, and the second one when a file is there."""

    def __init__(self, options, services): ...

    def answer(self, debate):
        with open("asked.txt", "a") as stream:
            stream.write(f"{type(self).__name__} {debate.claim}\\n")
        while "slow" in debate.claim and not Path("go").exists():
            time.sleep(0.05)
        return Response(content=f"To this I say: {debate.last.utterance}")


@debater("first")
class First(Waiting): ...


@debater("second")
class Second(Waiting): ...
'''
TWO_CELLS = """
format = 1
name = "two-cells"
claims = "claims.tsv"
index = "demo"
turns = 1
samples = 100
users = { rules = "rules" }
debaters = { first = "first", second = "second" }
judges = { length = "length" }
"""
MODELS = """
format = 1
name = "modelled"
claims = "claims.tsv"
index = "demo"
turns = 1
samples = 100
model = "scripted:said.jsonl"
users = { student = "model(persona=stubborn)" }
debaters = { composed = "composed" }
judges = { zsl = "zsl" }
"""
SAID = (
    {"when": "You play a person", "answer": {"utterance": "I still do not believe it."}},
    {"when": "You debate with an opponent", "answer": {"numbers": [1], "response": "No."}},
    {"answer": "yes"},
)
BENCH = ("bench", "bench.toml", "--plugin", "marking.py", "-q")


def write_plan(folder: Path, plan: str, claims: int) -> None:
    """Write a plan with many claims, and the plugin."""
    write_bench(folder, plan)
    head, *rows = (folder / "claims.tsv").read_text("utf-8").splitlines(keepends=True)
    (folder / "claims.tsv").write_text(head + "".join(rows * (claims // len(rows))), "utf-8")
    (folder / "marking.py").write_text(PLUGIN)
    (folder / "said.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in SAID))


def by_ray(cluster: Any, *words: str, cwd: Path) -> subprocess.Popen[str]:
    """Start a bench on the cluster."""
    return subprocess.Popen(
        [sys.executable, "-m", "touche_rad", *words, "-o", "ray", "--engine", "ray"],
        cwd=cwd,
        env={**os.environ, "RAY_ADDRESS": cluster.address},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(process: subprocess.Popen[str], path: Path) -> None:
    """Wait until a file is there."""
    while not path.exists():
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.05)


@pytest.mark.services
def test_a_bench_that_loses_workers_and_its_driver_writes_the_same_bytes(
    cluster: Any, tmp_path: Path
) -> None:
    write_plan(tmp_path, PLAN, 40)
    done = touche_rad_process(*BENCH, "-o", "plain", cwd=tmp_path)
    assert done.code == 0, done.err
    (tmp_path / "pids.txt").unlink()
    process = by_ray(cluster, *BENCH, cwd=tmp_path)
    first = tmp_path / "ray" / "debates" / "seed-0" / "rules" / "marking.jsonl"
    wait_for(process, first.with_name("marking.jsonl.part"))
    wait_for(process, tmp_path / "pids.txt")
    os.kill(int((tmp_path / "pids.txt").read_text().split()[0]), signal.SIGKILL)
    wait_for(process, first)
    process.kill()
    process.communicate()
    asked = len((tmp_path / "asked.txt").read_text().splitlines())
    ended(by_ray(cluster, *BENCH, cwd=tmp_path))
    assert contents(tmp_path / "ray") == contents(tmp_path / "plain")
    again = len((tmp_path / "asked.txt").read_text().splitlines()) - asked
    assert again <= 40 * 2  # the second seed; the cell that was finished is not played again


@pytest.mark.services
def test_the_usage_of_two_models_and_the_cache_are_those_of_one_process(
    cluster: Any, tmp_path: Path
) -> None:
    write_plan(tmp_path, MODELS, 6)
    words = ("bench", "bench.toml", "-q", "--cache")
    done = touche_rad_process(*words, "plain-cache", "-o", "plain", cwd=tmp_path)
    assert done.code == 0, done.err
    # Two workers may ask the same at the same time, before one has the other's answer.
    ended(by_ray(cluster, *words, "ray-cache", "--actors", "1", cwd=tmp_path))
    records = [
        json.loads((tmp_path / name / "record.json").read_text()) for name in ("plain", "ray")
    ]
    assert records[0]["usage"]["calls"] > 0
    assert records[0] == records[1]
    traces = [
        sorted(
            (path.name, path.read_text().count("\n"))
            for path in (tmp_path / name).rglob("*.trace.jsonl")
        )
        for name in ("plain", "ray")
    ]
    assert traces[0] == traces[1] != []
    again = touche_rad("rerun", "ray", "--cache", "ray-cache", cwd=tmp_path)
    assert again.code == 0, again.err


@pytest.mark.services
def test_two_cells_run_at_the_same_time_and_a_killed_driver_resumes_both(
    cluster: Any, tmp_path: Path
) -> None:
    write_bench(tmp_path, TWO_CELLS)
    head, *_ = (tmp_path / "claims.tsv").read_text("utf-8").splitlines()
    claims = "A quick answer is good.\tbase-user\nA slow answer is good.\tbase-user\n"
    (tmp_path / "claims.tsv").write_text(f"{head}\n{claims}", "utf-8")
    (tmp_path / "waiting.py").write_text(WAITING)
    bench = ("bench", "bench.toml", "--plugin", "waiting.py", "-q")
    (tmp_path / "go").touch()
    done = touche_rad_process(*bench, "-o", "plain", cwd=tmp_path)
    assert done.code == 0, done.err
    for name in ("go", "asked.txt"):
        (tmp_path / name).unlink()
    process = by_ray(cluster, *bench, cwd=tmp_path)
    rules = tmp_path / "ray" / "debates" / "seed-0" / "rules"
    journals = [rules / f"{name}.jsonl.part" for name in ("first", "second")]
    for journal in journals:
        wait_for(process, journal)
        while journal.read_bytes().count(b"\n") < 2:
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.05)
    assert all(journal.exists() for journal in journals)  # neither cell can end
    process.kill()
    process.communicate()
    (tmp_path / "go").touch()
    ended(by_ray(cluster, *bench, cwd=tmp_path))
    assert contents(tmp_path / "ray") == contents(tmp_path / "plain")
    asked = (tmp_path / "asked.txt").read_text()
    assert asked.count("quick") == 2  # once in each cell


def test_actors_are_for_ray(tmp_path: Path) -> None:
    write_bench(tmp_path)
    refused = touche_rad("bench", "bench.toml", "-o", "out", "--actors", "2", cwd=tmp_path)
    assert refused.code == 2
    assert "--actors is for --engine ray" in refused.err
