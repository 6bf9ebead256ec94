"""Debates a minute of a whole `touche-rad judge` beside a raw load of the same requests.

vLLM is started and stopped here. A first run is recorded by a proxy and warms the server up. Then
the command and the raw load, which sends the recorded bodies and does nothing else, take turns, and
the better time of each counts. The command's time has the start of its process, reading, checking
and writing; the raw load has nothing but requests. `--apart` gives vLLM one half of the CPUs and
the command and the load the other, as if the model ran on another machine or on a card.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import httpx2

from benchmarks.reliability import lines
from touche_rad.models._vllm import Vllm
from touche_rad.models.endpoint import Client


class Recorder(ThreadingHTTPServer):
    """Passes requests on to a server, and keeps their bodies."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), Passing)
        self.bodies: list[bytes] = []
        self.client = httpx2.Client(
            base_url=url.removesuffix("/v1"),
            timeout=600,
            limits=httpx2.Limits(max_connections=None),
        )


class Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Recorder

    def do_GET(self) -> None:
        self._answer(self.server.client.get(self.path))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/chat/completions"):
            self.server.bodies.append(body)
        headers = {"Content-Type": "application/json"}
        self._answer(self.server.client.post(self.path, content=body, headers=headers))

    def _answer(self, reply: httpx2.Response) -> None:
        self.send_response(reply.status_code)
        self.send_header("Content-Type", reply.headers.get("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(reply.content)))
        self.end_headers()
        self.wfile.write(reply.content)

    def log_message(self, *_: Any) -> None:
        pass


def judged(debates: Path, judge: str, url: str, model: str, at_once: int, cpus: set[int]) -> float:
    """Run the command on these CPUs; return its seconds."""
    os.sched_setaffinity(0, cpus)  # this thread may have the CPUs of whoever began it
    command = [
        sys.executable,
        "-m",
        "touche_rad",
        "judge",
        str(debates),
        "-j",
        judge,
        "-q",
        "-o",
        str(debates.with_name("judged.jsonl")),
        "--replace",
        "-m",
        f"{url}#{model}",
        "-O",
        f"model.at_once={at_once}",
        "-O",
        "model.deadline=600",
        "-O",
        "model.max_tokens=300",
    ]
    begun = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - begun


async def sent(url: str, bodies: list[bytes], at_once: int) -> float:
    """Send all bodies, so many at once; return the seconds."""
    limit, client = anyio.Semaphore(at_once), Client()

    async def one(body: bytes) -> None:
        async with limit:
            reply = await client.send("POST", f"{url}/chat/completions", body)
            json.loads(reply.json()["choices"][0]["message"]["content"])

    begun = time.perf_counter()
    async with anyio.create_task_group() as group:
        for body in bodies:
            group.start_soon(one, body)
    seconds = time.perf_counter() - begun
    await client.close()
    return seconds


def report(options: argparse.Namespace) -> None:
    """Print both rates."""
    anyio.run(beside_raw_load, options)


def kept_apart(cpus: set[int]) -> tuple[set[int], set[int]]:
    """Return one half of the CPUs for vLLM, and the other for whoever asks it."""
    half = len(cpus) // 2 or sys.exit("--apart needs two CPUs")
    return set(sorted(cpus)[:half]), set(sorted(cpus)[half:])


async def beside_raw_load(options: argparse.Namespace) -> None:
    cpus = os.sched_getaffinity(0)
    of_vllm, of_load = kept_apart(cpus) if options.apart else (cpus, cpus)
    os.sched_setaffinity(0, of_vllm)  # vLLM inherits it
    server = Vllm(options.model, dict(one.split("=", 1) for one in options.vllm), report=print)
    with tempfile.TemporaryDirectory() as folder:
        debates = Path(folder, "debates.jsonl")
        chosen = list(itertools.islice(lines(options.debates), options.most))
        debates.write_text("".join(chosen), "utf-8")
        try:
            await server.ready()
            os.sched_setaffinity(0, of_load)
            url = str(server.url)
            recorder = Recorder(url)
            Thread(target=recorder.serve_forever, daemon=True).start()

            async def command(url: str) -> float:
                given = (debates, options.judge, url, options.model, options.at_once, of_load)
                return await anyio.to_thread.run_sync(judged, *given)

            await command(f"http://127.0.0.1:{recorder.server_port}/v1")
            recorder.shutdown()
            ours, raw = [], []
            for _ in range(options.rounds):
                ours.append(await command(url))
                raw.append(await sent(url, recorder.bodies, options.at_once))
        finally:
            await server.close()
    print(f"{len(chosen)} debates, {len(recorder.bodies)} calls, {options.at_once} at once\n")
    print("| load | debates a minute | seconds of each round |")
    print("| --- | --- | --- |")
    for name, rounds in ((f"`touche-rad judge -j {options.judge}`", ours), ("raw", raw)):
        each = ", ".join(f"{one:.1f}" for one in rounds)
        print(f"| {name} | {60 * len(chosen) / min(rounds):.0f} | {each} |")
    print(f"\nThe command reaches {min(raw) / min(ours):.1%} of the raw load.")
