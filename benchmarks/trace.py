"""Count the files and functions of this project that one request enters.

    python benchmarks/trace.py [respond|serve|judge]

Each of these runs once in this process, on the demo data:

- `respond`: `touche-rad respond --say TEXT`, from the call of the command line to its return;
- `serve`: one `POST /quality` to an app that has already answered another request;
- `judge`: `touche-rad judge -j fsl1 -m URL --quiet` on one debate, with an endpoint on the loopback
  interface that always gives the same valid answer; the shares of yes at the end are of `score`.

A profile function (`sys.setprofile` and `threading.setprofile`) sees each call in every thread that
starts after it. Bodies of modules and classes, lambdas and comprehensions are not counted.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files as resources
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

from touche_rad import cli

ROOTS = tuple(
    f"{Path(str(resources(name))).resolve()}/" for name in ("touche_rad", "retrieval", "judges")
)
SAY = "Zoos should be closed because captivity harms animals."
ANSWER = dict.fromkeys(("quantity", "quality", "relation", "manner"), "yes")


def entered(work: Callable[[], object]) -> set[tuple[str, str]]:
    """Return the functions of ours that are called, each as a file and a qualified name."""
    seen: set[tuple[str, str]] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_NEWLOCALS and not code.co_name.startswith("<")
        if event == "call" and is_function and code.co_filename.startswith(ROOTS):
            seen.add((code.co_filename, code.co_qualname))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return seen


def respond() -> set[tuple[str, str]]:
    """Trace one answer on the terminal."""
    return entered(lambda: cli.run(["respond", "--say", SAY]))


def serve() -> set[tuple[str, str]]:
    """Trace one request to the server."""
    from starlette.testclient import TestClient

    from touche_rad.demo import DEMO
    from touche_rad.plugins import Services, find, open_index
    from touche_rad.runs.answering import make_answerer
    from touche_rad.serve import create_app

    services = Services(index=open_index(DEMO))
    answerer = make_answerer(find("debater", "grounded").configure(), services)
    client = TestClient(create_app(answerer, find("judge", "grounded").make(services)))
    arguments = [{"id": "1", "text": "Breeding in zoos saves rare species.", "attacks": SAY}]

    def post(utterance: str) -> None:
        response = {"content": "Breeding in zoos saves rare species.", "arguments": arguments}
        system = {"utterance": response["content"], "response": response}
        turn = {"utterance": utterance, "systemResponse": system}
        body = {"simulation": {"userTurns": [turn]}, "userTurnIndex": 0}
        client.post("/quality", json=body).raise_for_status()

    post("Zoos should be open.")
    return entered(lambda: post(SAY))


def judge() -> set[tuple[str, str]]:
    """Trace the judgement of a file with a language model."""
    debate = resources("touche_rad.demo").joinpath("debates.jsonl").read_text().splitlines()[0]
    with tempfile.TemporaryDirectory() as folder, _endpoint() as url:
        source = Path(folder, "debates.jsonl")
        source.write_text(debate + "\n", "utf-8")
        words = ["judge", str(source), "-o", f"{folder}/out.jsonl", "-j", "fsl1", "-m", url, "-q"]
        return entered(lambda: cli.run(words))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": json.dumps(ANSWER)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        data = json.dumps({"model": "tiny", "choices": [choice], "usage": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def _endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}#tiny"
    finally:
        server.shutdown()
        server.server_close()


TRACES: dict[str, Callable[[], set[tuple[str, str]]]] = {
    "respond": respond,
    "serve": serve,
    "judge": judge,
}


def main(*names: str) -> None:
    """Print the counts, and each file with its functions."""
    for name in names or TRACES:
        seen = TRACES[name]()
        by_file: dict[str, list[str]] = {}
        for path, function in sorted(seen):
            by_file.setdefault(path, []).append(function)
        print(f"{name}: {len(by_file)} files, {len(seen)} functions")
        for path, functions in by_file.items():
            short = next(
                path.removeprefix(str(Path(root).parent) + "/")
                for root in ROOTS
                if path.startswith(root)
            )
            print(f"  {short}: {', '.join(functions)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
