"""The same debate gives the same bytes: by file, HTTP and Python, one at a time and eight.

Plugins that need a model get its answers from a cache, which their first run records. An endpoint
whose answers depend on the prompt gives them; afterwards only the cache answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import httpx2
import pytest

from tests import ROOT
from tests.demo import CONTESTS, DEBATES
from tests.models import scripted
from tests.models.by_prompt import answer_by_prompt
from tests.models.by_schema import prompt_of
from tests.models.scripted import Scripted
from tests.records import read_json, read_records, write_records
from tests.terminal import touche_rad
from touche_rad import files
from touche_rad.criteria import grice
from touche_rad.debate import Maxim
from touche_rad.files.contests import Judgement, words_digest
from touche_rad.models import Model
from touche_rad.models.endpoint import Address
from touche_rad.plugins import Kind, Plugin, Services, find, registered
from touche_rad.plugins.indexes import open_index
from touche_rad.runs.answering import Answerer, make_answerer
from touche_rad.runs.judging import judge_view
from touche_rad.runs.panels import judge_contest
from touche_rad.serve import create_app

KINDS: Final[tuple[Kind, ...]] = ("debater", "judge", "panel")


ODD: Final[dict[str, Any]] = read_json(ROOT / "tests/odd_simulation.json")
"""A simulation with missing, null and unknown fields, as clients and converters write it."""


def _ours(kind: Kind) -> dict[str, Plugin]:
    """Return our plugins of a kind, without those that other tests define."""
    return {name: one for name, one in registered(kind).items() if one.source == "touche-rad"}


PLUGINS: Final = [
    pytest.param(kind, name, marks=[pytest.mark.long] if "model" in plugin.needs else [])
    for kind in KINDS
    for name, plugin in sorted(_ours(kind).items())
]
"""Plugins that need a model are in the long tier: each call of the cache takes milliseconds."""
ONE: Final = ("--workers", "1")
RUNS: Final = {"8 workers": ("--workers", "8")}
"""Other ways to run a command on a file."""
OTHER_PROCESS: Final = """
import json, sys
from tests.terminal import touche_rad
for words in json.loads(sys.stdin.read()):
    ended = touche_rad(*words)
    assert ended.code == 0, (words, ended.err)
"""
"""Runs commands in one process, so that Python starts once for all plugins."""
JSON: Final = {"content-type": "application/json"}
T, U = TypeVar("T"), TypeVar("U")


@dataclass(frozen=True)
class World:
    """Inputs of all kinds, the demo's index, and an endpoint."""

    sources: dict[Kind, Path]
    index: Path
    server: Scripted
    folder: Path
    known: dict[tuple[Kind, str], tuple[bytes, str]] = field(default_factory=dict)

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def first(self, kind: Kind, name: str) -> tuple[bytes, str]:
        """Return the output and the lines of a plugin's first run, which records the cache."""
        if (kind, name) not in self.known:
            out = self.folder / f"{kind}-{name}"
            ended = touche_rad(*self.words(kind, name, self.server.url), *ONE, "-o", out)
            self.known[kind, name] = out.read_bytes(), ended.err
        return self.known[kind, name]

    def words(self, kind: Kind, name: str, address: str = "EMPTY") -> list[str]:
        """Return the command of a plugin without its output."""
        verb, flag = ("respond", "-d") if kind == "debater" else ("judge", "-j")
        words = [verb, str(self.sources[kind]), flag, name, "-i", str(self.index), "--quiet"]
        if "model" in find(kind, name).needs:
            words += ["-m", f"{address}#tiny", "--cache", str(self.cache), "--no-trace"]
        return words

    def services(self, kind: Kind, name: str) -> Services:
        """Return what a plugin gets; its model has the cache only."""
        needs = "model" in find(kind, name).needs
        model = Model(Address("EMPTY", "tiny"), cache=self.cache) if needs else None
        return Services(index=open_index(str(self.index)), model=model)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, demo_index_path: Path) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("determinism")
    demo = [json.loads(files.simulation_line(one)) for one in files.read_debates(DEBATES)]
    rows = [row | {"id": f"d{at}"} for at, row in enumerate([*demo[:2], ODD])]
    for row in rows:
        row["simulation"]["userTurns"] = row["simulation"]["userTurns"][:2]
    simulations = folder / "simulations.jsonl"
    write_records(simulations, *rows)
    chats = folder / "chats.jsonl"  # what a client of the server sends; it sends no claim
    write_records(chats, *map(_as_chat, rows))
    contests = folder / "contests.jsonl"
    contests.write_text("".join(CONTESTS.open().readlines()[:2]))
    sources: dict[Kind, Path] = {"debater": chats, "judge": simulations, "panel": contests}
    with scripted.serving() as server:
        server.always = _answer_or_fail
        yield World(sources, demo_index_path, server, folder)


