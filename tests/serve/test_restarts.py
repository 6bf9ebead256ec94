"""`serve --keep-running`: a server that is killed is started again, and its socket stays open."""

from __future__ import annotations

import logging
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.forks import fork
from tests.serve.careless import Serve, end_server
from touche_rad.cli.prepare import bind
from touche_rad.serve.restarts import MOST_SHORT, serve_in_workers

DEBATES = 24


def test_debates_go_on_after_the_server_is_killed(serve: Serve) -> None:
    server, url = serve("--keep-running", "-d", "verbatim")
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    (worker,) = children.read_text().split()
    with ThreadPoolExecutor(DEBATES) as pool:

        def answers(turn: int) -> list[str]:
            """Send the next message of all debates at once, on new connections."""
            message = {"role": "user", "content": f"Zoos should be closed, for reason {turn}."}
            body = {"messages": [message]}
            replies = pool.map(
                lambda _: httpx2.post(url, json=body, timeout=60).json(), range(DEBATES)
            )
            return [reply["content"] for reply in replies]

        first = answers(1)
        os.kill(int(worker), signal.SIGKILL)
        second = answers(2)
    assert len(list(filter(None, [*first, *second]))) == 2 * DEBATES
    assert children.read_text().split() != [worker]
    assert end_server(server) == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("is_ready", "end", "starts", "code"),
    [
        (False, 3, 1, 3),
        (True, 0, 1, 0),
        (True, 3, MOST_SHORT, 3),
        (True, -signal.SIGKILL, MOST_SHORT, 137),
    ],
    ids=["no start", "ended", "crashes", "killed"],
)
def test_how_a_server_ends_whose_workers_end(
    tmp_path: Path, is_ready: bool, end: int, starts: int, code: int
) -> None:
    log = tmp_path / "starts"

    def work() -> int:
        logging.getLogger("touche_rad").addHandler(logging.FileHandler(log))
        listener = bind("127.0.0.1", 0)
        try:
            serve_in_workers(listener)
        except SystemExit as ended:
            return int(str(ended.code))
        with log.open("a") as lines:
            lines.write("started\n")
        if is_ready:
            listener.listen()
        if end < 0:
            os.kill(os.getpid(), -end)
        os._exit(end)

    _, status = os.waitpid(fork(work), 0)
    lines = log.read_text()
    assert lines.count("started\n") == starts
    assert lines.count(f"{MOST_SHORT} times in a row") == (starts == MOST_SHORT)
    assert os.waitstatus_to_exitcode(status) == code
