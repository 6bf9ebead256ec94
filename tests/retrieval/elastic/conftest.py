"""The servers, each started once; one process of the test run has them all."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.extras import needs
from tests.retrieval.elastic.servers import Server, distribution, running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("elasticsearch"))


@pytest.fixture(scope="session")
def elasticsearch_home() -> Iterator[Path]:
    needs("elasticsearch")
    with distribution() as home:
        yield home


@pytest.fixture(scope="session")
def server(elasticsearch_home: Path) -> Iterator[Server]:
    """An open server."""
    with running(elasticsearch_home) as made:
        yield made


@pytest.fixture(scope="session")
def secured(elasticsearch_home: Path) -> Iterator[Server]:
    """A server with TLS by an own CA, and users."""
    with running(elasticsearch_home, secured=True) as made:
        yield made


@pytest.fixture
def location(server: Server) -> str:
    """A place on the open server where nothing is yet."""
    return server.location(f"test-{uuid.uuid4().hex[:12]}")
