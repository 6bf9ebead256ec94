"""A run as its callers describe it: the work on each unit, and the settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from touche_rad import files
from touche_rad.debate import Debate
from touche_rad.errors import InputError
from touche_rad.models import Model
from touche_rad.runs.fallbacks import Fallback

T = TypeVar("T")
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Done:
    """The result of one unit: output lines, counts, notes, and fallbacks."""

    lines: tuple[str, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()


def at_turn(note: str, debate: Debate, turn: int) -> str:
    """Return a note with its debate and turn after its kind."""
    kind, _, what = note.partition(": ")
    return f"{kind}: debate {debate.id or '?'}, turn {turn + 1}: {what}"


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
    _state: tuple[float, ...] = field(default=(), init=False, repr=False)
    """Size and time of the source when it was read first."""

    def units(self, bad: files.BadLines) -> Iterator[T]:
        """Yield the units; a run reads them twice, and the source must not change between.

        Raises:
            InputError: The source has changed since it was read first.
        """
        self._check()
        for unit in self.read(bad):
            self._check()
            yield unit
        self._check()

    def _check(self) -> None:
        try:
            stat = self.source.stat()
        except OSError:  # reading it says what is wrong; one that is deleted meanwhile is read
            return
        now = (stat.st_size, stat.st_mtime)
        self._state = self._state or now
        if now != self._state:
            raise InputError(
                self.source,
                "has changed during the run: restore it and run the same command to "
                "continue, or start again with --restart",
            )


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
    """Stop at the first fallback."""
    hand_in: bool = False
    """Finish also without the model, because the output must be handed in (under TIRA)."""
    errors: Path | None = None
    """File for the first traceback of each kind of failure."""
    process: Process | None = None
    """Processes the units in other processes."""
    more_models: tuple[Model, ...] = ()
    """Further models that the runner closes; their calls count for the first one."""


Process = Callable[
    [Iterator[tuple[int, Any]], int, RunOptions, Callable[[int, Done], None]],
    Awaitable[list[str]],
]
"""Processes units, of which there are so many, hands each record to the function, and returns a
line for each that failed."""
DEFAULT_OPTIONS: Final = RunOptions()
