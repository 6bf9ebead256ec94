"""`touche-rad index`: arguments in, an index folder out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from touche_rad.cli import shared
from touche_rad.cli.console import Progress, progress, say
from touche_rad.debate import Argument
from touche_rad.errors import UserError


@click.command("index", cls=shared.Verb)
@click.argument("source", type=click.Path(path_type=Path), metavar="SOURCE")
@shared.output("The index folder to make.", metavar="DIR")
@click.option("--replace", is_flag=True, help="Replace an index that is there.")
@shared.skip_bad
@shared.quiet
@shared.show_config
@click.pass_context
def command(
    ctx: click.Context,
    source: Path,
    short: tuple[str, ...],
    output: str | None,
    option: tuple[str, ...],
    replace: bool,
    skip_bad: bool,
    quiet: bool,
) -> None:
    """Make an argument index from SOURCE.

    SOURCE is a collection (JSONL, gzipped or not, with the fields id, text, attacks, supports,
    topic ...) or a file of debates, whose cited arguments are taken, each once.
    """
    from touche_rad import files
    from touche_rad.plugins import build_index

    place = shared.choose(ctx, "index", short, output, option).path
    if place is None:
        raise UserError("index: say where the index goes: -o DIR")
    begun = time.monotonic()
    bad = files.BadLines(skip=skip_bad)
    with progress("indexing", quiet=quiet) as report:
        arguments = _counted(files.read_arguments(source, bad=bad), report)
        count = build_index(arguments, str(place), replace=replace)
    skipped = f", {bad.count} bad lines skipped ({bad.first})" if bad.count else ""
    seconds = time.monotonic() - begun
    say(f"indexed {count} arguments in {place} in {seconds:.1f} s{skipped}", quiet=quiet)


def _counted(arguments: Iterable[Argument], report: Progress) -> Iterator[Argument]:
    for done, argument in enumerate(arguments, 1):
        yield argument
        if done % 1000 == 0:
            report(done, None)
