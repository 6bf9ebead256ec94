"""`index --engine ray`: the same index from the workers of a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.retrieval.elastic.asking import asked
from tests.retrieval.elastic.servers import Server
from tests.terminal import touche_rad
from touche_rad.demo import demo_file
from touche_rad.plugins import build_index, open_index

ARGUMENTS = demo_file("arguments.jsonl")


def test_a_folder_is_built_by_one_process(tmp_path: Path) -> None:
    ended = touche_rad("index", ARGUMENTS, "-o", tmp_path / "index", "--engine", "ray")
    assert ended.code == 2
    assert "--engine ray needs an index on a server (--to)" in ended.err
    assert not (tmp_path / "index").exists()
    ended = touche_rad("index", ARGUMENTS, "-o", tmp_path / "index", "--actors", "2")
    assert "--actors is for --engine ray" in ended.err


@pytest.fixture
def own_cluster() -> Iterator[None]:
    """A Ray cluster of this process, for several loads."""
    from touche_rad.runs.cluster import Cluster

    cluster = Cluster(lambda line: None)
    cluster.start()
    yield
    cluster.stop()


@pytest.mark.services
def test_workers_load_the_index_of_one_process_also_if_one_dies(
    server: Server,
    location: str,
    own_cluster: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from retrieval.elastic import loading, spreading
    from touche_rad import files

    arguments = list(files.read_arguments(ARGUMENTS, files.BadLines()))
    build_index(arguments, location)
    send, died = spreading._send, tmp_path / "died"

    def dying(environment: Any, there: str, concrete: str, batch: Any, *, check: bool) -> None:
        if batch[0].order == 20 and not died.exists():
            died.touch()
            send(environment, there, concrete, batch[:5], check=check)
            os._exit(1)
        send(environment, there, concrete, batch, check=check)

    monkeypatch.setattr(spreading, "_send", dying)
    monkeypatch.setattr(loading, "BATCH", 10)
    again = f"{location}-by-ray"
    words = ("index", ARGUMENTS, "--to", again, "--engine", "ray", "--actors", "2")
    ended = touche_rad(*words)
    assert ended.code == 0, ended.err
    assert died.exists()
    one, other = open_index(location), open_index(again)
    assert other.fingerprint == one.fingerprint
    assert list(other.arguments()) == list(one.arguments()) == arguments
    for argument in arguments[::10]:
        query = argument.attacks or argument.text
        assert other.search("text", query, 20) == one.search("text", query, 20)
    held = asked(server, f"{again.rpartition('/')[2]}/_stats/docs")["_all"]["primaries"]["docs"]
    assert held == {**held, "count": len(arguments), "deleted": 0}


@pytest.mark.services
def test_what_the_server_refuses_is_one_line_and_the_load_is_resumed(
    server: Server, location: str, own_cluster: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from retrieval.elastic import loading, spreading
    from touche_rad.errors import WorkError

    send = spreading._send

    def refused(environment: Any, there: str, concrete: str, batch: Any, *, check: bool) -> None:
        if batch[0].order >= 200:
            raise WorkError("the server rejected the argument '7': no room")
        send(environment, there, concrete, batch, check=check)

    words = ("index", ARGUMENTS, "--to", location, "--engine", "ray", "-q")
    with monkeypatch.context() as patched:
        patched.setattr(loading, "BATCH", 10)
        patched.setattr(spreading, "_send", refused)
        ended = touche_rad(*words)
    assert ended.code == 1
    assert ended.err == "touche-rad: error: the server rejected the argument '7': no room\n"
    again = touche_rad(*words)
    assert again.code == 0, again.err
    held = asked(server, f"{location.rpartition('/')[2]}/_stats/docs,indexing")["_all"]["primaries"]
    assert held["docs"] == {**held["docs"], "count": 435, "deleted": 0}
    assert held["indexing"]["index_total"] == 435  # nothing was sent twice
