"""Throughput and latency of `touche-rad serve` beside a baseline (`benchmarks/speed.py server`).

The baseline does what the task's example system does: a FastAPI function asks Elasticsearch for the
one argument whose `attacks` matches the last message, and returns its text. Both servers have the
same arguments and get the same requests in turns, over connections that stay open, so many at once
as `--at-once` says. The figures are the least and the most of the rounds. A third server searches
nothing: no server with FastAPI can be faster on this machine beside this load.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.plugins import build_index

INDEX = "touche-rad-speed-server"
BASELINE = f"""
import os
from elasticsearch import Elasticsearch
from fastapi import FastAPI

app = FastAPI()
client = Elasticsearch(os.environ["SERVER"])

@app.get("/health")
def health():
    return {{}}

@app.post("/")
def respond(request: dict):
    last = request["messages"][-1]["content"]
    query = {{"match": {{"attacks": {{"query": last}}}}}}
    found = client.search(index="{INDEX}", query=query, size=1)["hits"]["hits"]
    text = found[0]["_source"]["text"]
    return {{"content": text, "arguments": [{{"id": found[0]["_id"], "text": text}}]}}
"""
NO_SEARCH = """
from fastapi import FastAPI

app = FastAPI()

@app.post("/")
async def respond(request: dict):
    return {"content": request["messages"][-1]["content"], "arguments": []}
"""
WARM_UP = 100


def report(options: argparse.Namespace) -> None:
    """Start the servers, load them in turns, and print a table."""
    arguments = list(files.read_arguments(options.collection))
    claims = list(dict.fromkeys(one.attacks for one in arguments if one.attacks.strip()))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        elastic = options.server or stack.enter_context(own_elasticsearch())
        build_index(iter(arguments), str(folder / "index"))
        fill(elastic, arguments)
        (folder / "baseline.py").write_text(BASELINE)
        (folder / "no_search.py").write_text(NO_SEARCH)
        servers = {
            "baseline: FastAPI and Elasticsearch": stack.enter_context(
                started(
                    ["-m", "uvicorn", "baseline:app", "--log-level", "warning"],
                    folder,
                    SERVER=elastic,
                )
            )
        }
        servers["FastAPI without a search"] = stack.enter_context(
            started(["-m", "uvicorn", "no_search:app", "--log-level", "warning"], folder)
        )
        for debater in options.debaters:
            command = ["serve", "-d", debater]
            servers[" ".join(["touche-rad", *command])] = stack.enter_context(
                started(["-m", "touche_rad", *command, "-q", "-i", "index"], folder)
            )
        rates: dict[str, list[float]] = {name: [] for name in servers}
        spent: dict[str, list[float]] = {name: [] for name in servers}
        for turn in range(options.rounds + 1):
            for name, (port, pid) in servers.items():
                count = options.requests if turn else WARM_UP
                asked = [claims[(number * 7 + turn) % len(claims)] for number in range(count)]
                before = processor_seconds(pid)
                rate = asyncio.run(load(port, asked, options.at_once))
                if turn:
                    rates[name].append(rate)
                    spent[name].append(1000 * (processor_seconds(pid) - before) / count)
    print(
        f"{len(arguments)} arguments, {options.requests} requests, {options.at_once} at once; "
        "processor time of an answer without that of Elasticsearch\n"
    )
    print("| server | rate, to the baseline | processor (ms) |\n| --- | --- | --- |")
    base = next(iter(rates.values()))
    for name, of_one in rates.items():
        ratios = [rate / beside for rate, beside in zip(of_one, base, strict=True)]
        times = f"{min(spent[name]):.2f} to {max(spent[name]):.2f}"
        print(f"| {name} | {min(ratios):.1f}x to {max(ratios):.1f}x | {times} |")


@contextmanager
def own_elasticsearch() -> Iterator[str]:
    """Start the distribution of TOUCHE_RAD_ELASTICSEARCH."""
    sys.path.insert(0, str(Path(__file__).parent.parent))  # another package ships `tests` too
    from tests.retrieval.elastic.servers import distribution, running

    with distribution() as home, running(home) as server:
        yield server.url


def fill(elastic: str, arguments: Sequence[Argument]) -> None:
    """Store the arguments as the official index does."""
    from elasticsearch import Elasticsearch
    from elasticsearch.helpers import bulk

    client = Elasticsearch(elastic, request_timeout=120)
    client.options(ignore_status=404).indices.delete(index=INDEX)
    client.indices.create(index=INDEX)
    bulk(
        client,
        ({"_index": INDEX, "_id": one.id, **one.model_dump(mode="json")} for one in arguments),
    )
    client.indices.refresh(index=INDEX)
    client.indices.forcemerge(index=INDEX, max_num_segments=1)
    client.close()


@contextmanager
def started(command: Sequence[str], folder: Path, **variables: str) -> Iterator[tuple[int, int]]:
    """Start a server on a free port, and yield the port and its process when it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    server = subprocess.Popen(
        [sys.executable, *command, "--host", "127.0.0.1", "--port", str(port)],
        cwd=folder,
        env={**os.environ, **variables, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield port, server.pid
    finally:
        server.terminate()
        server.wait()


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and its children so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(processor_seconds(int(child)) for child in children)


class _Client(asyncio.Protocol):
    """A connection that sends a message as soon as the one before is answered.

    It reads answers with as little work as it can: on this machine the servers need its CPU.
    """

    def __init__(self, requests: Iterator[bytes], times: list[float]) -> None:
        self._requests, self._times = requests, times
        self._received = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, _, body = self._received.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if not length or len(body) < length:
            return
        self._times.append(1000 * (time.perf_counter() - self._begun))
        if not head.startswith(b"HTTP/1.1 200 ") or not body.startswith(b'{"content":"'):
            self.done.set_exception(SystemExit(self._received.decode()))
        self._received = b""
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(SystemExit(f"the server closed a connection: {exc}"))

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self.done.set_result(None)
            self._transport.close()
        else:
            self._begun = time.perf_counter()
            self._transport.write(request)


def _request(message: str) -> bytes:
    body = json.dumps({"messages": [{"role": "user", "content": message}]}).encode()
    head = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def load(port: int, asked: Sequence[str], at_once: int) -> float:
    """Send each message once; return answers a second."""
    waiting = iter([_request(message) for message in asked])
    times: list[float] = []
    loop = asyncio.get_running_loop()
    begun = time.perf_counter()
    clients = []
    for _ in range(at_once):
        _, client = await loop.create_connection(lambda: _Client(waiting, times), "127.0.0.1", port)
        clients.append(client.done)
    await asyncio.gather(*clients)
    return len(times) / (time.perf_counter() - begun)
