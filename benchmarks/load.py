"""Measure `touche-rad serve` under many debates at once, and over many judged turns.

    python benchmarks/load.py [--debates 500] [--turns 1] [--deadline 10] [-d grounded]
                              [--soak 0] [--full 0] [--plots FOLDER]

All debates start in the same moment, as the task's client starts them; each request is sent once.
The table shows the latencies in seconds, answers that came from a fallback, refused and lost
requests, and the server's memory and descriptors before, during and after. `--soak N` then answers
N messages and judges each answer, 20 at a time, and shows memory, descriptors and latency in tenths
of the soak. All messages differ, but not by words that no message had before. The slope of the
memory is that of the turns when the caches are full, by default the last 60 %; its interval is made
of the slopes of ten parts. `--plots` writes the three curves as SVG files.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import numpy as np

UTTERANCES = (
    "Zoos should be closed because captivity harms animals. Case {}.",
    "That does not convince me: what about the money that a zoo costs?",
    "And who speaks for the animals? Nobody has answered that.",
)

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
PARTS = 50
"""Samples of a soak."""
T_OF_9 = 2.262
"""Student's t for 95 % and 9 degrees of freedom."""


class Sample(NamedTuple):
    """The server after a number of turns, and the latencies since the sample before."""

    turns: int
    memory: float
    descriptors: int
    middle: float
    high: float


def main() -> None:
    """Start a server, load it, and print what happened."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--debates", type=int, default=500)
    parser.add_argument("--turns", type=int, default=1, choices=(1, 2, 3))
    parser.add_argument("--deadline", type=float, default=10.0)
    parser.add_argument("--soak", type=int, default=0, metavar="TURNS")
    parser.add_argument("--full", type=int, metavar="TURNS", help="when the caches are full")
    parser.add_argument("--plots", type=Path, metavar="FOLDER")
    parser.add_argument("-d", "--debater", default="grounded")
    given = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "touche_rad", "serve", "-i", "demo", "-q", "-d", given.debater]
    command += ["--host", "127.0.0.1", "--port", str(port), "--deadline", str(given.deadline)]
    server = subprocess.Popen(command)
    try:
        asyncio.run(measure(f"http://127.0.0.1:{port}", server.pid, given))
    finally:
        server.terminate()
        server.wait()


async def measure(url: str, server: int, given: argparse.Namespace) -> None:
    """Print the rows of the table."""
    await ready(url)
    before = state(server)
    begun = time.monotonic()
    times: list[float] = []
    refused, lost = await play(url, given.debates, given.turns, times)
    seconds, during = time.monotonic() - begun, state(server)
    stand_ins = httpx2.get(f"{url}/health", timeout=60).json().get("stand_ins", "?")
    low, middle, high = np.percentile(times, (10, 50, 99)) if times else (0.0, 0.0, 0.0)
    print("| debates | answers | a second | p10 | p50 | p99 | fallback | refused | lost |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    print(
        f"| {given.debates} | {len(times)} | {len(times) / seconds:.1f} | {low:.1f} | {middle:.1f} "
        f"| {high:.1f} | {stand_ins} | {refused} | {lost} |"
    )
    print(f"memory {before[0]:.0f} to {during[0]:.0f} MB, descriptors {before[1]} to {during[1]}")
    if given.soak:
        full = given.soak * 4 // 10 if given.full is None else given.full
        await soak(url, server, given.soak, full, given.plots)
    await asyncio.sleep(1)
    print(f"at the end: memory {state(server)[0]:.0f} MB, descriptors {state(server)[1]}")


async def ready(url: str) -> None:
    """Wait until the server answers."""
    async with httpx2.AsyncClient() as client:
        for _ in range(600):
            try:
                await client.get(f"{url}/health", timeout=5)
            except httpx2.HTTPError:
                await asyncio.sleep(0.1)
            else:
                return
    sys.exit("the server does not start")


async def play(url: str, debates: int, turns: int, times: list[float]) -> tuple[int, int]:
    """Play all debates at once; return the number of refused and of lost requests."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    refused = lost = 0

    async def debate(number: int) -> None:
        nonlocal refused, lost
        messages: list[dict[str, str]] = []
        for utterance in UTTERANCES[:turns]:
            messages.append({"role": "user", "content": utterance.format(number)})
            begun = time.monotonic()
            try:
                answered = await client.post(url, json={"messages": messages})
                content = answered.json()["content"]
            except (httpx2.HTTPError, ValueError, KeyError):
                lost += 1
                return
            refused += answered.status_code == 503
            times.append(time.monotonic() - begun)
            messages.append({"role": "assistant", "content": content})

    async with httpx2.AsyncClient(limits=limits, timeout=httpx2.Timeout(300)) as client:
        await asyncio.gather(*map(debate, range(debates)))
    return refused, lost


