"""Ctrl-C and SIGTERM end each command at once; a session closes what it opened; scripts exit."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.demo import ARGUMENTS, CLAIMS, DEBATES
from tests.models import scripted
from tests.models.scripted import Scripted
from tests.processes import children, gone
from touche_rad import session
from touche_rad.calls import call_context, current_context
from touche_rad.session import Session

PLUGIN = '''
"""Plugins that work for a minute, in a thread or on the event loop."""

import time
from pathlib import Path

import anyio

from touche_rad.plugins import debater, judge, retriever

STARTED = Path({started!r})


class Busy:
    """Works for a minute in plain code."""

    def __init__(self, options, services):
        pass

    def answer(self, debate):
        STARTED.write_text("started")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            sum(range(1000))

    judge = answer

    def search(self, query, k):
        return self.answer(query)


class Waits(Busy):
    """Waits for a minute on the event loop."""

    async def answer(self, debate):
        STARTED.write_text("started")
        await anyio.sleep(60)


debater("busy")(Busy)
debater("waits")(Waits)
judge("busy")(Busy)
retriever("busy")(Busy)
'''
PLAIN = {
    "respond --say": "respond --say Zoos. -d busy",
    "respond --say on the loop": "respond --say Zoos. -d waits",
    "respond": f"respond {DEBATES} -d busy -i demo -o run.jsonl",
    "simulate": f"simulate {CLAIMS} -d waits -i demo -o simulations.jsonl",
    "judge": f"judge {DEBATES} -j busy -o evaluations.jsonl",
    "audit": f"audit {DEBATES} -j busy",
    "retrieve": "retrieve --say Zoos. -r busy",
    "serve": "serve -d busy -i demo -j length --port 0 --grace 1",
}
ASKING = {
    "respond --say": "respond --say Zoos. -d sinai",
    "respond": f"respond {DEBATES} -d sinai -i demo -o run.jsonl",
    "judge": f"judge {DEBATES} -j zsl -o evaluations.jsonl",
    "audit": f"audit {DEBATES} -j zsl",
    "simulate --user model": f"simulate {CLAIMS} -d verbatim -i demo --user model -o run.jsonl",
    "tournament": f"tournament {CLAIMS} -i demo -d sinai -d grounded -o tournament",
    "index --annotate": f"index {ARGUMENTS} -o index --annotate schemes",
    "doctor": "doctor",
}
ENDS = 15.0
"""Seconds in which a command must end on a busy machine; the work would take a minute."""


def _cases(commands: Mapping[str, str]) -> Iterator[Any]:
    """Yield each command; those that share their machinery with another one are tested rarely."""
    for name in commands:
        marks = () if name in ("respond --say", "judge", "serve", "retrieve") else pytest.mark.long
        yield pytest.param(name, signal.SIGINT, marks=marks)


@pytest.fixture
def silent() -> Iterator[Scripted]:
    """Serve a model that lists its name and never answers."""
    with scripted.serving() as server:
        server.always = scripted.silent
        yield server


def start_command(line: str, folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir()
    command = [sys.executable, "-m", "touche_rad", *line.split()]
    log = (folder / "log.txt").open("wb")
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.02)


def send_and_check_end(process: subprocess.Popen[bytes], number: signal.Signals, log: Path) -> None:
    begun = time.monotonic()
    process.send_signal(number)
    try:
        process.wait(30)
    finally:
        process.kill()
    assert time.monotonic() - begun < ENDS, log.read_text()
    assert process.returncode in (130, -signal.SIGTERM, 0), log.read_text()
    assert "Traceback" not in log.read_text()


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *_cases(PLAIN),
        ("judge", signal.SIGTERM),
        ("serve", signal.SIGTERM),
    ],
)
def test_a_signal_ends_a_command_in_plain_work(
    name: str, number: signal.Signals, tmp_path: Path
) -> None:
    plugin = tmp_path / "busy.py"
    started = tmp_path / "started"
    folder = tmp_path / "work"
    plugin.write_text(PLUGIN.format(started=str(started)))
    process = start_command(f"{PLAIN[name]} --plugin {plugin}", folder)
    log = folder / "log.txt"
    wait_until(started.exists, process, log)
    send_and_check_end(process, number, log)


@pytest.mark.parametrize(
    ("name", "number"),
    [*_cases(ASKING), ("judge", signal.SIGTERM)],
)
def test_a_signal_ends_a_command_in_model_calls(
    name: str, number: signal.Signals, silent: Scripted, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    process = start_command(f"{ASKING[name]} -m {silent.url}#tiny", folder)
    log = folder / "log.txt"
    wait_until(lambda: bool(silent.asked), process, log)
    send_and_check_end(process, number, log)
    if number == signal.SIGINT:
        assert ("run the same command" in log.read_text()) == (" -o " in ASKING[name]), (
            log.read_text()
        )


SCRIPT = """
import asyncio, sys, pandas as pd
from touche_rad.pipelines import Answer, Judge

