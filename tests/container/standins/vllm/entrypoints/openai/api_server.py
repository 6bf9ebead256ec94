"""Started as vLLM's server is; answers whatever is asked with something that fits the schema."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from tests.models import scripted
from tests.models.by_schema import filled


def found(model: str) -> Path:
    """Where the hub's library would look for a model offline."""
    if model.startswith("/"):
        return Path(model)
    caches = os.environ.get("XDG_CACHE_HOME", f"{Path.home()}/.cache")
    home = Path(os.environ.get("HF_HOME", f"{caches}/huggingface"))
    return home / "hub" / f"models/{model}".replace("/", "--")


def answer(handler: scripted.Handler) -> None:
    wanted = handler.body.get("response_format")
    said = json.dumps(filled(wanted["json_schema"]["schema"])) if wanted else "Hello"
    handler.say(200, json.dumps(scripted.reply(said)).encode())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--port", type=int, required=True)
    given, _ = parser.parse_known_args()
    place = found(given.model)
    if not (place / "config.json").is_file():
        raise SystemExit(f"OSError: there is no model in {place}")
    server = scripted.Scripted(given.port)
    server.always = answer
    server.serve_forever()


if __name__ == "__main__":
    main()
