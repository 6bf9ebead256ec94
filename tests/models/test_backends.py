"""Where a model may be: several servers, a file of answers, this process; and what -m refuses."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from tests.models import scripted
from tests.models.scripted import Scripted, content, fails
from tests.models.tiny import tiny_model
from tests.terminal import touche_rad
from touche_rad.demo import demo_file
from touche_rad.errors import ToucheRadError
from touche_rad.models import Message, Model, endpoints, sending
from touche_rad.models import errors as faults
from touche_rad.models.model import Settings, open_backend

ASKED = [Message("user", "Say something fine.")]


class Fine(BaseModel):
    words: str


@pytest.fixture
def servers() -> Iterator[tuple[Scripted, Scripted]]:
    with scripted.serving() as one, scripted.serving() as other:
        yield one, other


async def _asked(model: Model, count: int) -> list[Any]:
    def one(number: int) -> Any:
        return lambda: model.ask([Message("user", f"Number {number}")], Fine)

    return await model.ask_all([one(number) for number in range(count)])


async def _used(given: str, count: int, **more: Any) -> tuple[Model, list[Any]]:
    model = Model(open_backend(given), **more)
    try:
        return model, await _asked(model, count)
    finally:
        await model.close()


def test_several_servers_answer_in_turn(servers: tuple[Scripted, Scripted]) -> None:
    one, other = servers
    model, found = anyio.run(lambda: _used(f"{one.url},{other.url}#tiny", 60))
    assert all(isinstance(answer, Fine) for answer in found)
    assert len(one.asked) == len(other.asked) == 30
    assert model.warnings == []


def test_a_dead_server_is_skipped_until_it_answers_again(
    servers: tuple[Scripted, Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = servers
    monkeypatch.setattr(endpoints, "FIRST_PAUSE", 0.2)
    monkeypatch.setattr(endpoints, "LONGEST_PAUSE", 0.2)
    alive = one.always

    async def run() -> tuple[int, int, int]:
        model = Model(open_backend(f"{one.url},{other.url}#tiny"), at_once=4)
        one.always = scripted.reset
        assert all(isinstance(found, Fine) for found in await _asked(model, 40))
        dead, served = len(one.asked), len(other.asked)
        one.always = alive
        await anyio.sleep(0.3)
        assert all(isinstance(found, Fine) for found in await _asked(model, 40))
        await model.close()
        (warning,) = model.warnings
        assert one.url in warning
        return dead, served, len(one.asked)

    dead, served, after = anyio.run(run)
    assert served == 40
    assert dead < 20, "one that died is not tried for every call"
    assert after - dead == 20, "it is used again"


def test_a_server_that_nobody_listens_at_costs_no_call(
    servers: tuple[Scripted, Scripted],
) -> None:
    one, _ = servers
    model, found = anyio.run(lambda: _used(f"http://127.0.0.1:9/v1,{one.url}#tiny", 20))
    assert [answer for answer in found if not isinstance(answer, Fine)] == []
    assert model.usage.total.retries == 0, "the next server got the call at once"


def test_an_endpoint_without_the_model_is_left_out(servers: tuple[Scripted, Scripted]) -> None:
    one, other = servers
    one.always = fails(404)
    _, found = anyio.run(lambda: _used(f"{one.url},{other.url}#tiny", 40))
    assert [answer for answer in found if not isinstance(answer, Fine)] == []
    assert len(other.asked) == 40


def test_a_refused_request_is_no_failure_of_its_endpoint(
    servers: tuple[Scripted, Scripted],
) -> None:
    one, other = servers
    one.always = other.always = fails(400)
    model, found = anyio.run(lambda: _used(f"{one.url},{other.url}#tiny", 4))
    assert {type(error) for error in found} == {faults.BadRequest}
    assert model.warnings == []


def test_a_failed_endpoint_is_told_and_the_answers_do_not_depend_on_it(
    servers: tuple[Scripted, Scripted], tmp_path: Path
) -> None:
    one, other = servers
    one.always = other.always = scripted.content("yes")
    few = tmp_path / "few.jsonl"
    few.write_text("".join(demo_file("adversarial.jsonl").read_text().splitlines(True)[:12]))

    def judge(given: str, out: Path) -> Any:
        return touche_rad(
            "judge",
            few,
            "-j",
            "zsl",
            "-O",
            "per=maxim",
            "-m",
            given,
            "-o",
            out,
            "--cache",
            tmp_path / "cache",
            "--no-trace",
        )

    both, single = tmp_path / "both.jsonl", tmp_path / "single.jsonl"
    other.script = [scripted.reset] * 2
    ended = judge(f"{one.url},{other.url}#tiny", both)
    assert ended.code == 0, ended.err
    assert f"warning: {other.url}: " in ended.err
    asked = len(one.asked) + len(other.asked)
    ended = judge(f"{one.url}#tiny", single)
    assert ended.code == 0, ended.err
    assert single.read_bytes() == both.read_bytes()
    assert len(one.asked) + len(other.asked) == asked, "all answers come from the cache"


def test_where_all_endpoints_die_the_fallback_answers(
    servers: tuple[Scripted, Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = servers
    monkeypatch.setattr(sending, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(sending, "LONGEST_WAIT", 0.02)
    one.always = other.always = scripted.reset
    ended = touche_rad(
        "respond",
        "--say",
        "The clock change is harmless.",
        "-i",
        "demo",
        "-m",
        f"{one.url},{other.url}#tiny",
    )
    assert ended.code == 1, "every answer is a fallback"
    assert "clock change" in ended.out
    assert "model unreachable" in ended.err


def test_where_all_are_busy_the_calls_wait(servers: tuple[Scripted, Scripted]) -> None:
    one, other = servers
    one.script, other.script = [fails(503)] * 3, [fails(503)] * 3

    async def run() -> Fine:
        model = Model(open_backend(f"{one.url},{other.url}#tiny"))
        try:
            return await model.ask(ASKED, Fine)
        finally:
            await model.close()

    assert anyio.run(run).words == "fine"


def script(path: Path, *lines: Any) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted:{path}"


def test_a_file_answers_by_what_is_asked_and_in_turn(tmp_path: Path) -> None:
    at = script(
        tmp_path / "answers.jsonl",
        {"when": "Number 1", "answer": {"words": "first"}},
        {"when": "Number 1", "answer": {"words": "second"}},
        {"answer": '{"words": "otherwise"}'},
    )

    async def run() -> list[str]:
        model = Model(open_backend(at))
        return [(await _asked(model, 2))[place].words for place in (1, 1, 1, 0)]

    assert anyio.run(run) == ["first", "second", "second", "otherwise"]


def test_a_run_can_be_scripted(tmp_path: Path) -> None:
    at = script(tmp_path / "s.jsonl", {"answer": {"number": 2, "frame": "not so"}})
    ended = touche_rad("respond", "--say", "The clock change is harmless.", "-m", at)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("Not so: ")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "at least one line"),
        ("{", ":1: "),
        ('{"answr": 1}', ":1: answer: Field required"),
        ('{"answer": 1}\n{"answer": 1, "x": 2}', ":2: x: "),
    ],
)
def test_a_wrong_script_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(text)
    ended = touche_rad("respond", "--say", "Hello.", "-m", f"scripted:{path}")
    assert ended.code == 2
    assert str(path) in ended.err
    assert told in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("ftp://x/v1#m", "-m http://x/v1#m"),
        ("x:1/v1#m", "-m http://x:1/v1#m"),
        ("http://me:pw@x/v1#m", "user name or password"),
        ("http://x/v1", "no model name"),
        ("http://x/v1,,http://y/v1#m", "single commas"),
        ("http://x/v1#a,http://y/v1#b", "the same model, got a and b"),
        ("vllm:", "no model is named"),
        ("vllm:/no/such/folder", "there is no such folder"),
        ("hf:/no/such", "this folder does not exist"),
        ("scripted:/no/such", "cannot be read"),
    ],
)
def test_a_wrong_place_is_told_in_one_line(at: str, told: str) -> None:
    ended = touche_rad("respond", "--say", "Hello.", "-m", at)
    assert ended.code == 2
    assert told in ended.err
    assert ended.err.count("\n") == 1
    assert "pw" not in ended.err


def test_a_debater_that_needs_a_model_says_how_to_give_one() -> None:
    ended = touche_rad("respond", "--say", "Hello.", "-d", "sinai")
    assert ended.code == 2
    assert "sinai needs a language model (-m URL#MODEL" in ended.err


def test_options_of_vllm_without_vllm_are_told(tmp_path: Path) -> None:
    at = script(tmp_path / "s.jsonl", {"answer": "x"})
    ended = touche_rad("respond", "--say", "Hi.", "-m", at, "-O", "vllm.seed=1")
    assert ended.code == 2
    assert "is for -m vllm:MODEL" in ended.err
    ended = touche_rad("respond", "--say", "Hi.", "-m", at, "-O", "model.temprature=1")
    assert ended.code == 2
    assert "did you mean 'temperature'?" in ended.err


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("tiny"), context=256)


@pytest.mark.services
def test_a_small_model_runs_in_this_process(tiny: Path) -> None:
    async def run() -> tuple[dict[str, float], int | None]:
        model = Model(open_backend(f"hf:{tiny}"), settings=Settings(max_tokens=12))
        likely = await model.ask_choice(ASKED, ("yes", "no"))
        assert model.backend is not None
        longest = await model.backend.context()
        with pytest.raises(faults.ModelError) as failed:
            await model.ask(ASKED, Fine)
        assert type(failed.value) in (faults.Truncated, faults.InvalidAnswer)
        with pytest.raises(faults.PromptTooLong):
            await model.ask([Message("user", "word " * 400)], Fine)
        await model.close()
        return likely, longest

    likely, longest = anyio.run(run)
    assert sum(likely.values()) == pytest.approx(1)
    assert longest == 256


@pytest.mark.services
def test_the_same_seed_gives_the_same_words(tiny: Path) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 8, "temperature": 1.0}

    async def run(seed: int) -> str:
        backend: Any = open_backend(f"hf:{tiny}")
        found = await backend.complete({**body, "seed": seed}, 60)
        await backend.close()
        return str(found["choices"][0]["message"]["content"])

    assert anyio.run(run, 1) == anyio.run(run, 1)
    assert len({anyio.run(run, seed) for seed in range(4)}) > 1


def test_what_is_no_model_folder_is_told(tmp_path: Path) -> None:
    async def run() -> None:
        backend: Any = open_backend(f"hf:{tmp_path}")
        await backend.ready()

    with pytest.raises(ToucheRadError, match=f"hf:{tmp_path}: "):
        anyio.run(run)


@pytest.mark.long
def test_budgets_end_the_asking_and_not_the_run(
    servers: tuple[Scripted, Scripted], tmp_path: Path
) -> None:
    server = servers[0]
    server.always = scripted.content('{"number": 1, "frame": "contrary"}')
    out = tmp_path / "out.jsonl"
    ended = touche_rad(
        "respond",
        demo_file("debates.jsonl"),
        "-i",
        "demo",
        "-m",
        f"{server.url}#tiny",
        "--max-calls",
        "7",
        "-o",
        out,
        env={"OPENAI_API_KEY": "sk-secret-of-mine"},
    )
    assert ended.code == 0, ended.err
    assert len(server.asked) == 7
    assert len(out.read_text().splitlines()) == 60
    status = json.loads(out.with_name("out.jsonl.status.json").read_text())
    step = status["usage"]["plugins"]["grounded"]["grounded.choice"]
    assert step["calls"] == 7
    assert step["failures"] == 53
    trace = [json.loads(line) for line in (tmp_path / "out.jsonl.trace.jsonl").open()]
    assert len(trace) == 7
    assert all(row["plugin"] == "grounded" and row["debate"] for row in trace)
    assert "sk-secret-of-mine" not in (tmp_path / "out.jsonl.trace.jsonl").read_text()
    spent = touche_rad(
        "respond",
        demo_file("debates.jsonl"),
        "-i",
        "demo",
        "-m",
        f"{server.url}#tiny",
        "--max-tokens",
        "30",
        "--no-trace",
        "--workers",
        "1",
        "-o",
        tmp_path / "two.jsonl",
    )
    assert spent.code == 0, spent.err
    assert 2 <= len(server.asked) - 7 <= 4
    assert not (tmp_path / "two.jsonl.trace.jsonl").exists()


COUNTING = """
import anyio
from pathlib import Path
from touche_rad.debate import Response
from touche_rad.plugins import Options, debater


