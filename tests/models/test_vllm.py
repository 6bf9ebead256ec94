"""A real vLLM on the processor, with a tiny random model: it answers, is killed, and stops."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from pydantic import BaseModel, Field

from tests.demo import DEBATES
from tests.models.tiny import SMALL, THOUGHT, asked
from tests.processes import children, command_of, gone
from tests.records import copy_lines, read_status
from tests.terminal import touche_rad
from touche_rad import session
from touche_rad.models import Model
from touche_rad.models import errors as faults
from touche_rad.models._vllm import Vllm
from touche_rad.models.model import Settings
from touche_rad.models.sending import Usage

pytestmark = pytest.mark.services

OPTIONS = {**SMALL, "max-model-len": "4096"}


class Coded(BaseModel):
    code: str = Field(pattern="^[A-D]{3}-[0-9]{2}$")


class Counted(BaseModel):
    count: int
    shares: tuple[float, float, float]


class Judged(BaseModel):
    quality: Literal["yes", "no"]
    manner: Literal["yes", "no"]
    number: int = Field(ge=0, le=9)


def test_it_follows_schemas_and_survives_the_death_of_its_engine(folder: Path) -> None:
    reports: list[str] = []
    seen: set[int] = set()
    before = children(os.getpid())

    async def run() -> dict[str, Any]:
        usage = Usage()
        server = Vllm(str(folder), OPTIONS, report=reports.append)
        model = Model(server, settings=Settings(max_tokens=60), usage=usage, deadline=300)
        results: dict[str, Any] = {"usage": usage}
        try:
            for _ in range(3):  # a caller that stops waiting does not stop the start
                with anyio.move_on_after(1):
                    await model.ask(asked(0), Judged)
            results["one"] = await model.ask(asked(0), Judged)
            choices = dict.fromkeys(("quality", "manner"), ("yes", "no"))
            results["scored"] = await model.ask_scored(asked(1), Judged, choices=choices)
            results["regex"] = await model.ask(asked(2), Coded)
            results["numbers"] = await model.ask(asked(2), Counted)
            results["choice"] = await model.ask_choice(asked(2), ("yes", "no"))
            results["context"] = await server.context()
            seen.update(children(os.getpid()) - before)
            await model.ask_all([_asking(model, number) for number in range(3, 30)])
            results["batch"] = await _killed_in_the_middle(model, seen)
            seen.update(children(os.getpid()) - before)
        finally:
            await model.close()
        return results

    results = anyio.run(run)
    assert isinstance(results["one"], Judged)
    assert re.fullmatch("[A-D]{3}-[0-9]{2}", results["regex"].code), "a field's pattern is kept to"
    assert isinstance(results["numbers"], Counted), "a number has an end, whoever writes it"
    value, chances = results["scored"]
    assert list(chances) == ["quality", "manner"]
    for name, likely in chances.items():
        assert getattr(value, name) in likely
        assert sum(likely.values()) == pytest.approx(1)
        assert min(likely.values()) > 0, "a random model is never sure"
    assert sum(results["choice"].values()) == pytest.approx(1)
    assert min(results["choice"].values()) > 0, "a random model is never sure"
    assert results["context"] == 4096
    assert all(isinstance(answer, Judged) for answer in results["batch"]), results["batch"]
    for part in ("ready after", "(log: "):
        assert sum(part in line for line in reports) == 2, "it was started again once"
    assert results["usage"].total.cached_tokens > 0, (
        "the shared beginning was served from its cache"
    )
    assert gone(seen), "something that was started still runs"


def _asking(model: Model, number: int) -> Any:
    return lambda: model.ask(asked(number), Judged)


async def _killed_in_the_middle(model: Model, seen: set[int]) -> list[Any]:
    """Ask 100 times, and kill the engine when some were answered and others are on their way."""
    done: list[int] = []

    async def kill() -> None:
        while len(done) < 10:
            await anyio.sleep(0.01)
        computing = {pid for pid in seen if "EngineCor" in command_of(pid)}
        assert computing, "no engine process was found"
        for pid in computing:
            os.kill(pid, signal.SIGKILL)

    results: list[Any] = []
    async with anyio.create_task_group() as group:
        group.start_soon(kill)
        results += await model.ask_all(
            [_asking(model, 1000 + number) for number in range(100)],
            report=lambda count, of: done.append(count),
        )
    return results


def test_the_server_of_a_doctor_that_is_killed_ends(folder: Path) -> None:
    flags = [word for name, value in OPTIONS.items() for word in ("-O", f"vllm.{name}={value}")]
    doctor = subprocess.Popen(
        [sys.executable, "-m", "touche_rad", "doctor", "-m", f"vllm:{folder}", *flags],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        started: set[int] = set()
        while not any("spawn_main" in command_of(pid) for pid in started):  # the engine
            assert doctor.poll() is None
            time.sleep(0.2)
            started = children(doctor.pid)
    finally:
        doctor.kill()
        doctor.wait()
    assert gone(started), "the server outlived its owner"


def test_thoughts_of_a_real_server_reach_no_output(thinker: Path) -> None:
    reports: list[str] = []
    server = Vllm(str(thinker), SMALL, report=reports.append)
    thinks = ("-O", "model.think=on")
    source = "one.jsonl"
    copy_lines(DEBATES, source)
    try:
        session.run(server.ready)
        port = reports[1].partition("--port=")[2].split()[0]
        at = ("-m", f"http://127.0.0.1:{port}/v1#{thinker}")
        for command in ("judge -j zsl", "judge -j zsl -O per=maxim", "respond -d grounded"):
            outs = [Path(f"{command} {len(options)}.jsonl") for options in ((), thinks)]
            for out, options in zip(outs, ((), thinks), strict=True):
                words = [*command.split(), source, "-i", "demo", *at, "-o", out]
                ended = touche_rad(*words, *options)
                assert read_status(out)["fallbacks"] == []
                thought = THOUGHT in Path(f"{out}.trace.jsonl").read_text()
                assert thought == bool(options), "the trace keeps it"
                assert THOUGHT not in out.read_text()
            assert outs[0].read_bytes() == outs[1].read_bytes(), "also the probabilities"
        ended = touche_rad("doctor --json", *at, *thinks, code=None)
    finally:
        session.run(server.close)
    check = {row["what"]: row for row in ended.json}
    assert "`reasoning`" in check["model thinking"]["found"]
    assert check["model thinking"]["fix"].endswith("-O model.think=off")
    assert check["model context"]["found"] == "16384 tokens"
    assert check["model schemas"]["ok"]
    assert check["model logprobs"]["ok"]


def test_a_server_that_cannot_start_is_an_error_of_one_line(folder: Path) -> None:
    (empty := folder.parent / "empty").mkdir()

    async def run() -> None:
        server = Vllm(str(empty), OPTIONS)
        try:
            await server.ready()
        finally:
            await server.close()

    with pytest.raises(faults.Unreachable, match=r"last output: .+vllm\.log"):
        anyio.run(run)
