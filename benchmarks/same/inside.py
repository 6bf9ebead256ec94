"""Run the commands of `commands.toml` with the touche_rad of one checkout.

    python -P inside.py COMMANDS.toml WORK TREE ENDPOINT PROCESSES [GROUP ...]

This is started with the checkout on PYTHONPATH. Large packages are imported once; then each command
runs in a fork, so that it has a process of its own without waiting for them again. The command line
is the only door: nothing of touche_rad is imported but `touche_rad.cli` and, for their names and
signatures, the modules that docs/plugins.md names.
"""

from __future__ import annotations

import importlib
import inspect
import multiprocessing
import os
import re
import shlex
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

HEAVY = (
    "anyio fastapi filelock httpx2 ir_measures jinja2 networkx numpy pandas pydantic pyterrier "
    "rich scipy.stats uvicorn"
)
"""Packages of others that are imported before the first fork."""
FEW = {
    "debates.jsonl": 2,
    "labels.jsonl": 8,
    "contests.jsonl": 2,
    "claims.tsv": 3,
    "arguments.jsonl": 5,
}
"""How many lines of a file of the demo the folder `input` has."""


def main(commands: str, work: str, tree: str, endpoint: str, processes: str, *groups: str) -> None:
    """Make the tree."""
    for name in HEAVY.split():
        importlib.import_module(name)
    content = tomllib.loads(Path(commands).read_text("utf-8"))
    place = Place(Path(work), Path(tree), endpoint)
    place.write_inputs(content["input"])
    place.run_group("first", ["respond --say No. -i demo"])  # makes the index of the demo, once
    runs: list[tuple[str, Callable[[], None]]] = [("names", place.write_names)]
    for name, server in content["server"].items():
        runs.append(("server", partial(place.serve, name, server)))
    for name, group in content["group"].items():
        for word in group.get("each", [None]):
            runs.append((name, partial(place.run_group, name, group["commands"], word)))
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(int(processes), context) as pool:
        results = [pool.submit(run) for name, run in runs if not groups or name in groups]
    for result in results:
        result.result()


class Place:
    """The folders in which the commands run, and the tree of what they write."""

    def __init__(self, work: Path, tree: Path, endpoint: str) -> None:
        self.work = work
        self.tree = tree
        self.endpoint = endpoint

    def write_inputs(self, texts: Mapping[str, str]) -> None:
        """Write the folder `input`: texts, and beginnings of the files of the demo."""
        folder = self.work / "input"
        folder.mkdir()
        for name, text in texts.items():
            (folder / name).write_text(text, "utf-8")
        for name, count in FEW.items():
            lines = (self.work / "demo" / name).read_bytes().splitlines(keepends=True)
            (folder / name).write_bytes(b"".join(lines[:count]))

    def run_group(self, name: str, commands: Sequence[str], word: str | None = None) -> None:
        """Run the commands of a group, one after the other, in a folder of their own."""
        label = name
        if word is not None:
            label += f"/{re.sub('[^a-z0-9]+', '-', word).strip('-') or 'none'}"
        folder = self.work / f"in.{label.replace('/', '.')}"
        folder.mkdir()
        target = self.tree / label
        target.mkdir(parents=True)
        for number, command in enumerate(commands):
            line = command.replace("{}", shlex.quote(word) if word else "")
            out = target / f"{number:02}"
            words = self.words_of(line, f"{label.replace('/', '.')}.{number:02}")
            process = multiprocessing.Process(target=call, args=(words, folder, out))
            process.start()
            process.join()
            text = f"$ touche-rad {line}\n"
            for stream in (out.with_suffix(".out"), out.with_suffix(".err")):
                text += f"--- {stream.suffix[1:]}\n{stream.read_bytes().decode('utf-8', 'replace')}"
                stream.unlink()
            text += f"\n--- exit code {process.exitcode}\n"
            out.with_suffix(".txt").write_text(text, "utf-8")
        folder.rename(target / "files")

    def words_of(self, line: str, command: str) -> list[str]:
        """Return the words of a command; MODEL is its own path at the endpoint."""
        model = rf"{self.endpoint}/{command}\1/v1#tiny"
        return [re.sub("^MODEL(.*)$", model, word) for word in shlex.split(line)]

    def serve(self, name: str, server: Mapping[str, Any]) -> None:
        """Start a server, send it requests, stop it, and write the answers."""
        folder = self.work / f"in.server.{name}"
        folder.mkdir()
        target = self.tree / "server" / name
        target.mkdir(parents=True)
        words = self.words_of(server["command"], f"server.{name}")
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "touche_rad", *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None
        said = ""
        address = None
        while address is None:
            line = process.stdout.readline()
            assert line, f"{name} ended: {said}"
            said += line
            address = re.search(r"http://127\.0\.0\.1:\d+\S*", line)
        for number, request in enumerate(server["requests"]):
            answer = answer_of(address[0].rstrip("/"), request)
            (target / f"{number:02}.txt").write_text(answer, "utf-8")
        process.terminate()
        said += f"{process.communicate()[0]}\n--- exit code {process.returncode}\n"
        (target / "said.txt").write_text(said, "utf-8")
        folder.rename(target / "files")

    def write_names(self) -> None:
        """Write the public names of each module that docs/plugins.md names."""
        page = self.work.parent / "checkout" / "docs" / "plugins.md"
        target = self.tree / "names"
        target.mkdir()
        for name in re.findall(r"\btouche_rad(?:\.[a-z_]+)+", page.read_text("utf-8")):
            with suppress(ImportError):  # the name of a function, or of a group of entry points
                module = importlib.import_module(name)
                lines = signatures(module, getattr(module, "__all__", vars(module)))
                (target / f"{name}.txt").write_text("\n".join([*lines, ""]), "utf-8")


