"""A worker of `--engine ray`: an actor that opens the index once and processes blocks of debates.

For each run it has a folder of its own on its machine: a cache over that of the run, a trace and
tracebacks. What is new goes to the driver with each finished block, so that a worker that dies
loses only the block under work.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from touche_rad import __version__
from touche_rad.errors import ToucheRadError
from touche_rad.files.traces import TRACE
from touche_rad.models import Model, ModelError
from touche_rad.models.errors import OverBudget
from touche_rad.models.usage import Cost, Usage
from touche_rad.plugins import Services
from touche_rad.plugins.registry import import_plugins
from touche_rad.runs.folders import LockedFolder, remove_abandoned
from touche_rad.runs.journal import Done
from touche_rad.runs.runner import process_units
from touche_rad.runs.stand_ins import ERRORS, RUN_FAILURES, FailureLog, StandInStop
from touche_rad.runs.work import RunOptions, Work
from touche_rad.text import redact

if TYPE_CHECKING:
    from touche_rad.models.cache import Row

OUT: Final = "run"


@dataclass(frozen=True)
class Block:
    """Units of a run with their numbers."""

    units: tuple[tuple[int, Any], ...]
    lost: int = 0
    """How many workers died while they processed it."""


@dataclass(frozen=True)
class Spent:
    """What a model was used for since the last block."""

    usage: Mapping[str, Any]
    warnings: Sequence[str]
    answers: Sequence[Row]

    @classmethod
    def by(cls, model: Model | None) -> Spent | None:
        """Take what is new in a model, if there is one."""
        if model is None:
            return None
        return cls(model.usage.take(), tuple(model.warnings), model.take_answers())


@dataclass(frozen=True)
class BlockResult:
    """What a worker made of a block, and what it cost since the last one."""

    done: Sequence[tuple[int, Done]]
    failures: Sequence[str] = ()
    stopped: str = ""
    """Why the whole run must stop; empty if it need not."""
    spent: Spent | None = None
    of_user: Spent | None = None
    """What the model of the simulated user was used for, if that is another model."""
    trace: str = ""
    errors: str = ""


@dataclass(frozen=True)
class Setup:
    """What a worker needs to do the work of a run."""

    open: bytes
    """Pickled: a function of the worker's folder that returns what is `Opened`."""
    fingerprint: str | None
    """The fingerprint of the index, which must be the same on all machines."""
    trace: Path | None = None
    """Where the driver collects the trace of the model calls."""
    plugins: tuple[str, ...] = ()
    """Modules with plugins."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: Path = field(default_factory=Path.cwd)
    """The driver's working folder, which relative paths begin with."""
    version: str = __version__


@dataclass(frozen=True)
class Opened:
    """What a worker has opened for a run."""

    services: Services
    work: Callable[[Services], Work[Any]]
    """Makes the work from the services."""
    of_user: Model | None = None
    """The model of the simulated user, if it is not that of the services."""
    close: Callable[[], Coroutine[Any, Any, None]] | None = None
    """Closes what the runs of this worker share."""


Open = Callable[[Path], Opened]


class Worker:
    """The actor; Ray calls its methods one after the other.

    It has no async method: Ray would run all methods on an event loop of its own then.
    """

    def __init__(self) -> None:
        self._sessions: dict[int, Session] = {}
        self._loop: asyncio.Runner | None = None
        self._close: Callable[[], Coroutine[Any, Any, None]] | None = None

    def start(self) -> None:
        """Remove what killed workers have left here; the result says that the process works."""
        remove_abandoned()

    def open(self, run: int, setup: Setup, options: RunOptions, budget: Any) -> str:
        """Open the index and the model for a run.

        Args:
            run: The number of the run; a worker can have several open.
            setup: What the run needs.
            options: The settings of the run.
            budget: The actor with the budget of all workers, if there is one.

        Returns:
            What is wrong, or an empty text.
        """
        here = socket.gethostname()
        if setup.version != __version__:
            return (
                f"the worker on {here} has touche-rad {__version__}, and the run has "
                f"{setup.version}: install the same version on all machines"
            )
        if self._loop is None:
            self._loop = asyncio.Runner()
        try:
            session = Session(setup, options, budget, self._loop)
        except (ToucheRadError, OSError) as error:
            return f"the worker on {here} cannot work: {error}"
        self._sessions[run] = session
        self._close = session.close or self._close
        if session.has_other_index(setup.fingerprint):
            return (
                f"the worker on {here} has another index than the run: use an index that all "
                "machines see, or copy the same one to all of them"
            )
        return ""

    def run(self, run: int, block: Block) -> BlockResult:
        """Process a block of a run."""
        return self._sessions[run].run(block)

    def leave(self, run: int) -> None:
        """Close what only this run needs; no block of it follows."""
        session = self._sessions.pop(run, None)
        if session is not None:
            session.leave()

    def close(self) -> None:
        """Close everything; no block follows."""
        for run in list(self._sessions):
            self.leave(run)
        if self._loop is not None:
            if self._close is not None:
                self._loop.run(self._close())
            self._loop.close()


