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
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

import anyio

from touche_rad.errors import WorkError
from touche_rad.models import Model
from touche_rad.models.errors import OverBudget
from touche_rad.models.usage import Cost, Usage
from touche_rad.runs.cluster import NO_START, START_LIMIT, Cluster
from touche_rad.runs.journal import Done
from touche_rad.runs.stand_ins import StandInStop
from touche_rad.runs.work import RunOptions
from touche_rad.runs.worker import Block, BlockResult, Setup, Worker

log = logging.getLogger("touche_rad")

_AHEAD: Final = 2
"""Blocks that a worker has: one in work, and the next one."""
_MOST_ROUNDS: Final = 16
"""A block has at most this many times the debates that a worker processes in parallel."""
_MOST_LOST: Final = 3
"""How many workers may die of one debate."""
_POLL: Final = 0.5
_CLOSING: Final = 5.0
_SLOW: Final = 60.0
_PAUSE: Final = 1.0
_NO_MEMORY: Final = "running low on memory"


@dataclass
class _Actor:
    """A worker and the blocks that it has, oldest first."""

    handle: Any
    starting: Any = None
    """The result of its start; None once its process works."""
    opening: Any = None
    running: dict[Any, Block] = field(default_factory=dict)


class RayEngine:
    """Processes the units of a run, or of several runs one after the other, on a Ray cluster."""

    setup: Setup
    """What a worker needs to do the work."""

    def __init__(self, actors: int | None = None, report: Callable[[str], None] = log.info) -> None:
        """Prepare; Ray is started when the work begins.

        Args:
            actors: The number of workers; default: one per CPU of the cluster.
            report: Called with one line that says which cluster is used.

        Raises:
            UserError: Ray is not installed.
        """
        self._cluster = Cluster(report)
        self._ray = self._cluster.ray
        self._wanted = actors
        self.cards = 0
        """Cards that each worker needs for its model, if the cluster has cards."""
        self.of_user: Model | None = None
        """The model of the simulated user, if it is another one than that of the run."""
        self.keeps_workers = False
        """Whether the workers remain for the next run; then `stop` ends them."""
        self._actors: list[_Actor] = []
        self._again: deque[Block] = deque()
        self._failures: list[str] = []
        self._unopened = 0
        """Workers that died one after the other while they opened the index."""
        self._idle_since: float | None = None
        """Since when no worker has a process that works."""
        self._warned = False
        """Whether a user knows that no worker has started."""
        self._pauses = False
        """Whether a worker did not start, so that the next one starts a little later."""
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
            WorkError: A worker cannot be opened, or none starts.
        """
        if not total:
            return []
        self._failures = []
        finished = False
        try:
            self._cluster.start()
            self._budget = self._make_budget(options)
            count = min(self._wanted or self._cluster.places(self.cards), total)
            blocks = cut(units, total, count, options.workers)
            for actor in self._actors:  # of the run before
                self._open(actor, options)
            self._actors += [self._spawn(options) for _ in range(count - len(self._actors))]
            while self._feed(blocks):
                self._check_start()
                for reference in await anyio.to_thread.run_sync(
                    self._ready, abandon_on_cancel=True
                ):
                    self._collect(reference, options, keep)
                if self._pauses:
                    self._pauses = False
                    await anyio.sleep(_PAUSE)
            finished = True
        finally:
            if not finished or not self.keeps_workers:
                self.stop()
        return self._failures

    def stop(self) -> None:
        """End the workers, and the cluster if it was started here."""
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
            self._budget = None
        self._actors.clear()
        self._cluster.stop()

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
        needs = {"num_cpus": 1, "num_gpus": self._cluster.cards(self.cards)}
        handle = self._ray.remote(**needs, max_restarts=0, max_task_retries=0)(Worker).remote()
        actor = _Actor(handle, handle.start.remote())
        self._open(actor, options)
        return actor

    def _open(self, actor: _Actor, options: RunOptions) -> None:
        """Let a worker open what the run needs."""
        settings = RunOptions(
            workers=options.workers, strict=options.strict, hand_in=options.hand_in
        )
        actor.opening = actor.handle.open.remote(self.setup, settings, self._budget)

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
        for actor in self._actors:
            waiting += [one for one in (actor.starting, actor.opening) if one is not None]
        ready, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
        if not ready:
            ready, _ = self._ray.wait(waiting, num_returns=1, timeout=_POLL)
        return list(ready)

    def _collect(
        self, reference: Any, options: RunOptions, keep: Callable[[int, Done], None]
    ) -> None:
        """Take the result of a block, or of the start or the opening of a worker."""
        actor = next(
            (
                one
                for one in self._actors
                if reference in (one.starting, one.opening) or reference in one.running
            ),
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
        if reference == actor.starting:
            actor.starting = None
            return
        if reference == actor.opening:
            actor.opening, self._unopened = None, 0
            if result:
                raise WorkError(str(result))
            return
        del actor.running[reference]
        self._take(result, options, keep)

    def _take(
        self, result: BlockResult, options: RunOptions, keep: Callable[[int, Done], None]
    ) -> None:
        """Keep what a worker made of a block; answers are cached before their results are kept."""
        for model, spent in ((options.model, result.spent), (self.of_user, result.of_user)):
            if model is not None and spent is not None:
                model.keep_answers(spent.answers)
                model.usage.add(spent.usage)
                model.warnings.extend(one for one in spent.warnings if one not in model.warnings)
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
            WorkError: Too many workers died when they opened the index.
        """
        if actor.opening is None:
            self._unopened = 0
        elif self._has_started(actor):
            self._unopened += 1
            if self._unopened >= _MOST_LOST * len(self._actors):
                raise WorkError(
                    f"{self._unopened} workers died when they opened the index: {_death(error)}"
                )
        else:
            self._pauses = True
            if not self._warned:
                self._warned = True
                log.warning("a worker did not start: starting another one")
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
                    f"number {number}: its worker died {lost} times: {_death(error)}"
                )

    def _has_started(self, actor: _Actor) -> bool:
        """Whether the process of a worker that died had started."""
        if actor.starting is None:
            return True
        try:
            self._ray.get(actor.starting, timeout=0)
        except self._ray.exceptions.RayError:
            return False
        return True

    def _check_start(self) -> None:
        """Wait for a first worker, but not for ever; Ray itself waits without an end.

        Raises:
            WorkError: No worker has started for a long time.
        """
        now = time.monotonic()
        if any(actor.starting is None for actor in self._actors):
            self._idle_since, self._warned = None, False
        elif self._idle_since is None:
            self._idle_since = now
        elif now - self._idle_since > START_LIMIT:
            raise WorkError(NO_START)
        elif now - self._idle_since > _SLOW and not self._warned:
            self._warned = True
            log.warning("no worker has started yet: is a CPU of the Ray cluster free?")


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


def _death(error: BaseException) -> str:
    """Return why a worker died; Ray ends workers of a machine without memory."""
    if _NO_MEMORY in str(error):
        return "its machine had no memory left: use fewer --actors or --workers"
    return _last_line(error)


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
