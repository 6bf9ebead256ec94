"""The Ray cluster of a run: the one of RAY_ADDRESS, or one that the run starts and stops."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from touche_rad.errors import UserError, WorkError, why

log = logging.getLogger("touche_rad")
T = TypeVar("T")

INSTALL: Final = "--engine ray needs Ray: pip install 'touche-rad[ray]'"
ADDRESS: Final = "RAY_ADDRESS"
START_LIMIT: Final = 600
"""Seconds that a process of Ray may take to start on a busy machine."""
JOIN_LIMIT: Final = 120
"""Seconds that a cluster may take to answer; Ray itself waits without an end."""
_CONNECT_LIMIT: Final = 10
NO_START: Final = (
    f"no worker has started for {START_LIMIT} seconds: the Ray cluster has no free CPU, or its "
    "machines are too busy to start a process"
)


class Cluster:
    """A connection to a Ray cluster.

    `ray.init()` joins any cluster that runs on this machine, also one of another user's program,
    which ends the run when it stops. So a run joins only the cluster that RAY_ADDRESS names.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        """Prepare; nothing is started.

        Args:
            report: Called with one line that says which cluster is used.

        Raises:
            UserError: Ray is not installed.
        """
        try:
            import ray
        except ImportError:
            raise UserError(INSTALL) from None
        self.ray: Any = ray
        self._report = report
        self._ours = False
        """Whether this object connected, so that it disconnects."""

    def start(self) -> None:
        """Connect to the cluster of RAY_ADDRESS, or start one on this machine.

        Raises:
            WorkError: The cluster cannot be used.
        """
        if self.ray.is_initialized():
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        os.environ.setdefault("RAY_worker_register_timeout_seconds", str(START_LIMIT))
        # Otherwise the first driver waits for workers, without an end if they start too slowly.
        os.environ.setdefault("RAY_prestart_worker_first_driver", "0")
        address = os.environ.get(ADDRESS) or "local"
        described = self._init(address) if address == "local" else self._join(address)
        self._ours = True
        self._report(described)

    def _join(self, address: str) -> str:
        """Connect to a cluster that runs.

        This needs a thread, which a cluster that does not answer keeps. A cluster must not be
        started in one: its processes end with the thread that starts them.
        """
        _check_address(address)
        described = _within(JOIN_LIMIT, lambda: self._init(address))
        if described is None:
            raise WorkError(
                f"the Ray cluster at {address} has not answered for {JOIN_LIMIT} seconds: run ray "
                f"status --address {address}, restart the cluster, or unset {ADDRESS}"
            )
        return described

    def _init(self, address: str) -> str:
        """Connect, and return the line that says to what."""
        end = time.monotonic() + START_LIMIT
        # The dashboard of a cluster that ends with the run takes a third of its start.
        more = {"include_dashboard": False} if address == "local" else {}
        while True:
            try:
                self.ray.init(address, log_to_driver=False, logging_level="ERROR", **more)
                return self._described(address)
            except Exception as error:  # Ray raises a plain Exception if a node starts too slowly
                if "timed out during startup" in str(error) and time.monotonic() < end:
                    log.warning("Ray starts slowly because the machine is busy: trying again")
                    continue
                line = " ".join(str(error).split())[:300]
                raise WorkError(f"the Ray cluster cannot be used: {line}") from None

    def _described(self, address: str) -> str:
        there = self.ray.cluster_resources()
        cpus = f"{there.get('CPU', 0):g} CPUs"
        if address == "local":
            return (
                f"Ray: started on this machine ({cpus}); {ADDRESS}=auto joins a cluster that "
                "ray start made"
            )
        nodes = sum(bool(node["Alive"]) for node in self.ray.nodes())
        counted = "1 node" if nodes == 1 else f"{nodes} nodes"
        return f"Ray: joined {self.ray.get_runtime_context().gcs_address} ({counted}, {cpus})"

    def stop(self) -> None:
        """Disconnect; a cluster that was started here ends."""
        if self._ours:
            self.ray.shutdown()
            self._ours = False

    def places(self, cards: int) -> int:
        """Return how many workers the cluster has room for, with so many cards each."""
        there = self.ray.cluster_resources()
        used = self.cards(cards)
        return max(1, int(there["GPU"] // used if used else there.get("CPU", 1)))

    def cards(self, wanted: int) -> int:
        """Return the cards of each worker; 0 in a cluster without cards."""
        return wanted if self.ray.cluster_resources().get("GPU", 0) >= wanted else 0


def _check_address(address: str) -> None:
    """Check that a program listens at HOST:PORT; Ray tries a closed port for minutes.

    Raises:
        WorkError: None does.
    """
    try:
        parts = urlsplit(f"//{address.rpartition('://')[2]}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return
    if not host or port is None:
        return  # such as auto
    try:
        socket.create_connection((host, port), _CONNECT_LIMIT).close()
    except OSError as error:
        raise WorkError(
            f"no Ray cluster answers at {address} ({why(error)}): start one with ray start, or "
            f"correct or unset {ADDRESS}"
        ) from None


def _within(seconds: float, call: Callable[[], T]) -> T | None:
    """Return the result of a call, or None if it takes longer; then it is left to itself."""
    results: list[T] = []
    errors: list[BaseException] = []

    def make() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    return results[0] if results else None
