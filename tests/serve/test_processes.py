"""Several processes behind one port (`serve --processes`)."""

from __future__ import annotations

import signal
import subprocess
import time

import httpx2
import pytest

from tests.processes import children, command_of, gone
from tests.serve.careless import Serve
from tests.terminal import touche_rad_process

pytestmark = pytest.mark.long


def _workers(server: subprocess.Popen[bytes], number: int) -> set[int]:
    """Wait until a server has so many processes."""
    for _ in range(600):
        found = {pid for pid in children(server.pid) if "spawn_main" in command_of(pid)}
        if len(found) == number:
            return found
        time.sleep(0.1)
    pytest.fail(f"expected {number}, got {found}")


def _answers(url: str, count: int) -> list[bytes]:
    """Ask over connections of their own, which the kernel spreads over the processes."""
    said = [f"Zoos harm animal number {number}." for number in range(count)]
    bodies = [{"messages": [{"role": "user", "content": one}]} for one in said]
    return [
        httpx2.post(url, json=body, timeout=60, verify=False).raise_for_status().content
        for body in bodies
    ]


def test_they_answer_like_one_process_and_end_with_it(serve: Serve) -> None:
    _, alone = serve("-d", "verbatim")
    server, url = serve("-d", "verbatim", "--processes", "3")
    workers = _workers(server, 3)
    assert _answers(url, 12) == _answers(alone, 12)
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0
    assert gone(workers, 0)


def test_without_their_parent_they_end(serve: Serve) -> None:
    server, _ = serve("-d", "verbatim", "--processes", "2")
    workers = _workers(server, 2)
    server.kill()
    server.wait()
    assert gone(workers)


def test_the_page_says_that_the_model_cannot_be_reached(serve: Serve) -> None:
    _, url = serve("-m", "http://127.0.0.1:9/v1#tiny")
    page = httpx2.get(url, headers={"accept": "text/html"}, follow_redirects=True).text
    assert "When the server started: " in page


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
