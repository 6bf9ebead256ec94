"""Blocks of a run's debates, processed by the workers of a Ray cluster: `--engine ray`.

The driver reads the input, sends blocks of debates with their numbers to the workers, and writes
each finished block to the journal of the run. So a driver that is killed and started again does
only what is missing, also without Ray. A worker is an actor: it opens the index and the model once
and processes its blocks like a run in one process. The block of a worker that died goes to another
one. Plain actors and not Ray Data: a block counts as done when the journal has it, the driver holds
only the blocks under work, and one debate that kills its worker is found and does not stop the run.
"""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

import anyio

from touche_rad.errors import UserError, WorkError
from touche_rad.models.errors import OverBudget
from touche_rad.models.usage import Cost, Usage
from touche_rad.runs.journal import Done
from touche_rad.runs.stand_ins import StandInStop
from touche_rad.runs.work import RunOptions
from touche_rad.runs.worker import Block, BlockResult, Setup, Worker

log = logging.getLogger("touche_rad")

INSTALL: Final = "--engine ray needs Ray: pip install 'touche-rad[ray]'"
_AHEAD: Final = 2
"""Blocks that a worker has: one in work, and the next one."""
_MOST_ROUNDS: Final = 16
"""A block has at most this many times the debates that a worker processes in parallel."""
_MOST_LOST: Final = 3
"""How many workers may die of one debate."""
_POLL: Final = 0.5
_CLOSING: Final = 5.0
_SLOW: Final = 60.0
_START_LIMIT: Final = 600
"""Seconds that a process of Ray may take to start on a busy machine."""
_PAUSE: Final = 1.0


@dataclass
class _Actor:
    """A worker and the blocks that it has, oldest first."""

    handle: Any
    starting: Any = None
    opening: Any = None
    running: dict[Any, Block] = field(default_factory=dict)


