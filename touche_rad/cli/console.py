"""What commands print: progress, messages and next steps on standard error, wrapped texts."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from touche_rad.cli.help_text import fold_command
from touche_rad.text import (
    colour_setting,
    count_of,
    json_text,
    printable,
    redact,
    shell_words,
    wrap,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from touche_rad.criteria import Criterion
    from touche_rad.files.outputs import Status
    from touche_rad.runs.judging import ViewVerdicts
    from touche_rad.runs.work import Progress
    from touche_rad.score.tables import Part

_SECONDS_BETWEEN_LINES: Final = 10
"""Seconds between two lines of progress in a file, so that a long run leaves a short log."""


class Label(StrEnum):
    """The word that begins a message."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEXT = "next"
    WRITTEN = "written"


COLOURS: Final = {
    Label.ERROR: "red",
    Label.WARNING: "yellow",
    Label.NOTE: "yellow",
    Label.NEXT: "cyan",
    Label.WRITTEN: "green",
}


@contextmanager
def progress(
    title: str, *, quiet: bool | None = None, describe: Callable[[], str] = str
) -> Iterator[Progress]:
    """Yield a function `report(done, total)`: a bar on a terminal, plain lines in a file."""
    if quiet is None:
        quiet = is_quiet()
    if quiet:
        yield lambda done, total: None
        return

    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        # Only the description may be cut on a narrow terminal.
        cut = Column(no_wrap=True, overflow="ellipsis")
        with Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[state]}", table_column=cut),
            console=Console(stderr=True),
            transient=True,
        ) as bar:
            task = bar.add_task(title, total=None, state="")
            yield lambda done, total: bar.update(
                task, completed=done, total=total, state=describe()
            )
        return

    last = time.monotonic()
    shown: int | None = None

    def report(done: int, total: int | None) -> None:
        nonlocal last, shown
        is_early = done != total and time.monotonic() - last < _SECONDS_BETWEEN_LINES
        if is_early or done == shown:
            return
        last = time.monotonic()
        shown = done
        line = f"{title}: {done}"
        if total is not None:
            line += f" of {total}"
        state = describe()
        say(f"{line}, {state}" if state else line)

    yield report


def say(
    text: object,
    label: Label | None = None,
    *,
    before: str = "",
    wraps: bool = True,
    quiet: bool | None = None,
) -> None:
    """Print one line; file names and texts in it cannot control the terminal.

    Args:
        text: The line, without its label.
        label: The word that begins the line, in its colour.
        before: What stands before the label.
        wraps: Whether a long line is wrapped on a terminal.
        quiet: Print nothing. Default: with `--quiet`, only errors and warnings are printed.
    """
    if quiet is None:
        quiet = label not in (Label.ERROR, Label.WARNING) and is_quiet()
    if quiet:
        return
    line = " ".join(printable(redact(str(text))).splitlines())
    if label is not None:
        line = f"{before}{label}: {line}"
    is_terminal = sys.stderr.isatty()
    if is_terminal and wraps:
        line = fitted(line)
    # Colours come after wrapping: their characters have no width.
    has_colour = colour_setting()
    if has_colour is None:
        has_colour = is_terminal
    if label is not None and has_colour:
        word = f"{label}:"
        line = line.replace(word, click.style(word, fg=COLOURS[label], bold=True), 1)
    print(line, file=sys.stderr, flush=True)


