"""`--engine ray` on a real local cluster of two nodes: the files of one process, also after kills."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.records import read_json, read_status
from tests.runs.ray_worlds import (
    add_node,
    run_in_one_process,
    start_on_ray,
    wait_for_end,
    write_world,
)
from tests.terminal import touche_rad, touche_rad_process

DEMO = Path(__file__).parents[2] / "touche_rad" / "demo"
RESPOND = ("respond", "debates.jsonl", "-d", "marking", "--plugin", "marking.py", "-i", "demo")


def test_without_ray_one_line_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    out = tmp_path / "out.jsonl"
    words = ("judge", DEMO / "debates.jsonl", "-j", "length", "-o", out, "--engine", "ray")
    ended = touche_rad(*words, code=2)
    assert "touche-rad[ray]" in ended.error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--actors", "2"), "--actors is for --engine ray"),
        (("--engine", "ray", "-m", "vllm:tiny"), "start the servers first"),
    ],
)
def test_what_cannot_have_workers(
    tmp_path: Path, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    ended = touche_rad(
        "judge", DEMO / "debates.jsonl", "-o", tmp_path / "out.jsonl", *words, code=2
    )
    assert message in ended.err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_world(tmp_path, 150)
    return tmp_path


def status(path: Path) -> dict[str, Any]:
    dropped = ("output", "started", "finished", "seconds", "errors", "resumed")
    return {key: value for key, value in read_json(path).items() if key not in dropped}


def count_finished(folder: Path) -> int:
    path = folder / "ray.jsonl.part"
    return max(path.read_bytes().count(b"\n") - 1, 0) if path.exists() else 0


def wait_for(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    """Wait until the journal has so many debates."""
    while count_finished(folder) < count:
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.05)


@pytest.mark.services
def test_a_cluster_that_loses_a_node_and_its_driver_writes_the_same_bytes(
    cluster: Any, folder: Path
) -> None:
    expected = run_in_one_process(folder, *RESPOND)
    (folder / "asked.txt").unlink()
    node = add_node(cluster)
    process = start_on_ray(cluster, *RESPOND, "--workers", "2", cwd=folder)
    wait_for(process, folder, 10)
    cluster.remove_node(node, allow_graceful=False)
    wait_for(process, folder, 40)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    finished = count_finished(folder)
    asked = len((folder / "asked.txt").read_text().splitlines())
    err = wait_for_end(start_on_ray(cluster, *RESPOND, "--workers", "2", cwd=folder))
    assert f"{finished} of them were taken over" in err
    again = (folder / "asked.txt").read_text().splitlines()[asked:]
    assert (folder / "ray.jsonl").read_bytes() == expected
    assert status(folder / "ray.jsonl.status.json") == status(folder / "plain.jsonl.status.json")
    assert len(set(again)) == 150 - finished  # finished blocks are not done again
    touche_rad("respond", *RESPOND[1:], "-o", "ray.jsonl", cwd=folder, code=0)


@pytest.mark.services
def test_debates_that_kill_their_worker(cluster: Any, tmp_path: Path) -> None:
    write_world(tmp_path, 12, {3: "kills once", 6: "kills always", 9: "raises"})
    (tmp_path / "killed").touch()
    expected = run_in_one_process(tmp_path, *RESPOND)
    (tmp_path / "killed").unlink()
    (tmp_path / "deadly").touch()
    process = start_on_ray(
        cluster, *RESPOND, "--workers", "1", cwd=tmp_path
    )  # blocks of one debate
    _, err = process.communicate(timeout=400)
    assert process.returncode == 1
    assert "1 of 12 failed, first number 7: its worker died 3 times" in err
    assert count_finished(tmp_path) == 11  # the failed one is not recorded as done
    (tmp_path / "deadly").unlink()
    wait_for_end(start_on_ray(cluster, *RESPOND, cwd=tmp_path))
    assert (tmp_path / "ray.jsonl").read_bytes() == expected
    status_of_ray = status(tmp_path / "ray.jsonl.status.json")
    assert status_of_ray == status(tmp_path / "plain.jsonl.status.json")
    assert status_of_ray["replaced_turns"] == ["10.1"]


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.services
def test_ctrl_c_and_strict_end_with_one_line_and_leave_no_worker(
    cluster: Any, tmp_path: Path
) -> None:
    write_world(tmp_path, 250, {240: "raises"})
    process = start_on_ray(cluster, *RESPOND, "--workers", "1", "-q", cwd=tmp_path)
    wait_for(process, tmp_path, 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=400)
    assert process.returncode == 130
    assert len(err.splitlines()) == 1
    assert "ray.jsonl.part" in err
    pids = {int(line) for line in (tmp_path / "pids.txt").read_text().split()}
    while any(map(is_running, pids)):
        time.sleep(0.05)
    finished = count_finished(tmp_path)
    process = start_on_ray(cluster, *RESPOND, "--workers", "1", "-q", "--strict", cwd=tmp_path)
    _, err = process.communicate(timeout=400)
    assert process.returncode == 1
    assert len(err.splitlines()) == 1
    assert "ValueError: no answer to this" in err
    assert finished <= count_finished(tmp_path) < 250


@pytest.mark.services
def test_a_run_starts_a_cluster_of_its_own_unless_one_is_named(
    cluster: Any, tmp_path: Path
) -> None:
    write_world(tmp_path, 12, {3: "kills once"})
    (tmp_path / "killed").touch()
    expected = run_in_one_process(tmp_path, *RESPOND)
    joined = wait_for_end(start_on_ray(cluster, *RESPOND, cwd=tmp_path, out="joined.jsonl"))
    assert f"Ray: joined {cluster.address} (2 CPUs)\n" in joined
    (tmp_path / "killed").unlink()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    env = {"TMPDIR": str(temporary), "RAY_TMPDIR": "/tmp"}
    words = (*RESPOND, "-o", "own.jsonl", "--engine", "ray")
    alone = touche_rad_process(*words, cwd=tmp_path, env=env, code=0)
    assert "Ray: " in alone.err
    assert (tmp_path / "joined.jsonl").read_bytes() == expected
    assert (tmp_path / "own.jsonl").read_bytes() == expected
    assert (tmp_path / "killed").exists()


@pytest.mark.services
def test_costs_caches_and_the_budget_are_those_of_one_process(cluster: Any, tmp_path: Path) -> None:
    lines = (DEMO / "debates.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "debates.jsonl").write_text("".join(lines[:8]))
    (tmp_path / "said.jsonl").write_text('{"answer": "yes"}\n')
    words = ("judge", "debates.jsonl", "-j", "zsl", "-m", "scripted:said.jsonl")
    expected = run_in_one_process(tmp_path, *words, "--cache", "plain-cache")
    wait_for_end(start_on_ray(cluster, *words, "--cache", "cache", cwd=tmp_path))
    assert (tmp_path / "ray.jsonl").read_bytes() == expected
    runs = [read_status(tmp_path / f"{name}.jsonl") for name in ("plain", "ray")]
    totals = [status["usage"]["total"] for status in runs]
    for key in ("calls", "from_cache", "repairs", "failures", "prompt_tokens"):
        assert totals[0][key] == totals[1][key], key
    assert runs[0]["warnings"] == runs[1]["warnings"]
    traces = [tmp_path / f"{name}.jsonl.trace.jsonl" for name in ("plain", "ray")]
    assert traces[0].read_text().count("\n") == traces[1].read_text().count("\n") > 0
    again = touche_rad(*words, "--cache", "cache", "-o", "again.jsonl", cwd=tmp_path)
    of_plain = touche_rad(*words, "--cache", "plain-cache", "-o", "other.jsonl", cwd=tmp_path)
    usage = next(line for line in again.err.splitlines() if line.startswith("model: "))
    assert usage in of_plain.err  # the same number of answers comes from both caches
    process = start_on_ray(cluster, *words, "--max-calls", "17", cwd=tmp_path, out="limited.jsonl")
    process.communicate(timeout=400)
    spent = read_status(tmp_path / "limited.jsonl")
    assert spent["usage"]["total"]["calls"] == 17
