"""A Ray cluster that the tests of a worker of pytest share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.ray_worlds import add_node


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Two nodes with one CPU each, as processes of this machine."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_register_timeout_seconds", "600")
    os.environ.setdefault("RAY_prestart_worker_first_driver", "0")
    ray_cluster = Cluster()
    add_node(ray_cluster, include_dashboard=False)
    add_node(ray_cluster)
    yield ray_cluster
    ray_cluster.shutdown()
