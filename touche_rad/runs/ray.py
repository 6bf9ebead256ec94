"""`--engine ray`: the driver sends blocks of a run's units to tasks of a Ray cluster.

The driver reads the input, cuts it into blocks, and keeps each finished block in the journal of the
run. So a driver that is killed and started again does only what is missing, also without Ray. Ray
schedules the tasks, and repeats those whose worker or machine dies.

A task opens the index once per process, and the model for each block, in a folder of its own: a
cache over that of the run, a trace and tracebacks. What is new goes to the driver with the block.
"""

from __future__ import annotations

import os
import pickle
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

import anyio

from touche_rad import __version__
from touche_rad.credentials import Servers, trusting
from touche_rad.errors import ToucheRadError, WorkError
from touche_rad.files.records import append_text
from touche_rad.files.traces import TRACE
from touche_rad.models import Model, ModelError
from touche_rad.models.cache import Cache, CachedAnswer
from touche_rad.models.sending import Usage
from touche_rad.plugins import Services
from touche_rad.plugins.folder import enter_folder
from touche_rad.plugins.registry import import_plugins
from touche_rad.runs.fallbacks import ERRORS, FailureLog, FallbackStop
from touche_rad.runs.parts import CACHE
from touche_rad.runs.runner import process_units
from touche_rad.runs.shard import share_of
from touche_rad.runs.work import Done, RunOptions, Work
from touche_rad.session import Session
from touche_rad.text import excerpt, redact

OUT: Final = "run"


@dataclass(frozen=True)
class Block:
    """Units of a run with their numbers, and what they may spend."""

    units: tuple[tuple[int, Any], ...]
    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None

    def single(self) -> Sequence[Block]:
        """Return blocks of one unit each, among which the budget is divided."""
        count = len(self.units)
        return [
            replace(
                self,
                units=(unit,),
                calls=share_of(self.calls, place, place + 1, count),
                tokens=share_of(self.tokens, place, place + 1, count),
            )
            for place, unit in enumerate(self.units)
        ]


Open = Callable[[Session, Path, Block], tuple[Services, Work[Any]]]
"""Opens the services of a block in a folder, and makes the work from them; the session closes."""


@dataclass(frozen=True)
class Task:
    """What a task needs besides its block."""

    open: bytes
    """Pickled: a function of the type `Open`."""
    identity: Mapping[str, Any]
    """The identity of the run, which the work must have on all machines."""
    options: RunOptions
    plugins: tuple[str, ...] = ()
    """Modules with plugins."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    trusted: Servers | None = None
    """The servers that get credentials; None: all."""
    folder: Path = field(default_factory=Path.cwd)
    """The driver's working folder, which relative paths begin with."""


@dataclass(frozen=True)
class BlockResult:
    """What a task made of a block, and what it cost."""

    done: Sequence[tuple[int, Done]] = ()
    failures: Sequence[str] = ()
    stopped: str = ""
    """Why the whole run must stop; empty if it need not."""
    usage: Mapping[str, Any] | None = None
    warnings: Sequence[str] = ()
    answers: Sequence[CachedAnswer] = ()
    trace: str = ""
    errors: str = ""


def process_block(task: Task, block: Block) -> BlockResult:
    """Process a block like a run in one process."""
    here = f"the worker on {socket.gethostname()}"
    os.environ.update(task.environment)
    if task.folder.is_dir():
        enter_folder(task.folder)
    import_plugins(task.plugins)
    with (
        trusting(task.trusted),
        tempfile.TemporaryDirectory(prefix="touche-rad-") as name,
        Session() as session,
    ):
        folder = Path(name)
        try:
            open_work: Open = pickle.loads(task.open)
            services, work = open_work(session, folder, block)
        except (ToucheRadError, OSError) as error:
            return BlockResult(stopped=f"{here} cannot work: {error}")
        identity = {**work.identity, "version": __version__}
        if identity != task.identity:
            expected = task.identity
            keys = ", ".join(key for key in identity if identity[key] != expected.get(key))
            return BlockResult(
                stopped=f"{here} has another {keys} than the run: use the same version, index and "
                "files on all machines"
            )
        return session.run(_process, task, block, services.model, work, folder)


async def _process(
    task: Task, block: Block, model: Model | None, work: Work[Any], folder: Path
) -> BlockResult:
    done: list[tuple[int, Done]] = []
    failures: list[str] = []
    stopped = ""
    options = replace(task.options, model=model)
    try:
        failures = await process_units(
            work,
            iter(block.units),
            options,
            FailureLog(folder / ERRORS, options.strict),
            lambda number, result: done.append((number, result)),
        )
    except (FallbackStop, ModelError) as error:
        stopped = redact(str(error)) or type(error).__name__
    result = BlockResult(
        done,
        failures,
        stopped,
        trace=_text(folder / f"{OUT}{TRACE}"),
        errors=_text(folder / ERRORS),
    )
    if model is None:
        return result
    cache_folder = folder / CACHE
    return replace(
        result,
        usage=model.usage.record(),
        warnings=tuple(model.warnings),
        answers=list(Cache(cache_folder, make=False).rows()) if cache_folder.is_dir() else (),
    )


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace") if path.is_file() else ""


INSTALL: Final = "--engine ray needs Ray: pip install 'touche-rad[ray]'"
ADDRESS: Final = "RAY_ADDRESS"
_SETTINGS: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # On a busy machine, Ray ends workers that start slowly, and its first driver waits for them
    # without an end.
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_prestart_worker_first_driver": "0",
}
_RETRIES: Final = 2
"""How often Ray repeats a task whose worker died."""
_BLOCKS_PER_CPU: Final = 4
"""A block has at most one in so many of the unsent units for each CPU."""
_MOST_ROUNDS: Final = 16
"""A block has at most this many times the units that a worker processes in parallel."""
_POLL: Final = 0.05


