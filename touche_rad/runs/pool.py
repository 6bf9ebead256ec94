"""The workers of `--engine ray`: actors on a Ray cluster that share the blocks of several runs.

Each worker opens the index and the model of a run when it gets the first block of it. The runs have
an order: a worker gets a block of the first run that has one left, so that the next run begins
where the one before has no more blocks. The blocks of a worker that died go to another one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from touche_rad.errors import WorkError
from touche_rad.models import Model
from touche_rad.runs.blocks import MOST_LOST, BlockRun, Budget, cut, death, last_line, sizes
from touche_rad.runs.cluster import NO_START, START_LIMIT, Cluster
from touche_rad.runs.folders import remove_abandoned
from touche_rad.runs.journal import Done
from touche_rad.runs.work import RunOptions
from touche_rad.runs.worker import Block, Setup, Worker

log = logging.getLogger("touche_rad")

_AHEAD: Final = 2
"""Blocks that a worker has: one in work, and the next one."""
_POLL: Final = 0.5
_CLOSING: Final = 5.0
_SLOW: Final = 60.0
_PAUSE: Final = 1.0


@dataclass(eq=False)
class _Actor:
    """A worker, the runs that it has opened, and the blocks that it has, oldest first."""

    handle: Any
    starting: Any
    """The result of its start; None once its process works."""
    opening: Any = None
    opens: BlockRun | None = None
    """The run that it is opening."""
    open: set[int] = field(default_factory=set)
    """The numbers of the runs that it has opened."""
    running: dict[Any, tuple[BlockRun, Block]] = field(default_factory=dict)


class Pool:
    """Workers on a Ray cluster."""

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
        self._actors: list[_Actor] = []
        self._runs: list[BlockRun] = []
        """The runs under work, in their order."""
        self._turn = anyio.Lock()
        """Held by the run that waits for the workers, for all runs."""
        self._unopened = 0
        """Workers that died one after the other while they opened the index."""
        self._idle_since: float | None = None
        """Since when no worker has a process that works."""
        self._warned = False
        """Whether a user knows that no worker has started."""
        self._pauses = False
        """Whether a worker did not start, so that the next one starts a little later."""

    def most(self) -> int:
        """Start Ray, and return the most workers that there can be.

        Raises:
            WorkError: The cluster cannot be used.
        """
        self._cluster.start()
        return self._wanted or self._cluster.places(self.cards)

    def local(self, actor: type) -> Any:
        """Return what makes an actor on the driver's machine that uses no CPU."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        node = self._ray.get_runtime_context().get_node_id()
        here = NodeAffinitySchedulingStrategy(node, soft=False)
        return self._ray.remote(num_cpus=0, scheduling_strategy=here)(actor)

    async def process(self, run: BlockRun) -> None:
        """Process the blocks of a run, beside those of other runs.

        Raises:
            StandInStop: A worker stopped, because the run is strict or its model does not work.
            WorkError: A worker cannot be opened, or none starts.
        """
        self._runs.append(run)
        self._runs.sort(key=lambda one: one.number)
        units = sum(one.units for one in self._runs)
        more = min(self.most(), units) - len(self._actors)
        self._actors += [self._spawn() for _ in range(more)]
        try:
            while not run.is_finished:
                async with self._turn:
                    if not run.is_finished:
                        await self._step()
        finally:
            self._runs.remove(run)
            self._leave(run)
        if run.error is not None:
            raise run.error

    def kill(self, actor: Any) -> None:
        """End an actor."""
        self._ray.kill(actor)

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
        self._actors.clear()
        self._cluster.stop()
        remove_abandoned()

    def _spawn(self) -> _Actor:
        """Start a worker; a node that is gone is replaced by another one, once there is one."""
        needs = {"num_cpus": 1, "num_gpus": self._cluster.cards(self.cards)}
        handle = self._ray.remote(**needs, max_restarts=0, max_task_retries=0)(Worker).remote()
        return _Actor(handle, handle.start.remote())

    def _leave(self, run: BlockRun) -> None:
        """Let the workers close what only this run needs."""
        for actor in self._actors:
            if run.number in actor.open:
                actor.open.remove(run.number)
                actor.handle.leave.remote(run.number)

    async def _step(self) -> None:
        """Give the workers blocks, and take what is ready."""
        self._feed()
        self._check_start()
        for reference in await anyio.to_thread.run_sync(self._ready, abandon_on_cancel=True):
            self._collect(reference)
        if self._pauses:
            self._pauses = False
            await anyio.sleep(_PAUSE)

    def _feed(self) -> None:
        """Give each worker its next blocks, first to those that have none."""
        for has in range(_AHEAD):
            for actor in self._actors:
                if actor.starting is not None or actor.opening is not None:
                    continue  # a worker without a free CPU may never start
                if len(actor.running) > has:
                    continue
                run = self._next_run(actor)
                if run is None:
                    continue
                if run.number in actor.open:
                    block = run.take()
                    reference = actor.handle.run.remote(run.number, block)
                    actor.running[reference] = run, block
                else:
                    actor.opens = run
                    actor.opening = actor.handle.open.remote(
                        run.number, run.setup, run.settings, run.budget
                    )

    def _next_run(self, actor: _Actor) -> BlockRun | None:
        """Return the first run that has a block for a worker.

        A run is opened by as many workers as it has blocks. A worker with a block gets no other one
        that a worker which is opening the run could do, and opens no run.
        """
        for run in self._runs:
            opening = sum(one.opens is run for one in self._actors)
            is_open = run.number in actor.open
            if run.left > (0 if is_open and not actor.running else opening) and (
                is_open or not actor.running
            ):
                return run
        return None

    def _ready(self) -> list[Any]:
        waiting = [one for actor in self._actors for one in actor.running]
        for actor in self._actors:
            waiting += [one for one in (actor.starting, actor.opening) if one is not None]
        ready, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
        if not ready:
            ready, _ = self._ray.wait(waiting, num_returns=1, timeout=_POLL)
        return list(ready)

    def _collect(self, reference: Any) -> None:
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
        run = actor.running[reference][0] if reference in actor.running else actor.opens
        try:
            result = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise WorkError(f"a worker failed: {last_line(error)}") from error
        except self._ray.exceptions.RayError as error:
            self._lose(actor, error)
            return
        if reference == actor.starting:
            actor.starting = None
        elif reference == actor.opening:
            assert run is not None
            actor.opening, actor.opens, self._unopened = None, None, 0
            if run in self._runs:
                actor.open.add(run.number)
            else:
                actor.handle.leave.remote(run.number)
            if result:
                run.error = WorkError(str(result))
        else:
            assert run is not None
            del actor.running[reference]
            run.finish(result)

    def _lose(self, actor: _Actor, error: Exception) -> None:
        """Give the blocks of a worker that died to the others, and start another worker.

        Raises:
            WorkError: Too many workers died when they opened the index.
        """
        if not self._has_started(actor):
            self._pauses = True
            if not self._warned:
                self._warned = True
                log.warning("a worker did not start: starting another one")
        elif actor.opening is None:
            self._unopened = 0
        else:
            self._unopened += 1
            if self._unopened >= MOST_LOST * len(self._actors):
                raise WorkError(
                    f"{self._unopened} workers died when they opened the index: {death(error)}"
                )
        self._actors[self._actors.index(actor)] = self._spawn()
        for place, (run, block) in enumerate(actor.running.values()):
            if place:  # it had not begun
                run.give_back(block)
            else:
                run.lose(block, error)

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


