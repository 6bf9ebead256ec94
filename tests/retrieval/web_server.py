"""A loopback server that speaks SearXNG's JSON, or whatever it is told to say."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


class Handler(BaseHTTPRequestHandler):
    """One search."""

    server: SearXNGServer

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        with self.server.lock:
            self.server.asked.append({"path": parts.path, **self.asked})
        self.server.act(self)

    def say(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


class SearXNGServer(ThreadingHTTPServer):
    """Answers with `results`, unless it is given something else to do."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[Mapping[str, str]] = []
        self.results: Any = []
        self.lock = threading.Lock()
        self.act: Callable[[Handler], None] = self.answers

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answers(self, handler: Handler) -> None:
        handler.say(200, json.dumps({"results": self.results, "answers": []}).encode())

    def handle_error(self, *_: Any) -> None:
        pass


def result(title: Any, text: Any, url: Any = "https://example.org/") -> dict[str, Any]:
    """A result as SearXNG gives it."""
    return {"url": url, "title": title, "content": text, "engine": "some engine", "score": 1.0}


def says(data: bytes, status: int = 200, **headers: str) -> Callable[[Handler], None]:
    """Answer with any bytes."""
    return lambda handler: handler.say(status, data, **headers)


def dripping(handler: Handler) -> None:
    """Send a byte now and then, for ever."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(600):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def breaks(handler: Handler) -> None:
    """Break the connection in the middle of the answer."""
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"results": [')


@contextmanager
def serving() -> Iterator[SearXNGServer]:
    with SearXNGServer() as made:
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        made.shutdown()