async def process_on_ray(
    task: Task,
    trace: Path | None,
    tasks: int | None,
    report: Callable[[str], None],
    units: Iterator[tuple[int, Any]],
    total: int,
    options: RunOptions,
    keep: Callable[[int, Done], None],
) -> list[str]:
    """Process units in tasks of a Ray cluster; return a line for each that failed.

    `trace` is the driver's file for the traces of all tasks. By default there are two tasks at a
    time per CPU, one of which waits. `report` gets a line that names the cluster.

    Raises:
        FallbackStop: A task stopped, because the run is strict or its model does not work.
        WorkError: The cluster cannot be used, or a task cannot work.
    """
    import ray

    if not total:
        return []
    connect(ray, report)
    model = options.model
    failures: list[str] = []
    tracebacks: set[str] = set()
    running: dict[Any, Block] = {}
    try:
        cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        most_running = tasks or 2 * cpus
        waiting = _cut(units, total, min(most_running, cpus), options)
        shared_task = ray.put(task)
        remote: Any = ray.remote(num_cpus=1, max_retries=_RETRIES)(process_block)
        while True:
            for block in islice(waiting, most_running - len(running)):
                running[remote.remote(shared_task, block)] = block
            if not running:
                return failures

            # No thread waits in Ray: Ctrl-C would not end its wait, which Ray's shutdown makes
            # endless.
            ready, _ = ray.wait(list(running), num_returns=1, timeout=0)
            if not ready:
                await anyio.sleep(_POLL)
            for reference in ready:
                block = running.pop(reference)
                try:
                    result: BlockResult = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    raise WorkError(f"a worker failed: {_last_line(error)}") from error
                except ray.exceptions.RayError as error:
                    if len(block.units) > 1:
                        # One unit may kill its worker, so each is tried alone.
                        waiting = chain(block.single(), waiting)
                        continue
                    reason = f"its worker died {_RETRIES + 1} times: {_last_line(error)}"
                    if "running low on memory" in str(error):
                        # Ray ends workers of a machine without memory.
                        reason = "its machine had no memory left: use fewer --actors or --workers"
                    failures.append(f"number {block.units[0][0] + 1}: {reason}")
                    continue

                # Answers are cached before their results are kept.
                if model is not None and result.usage is not None:
                    model.keep_answers(result.answers)
                    model.usage.add(result.usage)
                    for warning in result.warnings:
                        if warning not in model.warnings:
                            model.warnings.append(warning)
                for number, done in result.done:
                    keep(number, done)
                if options.errors is not None and result.errors not in {"", *tracebacks}:
                    tracebacks.add(result.errors)
                    append_text(options.errors, result.errors)
                if trace is not None:
                    append_text(trace, result.trace)
                if result.stopped:
                    raise FallbackStop(result.stopped)
                failures += result.failures
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
        ray.shutdown()


def connect(ray: Any, report: Callable[[str], None]) -> None:
    """Connect to the cluster of RAY_ADDRESS, or start one on this machine.

    `ray.init()` joins any cluster that runs on this machine, also one of another user's program,
    which ends the run when it stops. So a run joins only the cluster that RAY_ADDRESS names.

    Raises:
        WorkError: The cluster cannot be used.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    address = os.environ.get(ADDRESS) or "local"
    # The dashboard of a cluster that ends with the run takes a third of its start.
    arguments: dict[str, Any] = {"include_dashboard": False} if address == "local" else {}
    try:
        # Without a folder of their own, workers would take modules from the current folder, which
        # may be a stranger's.
        with tempfile.TemporaryDirectory(prefix="touche-rad-") as empty:
            arguments["runtime_env"] = {"working_dir": empty}
            ray.init(address, log_to_driver=False, logging_level="ERROR", **arguments)
    except Exception as error:  # Ray raises a plain Exception if a node starts too slowly
        line = excerpt(error, 300)
        raise WorkError(f"the Ray cluster cannot be used: {line}") from None
    cpus = f"{ray.cluster_resources().get('CPU', 0):g} CPUs"
    if address != "local":
        report(f"Ray: joined {ray.get_runtime_context().gcs_address} ({cpus})")
    else:
        report(
            f"Ray: started on this machine ({cpus}); {ADDRESS}=auto joins a cluster that "
            "ray start made"
        )


def _cut(
    units: Iterator[tuple[int, Any]], total: int, workers: int, options: RunOptions
) -> Iterator[Block]:
    """Cut units into blocks: large ones first, and small ones at the end for an even finish.

    The budget of the run is divided among the blocks, as among shards.
    """
    usage = options.model.usage if options.model is not None else Usage()
    begun = 0
    while begun < total:
        unsent = total - begun
        size = min(_MOST_ROUNDS * options.workers, unsent // (_BLOCKS_PER_CPU * workers))
        size = min(unsent, max(options.workers, size), -(-total // workers))
        block = tuple(islice(units, size))
        if not block:
            raise WorkError("the input has fewer debates than when the run began")
        calls, tokens = (
            share_of(limit, begun, begun + size, total)
            for limit in (usage.max_calls, usage.max_tokens)
        )
        seconds = usage.seconds
        if seconds is not None:
            seconds = max(0.0, usage.begun + seconds - time.monotonic())
        yield Block(block, calls, tokens, seconds)
        begun += size


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return excerpt(lines[-1], 300) if lines else type(error).__name__
