"""The same debate gives the same bytes: by file, HTTP and Python, by one worker and eight.

Hash seeds of Python differ between the processes. Plugins with a model get its answers from a
cache, or from an endpoint whose answers depend on the prompt.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.models import scripted
from tests.models.scripted import Scripted
from tests.serve.test_same_verdicts import answer_by_prompt, demo_rows, generated_rows
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.debate import Debate
from touche_rad.demo import demo_file
from touche_rad.models import Model
from touche_rad.models.endpoint import Address
from touche_rad.plugins import Services, find, registered
from touche_rad.plugins.indexes import open_index
from touche_rad.runs.answering import Answerer, make_chain
from touche_rad.serve import create_app

pytestmark = pytest.mark.long
ROOT = Path(__file__).parent.parent
RUN = """
import json, sys
from tests.terminal import touche_rad
for words in json.loads(sys.stdin.read()):
    ended = touche_rad(*words)
    assert ended.code == 0, (words, ended.err)
"""
"""Runs commands in one process, so that Python starts once for all plugins."""


@pytest.fixture(scope="module")
def model_server() -> Iterator[Scripted]:
    """An endpoint whose answers depend on the prompt and fit its schema."""
    with scripted.serving() as server:
        server.always = answer_by_prompt
        yield server


@pytest.fixture(scope="module")
def debates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of two turns of three debates of the demo, and a generated debate."""
    path = tmp_path_factory.mktemp("debates") / "debates.jsonl"
    rows = [row | {"id": f"d{at}"} for at, row in enumerate(demo_rows()[:3] + generated_rows(1))]
    for row in rows:
        row["simulation"]["userTurns"] = row["simulation"]["userTurns"][:2]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture(scope="module")
def commands(
    debates: Path, demo_index_path: Path, model_server: Scripted, tmp_path_factory: Any
) -> dict[str, list[str]]:
    """The command of each plugin, without its output and its workers."""
    cache = tmp_path_factory.mktemp("cache")
    contests = tmp_path_factory.mktemp("contests") / "contests.jsonl"
    contests.write_text(demo_file("contests.jsonl").read_text("utf-8").splitlines()[0] + "\n")
    found = {}
    for kind, source in (("debater", debates), ("judge", debates), ("panel", contests)):
        for name, plugin in registered(kind).items():  # type: ignore[arg-type]
            words = ["respond" if kind == "debater" else "judge", str(source)]
            words += ["-d" if kind == "debater" else "-j", name, "-i", str(demo_index_path)]
            if "model" in plugin.needs:
                words += ["-m", f"{model_server.url}#tiny", "--cache", str(cache), "--no-trace"]
            found[f"{kind}-{name}"] = words
    return found


def outputs(commands: dict[str, list[str]], folder: Path, workers: int) -> list[list[str]]:
    """Return the complete commands of a run in a folder."""
    more = ["--workers", str(workers), "--quiet"]
    return [[*words, "-o", str(folder / name), *more] for name, words in commands.items()]


def written(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


@pytest.fixture(scope="module")
def first(commands: dict[str, list[str]], tmp_path_factory: Any) -> dict[str, bytes]:
    """The outputs of all plugins in this process, with one worker."""
    folder = tmp_path_factory.mktemp("first")
    for words in outputs(commands, folder, 1):
        ended = touche_rad(*words)
        assert ended.code == 0, (words, ended.err)
    return written(folder, list(commands))


@pytest.mark.parametrize(("workers", "seed"), [(1, "1"), (8, "2")])
def test_other_processes_and_more_workers_write_the_same_bytes(
    workers: int, seed: str, commands: Any, first: dict[str, bytes], tmp_path: Path
) -> None:
    subprocess.run(
        [sys.executable, "-c", RUN], cwd=ROOT, check=True, text=True,
        input=json.dumps(outputs(commands, tmp_path, workers)),
        env={**os.environ, "PYTHONHASHSEED": seed},
    )  # fmt: skip
    again = written(tmp_path, list(commands))
    assert [name for name in first if again[name] != first[name]] == []


def _asked(debate: Debate, turn: int) -> dict[str, Any]:
    """Return the request of a client for the response of a turn."""
    messages = []
    for at, one in enumerate(debate.turns[: turn + 1]):
        messages.append({"role": "user", "content": one.utterance})
        if at < turn and one.response:
            cited = [json.loads(each.model_dump_json()) for each in one.response.arguments]
            said = {"role": "assistant", "content": one.response.content, "arguments": cited}
            messages.append(said)
    return {"messages": messages}


@pytest.mark.parametrize("name", sorted(registered("debater")))
def test_http_and_python_give_the_answers_of_the_file(
    name: str, first: dict[str, bytes], debates: Path, demo_index_path: Path, model_server: Scripted
) -> None:
    recorded = [json.loads(line) for line in first[f"debater-{name}"].splitlines()]
    some = list(files.read_debates(debates))[:3]
    index = open_index(str(demo_index_path))
    needs = "model" in find("debater", name).needs

    async def answers() -> tuple[list[str], list[Any]]:
        model = Model(Address(model_server.url, "tiny")) if needs else None
        answerer = Answerer(make_chain(name, {}, Services(index=index, model=model)), index)
        app = create_app(answerer, None)
        transport = httpx.ASGITransport(app=app)
        by_python, by_http = [], []
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for debate in some:
                for turn in range(len(debate.turns)):
                    given = await answerer.answer(debate.before_response(turn))
                    by_python.append(given.response.content)
                    answered = await client.post("/", json=_asked(debate, turn))
                    by_http.append(answered.json())
        if model is not None:
            await model.close()
        return by_python, by_http

    by_python, by_http = asyncio.run(answers())
    expected = [line["content"] for line in recorded][: len(by_python)]
    assert by_python == expected
    assert [one["content"] for one in by_http] == expected
    cited = [[each["id"] for each in line["arguments"]] for line in recorded]
    assert [[each["id"] for each in one["arguments"]] for one in by_http] == cited[: len(by_http)]