class Session:
    """The open index and model of a worker, and the work on a debate."""

    def __init__(
        self, setup: Setup, options: RunOptions, budget: Any, loop: asyncio.Runner
    ) -> None:
        self._loop = loop
        os.environ.update(setup.environment)
        if setup.folder.is_dir():
            os.chdir(setup.folder)
        import_plugins(setup.plugins)
        self._locked = LockedFolder()
        self._folder = self._locked.path
        open_services: Open = pickle.loads(setup.open)
        opened = open_services(self._folder)
        self.close = opened.close
        self._services = opened.services
        model = self._services.model
        if model is not None and budget is not None:
            model = model.spending(SharedBudget(budget))
            self._services = replace(self._services, model=model)
        of_user = opened.of_user
        for one in (model, of_user):
            if one is not None:
                one.take_answers()
        self._failures = FailureLog(self._folder / ERRORS, options.strict, not options.hand_in)
        self._work = opened.work(self._services)
        self._of_user = of_user if model is not None else None
        self._options = replace(options, model=model or of_user)

    def has_other_index(self, fingerprint: str | None) -> bool:
        """Whether the index has another fingerprint; None fits every index."""
        index = self._services.index
        return index is not None and fingerprint not in (None, index.fingerprint)

    def run(self, block: Block) -> BlockResult:
        """Process a block like a run in one process."""
        return self._loop.run(self._process(block))

    async def _process(self, block: Block) -> BlockResult:
        RUN_FAILURES.set(self._failures)
        done: list[tuple[int, Done]] = []
        failures: list[str] = []
        stopped = ""
        try:
            failures = await process_units(
                self._work.do,
                iter(block.units),
                self._options,
                lambda number, one: done.append((number, one)),
            )
        except (StandInStop, ModelError) as error:
            stopped = redact(str(error)) or type(error).__name__
        return BlockResult(
            done,
            failures,
            stopped,
            Spent.by(self._options.model),
            Spent.by(self._of_user),
            self._taken(f"{OUT}{TRACE}"),
            self._taken(ERRORS),
        )

    def _taken(self, name: str) -> str:
        """Return the text of a file in the worker's folder, and remove it."""
        path = self._folder / name
        try:
            text = path.read_text("utf-8", "replace")
            path.unlink()
        except OSError:
            return ""
        return text

    def leave(self) -> None:
        """Close the model and remove the folder."""
        if self._services.model is not None:
            self._loop.run(self._services.model.close())
        self._locked.remove()


class SharedBudget(Usage):
    """The costs of one worker, with the budget that all workers share."""

    def __init__(self, budget: Any) -> None:
        super().__init__()
        self._budget = budget

    def reserve(self) -> None:
        """Count one call before it is made.

        Raises:
            OverBudget: The budget of all workers is used up.
        """
        import ray

        refusal = ray.get(self._budget.reserve.remote())
        if refusal:
            raise OverBudget(refusal)
        super().reserve()

    def spend(self, cost: Cost) -> None:
        """Count the tokens of a reply for the budget."""
        super().spend(cost)
        self._budget.spend.remote(cost.prompt_tokens, cost.completion_tokens)
