"""A loopback server that speaks SearXNG's JSON, or whatever it is told to say."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.models import scripted


class Handler(scripted.Handler):
    """One search."""

    server: SearXNGServer

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        with self.server.lock:
            self.server.asked.append({"path": parts.path, **query})
        self.server.act(self)


class SearXNGServer(scripted.Scripted):
    """Answers with `results`, unless it is given something else to do."""

    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = Handler
        self.results: Any = []
        self.act: scripted.Answer = self.answers

    def answers(self, handler: scripted.Handler) -> None:
        scripted.says({"results": self.results, "answers": []})(handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


def result(title: Any, text: Any, url: Any = "https://example.org/") -> dict[str, Any]:
    """A result as SearXNG gives it."""
    return {"url": url, "title": title, "content": text, "engine": "some engine", "score": 1.0}


def breaks(handler: scripted.Handler) -> None:
    """Break the connection in the middle of the answer."""
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"results": [')
    handler.close_connection = True


def serving() -> AbstractContextManager[SearXNGServer]:
    return scripted.answering_requests(SearXNGServer())
