"""Measure `judge` with 1, 2 and 4 worker processes against an endpoint of a chosen latency.

    python benchmarks/workers.py [--latency 0.05 0.5 5] [--processes 1 2 4] [--debates 96]

The endpoint runs in a process of its own and answers "yes" after a random time (log-normal around
the latency, the same for the same prompt). The processes are shards of one run (`judge --shard`)
with the judge zsl and one call per maxim. "work" is the longest time of a shard by its status,
without the start of Python; "bound" is the time that the slowest calls of the debates take one
after the other, divided by the debates at once. With `--samples FILE`, the seconds of all calls by
the runs' traces are written there, for benchmarks/tools/cluster_simulation.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from touche_rad.demo import demo_file

SPREAD: Final = 0.5
"""Standard deviation of the logarithm of a latency."""
JUDGE: Final = ("-j", "zsl", "-O", "per=maxim")


def main() -> None:
    """Measure each pair of a latency and a number of processes, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--latency", type=float, nargs="+", default=[0.05, 0.5, 5.0])
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--debates", type=int, default=96)
    parser.add_argument("--workers", type=int, default=16, help="debates at once per process")
    parser.add_argument("--samples", type=Path)
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(serve(given.serve))
        return
    print("| latency (s) | processes | work (s) | bound (s) | calls per second | processor (s) |")
    print("| --- | --- | --- | --- | --- | --- |")
    samples: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "debates.jsonl"
        write_debates(source, given.debates)
        for latency in given.latency:
            with endpoint(latency) as url:
                for processes in given.processes:
                    out = Path(folder) / f"{latency}-{processes}" / "out.jsonl"
                    taken = run(source, out, url, processes, given.workers)
                    samples += taken["samples"]
                    print(row(latency, processes, taken, given.workers), flush=True)
    if given.samples is not None:
        given.samples.write_text("".join(f"{one:.4f}\n" for one in samples), "utf-8")


def write_debates(path: Path, count: int) -> None:
    """Write the demo's adversarial debates again and again, each time with other words."""
    lines = demo_file("adversarial.jsonl").read_text("utf-8").splitlines()
    with path.open("w", encoding="utf-8") as out:
        for number in range(count):
            debate = json.loads(lines[number % len(lines)])
            debate["id"] = f"generated-{number}"
            for turn in debate["simulation"]["userTurns"]:
                turn["utterance"] += f" That is what person {number} says."
            out.write(json.dumps(debate) + "\n")


def latency_of(body: bytes, median: float) -> float:
    """Return the seconds that the answer to a request takes."""
    return median * math.exp(SPREAD * random.Random(body).gauss(0, 1))


async def serve(median: float) -> None:
    """Answer every request with yes, until the input is closed."""
    message = {"role": "assistant", "content": "yes"}
    reply: dict[str, Any] = {
        "model": "tiny",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 1},
    }
    data = json.dumps(reply).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data)
    missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().lower().split("\r\n")
                sizes = [line.split(":")[1] for line in lines if line.startswith("content-length")]
                body = await reader.readexactly(int(sizes[0])) if sizes else b""
                if body:
                    await asyncio.sleep(latency_of(body, median))
                writer.write(answer if body else missing)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


@contextmanager
def endpoint(latency: float) -> Iterator[str]:
    """Start the endpoint."""
    command = [sys.executable, __file__, "--serve", str(latency)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1#tiny"
        server.kill()


def run(source: Path, out: Path, model: str, processes: int, workers: int) -> dict[str, Any]:
    """Run all shards at once, and return their times."""
    out.parent.mkdir()
    program = [sys.executable, "-m", "touche_rad", "judge", str(source), *JUDGE, "-m", model]
    program += ["--workers", str(workers), "-q", "-o", str(out)]
    before = os.times()
    shards = [
        subprocess.Popen([*program, *_shard(number, processes)])
        for number in range(1, processes + 1)
    ]
    codes = [shard.wait() for shard in shards]
    after = os.times()
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    if any(codes):
        raise SystemExit(f"a shard failed: {codes}")
    statuses = [json.loads(path.read_text()) for path in out.parent.rglob("*status.json")]
    traces = list(out.parent.rglob("*trace.jsonl"))
    lines = [json.loads(line) for path in traces for line in path.read_text().splitlines()]
    slowest: dict[str, float] = {}
    for line in lines:
        slowest[line["debate"]] = max(slowest.get(line["debate"], 0.0), line["seconds"])
    return {
        "processor": used,
        "work": max(status["seconds"] for status in statuses),
        "calls": len(lines),
        "samples": [line["seconds"] for line in lines],
        "bound": sum(slowest.values()) / (processes * workers),
    }


def _shard(number: int, processes: int) -> Sequence[str]:
    return ("--shard", f"{number}/{processes}") if processes > 1 else ()


def row(latency: float, processes: int, taken: dict[str, Any], workers: int) -> str:
    """Return a row of the table."""
    rate = taken["calls"] / taken["work"]
    cells = (
        f"{latency:g}",
        processes,
        f"{taken['work']:.1f}",
        f"{taken['bound']:.1f}",
        f"{rate:.0f}",
        f"{taken['processor']:.0f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
