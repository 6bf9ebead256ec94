"""Faults of the index: a local folder, and a scripted stand-in for Elasticsearch."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from retrieval.elastic import connection
from tests.faults.cells import SAME, STOPS, TURN, Command, Group, Observe, observe
from tests.faults.model_places import MARK, compare_responses, compare_turns, write_debates
from tests.runs import fakes
from tests.runs.fakes import SmallIndex
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.demo import demo_file

PLACES: Final = ("debater", "simulated user", "retriever")


def command(place: str, folder: Path, index: str) -> Command:
    """Return a command that searches or copies an index."""
    claims = folder / "claims.tsv"
    rows = ("City centres should be closed to private cars.", f"Zoos in {MARK} should be closed.")
    claims.write_text("TOPIC_DESCRIPTION\tUSER\n" + "".join(f"{one}\tbase-user\n" for one in rows))
    made: dict[str, tuple[tuple[object, ...], str]] = {
        "debater": (("respond", write_debates(folder), "-d", "grounded"), "responses.jsonl"),
        "simulated user": (("simulate", claims, "--turns", "2"), "simulations.jsonl"),
        "retriever": (("retrieve", claims, "-r", "attack", "-k", "3"), "attack.run"),
    }
    words, output = made[place]
    affected, compare = _AFFECTED.get(place, (frozenset(), lambda truth, made: set()))
    given = [*map(str, words), "-i", index, "-o", str(folder / output)]
    return Command(folder, lambda: touche_rad(*given), output, affected, compare)


_AFFECTED: Final[dict[str, tuple[frozenset[str], Callable[[bytes, bytes], set[str]]]]] = {
    "debater": (frozenset({"2.2"}), compare_responses),
    "simulated user": (frozenset({"2.1", "2.2"}), compare_turns),
}


# --- a local index


def truncate(folder: Path) -> None:
    path = folder / "arguments.jsonl"
    os.truncate(path, path.stat().st_size // 2)


def flip(folder: Path) -> None:
    """Change one byte, and keep the time of the file."""
    path = folder / "arguments.jsonl"
    data, times = bytearray(path.read_bytes()), path.stat()
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))


def set_format(number: int) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        path = folder / "manifest.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "format": number}))

    return changed


LOCAL_FAULTS: Final[dict[str, Callable[[Path], None]]] = {
    "folder deleted": shutil.rmtree,
    "manifest deleted": lambda folder: (folder / "manifest.json").unlink(),
    "manifest truncated": lambda folder: os.truncate(folder / "manifest.json", 100),
    "file truncated": truncate,
    "file deleted": lambda folder: (folder / "places.npy").unlink(),
    "a field's files deleted": lambda folder: shutil.rmtree(folder / "attacks"),
    "one byte changed": flip,
    "of an earlier version": set_format(1),
    "of a newer version": set_format(99),
}


@contextmanager
def observing_local(folder: Path) -> Iterator[Observe]:
    """Build an index that the faults damage; it is restored afterwards."""
    kept, index = folder / "kept", folder / "index"
    assert touche_rad("index", demo_file("arguments.jsonl"), "-o", kept, "-q").code == 0
    shutil.copytree(kept, index)
    truths: dict[str, bytes] = {}

    def cell(kind: str, place: str) -> str:
        work = folder / place
        work.mkdir(exist_ok=True)
        made = command(place, work, str(index))
        if place not in truths:
            truths[place] = made.truth()

        @contextmanager
        def fault() -> Iterator[None]:
            LOCAL_FAULTS[kind](index)
            try:
                yield
            finally:
                shutil.rmtree(index, ignore_errors=True)
                shutil.copytree(kept, index)

        return observe(made, truths[place], fault())

    yield cell


LOCAL = Group(
    "A local index",
    {kind: dict.fromkeys(PLACES, STOPS) for kind in LOCAL_FAULTS},
    observing_local,
)


# --- Elasticsearch

NAME: Final = "official"
Act = Callable[["Request"], None]


class Request(BaseHTTPRequestHandler):
    """One request to the stand-in."""

    protocol_version = "HTTP/1.1"
    server: StandIn

    def handle_any(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        self.text = self.rfile.read(size).decode()
        fault = self.server.fault_for(self.text, self.path)
        if fault is not None:
            fault(self)
        else:
            self.say(200, self.server.answer(self.path, self.text))

    do_GET = do_POST = do_DELETE = do_HEAD = handle_any

    def say(self, status: int, value: Any, **headers: str) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Type", "application/json")
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


class Clock:
    """The clock of the client's retries: the time between two tries passes at once."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def sleep(self, seconds: float) -> None:
        self.ahead += seconds


