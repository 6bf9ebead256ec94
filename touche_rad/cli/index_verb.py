"""`touche-rad index`: arguments in, an index folder out."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from touche_rad.cli import shared
from touche_rad.cli.console import Progress, progress, say
from touche_rad.debate import Argument
from touche_rad.errors import UserError

if TYPE_CHECKING:
    from touche_rad.plugins import VectorsWanted

SERVERS = "elasticsearch:"
DENSE_FIELDS = ("text", "attacks", "supports", "topic", "all")


@click.command("index", cls=shared.Verb)
@click.argument("source", metavar="SOURCE")
@shared.output("The index folder to make.", metavar="DIR")
@click.option("--to", metavar="LOCATION",
              help="Make it there instead: elasticsearch:URL/NAME, or a folder.")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace an index that is there.")
@click.option("--dense", metavar="ENCODER",
              help="Make vectors too: minilm, stella, openai:URL#MODEL, a folder.")  # fmt: skip
@click.option("--dense-field", "dense_fields", multiple=True, default=DENSE_FIELDS[:3],
              show_default=True, type=click.Choice(DENSE_FIELDS),
              help="A field to make vectors of; may be given several times.")  # fmt: skip
@click.option("--dense-precision", type=click.Choice(["float16", "int8"]), default="float16",
              show_default=True, help="How the vectors are kept.")  # fmt: skip
@click.option("--dense-graph", is_flag=True, help="Make a graph for approximate search (HNSW).")
@shared.skip_bad
@shared.quiet
@shared.show_config
@click.pass_context
def command(
    ctx: click.Context,
    source: str,
    short: tuple[str, ...],
    output: str | None,
    option: tuple[str, ...],
    to: str | None,
    replace: bool,
    dense: str | None,
    dense_fields: tuple[str, ...],
    dense_precision: Literal["float16", "int8"],
    dense_graph: bool,
    skip_bad: bool,
    quiet: bool,
) -> None:
    """Make an argument index from SOURCE.

    SOURCE is a collection (JSONL, gzipped or not, with the fields id, text, attacks, supports,
    topic ...), a file of debates, whose cited arguments are taken, each once, or an index on a
    server (elasticsearch:URL/NAME), which is brought here whole; killed, the same command goes on.
    """
    from touche_rad.plugins import VectorsWanted, index_exists

    chosen = shared.choose(ctx, "index", short, output, option)
    place = to or chosen.path
    if place is None:
        raise UserError("index: say where the index goes: -o DIR")
    wanted = (
        VectorsWanted(dense, tuple(dict.fromkeys(dense_fields)), dense_precision, dense_graph)
        if dense
        else None
    )
    options = chosen.of("index")
    there = index_exists(str(place), options) and not replace
    if there and wanted is None:
        raise UserError(f"{place} is there already: --replace makes it anew")
    if there and wanted is not None and source.startswith(SERVERS):
        _vectors(str(place), wanted, of=None, skip_bad=skip_bad, quiet=quiet)
        return
    with _file(source, str(place), quiet=quiet) as path:
        if not there:
            _words(path, str(place), options, replace=replace, skip_bad=skip_bad, quiet=quiet)
        if wanted is not None:
            of = path if there else None
            _vectors(str(place), wanted, of=of, skip_bad=skip_bad, quiet=quiet)


@contextmanager
def _file(source: str, place: str, *, quiet: bool) -> Iterator[Path]:
    """Give the source as a file; a server's index is brought beside the index that is made of it.

    What was brought stays until the index stands, so that a killed run goes on with it.
    """
    from touche_rad.plugins import dump_index

    if not source.startswith(SERVERS):
        yield Path(source)
        return
    target = Path(place) if ":" not in place else Path(tempfile.gettempdir(), "touche-rad")
    which = sha256(source.encode("utf-8", "replace")).hexdigest()[:8]
    brought = target.with_name(f".{target.name}.{which}.dump.jsonl")
    if not brought.is_file():
        with progress("dumping", quiet=quiet) as report:
            count = dump_index(source, brought, report)
        say(f"brought {count} arguments from {source}", quiet=quiet)
    yield brought
    brought.unlink()


def _words(
    source: Path,
    place: str,
    options: Mapping[str, str],
    *,
    replace: bool,
    skip_bad: bool,
    quiet: bool,
) -> None:
    from touche_rad import files
    from touche_rad.plugins import build_index

    begun = time.monotonic()
    bad = files.BadLines(skip=skip_bad)
    with progress("indexing", quiet=quiet) as report:
        arguments = _counted(files.read_arguments(source, bad=bad), report)
        count = build_index(arguments, place, replace=replace, options=options)
    skipped = f", {bad.count} bad lines skipped ({bad.first})" if bad.count else ""
    seconds = time.monotonic() - begun
    say(f"indexed {count} arguments in {place} in {seconds:.1f} s{skipped}", quiet=quiet)


def _vectors(
    place: str, wanted: VectorsWanted, *, of: Path | None, skip_bad: bool, quiet: bool
) -> None:
    from touche_rad import files
    from touche_rad.plugins import add_vectors

    begun = time.monotonic()
    held = files.read_arguments(of, bad=files.BadLines(skip=skip_bad)) if of else None
    with progress("encoding", quiet=quiet) as report:
        count = add_vectors(place, wanted, of=held, report=report)
    seconds = time.monotonic() - begun
    told = f"encoded {count} texts by {wanted.encoder} in {place} in {seconds:.1f} s"
    say(told if count else f"{place} has vectors by {wanted.encoder} already", quiet=quiet)


def _counted(arguments: Iterable[Argument], report: Progress) -> Iterator[Argument]:
    for done, argument in enumerate(arguments, 1):
        yield argument
        if done % 1000 == 0:
            report(done, None)