def _answer_or_fail(handler: scripted.Handler) -> None:
    """Answer some prompts never validly: what a cache has of them is repeated, too."""
    is_invalid = zlib.crc32(prompt_of(handler.body).encode()) % 8 == 0
    (scripted.content("nonsense") if is_invalid else answer_by_prompt)(handler)


def _as_chat(row: dict[str, Any]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for turn in row["simulation"]["userTurns"]:
        said = (turn["systemResponse"].get("response") or {}) | {"role": "assistant"}
        messages += [{"role": "user", "content": turn["utterance"]}, {"content": ""} | said]
    return {"id": row["id"], "messages": messages}


def _without_servers_warning(said: str) -> str:
    """Leave out the warning about the server: with the cache no server is asked."""
    lines = said.splitlines(keepends=True)
    return "".join(line for line in lines if "no log probabilities" not in line)


@pytest.mark.parametrize(("kind", "name"), PLUGINS)
def test_a_debate_gives_the_same_bytes_everywhere(
    kind: Kind, name: str, world: World, tmp_path: Path
) -> None:
    first, said = world.first(kind, name)
    for way, more in RUNS.items():
        out = tmp_path / way.replace(" ", "-")
        ended = touche_rad(*world.words(kind, name), *more, "-o", out)
        assert ended.err == _without_servers_warning(said), way
        assert out.read_bytes() == first, way
    for at_once in (1, 8):
        asyncio.run(_CHECKS[kind](world, name, first.splitlines(), at_once))


async def _check_debater(world: World, name: str, lines: Sequence[bytes], at_once: int) -> None:
    """Compare answers by Python and HTTP with the lines of the file."""
    services = world.services("debater", name)
    answerer = make_answerer(find("debater", name).configure(), services)
    debates = list(files.read_debates(world.sources["debater"]))
    asked = [(debate, turn) for debate in debates for turn in range(len(debate.turns))]
    chats = read_records(world.sources["debater"])
    requests = [
        {"messages": chat["messages"][: 2 * turn + 1]}
        for debate, chat in zip(debates, chats, strict=True)
        for turn in range(len(debate.turns))
    ]

    async def by_python(one: Any) -> str:
        debate, turn = one
        view = debate.before_response(turn)
        return files.response_line(view, turn, (await answerer.answer(view)).response)

    async with _client(answerer, find("judge", "always-yes").make(Services())) as client:

        async def by_http(request: Any) -> Any:
            return (await client.post("/", content=json.dumps(request), headers=JSON)).json()

        assert await _all(by_python, asked, at_once) == [line.decode() for line in lines]
        bodies = await _all(by_http, requests, at_once)
    records = [json.loads(line) for line in lines]
    sent = [
        {key: record[key] for key in body} for record, body in zip(records, bodies, strict=True)
    ]
    assert list(map(json.dumps, bodies)) == list(map(json.dumps, sent))
    assert all(
        set(record) - set(body) == {"debate", "turn", "messages"}
        for record, body in zip(records, bodies, strict=True)
    )


async def _check_judge(world: World, name: str, lines: Sequence[bytes], at_once: int) -> None:
    """Compare verdicts by Python and HTTP with the lines of the file."""
    judge = find("judge", name).make(world.services("judge", name))
    source = world.sources["judge"]
    views = [view for _, its_views in files.read_views(source) for view in its_views]
    rows = read_records(source)
    requests = [
        {**row, "userTurnIndex": turn}
        for row in rows
        for turn in range(len(row["simulation"]["userTurns"]))
    ]
    written = [turn for line in lines for turn in json.loads(line)["userTurnsEvaluations"]]
    wanted = [
        {maxim: {key: turn[maxim.key][key] for key in ("score", "explanation")} for maxim in Maxim}
        for turn in written
    ]  # a file may have more fields

    async def by_python(view: Any) -> Any:
        verdicts = (await judge_view(judge, view, grice())).verdicts
        return {maxim: _official(verdicts[maxim]) for maxim in Maxim}

    async with _client(Answerer([]), judge) as client:

        async def by_http(request: Any) -> Any:
            body = json.dumps(request)
            return {
                maxim: (await client.post(f"/{maxim}", content=body, headers=JSON)).json()
                for maxim in Maxim
            }

        for found in (
            await _all(by_python, views, at_once),
            await _all(by_http, requests, at_once),
        ):
            assert list(map(json.dumps, found)) == list(map(json.dumps, wanted))


def _official(verdict: Any) -> dict[str, Any]:
    return {"score": verdict.score, "explanation": verdict.rationale}


async def _check_panel(world: World, name: str, lines: Sequence[bytes], at_once: int) -> None:
    """Compare verdicts by Python with the lines of the file; the server offers no panels."""
    panel = find("panel", name).make(world.services("panel", name))

    async def by_python(contest: Any) -> str:
        outcome, _ = await judge_contest(panel, contest)
        return files.judgement_line(
            Judgement(id=contest.id, judge=name, outcome=outcome, words=words_digest(contest))
        )

    contests = list(files.read_contests(world.sources["panel"]))
    assert await _all(by_python, contests, at_once) == [line.decode() for line in lines]


_CHECKS: Final[dict[Kind, Callable[..., Awaitable[None]]]] = {
    "debater": _check_debater,
    "judge": _check_judge,
    "panel": _check_panel,
}


@asynccontextmanager
async def _client(answerer: Answerer, judge: Any) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=create_app(answerer, judge))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def _all(work: Callable[[T], Awaitable[U]], items: Sequence[T], at_once: int) -> list[U]:
    """Return the result of each item, with so many in progress at a time."""
    limit = anyio.Semaphore(at_once)

    async def one(item: T) -> U:
        async with limit:
            return await work(item)

    return await asyncio.gather(*map(one, items))


