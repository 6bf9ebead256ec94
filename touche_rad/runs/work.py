"""A run as its callers describe it: the work on each unit, the settings, and the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final, Generic

from pydantic import StringConstraints

from touche_rad import files
from touche_rad.contest import Contest
from touche_rad.debate import Debate
from touche_rad.errors import InputError
from touche_rad.events import Event, EventCount, EventKind
from touche_rad.files.outputs import Count, Result, Setup, Status, total_of
from touche_rad.files.records import drop_keys
from touche_rad.frozen import frozen
from touche_rad.lists import T
from touche_rad.models import Model
from touche_rad.models.sending import Usage
from touche_rad.runs.fallbacks import FailureLog, Fallback
from touche_rad.text import printable

Progress = Callable[[int, int | None], None]

MOST_EXAMPLES: Final = 5
"""Events of each title that a status shows."""


@frozen
class Done:
    """The result of one unit: output lines, counts, events, and fallbacks."""

    lines: tuple[Annotated[str, StringConstraints(pattern=r"^[^\n]*$")], ...]
    counts: Mapping[Result, Count] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    resumed: bool = False
    """Whether it is read from the record of an earlier run."""


@dataclass
class Work(Generic[T]):
    """What a run does: the units of its input, and how one unit becomes a record.

    It knows no output and no journal, so that a run, a sample of it and a shard take the same work.
    """

    verb: str
    source: Path
    read: Callable[[files.BadLines], Iterable[T]]
    """Reads the units of the source."""
    do: Callable[[T, FailureLog], Awaitable[Done]]
    """Processes one unit; each fallback is reported, and stops a strict run."""
    identity: Mapping[str, Any]
    """Everything that determines the result, apart from the content of the source."""
    end: Callable[[], Awaitable[None]] | None = None
    """Ends what a failed unit has left running: the models that it calls are closed next."""
    _state: tuple[float, ...] = field(default=(), init=False, repr=False)
    """Size and time of the source when it was read first."""

    def units(self, bad: files.BadLines) -> Iterator[T]:
        """Yield the units; a run reads them twice, and the source must not change between.

        Raises:
            InputError: The source has changed since it was read first.
        """
        for unit in chain(self.read(bad), [None]):
            with suppress(OSError):  # a file that is deleted meanwhile is read to its end
                stat = self.source.stat()
                now = (stat.st_size, stat.st_mtime)
                self._state = self._state or now
                if now != self._state:
                    raise InputError(
                        self.source,
                        "has changed during the run: restore it and run the same command to "
                        "continue, or start again with --restart",
                    )
            if unit is not None:
                yield unit


def count_units(units: Iterable[object]) -> tuple[int, Event | None]:
    """Return the number of units, and a warning if debates are there more than once."""
    total = 0
    copies: list[tuple[int, int]] = []
    first_with_words: dict[int, int] = {}
    for total, unit in enumerate(units, 1):
        debate = unit[0] if isinstance(unit, tuple) else unit
        match debate:
            case Debate(turns=(), claim="") | Contest(speeches=()):
                continue  # a lost one
        if isinstance(debate, Debate | Contest):
            words = repr(debate.replace(id=""))  # the id may be the place's
            earlier = first_with_words.setdefault(hash(words), total)
            if earlier != total:
                copies.append((total, earlier))
    if not copies:
        return total, None
    number, earlier = copies[0]
    return total, EventKind.COPIES.event(
        f"debates given twice: {len(copies)}; the first: debate {number} has the words of "
        f"debate {earlier}"
    )


@frozen
class RunOptions:
    """Settings of a run that do not change its output."""

    workers: int = 4
    """Number of units processed in parallel."""
    restart: bool = False
    """Start again instead of continuing an earlier run."""
    replace: bool = True
    """Whether the output of another run may be replaced."""
    bad: files.BadLines = field(default_factory=files.BadLines)
    """Handling of invalid lines."""
    progress: Progress = lambda done, total: None
    """Called with (done, total)."""
    status_path: Path | None = None
    """Path of the status file, if it is to be written."""
    model: Model | None = None
    """The language model of the plugins, whose usage the runner reports."""
    warnings: tuple[Event, ...] = ()
    """Warnings about the settings, for the status."""
    setup: Setup = field(default_factory=Setup)
    """What the status says of the settings."""
    strict: bool = False
    """Stop at the first fallback."""
    must_finish: bool = False
    """Finish also without the model, because TIRA takes only a finished output."""
    errors: Path | None = None
    """File for the first traceback of each kind of failure."""
    keep_finished: bool = False
    """Leave the output alone if this run wrote it already."""
    keep_trace: bool = False
    """Append to the trace of an earlier run also if nothing is in the journal."""


DebateTurn = tuple[int, int]
"""The numbers of a debate and of a turn in it, from 1; turn 0 is the whole debate."""


@dataclass
class FallbackGroup:
    """Fallbacks with equal causes."""

    first: Fallback
    count: int = 0
    turns: dict[DebateTurn, None] = field(default_factory=dict)
    """Where they are, without repetitions."""

    @property
    def origin(self) -> str:
        """Where the results come from and why, for people."""
        source = f"fallbacks from {self.first.source}" if self.first.by else "missing"
        return f"{source}: {printable(self.first.cause)}"


@dataclass
class Tally:
    """Sums the counts, events and fallbacks of finished units."""

    counts: Counter[Result] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    """The number of events by title."""
    examples: dict[str, list[Event]] = field(default_factory=dict)
    """The first few events of each title."""
    groups: dict[tuple[str | bool, ...], FallbackGroup] = field(default_factory=dict)
    units: int = 0

    def add(self, done: Done) -> None:
        """Add one unit; the first few events of each title are kept as examples."""
        self.units += 1
        self.counts.update(done.counts)
        for fallback in done.fallbacks:
            group = self.groups.setdefault(fallback.group, FallbackGroup(fallback))
            group.count += fallback.count
            group.turns[self.units, fallback.turn] = None
        for event in done.events:
            self.events[event.title] += 1
            examples = self.examples.setdefault(event.title, [])
            if len(examples) < MOST_EXAMPLES:
                examples.append(event)

    def status(
        self,
        out: Path,
        *,
        warnings: Iterable[Event] = (),
        usage: Usage | None = None,
        errors: Path | None = None,
        **fields: object,
    ) -> Status:
        """Return the status of a run with these results; `warnings` are about other things."""
        groups = sorted(self.groups.values(), key=lambda group: -group.count)
        all_warnings = list(warnings)
        details: list[str] = []
        for what in dict.fromkeys(group.first.what for group in groups):
            of_kind = [group for group in groups if group.first.what == what]
            count = sum(group.count for group in of_kind)
            begin = f"{count} of {total_of(what, self.counts)} {what} are"
            if len(of_kind) == 1:
                details.append(f"{begin} {of_kind[0].origin}")
            else:
                details.append(f"{begin} fallbacks")
                details += [f"{group.count} {what} are {group.origin}" for group in of_kind]
        all_warnings += map(EventKind.FALLBACKS.event, details)
        if usage and usage.faults:
            kinds = ", ".join(f"{count} {kind}" for kind, count in usage.faults.items())
            all_warnings.append(
                EventKind.FAILED_CALLS.event(
                    f"{sum(usage.faults.values())} model calls failed ({kinds}); the first: "
                    f"{printable(usage.first_fault)}"
                )
            )

        rows = [
            {
                **drop_keys(vars(group.first), ["turn"]),
                "count": group.count,
                "turns": list(map(_turn_text, group.turns)),
            }
            for group in groups
        ]
        return Status(
            output=out.name,
            warnings=tuple(all_warnings),
            errors=str(errors) if errors and errors.is_file() else "",
            usage=usage.record() if usage and usage.steps else {},
            replaced=sum(group.count for group in groups),
            fallbacks=tuple(rows),
            counts=dict(self.counts),
            events=tuple(
                EventCount(count=count, examples=tuple(self.examples[title]))
                for title, count in self.events.most_common()
            ),
            **fields,
        )


def _turn_text(place: DebateTurn) -> str:
    """Return DEBATE.TURN, or DEBATE for a whole one, as the status has it."""
    debate, turn = place
    return f"{debate}.{turn}" if turn else str(debate)
