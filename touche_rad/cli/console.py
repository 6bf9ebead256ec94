"""What a person or a log file sees while work goes on: everything on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int | None], None]


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
        TimeRemainingColumn,
    )  # fmt: skip
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:.1f}/s" if speed else "")

    class Besides(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(besides())

    with Bar(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(),
        TimeElapsedColumn(), TimeRemainingColumn(), Besides(), console=Console(stderr=True),
        transient=True,
    ) as bar:  # fmt: skip
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(title: str, besides: Callable[[], str], every: float = 10.0) -> Progress:
    begun = time.monotonic()
    last = begun

    def report(done: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if done != total and now - last < every:
            return
        last = now
        rate = done / (now - begun) if now > begun else 0.0
        of = f" of {total}" if total is not None else ""
        left = f", {(total - done) / rate:.0f} s left" if total and rate and done < total else ""
        more = besides()
        say(f"{title}: {done}{of}, {rate:.1f} a second{left}{more and f', {more}'}")

    return report


def say(line: str, *, quiet: bool = False) -> None:
    """Print one line for a person."""
    from touche_rad.secret import without_secrets

    if not quiet:
        print(without_secrets(line), file=sys.stderr, flush=True)
