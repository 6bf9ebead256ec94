"""`--engine ray` while servers fail: no debate is lost or done twice, and no failed one is kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.models.scripted import Handler, Scripted, content, reset, serving
from tests.records import read_status
from tests.runs.ray_worlds import run_in_one_process, start_on_ray, wait_for_end
from touche_rad.demo import demo_file

pytestmark = pytest.mark.services

COUNT = 12
JUDGE = ("judge", "debates.jsonl", "-j", "zsl", "--workers", "2", "-q")


def write_debates(folder: Path) -> None:
    """Write the demo's first debates."""
    lines = demo_file("debates.jsonl").read_text("utf-8").splitlines(keepends=True)
    (folder / "debates.jsonl").write_text("".join(lines[:COUNT]), "utf-8")


def dies_after(server: Scripted, count: int) -> None:
    """Let an endpoint close its socket after so many answers."""
    answer = content("yes")
    answers = iter(range(count))

    def act(handler: Handler) -> None:
        if next(answers, None) is not None:
            answer(handler)
            return
        reset(handler)
        threading.Thread(target=server.shutdown, daemon=True).start()
        server.server_close()

    server.always = act


@contextmanager
def endpoint() -> Iterator[Scripted]:
    """An endpoint that says yes."""
    with serving() as server:
        server.always = content("yes")
        yield server


def of(*servers: Scripted) -> tuple[str, str]:
    """Return the option that names endpoints."""
    return "-m", ",".join(server.url for server in servers) + "#tiny"


def count_judging_calls(server: Scripted) -> int:
    """Count the calls that are no probes."""
    return sum(request["max_tokens"] > 1 for request in server.asked)


def test_no_failed_debate_is_kept_if_all_endpoints_die(cluster: Any, tmp_path: Path) -> None:
    write_debates(tmp_path)
    with endpoint() as third:
        expected = run_in_one_process(tmp_path, *JUDGE, *of(third))
        every = count_judging_calls(third)
        third.asked.clear()
        with endpoint() as first, endpoint() as second:
            dies_after(first, 9)
            dies_after(second, 60)
            process = start_on_ray(cluster, *JUDGE, *of(first, second), cwd=tmp_path)
            _, err = process.communicate(timeout=400)
            assert process.returncode == 1
            assert "the same command" in err.splitlines()[-1]
        finished = (tmp_path / "ray.jsonl.part").read_bytes().count(b"\n") - 1
        assert 0 < finished < COUNT
        wait_for_end(start_on_ray(cluster, *JUDGE, *of(third), cwd=tmp_path))
        assert count_judging_calls(third) < every  # what is kept is not judged again
    assert (tmp_path / "ray.jsonl").read_bytes() == expected
    assert read_status(tmp_path / "ray.jsonl")["fallbacks"] == []
