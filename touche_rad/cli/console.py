"""What a person or a log file sees while work goes on: everything on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int | None], None]

_ALONE = 60
"""Columns that a bar and its figures need."""
_CTRL_C = "^C"
"""What a terminal writes behind the bar when a person stops the work: in a full line it would wrap,
and the bar could not be wiped any more."""


@contextmanager
def progress(
    title: str, *, quiet: bool = False, besides: Callable[[], str] = str
) -> Iterator[Progress]:
    """Yield a function that is told (done, total): a bar on a terminal, plain lines in a file.

    `besides` is what stands there too, such as the calls that were made.
    """
    if quiet:
        yield lambda done, total: None
    elif sys.stderr.isatty():
        with _bar(title, besides) as report:
            yield report
    else:
        yield _lines(title, besides)


class Pace:
    """How fast work goes on, counted from what was done when it began: a resumed run's part."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._done, self._total = 0, 0
        self._begun = self._last = 0.0

    def heard(self, done: int, total: int | None) -> None:
        """Take note of what is done by now."""
        self._last = time.monotonic()
        if self._first is None:
            self._first, self._begun = done, self._last
        self._done, self._total = done, total or 0

    @property
    def rate(self) -> float | None:
        """Units a second, once one was done."""
        more, seconds = self._done - (self._first or 0), self._last - self._begun
        return more / seconds if more > 0 and seconds > 0 else None

    @property
    def left(self) -> float | None:
        """Seconds that the rest will take, where there is a rest."""
        rest = self._total - self._done
        return rest / self.rate if self.rate and rest > 0 else None


@contextmanager
def _bar(title: str, besides: Callable[[], str]) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as Bar
    from rich.table import Column
    from rich.text import Text

    pace = Pace()

    class Told(ProgressColumn):
        """What we say ourselves; rich takes the rate of the last moments for that of the work."""

        def __init__(self, tell: Callable[[], str], style: str = "") -> None:
            self.tell, self.style = tell, style
            super().__init__(Column(no_wrap=True, overflow="ellipsis"))

        def render(self, task: Task) -> Text:
            return Text(self.tell(), style=self.style)

    def rate() -> str:
        return f"{pace.rate:.1f}/s" if pace.rate else ""

    def left() -> str:
        return f"{_clock(pace.left)} left" if pace.left is not None else ""

    def more() -> str:
        """What stands there besides, as far as there is room for it."""
        told, room = besides(), console.width - _ALONE
        return told if len(told) <= room else f"{told[: room - 1]}…" if room > 1 else ""

    console = Console(stderr=True)
    console.width = max(console.width - len(_CTRL_C), 1)
    with Bar(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Told(rate),
        TimeElapsedColumn(), Told(left, "progress.remaining"), Told(more), console=console,
        transient=True,
    ) as bar:  # fmt: skip
        task = bar.add_task(title, total=None)

        def report(done: int, total: int | None) -> None:
            pace.heard(done, total)
            bar.update(task, completed=done, total=total)

        yield report


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def _lines(title: str, besides: Callable[[], str], every: float = 10.0) -> Progress:
    last = time.monotonic()
    pace = Pace()

    def report(done: int, total: int | None) -> None:
        nonlocal last
        pace.heard(done, total)
        now = time.monotonic()
        if done != total and now - last < every:
            return
        last = now
        of = f" of {total}" if total is not None else ""
        rate = f", {pace.rate:.1f} a second" if pace.rate else ""
        left = f", {pace.left:.0f} s left" if pace.left is not None else ""
        more = besides()
        say(f"{title}: {done}{of}{rate}{left}{more and f', {more}'}")

    return report


def say(line: str, *, quiet: bool = False) -> None:
    """Print one line for a person."""
    from touche_rad.secrets import redact

    if not quiet:
        print(redact(line), file=sys.stderr, flush=True)