async def soak(url: str, server: int, turns: int, full: int, plots: Path | None) -> None:
    """Answer and judge so many messages; print memory, descriptors and latency in tenths."""
    rows: list[Sample] = []
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(300)) as client:

        async def turn(number: int) -> float:
            message = UTTERANCES[0].format(" ".join(DIGITS[int(one)] for one in str(number)))
            begun = time.monotonic()
            sent = {"messages": [{"role": "user", "content": message}]}
            answer = (await client.post(url, json=sent)).raise_for_status().json()
            said = {"utterance": answer["content"], "response": answer}
            simulation = {"userTurns": [{"utterance": message, "systemResponse": said}]}
            asked: dict[str, Any] = {"simulation": simulation, "userTurnIndex": 0}
            for maxim in ("quantity", "quality", "relation", "manner"):
                (await client.post(f"{url}/{maxim}", json=asked)).raise_for_status()
            return time.monotonic() - begun

        for part in range(PARTS):
            times: list[float] = []
            numbers = range(turns * part // PARTS, turns * (part + 1) // PARTS)
            for start in range(numbers.start, numbers.stop, 20):
                block = range(start, min(start + 20, numbers.stop))
                times += await asyncio.gather(*map(turn, block))
            memory, descriptors = state(server)
            middle, high = np.percentile(times, (50, 99))
            rows.append(Sample(numbers.stop, memory, descriptors, middle, high))
    print("| turns | memory (MB) | descriptors | p50 (s) | p99 (s) | p99 / p50 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in rows[PARTS // 10 - 1 :: PARTS // 10]:
        print(
            f"| {row.turns} | {row.memory:.1f} | {row.descriptors} | {row.middle:.2f} "
            f"| {row.high:.2f} | {row.high / row.middle:.1f} |"
        )
    print_slope([row for row in rows if row.turns > full])
    if plots is not None:
        draw(rows, plots)


def print_slope(rows: Sequence[Sample]) -> None:
    """Print the growth of the memory per 1,000 turns, with a 95 % interval over ten parts."""
    size = len(rows) // 10
    parts = [rows[at : at + size + 1] for at in range(0, size * 10, size)]
    slopes = [
        1000 * (part[-1].memory - part[0].memory) / (part[-1].turns - part[0].turns)
        for part in parts
        if len(part) > 1
    ]
    middle, error = np.mean(slopes), np.std(slopes, ddof=1) / len(slopes) ** 0.5
    reach = T_OF_9 * error
    print(
        f"memory per 1,000 turns, from turn {rows[0].turns} on: {middle:+.2f} MB "
        f"({middle - reach:+.2f} to {middle + reach:+.2f})"
    )


def draw(rows: Sequence[Sample], folder: Path) -> None:
    """Write the curves of memory, descriptors and latency."""
    from touche_rad.plots.curves import curves

    folder.mkdir(parents=True, exist_ok=True)
    drawn = {
        "memory": {"memory (MB)": [(row.turns, row.memory) for row in rows]},
        "descriptors": {"descriptors": [(row.turns, float(row.descriptors)) for row in rows]},
        "latency": {
            "median (s)": [(row.turns, row.middle) for row in rows],
            "99th percentile (s)": [(row.turns, row.high) for row in rows],
        },
    }
    for name, lines in drawn.items():
        plot = curves(f"{name} over the turns", lines, "turns")
        (folder / f"soak-{name}.svg").write_text(str(plot), "utf-8")


def state(process: int) -> tuple[float, int]:
    """Return the memory of a process in MB, and the number of its descriptors."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    size = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    return size, len(list(Path(f"/proc/{process}/fd").iterdir()))


if __name__ == "__main__":
    main()
