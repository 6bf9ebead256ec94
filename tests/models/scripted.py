"""A scripted OpenAI-compatible endpoint: it answers as it is told and keeps what it was sent."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

Answer = Callable[["Handler"], None]


def reply(content: Any, **fields: Any) -> dict[str, Any]:
    """A completion that says something."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content},
        "finish_reason": "stop",
    }
    return {
        "model": "tiny",
        "choices": [{**choice, **fields}],
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 4},
        },
    }


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Scripted

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.asked.append(self.body)
            self.server.headers.append(dict(self.headers))
            act = self.server.script.pop(0) if self.server.script else self.server.always
        act(self)

    def say(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


class Scripted(ThreadingHTTPServer):
    """The endpoint; what is left of the script is done first, then `always`."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.script: list[Answer] = []
        self.always: Answer = says(reply('{"words": "fine", "score": 1}'))
        self.lock = threading.Lock()

    def handle_error(self, *_: Any) -> None:
        pass

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


Server = TypeVar("Server", bound=ThreadingHTTPServer)


@contextmanager
def answering_requests(server: Server) -> Iterator[Server]:
    with server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def serving() -> AbstractContextManager[Scripted]:
    return answering_requests(Scripted())


def says(value: Any) -> Answer:
    """Answer with a body."""
    return lambda handler: handler.say(200, json.dumps(value).encode())


def content(text: Any, **fields: Any) -> Answer:
    """Answer with words."""
    return says(reply(text, **fields))


def cut_off(text: str) -> Answer:
    """Answer with the beginning of an answer, as a model does that reached the limit of the request."""

    def act(handler: Handler) -> None:
        cut = reply(text, finish_reason="length")
        cut["usage"]["completion_tokens"] = handler.body["max_tokens"]
        says(cut)(handler)

    return act


def fails(status: int, message: Any = "no", **headers: str) -> Answer:
    """Answer with a fault."""
    if not isinstance(message, bytes):
        message = json.dumps({"error": {"message": message}}).encode()
    return lambda handler: handler.say(status, message, **headers)


def raw(data: bytes, status: int = 200) -> Answer:
    """Answer with any bytes."""
    return lambda handler: handler.say(status, data)


def reset(handler: Handler) -> None:
    """Break the connection without a word."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    handler.close_connection = True
    handler.connection.close()


def broken_off(handler: Handler) -> None:
    """Break the connection in the middle of the body."""
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"mess')
    handler.wfile.flush()
    reset(handler)


def silent(handler: Handler) -> None:
    """Say nothing for long."""
    time.sleep(30)
    handler.close_connection = True


def dripping(handler: Handler) -> None:
    """Send a byte now and then."""
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    for _ in range(300):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.1)
    handler.close_connection = True
