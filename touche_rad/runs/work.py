"""A run as its callers describe it: the work on each unit, the settings, a part, and an engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

from touche_rad import files
from touche_rad.errors import InputError
from touche_rad.files.outputs import Status
from touche_rad.models import Model
from touche_rad.runs.journal import Done, Facts, Journal

T = TypeVar("T")
Progress = Callable[[int, int | None], None]


@dataclass
class Work(Generic[T]):
    """What a run does: the units of its input, and how one unit becomes a record.

    It knows no output, no journal and no engine, so that a run, a sample of it, a shard and a task
    of Ray take the same work.
    """

    verb: str
    source: Path
    read: Callable[[files.BadLines], Iterable[T]]
    """Reads the units of the source."""
    do: Callable[[T], Awaitable[Done]]
    """Processes one unit."""
    identity: Mapping[str, Any]
    """Everything that determines the result, apart from the content of the source."""
    _state: tuple[int, ...] = field(default=(), init=False, repr=False)
    """The state of the source when it was read first."""

    def units(self, bad: files.BadLines) -> Iterator[T]:
        """Yield the units; a run reads them twice, and the source must not change between.

        A file that is replaced or deleted while it is open is read to its end as it was.

        Raises:
            InputError: The file is not the one that was read first, or its content has changed.
        """
        self._check(is_open=False)
        for unit in self.read(bad):
            self._check(is_open=True)
            yield unit
        self._check(is_open=True)

    def _check(self, *, is_open: bool) -> None:
        now = _state_of(self.source)
        if not now or not self._state:
            self._state = self._state or now
        elif now != self._state and not (is_open and now[:2] != self._state[:2]):
            raise InputError(
                self.source,
                "has changed during the run: restore it and run the same command to "
                "continue, or start again with --restart",
            )


def _state_of(path: Path) -> tuple[int, ...]:
    """Return what changes with a file: its place on the disk, its size and its time."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class PartOfRun(Protocol):
    """A part of a run; `touche_rad.runs.parts` has the one of `--shard`."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What the identity of the part has in addition to that of the run."""
        ...

    def units(self, total: int) -> range:
        """Return the numbers of its units, if the input has `total`."""
        ...

    def finished(self, out: Path, identity: Mapping[str, Any]) -> Status | None:
        """Return the status of this part if it is complete already, with the same identity."""
        ...

    def finish(self, journal: Journal, status: Status, total: int, facts: Facts) -> None:
        """Write what the whole run needs of this part."""
        ...


class Engine(Protocol):
    """Processes the units of a run in other processes."""

    async def process(
        self,
        units: Iterator[tuple[int, Any]],
        total: int,
        options: RunOptions,
        keep: Callable[[int, Done], None],
    ) -> list[str]:
        """Process units like `process_units`; `total` is their number."""
        ...


@dataclass(frozen=True)
class RunOptions:
    """Settings of a run that do not change its output."""

    workers: int = 4
    """Number of units processed in parallel."""
    restart: bool = False
    """Start again instead of continuing an earlier run."""
    replace: bool = True
    """Whether the output of another run may be replaced."""
    bad: files.BadLines | None = None
    """Handling of invalid lines; None raises an error."""
    progress: Progress | None = None
    """Called with (done, total)."""
    status_path: Path | None = None
    """Path of the status file, if it is to be written."""
    model: Model | None = None
    """The language model of the plugins; the runner reports its usage and closes it."""
    warnings: tuple[str, ...] = ()
    """Warnings about the settings, for the status."""
    demo: bool = False
    """Whether the index is the demo collection's."""
    strict: bool = False
    """Stop at the first stand-in."""
    hand_in: bool = False
    """Finish also without the model, because the output must be handed in (under TIRA)."""
    errors: Path | None = None
    """File for the first traceback of each kind of failure."""
    part: PartOfRun | None = None
    """The part of the input to process; the output is then this part of the run's output."""
    engine: Engine | None = None
    """Processes the units in other processes."""


DEFAULT_OPTIONS: Final = RunOptions()
