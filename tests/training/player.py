"""Starts as vLLM's server does, serves a model and its adapters, and answers in words of its own.

The same messages always get the same words, so a loop that it plays learns the same pairs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

from tests import ROOT
from tests.models.by_schema import filled
from tests.models.scripted import Handler, Scripted, content, fails

_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def write_launcher(path: Path) -> Path:
    """Write a program that takes the words of a Python and starts this server for vLLM's."""
    path.write_text(
        f'#!/bin/sh\nshift 2\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m {__name__} "$@"\n'
    )
    path.chmod(0o755)
    return path


def words(handler: Handler) -> str:
    request = str(handler.body["messages"])
    letters = hashlib.sha256(request.encode()).hexdigest().translate(_LETTERS)
    return " ".join(letters[start : start + 8] for start in range(0, 64, 8))


def answer(handler: Handler) -> None:
    if handler.body["model"] not in SERVED:
        fails(404, f"there is no model {handler.body['model']}")(handler)
        return
    wanted = handler.body.get("response_format")
    text = json.dumps(filled(wanted["json_schema"]["schema"])) if wanted else '"said"'
    text = text.replace('"said"', json.dumps(words(handler)))
    content(text)(handler)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--served-model-name", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--lora-modules", nargs="*", default=[])
    options, _ = parser.parse_known_args()
    adapters = dict(module.split("=", 1) for module in options.lora_modules)
    SERVED = {options.served_model_name, *adapters}
    needed = [f"{options.model}/config.json"]
    needed += [f"{folder}/adapter_config.json" for folder in adapters.values()]
    for path in needed:
        if not Path(path).is_file():
            raise SystemExit(f"OSError: there is no {path}")
    server = Scripted(options.port)
    server.always = answer
    server.serve_forever()
