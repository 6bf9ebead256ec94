"""Throughput of our model client against plain HTTP requests of the same prompts.

With a model: vLLM is started and stopped here; both send the same bodies, equally many at once,
twice in turns after a warm-up, and the better time counts. Without one: the overhead per call where
the server answers at once, and memory with 10,000 calls waiting.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Literal

import anyio
import httpx2
from pydantic import BaseModel, Field

from touche_rad.models import Message, Model
from touche_rad.models._vllm import Vllm
from touche_rad.models.endpoint import Address
from touche_rad.models.model import Settings
from touche_rad.models.sending import Usage

SHARED = "You judge the answers of a debate. Say yes or no to each question, and be strict. " * 12


class Judged(BaseModel):
    quality: Literal["yes", "no"]
    relation: Literal["yes", "no"]
    manner: Literal["yes", "no"]
    number: int = Field(ge=0, le=99)


def prompts(count: int, kind: str) -> list[list[Message]]:
    return [
        [Message("system", SHARED), Message("user", f"{kind} {number}: the answer says little.")]
        for number in range(count)
    ]


def body(name: str, messages: Sequence[Message], settings: Settings) -> dict[str, Any]:
    schema = {"name": "Judged", "schema": Judged.model_json_schema(), "strict": True}
    return {
        "model": name,
        "messages": [message.wire() for message in messages],
        **vars(settings),
        "response_format": {"type": "json_schema", "json_schema": schema},
    }


async def raw(url: str, name: str, asked: Sequence[Sequence[Message]], at_once: int) -> float:
    limit = anyio.Semaphore(at_once)
    async with httpx2.AsyncClient(
        timeout=600, limits=httpx2.Limits(max_connections=None)
    ) as client:

        async def one(messages: Sequence[Message]) -> None:
            async with limit:
                sent = body(name, messages, Settings(max_tokens=60))
                reply = await client.post(f"{url}/chat/completions", json=sent)
                reply.raise_for_status()
                Judged.model_validate_json(reply.json()["choices"][0]["message"]["content"])

        begun = time.perf_counter()
        async with anyio.create_task_group() as group:
            for messages in asked:
                group.start_soon(one, messages)
        return time.perf_counter() - begun


async def ours(model: Model, asked: Sequence[Sequence[Message]]) -> float:
    begun = time.perf_counter()
    found = await model.ask_all([lambda m=m: model.ask(m, Judged) for m in asked])
    seconds = time.perf_counter() - begun
    assert all(isinstance(one, Judged) for one in found), found
    return seconds


async def beside_vllm(args: argparse.Namespace) -> None:
    server = Vllm(args.model, dict(one.split("=", 1) for one in args.vllm), report=print)
    usage = Usage()
    model = Model(server, settings=Settings(max_tokens=60), usage=usage, at_once=args.at_once)
    try:
        await ours(model, prompts(args.at_once, "Warm"))
        assert server.url is not None
        best = {"raw": float("inf"), "ours": float("inf")}
        for turn in range(args.rounds):
            asked = prompts(args.prompts, f"Round {turn}")
            best["raw"] = min(best["raw"], await raw(server.url, args.model, asked, args.at_once))
            asked = prompts(args.prompts, f"Other {turn}")
            best["ours"] = min(best["ours"], await ours(model, asked))
        for name, seconds in best.items():
            print(f"{name:5s} {args.prompts / seconds:8.1f} answers a second")
        print(f"ours reaches {best['raw'] / best['ours']:.1%} of the raw load's throughput")
        total = usage.total
        print(
            f"tokens that the server's prefix cache served: "
            f"{total.cached_tokens / total.prompt_tokens:.0%}"
        )
    finally:
        await model.close()


class Quick(BaseHTTPRequestHandler):
    """Answers at once."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    answer = json.dumps(
        {
            "choices": [
                {
                    "message": {
                        "content": json.dumps(
                            {"quality": "yes", "relation": "no", "manner": "yes", "number": 1}
                        )
                    },
                    "finish_reason": "stop",
                }
            ]
        }
    ).encode()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_: Any) -> None:
        pass


async def beside_nothing(count: int) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Quick)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    plain = await raw(url, "quick", prompts(count, "Raw"), 8)
    model = Model(Address(url, "quick"), at_once=8)
    await ours(model, prompts(50, "Warm"))
    seconds = await ours(model, prompts(count, "Ours"))
    print(
        f"a call where the server costs nothing: httpx2 {1000 * plain / count:.2f} ms, "
        f"ours {1000 * seconds / count:.2f} ms, {seconds / plain:.2f} times"
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    await ours(model, prompts(10_000, "Queued"))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"memory with 10,000 calls waiting: {after - before:.0f} MB more than before "
        f"({(after - before) / 10:.1f} kB a call)"
    )
    await model.close()
    server.shutdown()


def report(options: argparse.Namespace) -> None:
    """Print both comparisons."""
    anyio.run(beside_nothing, 1000)
    if options.model:
        anyio.run(beside_vllm, options)
