"""Load the batches of a collection from the workers of a Ray cluster.

The documents have fixed ids and "create" keeps the first copy of one, so a batch can be sent twice:
Ray starts the task of a worker that died again, and a stopped load is resumed by the same command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from retrieval.elastic.connection import CREDENTIALS, Connection, place
from retrieval.elastic.loading import Kept, send_batch
from touche_rad.errors import ToucheRadError, WorkError
from touche_rad.runs import cluster

_AHEAD: Final = 2
"""Batches per worker that are sent to the cluster: one in work, and the next one."""


class RaySender:
    """Sends batches from the workers of a Ray cluster."""

    def __init__(self, actors: int | None, report: Callable[[str], None]) -> None:
        """Prepare; Ray is started with the first batch.

        Args:
            actors: The number of workers; default: one per CPU of the cluster.
            report: Called with one line that says which cluster is used.

        Raises:
            UserError: Ray is not installed.
        """
        self._cluster = cluster.Cluster(report)
        self._actors = actors

    def __call__(
        self, location: str, concrete: str, batches: Iterator[Sequence[Kept]], *, check: bool
    ) -> None:
        """Send all batches.

        Raises:
            ToucheRadError: The server refused a batch, or no worker starts.
        """
        ray = self._cluster.ray
        self._cluster.start()
        try:
            most = _AHEAD * (self._actors or self._cluster.places(0))
            task = ray.remote(num_cpus=1, max_retries=_AHEAD)(_send)
            environment = {name: os.environ[name] for name in CREDENTIALS if name in os.environ}
            sent: list[Any] = []
            for batch in batches:
                sent.append(task.remote(environment, location, concrete, batch, check=check))
                if len(sent) >= most:
                    sent = self._collect(sent)
            while sent:
                sent = self._collect(sent)
        finally:
            self._cluster.stop()

    def _collect(self, sent: Sequence[Any]) -> list[Any]:
        """Wait for one batch, and return the others."""
        ray = self._cluster.ray
        ready, others = ray.wait(sent, num_returns=1, timeout=cluster.START_LIMIT)
        if not ready:
            raise WorkError(cluster.NO_START)
        try:
            ray.get(ready)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, ToucheRadError):
                raise error.cause from None
            raise WorkError(f"a worker failed: {error.cause}") from error
        except ray.exceptions.RayError as error:
            line = str(error).strip().splitlines()[0]
            raise WorkError(f"a worker died {_AHEAD + 1} times: {line}") from error
        return list(others)


def _send(
    environment: Mapping[str, str],
    location: str,
    concrete: str,
    batch: Sequence[Kept],
    *,
    check: bool,
) -> None:
    """Send a batch from a worker."""
    os.environ.update(environment)
    send_batch(_connected(location), concrete, batch, check=check)


@lru_cache(maxsize=1)
def _connected(location: str) -> Connection:
    """Open a connection, which this worker keeps."""
    return Connection(place(location))