class RayEngine:
    """Processes the units of a run on a Ray cluster, or on the CPUs of this machine without one."""

    setup: Setup
    """What a worker needs to do the work."""

    def __init__(self, actors: int | None = None) -> None:
        """Prepare; Ray is started when the work begins.

        Args:
            actors: The number of workers; default: one per CPU of the cluster.

        Raises:
            UserError: Ray is not installed.
        """
        try:
            import ray
        except ImportError:
            raise UserError(INSTALL) from None
        self._ray: Any = ray
        self._wanted = actors
        self.cards = 0
        """Cards that each worker needs for its model, if the cluster has cards."""
        self._actors: list[_Actor] = []
        self._again: deque[Block] = deque()
        self._failures: list[str] = []
        self._unopened = 0
        """Workers that died one after the other while they opened the index."""
        self._unstarted_since: float | None = None
        """When the first worker died before it started, if none has started since."""
        self._tracebacks: set[str] = set()
        self._budget: Any = None

    async def process(
        self,
        units: Iterator[tuple[int, Any]],
        total: int,
        options: RunOptions,
        keep: Callable[[int, Done], None],
    ) -> list[str]:
        """Process units on the workers; return a line for each that failed.

        Raises:
            StandInStop: A worker stopped, because the run is strict or its model does not work.
            WorkError: A worker cannot be opened.
        """
        if not total:
            return []
        started = self._start()
        try:
            self._budget = self._make_budget(options)
            count = min(self._wanted or self._places(), total)
            blocks = cut(units, total, count, options.workers)
            self._actors = [self._spawn(options) for _ in range(count)]
            begun = time.monotonic()
            while self._feed(blocks):
                if time.monotonic() - begun > _SLOW and all(one.opening for one in self._actors):
                    log.warning("no worker is open yet: is a CPU of the Ray cluster free?")
                    begun = float("inf")
                for reference in await anyio.to_thread.run_sync(
                    self._ready, abandon_on_cancel=True
                ):
                    self._collect(reference, options, keep)
                if self._unstarted_since is not None:
                    await anyio.sleep(_PAUSE)
        finally:
            self._stop(started)
        return self._failures

    def _start(self) -> bool:
        """Connect to the cluster of RAY_ADDRESS or of this machine, or start one; say which."""
        if self._ray.is_initialized():
            return False
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        os.environ.setdefault("RAY_worker_register_timeout_seconds", str(_START_LIMIT))
        end = time.monotonic() + _START_LIMIT
        while True:
            try:
                self._ray.init(log_to_driver=False, logging_level="ERROR")
                return True
            except Exception as error:  # Ray raises a plain Exception if a node starts too slowly
                if "timed out during startup" in str(error) and time.monotonic() < end:
                    log.warning("Ray starts slowly because the machine is busy: trying again")
                    continue
                line = " ".join(str(error).split())[:300]
                raise WorkError(f"the Ray cluster cannot be used: {line}") from None

    def _stop(self, started: bool) -> None:
        idle = [
            one.handle.close.remote()
            for one in self._actors
            if not one.running and one.opening is None
        ]
        if idle:
            self._ray.wait(idle, num_returns=len(idle), timeout=_CLOSING)
        for actor in self._actors:
            self._ray.kill(actor.handle)
        if self._budget is not None:
            self._ray.kill(self._budget)
        self._actors.clear()
        if started:
            self._ray.shutdown()

    def _places(self) -> int:
        """Return how many workers the cluster has room for."""
        there = self._ray.cluster_resources()
        cards = self._cards()
        return max(1, int(there["GPU"] // cards if cards else there.get("CPU", 1)))

    def _cards(self) -> int:
        """Return the cards of each worker; 0 in a cluster without cards."""
        return self.cards if self._ray.cluster_resources().get("GPU", 0) >= self.cards else 0

    def _make_budget(self, options: RunOptions) -> Any:
        """Make the one budget of all workers, on the driver's machine, if the run has one."""
        usage = options.model.usage if options.model is not None else None
        if usage is None or (usage.max_calls, usage.max_tokens, usage.seconds) == (None,) * 3:
            return None
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(
            self._ray.get_runtime_context().get_node_id(), soft=False
        )
        make = self._ray.remote(num_cpus=0, scheduling_strategy=here)(Budget)
        return make.remote(usage.max_calls, usage.max_tokens, usage.seconds)

    def _spawn(self, options: RunOptions) -> _Actor:
        """Start a worker; a node that is gone is replaced by another one, once there is one."""
        settings = RunOptions(
            workers=options.workers, strict=options.strict, hand_in=options.hand_in
        )
        needs = {"num_cpus": 1, "num_gpus": self._cards()}
        handle = self._ray.remote(**needs, max_restarts=0, max_task_retries=0)(Worker).remote()
        actor = _Actor(handle, handle.start.remote())
        actor.opening = handle.open.remote(self.setup, settings, self._budget)
        return actor

    def _feed(self, blocks: Iterator[Block]) -> bool:
        """Give each open worker its next blocks; return whether there is more to wait for."""
        for actor in self._actors:
            while actor.opening is None and len(actor.running) < _AHEAD:
                block = self._again.popleft() if self._again else next(blocks, None)
                if block is None:
                    break
                actor.running[actor.handle.run.remote(block)] = block
        if not self._again:
            self._again.extend(islice(blocks, 1))
        return bool(self._again) or any(actor.running for actor in self._actors)

    def _ready(self) -> list[Any]:
        waiting = [one for actor in self._actors for one in actor.running]
        waiting += [actor.opening for actor in self._actors if actor.opening is not None]
        ready, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
        if not ready:
            ready, _ = self._ray.wait(waiting, num_returns=1, timeout=_POLL)
        return list(ready)

    def _collect(
        self, reference: Any, options: RunOptions, keep: Callable[[int, Done], None]
    ) -> None:
        """Take the result of a block or of the opening of a worker."""
        actor = next(
            (one for one in self._actors if reference == one.opening or reference in one.running),
            None,
        )
        if actor is None:
            return  # it died after this result
        try:
            result = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise WorkError(f"a worker failed: {_last_line(error)}") from error
        except self._ray.exceptions.RayError as error:
            self._lose(actor, options, error)
            return
        self._unstarted_since = None
        if reference == actor.opening:
            actor.opening = None
            if result:
                raise WorkError(str(result))
            return
        del actor.running[reference]
        self._take(result, options, keep)

    def _take(
        self, result: BlockResult, options: RunOptions, keep: Callable[[int, Done], None]
    ) -> None:
        """Keep what a worker made of a block; answers are cached before their results are kept."""
        if options.model is not None:
            options.model.keep_answers(result.answers)
            if result.usage is not None:
                options.model.usage.add(result.usage)
            new = [one for one in result.warnings if one not in options.model.warnings]
            options.model.warnings.extend(new)
        for number, done in result.done:
            keep(number, done)
        if options.errors is not None and result.errors not in self._tracebacks:
            self._tracebacks.add(result.errors)
            _append(options.errors, result.errors)
        if self.setup.trace is not None:
            _append(self.setup.trace, result.trace)
        self._failures += result.failures
        if result.stopped:
            raise StandInStop(result.stopped)

    def _lose(self, actor: _Actor, options: RunOptions, error: Exception) -> None:
        """Give the blocks of a worker that died to the others, and start another worker.

        Raises:
            WorkError: Too many workers died when they opened the index, or none starts.
        """
        if actor.opening is None:
            self._unopened = 0
        elif self._has_started(actor):
            self._unopened += 1
            if self._unopened >= _MOST_LOST * len(self._actors):
                raise WorkError(
                    f"{self._unopened} workers died when they opened the index: {_last_line(error)}"
                )
        else:
            self._wait_for_start(error)
        if actor in self._actors:
            self._actors[self._actors.index(actor)] = self._spawn(options)
        for place, block in enumerate(actor.running.values()):
            if place:  # it had not begun
                self._again.append(block)
                continue
            lost = block.lost + 1
            if lost < _MOST_LOST:
                self._again.append(Block(block.units, lost))
            elif len(block.units) > 1:
                self._again.extend(Block((unit,), 1) for unit in block.units)
            else:
                number = block.units[0][0] + 1
                self._failures.append(
                    f"number {number}: its worker died {lost} times: {_last_line(error)}"
                )

    def _has_started(self, actor: _Actor) -> bool:
        """Whether the process of a worker that died had started."""
        try:
            self._ray.get(actor.starting, timeout=0)
        except self._ray.exceptions.RayError:
            return False
        return True

    def _wait_for_start(self, error: Exception) -> None:
        """Allow another start; Ray ends the start of a worker where a machine is too busy.

        Raises:
            WorkError: No worker has started for a long time.
        """
        now = time.monotonic()
        if self._unstarted_since is None:
            self._unstarted_since = now
            log.warning("a worker did not start: starting another one")
        elif now - self._unstarted_since > _START_LIMIT:
            raise WorkError(
                f"no worker has started for {_START_LIMIT // 60} minutes: {_last_line(error)}"
            )


def cut(units: Iterator[tuple[int, Any]], total: int, actors: int, workers: int) -> Iterator[Block]:
    """Cut units into blocks: large ones first, and small ones at the end for an even finish."""
    left = total
    while True:
        size = max(workers, min(_MOST_ROUNDS * workers, left // (2 * _AHEAD * actors)))
        block = tuple(islice(units, max(1, min(size, -(-total // actors)))))
        if not block:
            return
        left -= len(block)
        yield Block(block)


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__


def _append(path: Path, text: str) -> None:
    if text:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)


class Budget:
    """The budget of a run that all workers share; an actor."""

    def __init__(self, calls: int | None, tokens: int | None, seconds: float | None) -> None:
        self._usage = Usage(calls, tokens, seconds)

    def reserve(self) -> str:
        """Count one call; return why it may not be made, or an empty text."""
        try:
            self._usage.reserve()
        except OverBudget as error:
            return str(error)
        return ""

    def spend(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Count the tokens of a reply."""
        self._usage.spend(Cost(prompt_tokens=prompt_tokens, completion_tokens=completion_tokens))