class StandIn(ThreadingHTTPServer):
    """A server with an index of the official kind, in memory."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.arguments = list(files.read_arguments(demo_file("arguments.jsonl")))
        self.index = SmallIndex(self.arguments)
        self.fault: tuple[Act, bool] | None = None
        self.done = False
        self.lock = threading.Lock()
        self.clock = Clock()

    def handle_error(self, *_: Any) -> None:
        pass

    def fault_for(self, text: str, path: str) -> Act | None:
        """Return the fault of a search about the mark."""
        if self.fault is None or MARK not in text:
            return None
        act, once = self.fault
        with self.lock:
            first, self.done = not self.done, True
        return act if first or not once else None

    def answer(self, path: str, text: str) -> Any:
        """Answer as Elasticsearch does."""
        if path.startswith(f"/{NAME}/_count"):
            return {"count": len(self.arguments), "_shards": {}}
        if "/_pit" in path:
            return {"id": "snapshot", "succeeded": True, "num_freed": 1}
        if path.startswith("/_msearch"):
            lines = [json.loads(line) for line in text.splitlines() if line]
            return {"took": 1, "responses": [self.found(body) for body in lines[1::2]]}
        if path.startswith("/_search"):
            return self.page(json.loads(text))
        if path.startswith("/_cluster/health"):
            return {"status": "green"}
        fields = ("topic", "text", "attacks", "supports")
        properties = {field: {"type": "text"} for field in fields} | {"id": {"type": "keyword"}}
        settings = {"index": {"uuid": "fixed", "number_of_shards": "1"}}
        return {NAME: {"aliases": {}, "mappings": {"properties": properties}, "settings": settings}}

    def found(self, body: Any) -> Any:
        """Return the result of one search."""
        query = body["query"]
        if "ids" in query:
            arguments = [self.index.get(one) for one in query["ids"]["values"]]
            hits = [_hit(one, 1.0) for one in arguments if one is not None]
        else:
            ((field, about),) = query["match"].items()
            best = self.index.search(field, about["query"], body["size"])
            hits = [_hit(one.argument, one.score) for one in best]
        return {"status": 200, "hits": {"hits": hits}}

    def page(self, body: Any) -> Any:
        """Return the next pages of all arguments, a few at a time."""
        after = (body.get("search_after") or [""])[0]
        rest = sorted((one for one in self.arguments if one.id > after), key=lambda one: one.id)
        hits = [{**_hit(one, None), "sort": [one.id]} for one in rest[:20]]
        return {"pit_id": "snapshot", "hits": {"hits": hits}}


def _hit(argument: Any, score: float | None) -> dict[str, Any]:
    source = json.loads(files.argument_line(argument))
    return {"_id": argument.id, "_score": score, "_source": source}


def status(number: int, kind: str = "fault", **headers: str) -> Act:
    body = {
        "error": {"type": kind, "reason": "no", "root_cause": [{"type": kind}]},
        "status": number,
    }
    return lambda request: request.say(number, body, **headers)


def silent(request: Request) -> None:
    """Wait until the client hangs up; its time for further tries is over then."""
    request.server.clock.ahead += 3600
    with suppress(OSError):
        request.connection.recv(1)
    request.close_connection = True


def reset(request: Request) -> None:
    request.close_connection = True
    request.connection.close()


def no_hits(request: Request) -> None:
    """Answer each search of the request with no hit."""
    lines = [line for line in request.text.splitlines() if line]
    empty = {"status": 200, "hits": {"hits": []}}
    request.say(200, {"took": 1, "responses": [empty] * (len(lines) // 2), **empty, "pit_id": "s"})


SERVER_FAULTS: Final[dict[str, tuple[Act, bool]]] = {
    "red: a shard is missing": (status(503, "no_shard_available_action_exception"), False),
    "status 429, once": (status(429, "es_rejected_execution_exception"), True),
    "status 429": (status(429, "es_rejected_execution_exception"), False),
    "status 502, once": (status(502), True),
    "status 500": (status(500), False),
    "status 401": (status(401), False),
    "status 403": (status(403), False),
    "index deleted": (status(404, "index_not_found_exception"), False),
    "connection reset, once": (reset, True),
    "connection reset": (reset, False),
    "no answer before the time limit": (silent, False),
    "HTML instead of JSON": (lambda request: request.say(200, b"<html></html>"), False),
    "truncated JSON": (lambda request: request.say(200, b'{"took": 1, "resp'), False),
    "no field responses": (lambda request: request.say(200, {}), False),
}


@contextmanager
def observing_server(folder: Path) -> Iterator[Observe]:
    """Serve the stand-in. Its client waits ten seconds for an answer, the default."""
    quick = patch.object(fakes, "content_words", cache(fakes.content_words))
    with quick, StandIn() as server, patch.object(connection, "time", server.clock):
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        index = f"elasticsearch:http://127.0.0.1:{server.server_port}/{NAME}"
        truths: dict[str, bytes] = {}

        def cell(kind: str, place: str) -> str:
            work = folder / place
            work.mkdir(exist_ok=True)
            made = command(place, work, index)
            if place not in truths:
                truths[place] = made.truth()

            @contextmanager
            def fault() -> Iterator[None]:
                server.fault, server.done = SERVER_FAULTS[kind], False
                try:
                    yield
                finally:
                    server.fault = None

            return observe(made, truths[place], fault())

        yield cell
        server.shutdown()


def _promise(kind: str, place: str) -> str:
    if kind.endswith("once"):
        return SAME
    return TURN if place in ("debater", "simulated user") else STOPS


SERVER = Group(
    "Elasticsearch (a scripted stand-in)",
    {kind: {place: _promise(kind, place) for place in PLACES} for kind in SERVER_FAULTS},
    observing_server,
)
