"""Stands in for a Python that has vLLM: reads the options as vLLM does, and knows models by name.

What it cannot show is that vLLM loads the weights; `test_served.py` shows that with a real one.
"""

from __future__ import annotations

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SAID = {
    "Terms": {"terms": ["penny charity"]},
    "Speech": {"reasoning": "because", "argument": "The adapter speaks."},
}


def options(words: list[str]) -> argparse.Namespace:
    """Of what is given twice the last holds; a name that is no flag of these is passed over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-m")
    for name in ("--model", "--host", "--port", "--max-lora-rank"):
        parser.add_argument(name)
    parser.add_argument("--served-model-name", nargs="+")
    parser.add_argument("--lora-modules", nargs="+", default=[])
    parser.add_argument("--enable-lora", action="store_true")
    return parser.parse_known_args(words)[0]


def served(given: argparse.Namespace) -> list[str]:
    """Check what is on the disk, and return the names that answer."""
    assert (Path(given.model) / "config.json").is_file(), f"{given.model} is no model"
    names = list(given.served_model_name)
    for one in given.lora_modules:
        name, _, path = one.partition("=")
        adapter = json.loads((Path(path) / "adapter_config.json").read_text())
        assert given.enable_lora
        assert adapter["r"] <= int(given.max_lora_rank)
        names.append(name)
    return names


class Handler(BaseHTTPRequestHandler):
    """One request."""

    names: list[str]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        schema = body.get("response_format", {}).get("json_schema", {}).get("name", "")
        known = body["model"] in self.names
        content = json.dumps(SAID.get(schema, "Hello"))
        message = {"role": "assistant", "content": content}
        told: Any = {"error": {"message": "no such model"}}
        if known:
            told = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        data = json.dumps(told).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


if __name__ == "__main__":
    given = options(sys.argv[1:])
    Handler.names = served(given)
    ThreadingHTTPServer((given.host, int(given.port)), Handler).serve_forever()