@pytest.mark.long
@pytest.mark.parametrize("name", _ours("debater"))
def test_a_client_that_sends_no_arguments_back_gets_the_answers_of_its_file(
    name: str, world: World, tmp_path: Path
) -> None:
    """The official client sends an answer back as a text, and writes it with its arguments."""
    served = read_records(world.sources["judge"])[:2]
    model = Model(Address(world.server.url, "tiny"))
    services = Services(index=open_index(str(world.index)), model=model)
    answerer = make_answerer(find("debater", name).configure(), services)

    async def play() -> None:
        async with _client(answerer, find("judge", "always-yes").make(Services())) as client:
            for row in served:
                messages: list[dict[str, str]] = []
                for turn in row["simulation"]["userTurns"]:
                    messages.append({"role": "user", "content": turn["utterance"]})
                    sent = await client.post("/", json={"messages": messages})
                    turn["systemResponse"] = {"response": sent.json()}
                    messages.append({"role": "assistant", "content": sent.json()["content"]})

    asyncio.run(play())
    file, out = tmp_path / "served.jsonl", tmp_path / "out.jsonl"
    write_records(file, *served)
    words = ["respond", file, "-d", name, "-i", world.index, "-m", f"{world.server.url}#tiny"]
    touche_rad(*words, "-o", out, "--no-trace")
    turns = [turn for row in served for turn in row["simulation"]["userTurns"]]
    for turn, record in zip(turns, read_records(out), strict=True):
        answer = turn["systemResponse"]["response"]
        assert {key: record[key] for key in answer} == answer


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in _ours(kind)])
def test_what_only_a_file_says_decides_nothing(
    kind: Kind, name: str, world: World, tmp_path: Path
) -> None:
    """The official client sends no claim, no description and no user."""
    simulation = json.loads(world.sources["judge"].open().readline())["simulation"]
    topic = {"description": "Tea should be taxed.", "user": "base", "more": ["Cities are loud."]}
    texts = {
        "as it is": simulation,
        "converted": {"userTurns": simulation["userTurns"]},
        "of another claim": {**simulation, "configuration": {"topic": topic}},
    }
    source, out = tmp_path / "debates.jsonl", tmp_path / "out.jsonl"
    write_records(source, *({"id": id_, "simulation": text} for id_, text in texts.items()))
    verb, _, flag, *_ = world.words(kind, name)
    model = ("-m", f"{world.server.url}#tiny") if "model" in find(kind, name).needs else ()
    touche_rad(
        verb,
        source,
        flag,
        name,
        *model,
        "-i",
        world.index,
        "-o",
        out,
        "--no-trace",
        "--quiet",
    )
    results: dict[str, list[Any]] = {}
    for line in out.open():
        record = json.loads(line)
        id_ = record.pop("debate", None) or record.pop("id")
        record.pop("simulation", None)
        record.pop("words", None)
        results.setdefault(id_, []).append(record)
    assert results["converted"] == results["as it is"]
    assert results["of another claim"] == results["as it is"]


@pytest.mark.long
def test_another_hash_seed_gives_the_same_bytes(world: World, tmp_path: Path) -> None:
    """Python orders sets of texts differently in each process unless its hash seed is fixed."""
    plugins = [(kind, name) for kind in KINDS for name in sorted(_ours(kind))]
    first = {one: world.first(*one)[0] for one in plugins}
    outputs = {one: tmp_path / "-".join(one) for one in plugins}
    commands = [[*world.words(*one), "--workers", "8", "-o", str(outputs[one])] for one in plugins]
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS],
        cwd=ROOT,
        check=True,
        text=True,
        input=json.dumps(commands),
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    assert [one for one in plugins if outputs[one].read_bytes() != first[one]] == []
