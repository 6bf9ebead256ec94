"""A task of `--engine ray`: processes a block of units like a run in one process.

It opens the index once per process, and the model for each block, in a folder of its own: a cache
over that of the run, a trace and tracebacks. What is new goes to the driver with the block.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from touche_rad import __version__
from touche_rad.calls import call_context
from touche_rad.errors import ToucheRadError
from touche_rad.files.traces import TRACE
from touche_rad.models import Model, ModelError
from touche_rad.models.cache import Cache, Row
from touche_rad.plugins import Services
from touche_rad.plugins.registry import import_plugins
from touche_rad.runs.fallbacks import ERRORS, FailureLog, FallbackStop
from touche_rad.runs.output import as_written
from touche_rad.runs.parts import CACHE
from touche_rad.runs.runner import process_units
from touche_rad.runs.shard import share_of
from touche_rad.runs.work import Done, RunOptions, Work
from touche_rad.text import redact

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
                calls=share_of(self.calls, at, at + 1, count),
                tokens=share_of(self.tokens, at, at + 1, count),
            )
            for at, unit in enumerate(self.units)
        ]


Open = Callable[[Path, Block], tuple[Services, Work[Any]]]
"""Opens the services of a block in a folder, and makes the work from them."""


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
    answers: Sequence[Row] = ()
    trace: str = ""
    errors: str = ""


def process_block(task: Task, block: Block) -> BlockResult:
    """Process a block like a run in one process."""
    here = f"the worker on {socket.gethostname()}"
    os.environ.update(task.environment)
    if task.folder.is_dir():
        os.chdir(task.folder)
    import_plugins(task.plugins)
    with tempfile.TemporaryDirectory(prefix="touche-rad-") as name:
        folder = Path(name)
        try:
            open_work: Open = pickle.loads(task.open)
            services, work = open_work(folder, block)
        except (ToucheRadError, OSError) as error:
            return BlockResult(stopped=f"{here} cannot work: {error}")
        identity = as_written({**work.identity, "version": __version__})
        if identity != task.identity:
            keys = ", ".join(key for key, one in identity.items() if one != task.identity.get(key))
            return BlockResult(
                stopped=f"{here} has another {keys} than the run: use the same version, index and "
                "files on all machines"
            )
        return _loop().run(_process(task, block, services.model, work, folder))


@cache
def _loop() -> asyncio.Runner:
    """Return the event loop of this process; plugins and the index keep what belongs to it."""
    return asyncio.Runner()


async def _process(
    task: Task, block: Block, model: Model | None, work: Work[Any], folder: Path
) -> BlockResult:
    done: list[tuple[int, Done]] = []
    failures: list[str] = []
    stopped = ""
    options = replace(task.options, model=model)
    try:
        with call_context(report_failure=FailureLog(folder / ERRORS, options.strict).add):
            failures = await process_units(
                work.do, iter(block.units), options, lambda number, one: done.append((number, one))
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
    await model.close()
    cache_folder = folder / CACHE
    return replace(
        result,
        usage=model.usage.record(),
        warnings=tuple(model.warnings),
        answers=list(Cache(cache_folder, make=False).rows()) if cache_folder.is_dir() else (),
    )


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace") if path.is_file() else ""
