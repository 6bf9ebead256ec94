"""The servers, each started once; one process of the test run has them all."""

from __future__ import annotations

import json
import urllib.request
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.retrieval.elastic.servers import Server, address, distribution, running


@pytest.fixture(scope="session")
def elasticsearch_home() -> Iterator[Path]:
    with distribution() as home:
        yield home


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """An open server: one that runs, or one of our own."""
    if address():
        there = Server(address())
        before = _indices(there, "*")
        yield there
        _remove(there, set(_indices(there, "demo-*")) - set(before))
        return
    home = request.getfixturevalue("elasticsearch_home")
    with running(home) as made:
        yield made


@pytest.fixture(scope="session")
def secured(elasticsearch_home: Path) -> Iterator[Server]:
    """Three nodes with TLS by an own CA, and users; `test_survival` comes last and kills two."""
    with running(elasticsearch_home, nodes=3, secured=True) as made:
        yield made


@pytest.fixture
def location(server: Server) -> Iterator[str]:
    """A place on the open server where nothing is yet, and nothing is left."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    yield server.location(name)
    _remove(server, _indices(server, f"{name}*"))


def _indices(server: Server, names: str) -> list[str]:
    with urllib.request.urlopen(f"{server.url}/_cat/indices/{names}?format=json") as answer:
        return [one["index"] for one in json.loads(answer.read())]


def _remove(server: Server, indices: Iterable[str]) -> None:
    for index in indices:
        asked = urllib.request.Request(f"{server.url}/{index}", method="DELETE")
        urllib.request.urlopen(asked).close()
