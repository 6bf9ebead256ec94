"""A client as careless as the official one, and a model behind the server that fails now and then."""

from __future__ import annotations

import asyncio
import itertools
import json
import resource
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from tests.models import scripted
from tests.models.by_schema import last_message
from tests.models.scripted import Handler, Scripted, content, fails, raw

Serve = Callable[..., tuple[subprocess.Popen[bytes], str]]
"""Starts `touche-rad serve` with more words; returns the process and its address."""
TURNS = 3
MAXIMS = ("quantity", "quality", "relation", "manner")
UTTERANCES = (
    "I believe that the clock should not be changed twice a year. Case {}.",
    "That does not convince me: what about children who walk to school in the dark?",
    "And who pays for it? Nobody has answered that.",
)


def end_server(server: subprocess.Popen[bytes]) -> int:
    """Ask a server to end, and return its exit code; one that does not end shows its threads."""
    server.terminate()
    try:
        return server.wait(30)
    except subprocess.TimeoutExpired:
        server.send_signal(signal.SIGABRT)
        server.wait(10)
        raise


def more_open_files() -> None:
    """Take as many open files as this process may have: every debate has connections of its own."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def failing_model() -> Iterator[Scripted]:
    """Chooses and judges by the prompt's length; every twentieth call fails in one way or another."""
    counter = itertools.count()
    lock = threading.Lock()
    faults = itertools.cycle((fails(503), raw(b"<html>"), scripted.reset, fails(429), raw(b"")))

    def act(handler: Handler) -> None:
        with lock:
            broken = next(counter) % 20 == 19
            fault = next(faults) if broken else None
        if fault is not None:
            fault(handler)
            return
        size = len(last_message(handler.body))
        if "Choice" in json.dumps(handler.body["response_format"]):
            answer: dict[str, Any] = {"number": 1 + size % 12}
        else:
            answer = dict.fromkeys(MAXIMS, "yes" if size % 2 else "no")
        content(json.dumps(answer))(handler)

    with scripted.serving() as server:
        server.always = act
        yield server


def free_port() -> int:
    """Return a port that no program uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(url: str, ended: Callable[[], int | None]) -> None:
    """Wait until a server says that it is ready."""
    end = time.monotonic() + 120
    while True:
        try:
            httpx2.get(f"{url}/health", timeout=5, verify=False).raise_for_status()
        except httpx2.HTTPError:
            assert ended() is None, "the server ended"
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.1)
        else:
            return


async def play_debate(client: httpx2.AsyncClient, url: str, number: int) -> dict[str, Any]:
    """Play one debate as the official client does; whatever goes wrong loses it."""
    messages: list[dict[str, Any]] = []
    turns = []
    try:
        for utterance in UTTERANCES:
            text = utterance.format(number)
            messages.append({"role": "user", "content": text})
            answer = (await client.post(url, json={"messages": messages})).json()
            if "content" not in answer:
                raise KeyError("Missing response content")
            messages.append({"role": "assistant", "content": answer["content"]})
            turn = {"utterance": answer["content"], "response": answer, "milliseconds": 1}
            turns.append({"utterance": text, "systemResponse": turn})
    except (httpx2.HTTPError, ValueError, KeyError, TypeError):
        return {}
    configuration = {"topic": {"description": f"Case {number}"}, "maxTurns": TURNS}
    return {"simulation": {"configuration": configuration, "userTurns": turns}}


async def evaluate_debate(
    client: httpx2.AsyncClient, url: str, row: dict[str, Any]
) -> dict[str, Any]:
    """Evaluate one debate; here one bad reply ends everything."""
    turns = []
    for turn in range(TURNS):
        body = {**row, "userTurnIndex": turn}
        scores = await asyncio.gather(
            *(client.post(f"{url}/{maxim}", json=body) for maxim in MAXIMS)
        )
        turns.append(
            {
                maxim.capitalize(): {"score": float(score.json()["score"])}
                for maxim, score in zip(MAXIMS, scores, strict=True)
            }
        )
    replies = await asyncio.gather(*(client.post(f"{url}/{maxim}", json=row) for maxim in MAXIMS))
    overall = [reply.json()["score"] for reply in replies]
    assert overall == [None] * len(MAXIMS)
    return {**row, "userTurnsEvaluations": turns, "overallEvaluations": {}}


async def play_and_evaluate(
    url: str, debates: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Play all debates in the same moment, then evaluate all of them."""
    limits = httpx2.Limits(max_connections=None, keepalive_expiry=4)
    async with httpx2.AsyncClient(limits=limits, timeout=httpx2.Timeout(300)) as client:
        rows = await asyncio.gather(
            *(play_debate(client, url, number) for number in range(debates))
        )
        judged = await asyncio.gather(*(evaluate_debate(client, url, row) for row in rows if row))
    return list(rows), list(judged)