@debater("counting", needs=("model",))
class Counting:
    \"\"\"Waits until five debates are open, or half a second, and notes the most.\"\"\"

    Options = Options

    def __init__(self, options, services):
        self.open = self.most = 0
        self.enough = anyio.Event()

    async def answer(self, debate):
        self.open += 1
        self.most = max(self.most, self.open)
        if self.open >= 5:
            self.enough.set()
        with anyio.move_on_after(0.5):
            await self.enough.wait()
        self.open -= 1
        Path(__file__).with_suffix(".most").write_text(str(self.most))
        return Response(content="Yes.")
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [((), range(5, 65)), (("--workers", "2"), [2]), (("--deadline", "60"), [4])],
)
def test_with_a_model_more_debates_are_processed_at_a_time(
    servers: tuple[Scripted, Scripted], tmp_path: Path, words: tuple[str, ...], expected: list[int]
) -> None:
    plugin = tmp_path / "counting.py"
    plugin.write_text(COUNTING)
    server, _ = servers
    server.always = content("ok")
    ended = touche_rad(
        "--plugin",
        plugin,
        "respond",
        demo_file("debates.jsonl"),
        "-i",
        "demo",
        "-d",
        "counting",
        "-m",
        f"{server.url}#tiny",
        *words,
        "-o",
        tmp_path / "out.jsonl",
    )
    assert ended.code == 0, ended.err
    assert int(plugin.with_suffix(".most").read_text()) in expected


def test_workers_limit_the_calls_that_are_open(
    servers: tuple[Scripted, Scripted], tmp_path: Path
) -> None:
    server, lock, count, most = servers[0], threading.Lock(), 0, 0

    def answer(handler: scripted.Handler) -> None:
        nonlocal count, most
        with lock:
            count += 1
            most = max(most, count)
        time.sleep(0.02)
        with lock:
            count -= 1
        content("yes")(handler)

    server.always = answer
    few = tmp_path / "few.jsonl"
    few.write_text("".join(demo_file("adversarial.jsonl").read_text().splitlines(True)[:6]))
    model = ("-m", f"{server.url}#tiny", "-O", "per=maxim", "--workers", "2")
    ended = touche_rad("judge", few, "-j", "zsl", *model, "-o", tmp_path / "out.jsonl")
    assert ended.code == 0, ended.err
    assert most == 2, "a turn has four calls"