def work():
    topics = pd.DataFrame({"qid": ["1"], "query": ["Zoos should be closed."]})
    print(len((Answer("verbatim", index="demo") >> Judge("grounded", threshold=0.0))(topics)))

async def cell():  # a notebook runs its cells on a running event loop
    work()

asyncio.run(cell()) if sys.argv[1] == "notebook" else work()
"""


@pytest.mark.parametrize("door", ["script", "notebook"])
def test_a_program_that_used_a_transformer_exits(door: str) -> None:
    command = [sys.executable, "-c", SCRIPT, door]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "4\n", ended.stderr


@dataclass
class Opened:
    """A model or an index that notes when it is closed."""

    name: str
    closed: list[str]

    async def close(self) -> None:
        self.closed.append(self.name)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, None])
def test_a_session_closes_what_it_opened_in_reverse_also_after_an_error(
    error: type[BaseException] | None,
) -> None:
    closed: list[str] = []
    try:
        with Session() as opened:
            for name in ("first", "second"):
                opened.close_later(Opened(name, closed))
            if error is not None:
                raise error
    except (KeyboardInterrupt, ValueError):
        pass
    assert closed == ["second", "first"]


async def _deadline() -> float | None:
    return current_context().deadline


def test_each_door_reaches_the_one_loop() -> None:
    async def from_a_thread_of_the_loop() -> float | None:
        return await anyio.to_thread.run_sync(session.run, _deadline)

    async def on_another_loop() -> float | None:
        return session.run(_deadline)

    with call_context(deadline=5.0):
        assert session.run(_deadline) == 5.0, "the context of the caller"
        assert session.run(from_a_thread_of_the_loop) == 5.0
        assert asyncio.run(on_another_loop()) == 5.0


def test_plain_code_on_the_loop_is_refused_by_name() -> None:
    async def blocking() -> None:
        session.run(_deadline)

    with pytest.raises(RuntimeError, match=r"_deadline: .* anyio\.to_thread"):
        session.run(blocking)


def test_an_exit_of_a_plugin_is_an_error_and_the_loop_goes_on() -> None:
    async def exits() -> None:
        sys.exit(3)

    async def exits_in_a_task() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(exits)

    for function in (exits, exits_in_a_task):
        with pytest.raises(RuntimeError, match="SystemExit"):
            session.run(function)
    assert session.run(_deadline) is None


STARTING = """#!/bin/sh
test "$1" = -m && echo started > {started} && exec sleep 60
exit 1
"""


def test_ctrl_c_ends_a_server_of_a_model_that_is_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    started = tmp_path / "started"
    folder = tmp_path / "work"
    python.write_text(STARTING.format(started=started))
    python.chmod(0o755)
    monkeypatch.setenv("TOUCHE_RAD_VLLM_PYTHON", str(python))
    process = start_command("respond --say Zoos. -d sinai -m vllm:owner/name", folder)
    log = folder / "log.txt"
    wait_until(started.exists, process, log)
    servers = children(process.pid)
    assert servers
    send_and_check_end(process, signal.SIGINT, log)
    assert "error: stopped" in log.read_text()
    assert gone(servers)
