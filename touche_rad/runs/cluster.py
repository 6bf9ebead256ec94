"""The Ray cluster of a run: the one of RAY_ADDRESS, or one that the run starts and stops."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Any, Final

from touche_rad.errors import UserError, WorkError

log = logging.getLogger("touche_rad")

INSTALL: Final = "--engine ray needs Ray: pip install 'touche-rad[ray]'"
ADDRESS: Final = "RAY_ADDRESS"
START_LIMIT: Final = 600
"""Seconds that a process of Ray may take to start on a busy machine."""
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
        end = time.monotonic() + START_LIMIT
        while not self._ours:
            try:
                self.ray.init(address, log_to_driver=False, logging_level="ERROR")
                self._ours = True
            except Exception as error:  # Ray raises a plain Exception if a node starts too slowly
                if "timed out during startup" in str(error) and time.monotonic() < end:
                    log.warning("Ray starts slowly because the machine is busy: trying again")
                    continue
                line = " ".join(str(error).split())[:300]
                raise WorkError(f"the Ray cluster cannot be used: {line}") from None
        self._report(self._described(address))

    def _described(self, address: str) -> str:
        there = self.ray.cluster_resources()
        cpus = f"{there.get('CPU', 0):g} CPUs"
        if address == "local":
            return (
                f"Ray: started on this machine ({cpus}); {ADDRESS}=auto joins a cluster that "
                "ray start made"
            )
        nodes = sum(bool(node["Alive"]) for node in self.ray.nodes())
        return f"Ray: joined {self.ray.get_runtime_context().gcs_address} ({nodes} nodes, {cpus})"

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
