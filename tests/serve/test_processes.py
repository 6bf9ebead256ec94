"""Several processes behind one port (`serve --processes`)."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from tests.serve.careless import Serve
from tests.terminal import touche_rad_process

pytestmark = pytest.mark.long


def _until(number: int, those: Callable[[], set[int]]) -> set[int]:
    """Wait until there are so many processes or sockets."""
    for _ in range(600):
        if len(found := those()) == number:
            return found
        time.sleep(0.1)
    pytest.fail(f"expected {number}, got {those()}")


def _children(server: subprocess.Popen[bytes]) -> set[int]:
    line = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text()
    return {int(pid) for pid in line.split() if "spawn_main" in _command(pid)}


def _command(pid: str) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def _alive(processes: set[int]) -> set[int]:
    return {one for one in processes if Path(f"/proc/{one}").exists()}


def _answers(url: str, count: int) -> list[bytes]:
    """Ask over connections of their own, which the kernel spreads over the processes."""
    said = [f"Zoos harm animal number {number}." for number in range(count)]
    bodies = [{"messages": [{"role": "user", "content": one}]} for one in said]
    return [httpx2.post(url, json=body, timeout=60).raise_for_status().content for body in bodies]


def test_they_answer_like_one_process_and_end_with_it(serve: Serve) -> None:
    _, alone = serve("-d", "verbatim")
    server, url = serve("-d", "verbatim", "--processes", "3")
    children = _until(3, lambda: _children(server))
    assert _answers(url, 12) == _answers(alone, 12)
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0
    assert not _alive(children)


def test_without_their_parent_they_end(serve: Serve) -> None:
    server, _ = serve("-d", "verbatim", "--processes", "2")
    children = _until(2, lambda: _children(server))
    server.kill()
    server.wait()
    _until(0, lambda: _alive(children))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-i", "nowhere"], "nowhere: there is no index"),
        (
            ["-i", "demo", "-m", "http://127.0.0.1:9/v1#tiny"],
            "--processes works only without a mod",
        ),
    ],
)
def test_an_error_is_printed_once(words: list[str], said: str) -> None:
    ended = touche_rad_process("serve", "--processes", "3", "--port", "0", *words)
    assert ended.code == 2
    assert ended.err.count(said) == 1