class RayEngine:
    """Processes the units of one run on the workers of a pool."""

    def __init__(
        self,
        pool: Pool,
        setup: Setup,
        of_user: Model | None = None,
        *,
        number: int = 0,
        keeps_workers: bool = False,
    ) -> None:
        """Prepare; nothing is started.

        Args:
            pool: The workers.
            setup: What a worker needs to do the work.
            of_user: The model of the simulated user, if it is another one than that of the run.
            number: The place of the run among those that share the pool.
            keeps_workers: Whether the workers remain for other runs; then `Pool.stop` ends them.
        """
        self._pool, self._setup, self._of_user = pool, setup, of_user
        self._number, self._keeps_workers = number, keeps_workers

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
        budget = None
        try:
            workers = min(self._pool.most(), total)
            budget = self._make_budget(options)
            run = BlockRun(
                self._number,
                self._setup,
                options,
                self._of_user,
                budget,
                keep,
                total,
                cut(units, sizes(total, workers, options.workers)),
            )
            run.left = sum(1 for _ in sizes(total, workers, options.workers))
            await self._pool.process(run)
        finally:
            if budget is not None:
                self._pool.kill(budget)
            if not self._keeps_workers:
                self._pool.stop()
        return run.failures

    def _make_budget(self, options: RunOptions) -> Any:
        """Make the one budget of all workers, on the driver's machine, if the run has one."""
        usage = options.model.usage if options.model is not None else None
        if usage is None or (usage.max_calls, usage.max_tokens, usage.seconds) == (None,) * 3:
            return None
        make = self._pool.local(Budget)
        return make.remote(usage.max_calls, usage.max_tokens, usage.seconds)
