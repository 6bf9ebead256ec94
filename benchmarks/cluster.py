"""Measure `--engine ray` on a local cluster: equal bytes after kills, overhead, driver memory.

    python benchmarks/cluster.py FOLDER [--debates 20000] [--kills 10] [--nodes 2] [--memory 100000]

Generated debates are answered and judged by one process and by the cluster. During the answers one
node is killed; during the verdicts the driver is killed at random moments and started again.
`--index 100` measures only which part of building an index folder workers could share.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

RESPOND = ("respond", "debates.jsonl", "-d", "verbatim", "-i", "demo")
JUDGE = ("judge", "plain-respond.jsonl", "-j", "length")
TOPICS = ("cars in city centres", "school uniforms", "zoos", "a shorter working week", "meat")


def write_debates(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for number in range(count):
            words = f"In case {number} I am against {TOPICS[number % len(TOPICS)]}."
            stream.write(json.dumps({"messages": [{"role": "user", "content": words}]}) + "\n")


class Run:
    """A run in a process of its own."""

    def __init__(
        self, folder: Path, words: tuple[str, ...], out: str, *more: str, **env: str
    ) -> None:
        call = [sys.executable, "-m", "touche_rad", *words, "-o", out, *more]
        self.folder, self.out, self.begun = folder, out, time.monotonic()
        self.log = (folder / f"{out}.log").open("a", encoding="utf-8")
        self.process = subprocess.Popen(
            call, cwd=folder, env={**os.environ, **env}, stderr=self.log
        )

    @property
    def kept(self) -> int:
        journal = self.folder / f"{self.out}.part"
        if not journal.exists():
            return 0
        with journal.open("rb") as stream:
            return max(sum(1 for _ in stream) - 1, 0)

    def end(self) -> tuple[float, float]:
        """Wait for the end; return wall seconds and peak memory of the process in MiB."""
        _, code, used = os.wait4(self.process.pid, 0)
        assert code == 0, (self.folder / f"{self.out}.log").read_text("utf-8")[-2000:]
        return time.monotonic() - self.begun, used.ru_maxrss / 1024

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        os.wait4(self.process.pid, 0)


def same(folder: Path, one: str, other: str) -> bool:
    return (folder / one).read_bytes() == (folder / other).read_bytes()


def answers(folder: Path, cluster: Any, count: int, nodes: int, address: dict[str, str]) -> None:
    seconds, memory = Run(folder, RESPOND, "plain-respond.jsonl").end()
    print(f"respond, one process: {count} debates, {seconds:.0f} s, {memory:.0f} MiB", flush=True)
    doomed = cluster.add_node(num_cpus=1)
    run = Run(folder, RESPOND, "ray-respond.jsonl", *_ray(nodes + 1), **address)
    while run.kept < count // 3:
        time.sleep(0.2)
    cluster.remove_node(doomed, allow_graceful=False)
    print(f"respond: a node is killed after {run.kept} debates", flush=True)
    seconds, memory = run.end()
    equal = same(folder, "plain-respond.jsonl", "ray-respond.jsonl")
    print(
        f"respond, ray: {seconds:.0f} s, driver {memory:.0f} MiB, same bytes: {equal}", flush=True
    )


def verdicts(folder: Path, count: int, nodes: int, kills: int, address: dict[str, str]) -> None:
    seconds, memory = Run(folder, JUDGE, "plain-judge.jsonl").end()
    print(f"judge, one process: {seconds:.0f} s, {memory:.0f} MiB", flush=True)
    plain = seconds
    seconds, memory = Run(folder, JUDGE, "ray-judge.jsonl", *_ray(nodes), **address).end()
    equal = same(folder, "plain-judge.jsonl", "ray-judge.jsonl")
    print(
        f"judge, ray: {seconds:.0f} s, driver {memory:.0f} MiB, same bytes: {equal}; "
        f"per debate {1000 * plain / count:.2f} ms and {1000 * seconds / count:.2f} ms",
        flush=True,
    )
    chance = random.Random(22)
    moments = sorted(chance.randrange(count) for _ in range(kills))
    out = "killed-judge.jsonl"
    at: list[int] = []
    for moment in moments:
        run = Run(folder, JUDGE, out, *_ray(nodes), **address)
        while run.kept < moment and run.process.poll() is None:
            time.sleep(0.2)
        if run.process.returncode is not None:
            break
        run.kill()
        at.append(run.kept)
    Run(folder, JUDGE, out, *_ray(nodes), **address).end()
    resumed = json.loads((folder / f"{out}.status.json").read_text())["resumed"]
    equal = same(folder, "plain-judge.jsonl", out)
    print(
        f"judge, ray, driver killed {len(at)} times with {at} debates done: "
        f"same bytes: {equal}, {resumed} taken over at the end",
        flush=True,
    )


def _ray(actors: int) -> tuple[str, ...]:
    return ("--engine", "ray", "--actors", str(actors))


def memory_of(folder: Path, count: int, nodes: int, address: dict[str, str]) -> None:
    """Print the driver's peak memory for another number of rows."""
    lines = (folder / "plain-respond.jsonl").read_text("utf-8").splitlines(keepends=True)
    with (folder / "many.jsonl").open("w", encoding="utf-8") as stream:
        for number in range(count):
            stream.write(lines[number % len(lines)].replace("case ", f"case {number}-", 1))
    words = ("judge", "many.jsonl", "-j", "length")
    seconds, memory = Run(folder, words, "ray-many.jsonl", *_ray(nodes), **address).end()
    print(f"judge, ray: {count} rows: {seconds:.0f} s, driver {memory:.0f} MiB", flush=True)


def index_build(folder: Path, copies: int) -> None:
    """Measure which part of building an index folder workers could share: the analysis."""
    import pyterrier_pisa  # noqa: F401  # its import is no part of the build

    from retrieval.index import build
    from touche_rad import files
    from touche_rad.demo import demo_file

    demo = list(files.read_arguments(demo_file("arguments.jsonl")))
    many = [one.model_copy(update={"id": f"{one.id}-{i}"}) for i in range(copies) for one in demo]
    analysed, spent = build._analysed, 0.0

    def timed(text: str) -> Any:
        nonlocal spent
        begun = time.thread_time()
        found = analysed(text)
        spent += time.thread_time() - begun
        return found

    build._analysed = timed
    begun = time.process_time()
    count = build.build(many, str(folder / "index"), replace=True)
    total = time.process_time() - begun
    print(f"index: {count} arguments: {total:.1f} s CPU, analysis {spent:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--debates", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--memory", type=int, default=0, help="also judge this many rows")
    parser.add_argument("--index", type=int, default=0, help="only: build N copies of the demo")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.index:
        index_build(given.folder, given.index)
        return
    write_debates(given.folder / "debates.jsonl", given.debates)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_prestart_worker_first_driver", "0")
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    for _ in range(given.nodes - 1):
        cluster.add_node(num_cpus=1)
    address = {"RAY_ADDRESS": cluster.address}
    try:
        answers(given.folder, cluster, given.debates, given.nodes, address)
        verdicts(given.folder, given.debates, given.nodes, given.kills, address)
        if given.memory:
            memory_of(given.folder, given.memory, given.nodes, address)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
