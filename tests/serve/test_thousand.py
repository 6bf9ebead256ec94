"""A client as careless as the official one plays a thousand debates, and evaluates them, at once.

It starts all debates in the same moment, tries nothing twice, reads no status, and loses a debate,
or a whole evaluation, to one bad body. Behind the server a language model fails in every twentieth
call.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.models import scripted
from tests.models.scripted import Handler, Scripted, fails, raw, reply
from tests.terminal import touche_rad

DEBATES = 1_000
TURNS = 3
MAXIMS = ("quantity", "quality", "relation", "manner")
UTTERANCES = (
    "I believe that the clock should not be changed twice a year. Case {}.",
    "That does not convince me: what about children who walk to school in the dark?",
    "And who pays for it? Nobody has answered that.",
)
FAULTS = itertools.cycle((fails(503), raw(b"<html>"), scripted.reset, fails(429), raw(b"")))


@pytest.fixture(scope="module")
def model() -> Iterator[Scripted]:
    """Chooses and judges by the prompt's length; every twentieth call fails in one way or another."""
    counter, lock = itertools.count(), threading.Lock()

    def act(handler: Handler) -> None:
        with lock:
            broken = next(counter) % 20 == 19
            fault = next(FAULTS) if broken else None
        if fault is not None:
            fault(handler)
            return
        size = len(handler.body["messages"][-1]["content"])
        if "Choice" in json.dumps(handler.body["response_format"]):
            said: dict[str, Any] = {"number": 1 + size % 12, "frame": "contrary"}
        else:
            said = dict.fromkeys(MAXIMS, "yes" if size % 2 else "no")
        handler.say(200, json.dumps(reply(json.dumps(said))).encode())

    with scripted.serving() as server:
        server.always = act
        yield server


@pytest.fixture(scope="module")
def url(model: Scripted, demo_index_path: Path) -> Iterator[str]:
    """`touche-rad serve`, a process of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["serve", "-i", str(demo_index_path), "-j", "calibrated", "-m", f"{model.url}#tiny",
               "--deadline", "280"]  # fmt: skip
    server = subprocess.Popen(
        [sys.executable, "-m", "touche_rad", *command, "--port", str(port), "-q"],
        env=dict(os.environ),
    )
    try:
        end = time.monotonic() + 60
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/health", timeout=5).raise_for_status()
                break
            except httpx.HTTPError:
                assert server.poll() is None, "the server ended"
                assert time.monotonic() < end, "the server does not answer"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


async def played(client: httpx.AsyncClient, url: str, number: int) -> dict[str, Any]:
    """Play one debate as the official client does; whatever goes wrong loses it."""
    messages: list[dict[str, Any]] = []
    turns = []
    try:
        for utterance in UTTERANCES:
            said = utterance.format(number)
            messages.append({"role": "user", "content": said})
            answer = (await client.post(url, json={"messages": messages})).json()
            if "content" not in answer:
                raise KeyError("Missing response content")
            messages.append({"role": "assistant", "content": answer["content"]})
            turn = {"utterance": answer["content"], "response": answer, "milliseconds": 1}
            turns.append({"utterance": said, "systemResponse": turn})
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return {}
    configuration = {"topic": {"description": f"Case {number}"}, "maxTurns": TURNS}
    return {"simulation": {"configuration": configuration, "userTurns": turns}}


async def evaluated(client: httpx.AsyncClient, url: str, row: dict[str, Any]) -> dict[str, Any]:
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
    return {**row, "userTurnsEvaluations": turns}


async def everything(url: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    limits = httpx.Limits(max_connections=None, keepalive_expiry=4)
    async with httpx.AsyncClient(limits=limits, timeout=httpx.Timeout(300)) as client:
        rows = await asyncio.gather(*(played(client, url, number) for number in range(DEBATES)))
        judged = await asyncio.gather(*(evaluated(client, url, row) for row in rows if row))
    return list(rows), list(judged)


@pytest.mark.slow
def test_a_thousand_debates_at_once_lose_nothing(url: str, model: Scripted, tmp_path: Path) -> None:
    rows, judged = asyncio.run(everything(url))
    assert {} not in rows
    assert len(judged) == DEBATES
    simulations, evaluations = tmp_path / "simulations.jsonl", tmp_path / "evaluations.jsonl"
    simulations.write_text("".join(json.dumps(row) + "\n" for row in rows))
    evaluations.write_text("".join(json.dumps(row) + "\n" for row in judged))
    ended = touche_rad("check", simulations, evaluations)
    assert ended.code == 0, ended.out[:2000]
    assert ended.out == "", "not even a warning"
    calls = len(model.asked)
    assert calls >= DEBATES * TURNS * 2, "each turn was answered and judged with the model"