def call(words: list[str], folder: Path, out: Path) -> None:
    """Run a command in this process, which is a fork."""
    os.chdir(folder)
    while "=" in words[0] and not words[0].startswith("-"):
        variable, _, value = words.pop(0).partition("=")
        os.environ[variable] = value
    source = os.devnull
    if words[-2:-1] == ["<"]:
        source = words[-1]
        del words[-2:]
    sys.argv = ["touche-rad", *words]
    os.dup2(os.open(source, os.O_RDONLY), sys.stdin.fileno())
    for descriptor, suffix in ((1, ".out"), (2, ".err")):
        os.dup2(os.open(out.with_suffix(suffix), os.O_WRONLY | os.O_CREAT), descriptor)
    from touche_rad import cli

    cli.main()


def answer_of(address: str, request: Mapping[str, Any]) -> str:
    """Send a request, and return it with the status, the headers and the body of its answer."""
    body = request.get("body")
    sent = urllib.request.Request(
        f"{address}{request['path']}",
        body and body.encode(),
        {"Content-Type": "application/json", **request.get("headers", {})},
    )
    try:
        answer = urllib.request.urlopen(sent, timeout=120)
    except urllib.error.HTTPError as error:
        answer = error
    headers = sorted(line for line in str(answer.headers).splitlines() if line[:5] != "date:")
    content = answer.read().decode("utf-8", "replace")
    return "\n".join([f"{request}", str(answer.status), *headers, content])


def signatures(place: object, names: Iterable[str]) -> Iterator[str]:
    """Yield how each name of a module is called, and each public method of its classes."""
    for name in sorted(names):
        value = getattr(place, name, "missing")
        if name[0] == "_" or getattr(value, "__module__", "touche_rad")[:10] != "touche_rad":
            continue
        signature = value if value == "missing" else ""
        if callable(value):
            with suppress(TypeError, ValueError):  # written in C
                signature = re.sub(" at 0x[0-9a-f]+", "", str(inspect.signature(value)))
        yield f"{name} {signature}"
        if inspect.ismodule(place) and inspect.isclass(value):
            yield from (f"  {name}.{line}" for line in signatures(value, vars(value)))


if __name__ == "__main__":
    main(*sys.argv[1:])
