"""vLLM's engine without a server, with a tiny random model: the same answers as the server's."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from pydantic import BaseModel, Field

from tests.models.tiny import SMALL, asked
from tests.terminal import touche_rad_process
from touche_rad.demo import demo_file
from touche_rad.models import Message, Model
from touche_rad.models import errors as faults
from touche_rad.models.model import Settings, open_backend
from touche_rad.models.offline import Offline

pytestmark = pytest.mark.services

# The part of a prompt that is in the prefix cache, and the size of a batch, change the last digits of
# probabilities.
OPTIONS = {**SMALL, "max_model_len": "2048", "enable_prefix_caching": "false"}


class Judged(BaseModel):
    quality: Literal["yes", "no"]
    number: int = Field(ge=0, le=9)


@pytest.fixture
def mine(folder: Path, tmp_path: Path) -> Path:
    """The model under a name that no other test has: tests run beside each other."""
    name = tmp_path / "model"
    name.symlink_to(folder)
    return name


def workers(model: Path) -> list[int]:
    """Return the engines of a model that run."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(model) in words and any(one.endswith(b"offline_worker.py") for one in words):
            found.append(int(place.parent.name))
    return found


def figures(path: Path) -> tuple[list[Any], list[float]]:
    """Return a file's records without their fractions, and these: vLLM rounds by what it batches."""
    found: list[float] = []
    lines = path.read_text("utf-8").splitlines()
    return [
        json.loads(line, parse_float=lambda text: found.append(float(text))) for line in lines
    ], found


async def answers(model: Model) -> list[object]:
    """Ask all at once; with `at_once=1`, one after the other."""
    said: list[object] = await model.ask_all(
        [
            *((lambda n=n: model.ask_scored(asked(n), Judged)) for n in range(6)),
            *((lambda n=n: model.ask_choice(asked(n), ("yes", "no"))) for n in range(6)),
        ]
    )
    return said


def test_it_gives_the_answers_of_the_server_and_survives_its_death(
    mine: Path, tmp_path: Path
) -> None:
    async def of(kind: str) -> list[object]:
        backend = open_backend(f"{kind}:{mine}", vllm=OPTIONS, log_file=tmp_path / f"{kind}.log")
        settings = Settings(max_tokens=64)
        model = Model(backend, settings=settings, deadline=300, at_once=1)
        try:
            together = await answers(Model(backend, settings=settings, deadline=300))
            assert not [one for one in together if isinstance(one, Exception)]
            said = await answers(model)
            if not isinstance(backend, Offline):
                return said
            with pytest.raises(faults.PromptTooLong, match="maximum context length is 2048"):
                await model.ask([Message("user", "word " * 3000)], Judged)
            with pytest.raises(faults.Timeout):
                await model.ask(asked(0), Judged, deadline=0.001)
            assert await backend.context() == 2048
            (worker,) = workers(mine)
            os.kill(worker, signal.SIGKILL)
            again = await model.ask_choice(asked(0), ("yes", "no"))
            assert again == said[6]
        finally:
            await model.close()
        assert not workers(mine)
        return said

    offline = anyio.run(of, "vllm-offline")
    assert not [one for one in offline if isinstance(one, Exception)]
    assert offline == anyio.run(of, "vllm")


def test_a_run_and_a_worker_of_ray_record_their_engine(mine: Path, tmp_path: Path) -> None:
    options = [word for name, value in OPTIONS.items() for word in ("-O", f"vllm.{name}={value}")]
    out, debates = tmp_path / "run.jsonl", tmp_path / "debates.jsonl"
    debates.write_text(demo_file("debates.jsonl").read_text().splitlines(keepends=True)[0])
    command = (
        "judge",
        debates,
        "-j",
        "zsl",
        "-O",
        "per=maxim",
        "-m",
        f"vllm-offline:{mine}",
        *options,
        "-O",
        "model.at_once=1",
    )
    ended = touche_rad_process(*command, "-o", out)
    assert ended.code == 0, ended.err
    usage = json.loads((tmp_path / "run.jsonl.status.json").read_text())["usage"]
    (engine,) = usage["engines"]
    assert engine.startswith("vllm-")
    assert usage["engines"][engine] == usage["total"]["calls"]
    again = tmp_path / "again.jsonl"
    ray = ("--engine", "ray", "--actors", "1")
    ended = touche_rad_process(*command, "-o", again, *ray, env={"RAY_ADDRESS": "local"})
    assert ended.code == 0, ended.err
    (same, chances), (first, expected) = (figures(path) for path in (again, out))
    assert same == first
    assert chances == pytest.approx(expected, abs=1e-4)
    usage = json.loads((tmp_path / "again.jsonl.status.json").read_text())["usage"]
    assert usage["engines"] == {engine: usage["total"]["calls"]}
    assert not workers(mine)