def is_quiet() -> bool:
    """Whether the running command has the option `--quiet`."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.params.get("quiet"))


def fitted(line: str, indent: int = 2) -> str:
    """Wrap a long line for the terminal at its spaces."""
    return "\n".join(wrap(line, terminal_width(), "", " " * indent))


def print_line(line: str, indent: int = 2) -> None:
    """Print a line, on a terminal wrapped at its spaces."""
    click.echo(fitted(line, indent) if sys.stdout.isatty() else line)


def print_command(command: str) -> None:
    """Print a command line; on a terminal, a long one continues behind a backslash."""
    width = terminal_width() if sys.stdout.isatty() else sys.maxsize
    click.echo("\n".join(fold_command(printable(command), width)))


def print_parts(parts: Iterable[Part]) -> None:
    """Print the tables and lines of a report, with an empty line between parts."""
    from touche_rad.score.tables import terminal_lines  # it is slow to import

    click.echo("\n".join(terminal_lines(parts, terminal_width())))


def print_json(value: object, indent: int | None = 2) -> None:
    """Print a value as JSON, by default over several lines."""
    click.echo(json_text(value, indent))


def print_text(text: str, first: str = "", rest: str = "", *, limit: int = 120) -> None:
    """Print a wrapped text; its first line begins with `first`, the others with `rest`."""
    width = max(terminal_width(limit), len(rest) + 20)
    click.echo(first + "\n".join(wrap(text, width, rest, rest)).lstrip())


def terminal_width(limit: int = 120) -> int:
    """Return the columns of the terminal, at most `limit`; 80 if there is no terminal."""
    return max(min(shutil.get_terminal_size((80, 24)).columns, limit), 20)


def with_criteria(criteria: str | None) -> list[str]:
    """Return the words of a next step that needs the same criteria."""
    return ["--criteria", criteria] if criteria else []


def open_page(page: Path) -> str:
    """Return the step that opens a page."""
    return f"open {page.resolve().as_uri()} in a browser"


def line_of(words: Sequence[object]) -> str:
    """Return a command of ours as the user would type it."""
    return shell_words("touche-rad", *words)


def next_step(*steps: str | Sequence[object]) -> None:
    """Print what the user can do next: commands of ours as words, or other lines.

    A step of another command leaves that to it.
    """
    context = click.get_current_context(silent=True)
    if context and getattr(context.find_root().obj, "is_step", False):
        return
    for number, step in enumerate(steps):
        line = step if isinstance(step, str) else line_of(step)
        # A command that is wrapped cannot be copied.
        if number:
            say(f"      {line}", wraps=False)
        else:
            say(line, Label.NEXT, wraps=False)


# --- the status of a run


def show_status(status: Status) -> None:
    """Print what a run did and its warnings; with `--quiet`, the warnings only."""
    from touche_rad.events import OF_FALLBACKS

    line = f"{status.verb}: {status.done}"
    if status.units not in (None, status.done):
        line += f" of {status.units}"
    line += f" {status.state} in {status.seconds:.1f} s"
    results = ", ".join(f"{count} {noun}" for noun, count in status.counts.items())
    say(f"{line} ({results})" if results else line)
    if status.resumed:
        say(f"{status.resumed} of them were taken over from an earlier run")

    for events in status.events:
        if status.fallbacks and events.examples[0].kind in OF_FALLBACKS:
            continue  # a warning has their causes
        say(events.text)

    if status.usage:
        total = status.usage["total"]
        calls = count_of(total["calls"], "call")
        prompt_tokens = total["prompt_tokens"]
        from_cache = total["from_cache"]
        if total["calls"] and total["failures"] and not from_cache + prompt_tokens:
            say(f"model: {calls} failed")
        else:
            tokens = f"{prompt_tokens} + {total['completion_tokens']} tokens"
            say(f"model: {calls}, {from_cache} more from the cache, {tokens}")

    for warning in status.warnings:
        say(warning.detail, Label.WARNING)
    if status.errors and (status.fallbacks or status.state != "done"):  # not of an earlier attempt
        say(f"tracebacks: {status.errors}")


# --- texts on standard output

MAX_WIDTH: Final = 100
"""Columns that are used of a wider terminal: longer lines are hard to read."""


def open_console() -> Console:
    """Return the console of standard output; letters that it cannot write are replaced."""
    from rich.console import Console

    class StandardOutput(Console):
        def on_broken_pipe(self) -> None:
            """Let the program end as with all output that nobody reads.

            Rich would raise SystemExit, which is an error in the event loop.
            """
            raise  # the BrokenPipeError for which Rich calls this

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    setting = colour_setting()
    console = StandardOutput(
        highlight=False,
        markup=False,
        emoji=False,
        force_terminal=True if setting else None,
        no_color=setting is False,
    )
    console.width = min(console.width or 80, MAX_WIDTH)  # COLUMNS=0: the width is unknown
    return console


def plain(text: str) -> str:
    """Return a text from a debate, an argument or a model as one safe line."""
    return " ".join(printable(redact(text)).split())


def wrapped(text: Text, width: int, indent: str = "") -> list[Text]:
    """Wrap a text at words; each line begins with the indent."""
    from rich.console import Console
    from rich.text import Text as Line

    room = max(10, width - len(indent))
    lines = list(text.wrap(Console(width=room), room))
    for line in lines:
        line.rstrip()
    return [Line(indent).append_text(line) for line in lines]


def verdict_text(verdicts: ViewVerdicts, criterion: Criterion) -> tuple[Text, str]:
    """Return a verdict as `yes`, `no` or `none` with its score, and its reason."""
    from rich.text import Text as Line

    verdict = verdicts.verdicts[criterion.key]
    failure = verdicts.unscored.get(criterion.key)
    line = Line(f"  {criterion.title:9}")
    if failure is not None:
        return line.append("none", "yellow"), f"the judge failed: {failure}"
    if verdict.yes:
        line.append("yes ", "bold green")
    else:
        line.append("no  ", "bold red")
    score = verdict.score or 0.0
    return line.append(f"{score:.2f}"), verdict.rationale
