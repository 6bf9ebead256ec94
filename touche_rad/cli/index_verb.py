"""`touche-rad index`: build an index from arguments, with vectors and annotations on request."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import click

from touche_rad import files
from touche_rad.cli import options as shared
from touche_rad.cli.console import Progress, progress, say
from touche_rad.debate import Argument
from touche_rad.errors import UserError
from touche_rad.files.transcripts import read_utterances
from touche_rad.models.context import run_sync
from touche_rad.plugins import (
    Annotator,
    Services,
    VectorsWanted,
    add_vectors,
    build_index,
    dump_index,
    find,
    index_backend_of,
    index_exists,
    parse_plugin,
)

SERVERS = "elasticsearch:"


@dataclass(frozen=True)
class Making:
    """An index that is made or given more, and what it is made of."""

    source: str
    place: str
    utterances: bool
    skip_bad: bool
    quiet: bool

    @contextmanager
    def brought(self, *, there: bool) -> Iterator[Path | None]:
        """Give the source as a file; a server's index is brought beside the one made of it.

        What was brought stays until the index stands, so that a killed run goes on with it. An
        index that is there already is taken as it is: nothing is brought to be compared.
        """
        if not self.source.startswith(SERVERS):
            yield Path(self.source)
            return
        if there:
            yield None
            return
        local = ":" not in self.place
        target = Path(self.place) if local else Path(tempfile.gettempdir(), "touche-rad")
        which = sha256(self.source.encode("utf-8", "replace")).hexdigest()[:8]
        brought = target.with_name(f".{target.name}.{which}.dump.jsonl")
        if not brought.is_file():
            with progress("dumping", quiet=self.quiet) as report:
                count = dump_index(self.source, brought, report)
            self._say(f"brought {count} arguments from {self.source}")
        yield brought
        brought.unlink()

    def words(self, path: Path, options: Mapping[str, str], *, replace: bool) -> None:
        """Make the inverted indexes."""
        begun = time.monotonic()
        bad, read = files.BadLines(skip=self.skip_bad), _Read()
        with progress("indexing", quiet=self.quiet, besides=lambda: read.told) as report:
            total = None if self.quiet or self.utterances else files.count_arguments(path)
            arguments = read.counted(self._read(path, bad), report, total)
            count = build_index(arguments, self.place, replace=replace, options=options)
        skipped = f", {bad.count} bad lines skipped ({bad.first})" if bad.count else ""
        seconds = time.monotonic() - begun
        self._say(f"indexed {count} arguments in {self.place} in {seconds:.1f} s{skipped}")

    def vectors(self, wanted: VectorsWanted, of: Path | None) -> None:
        """Make vectors, of the arguments of a file where one is given."""
        begun = time.monotonic()
        with progress("encoding", quiet=self.quiet) as report:
            count = add_vectors(self.place, wanted, of=self._held(of), report=report)
        seconds = time.monotonic() - begun
        told = f"encoded {count} texts by {wanted.encoder} in {self.place} in {seconds:.1f} s"
        self._say(told if count else f"{self.place} has vectors by {wanted.encoder} already")

    def annotate(self, annotator: Annotator, of: Path | None, *, only_cost: bool) -> None:
        """Print what annotating costs and, unless only that is wanted, annotate."""
        backend = index_backend_of(self.place)
        texts, letters = backend.left_to_annotate(self.place, annotator)
        if texts:
            cost = annotator.estimate(texts, letters)
            say(f"to annotate {cost}", quiet=self.quiet and not only_cost)
        if only_cost:
            return
        begun = time.monotonic()
        try:
            with progress("annotating", quiet=self.quiet) as report:
                count = backend.annotate(self.place, annotator, of=self._held(of), report=report)
        finally:
            run_sync(annotator.model.close())
        asked = annotator.model.usage.total
        told = (
            f"annotated {count} arguments by {annotator.model.name} in {self.place} in "
            f"{time.monotonic() - begun:.1f} s: {asked.calls} calls, {asked.from_cache} answers "
            f"from the cache, {asked.prompt_tokens + asked.completion_tokens:,} tokens"
        )
        self._say(told if count else f"{self.place} is annotated already")

    def _held(self, of: Path | None) -> Iterable[Argument] | None:
        return self._read(of, files.BadLines(skip=self.skip_bad)) if of else None

    def _read(self, path: Path, bad: files.BadLines) -> Iterable[Argument]:
        return read_utterances(path, bad) if self.utterances else files.read_arguments(path, bad)

    def _say(self, line: str) -> None:
        say(line, quiet=self.quiet)


class _Read:
    """What was read of a collection; it is written when all of it was."""

    told = ""

    def counted(
        self, arguments: Iterable[Argument], report: Progress, total: int | None
    ) -> Iterator[Argument]:
        """Yield the arguments, and report each thousand."""
        done = 0
        report(done, total)
        for done, argument in enumerate(arguments, 1):
            yield argument
            if done % 1000 == 0 and done != total:
                report(done, total)
        self.told = "writing"
        report(done, None)


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
@click.option("--utterances", is_flag=True,
              help="Take what debates say, not cite; SOURCE may be a .txt.")  # fmt: skip
@click.option("--annotate", metavar="NAME",
              help="Add annotations by a model (-m), such as schemes(calls=separate).")  # fmt: skip
@click.option("--annotate-cost", is_flag=True,
              help="Print what --annotate costs and annotate nothing.")  # fmt: skip
@shared.model_options
@shared.seed
@shared.skip_bad
@shared.quiet
@shared.show_config
@click.pass_context
def command(
    ctx: click.Context,
    /,
    source: str,
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
    **given: Any,
) -> None:
    """Make an argument index from SOURCE.

    SOURCE is a collection (JSONL, gzipped or not, with the fields id, text, attacks, supports,
    topic ...), a file of debates, whose cited arguments are taken, each once, or an index on a
    server (elasticsearch:URL/NAME), which is brought here whole. Killed, the same command goes on,
    with --dense and --annotate too.
    """
    chosen = shared.choose(ctx, "index", output, option)
    place = to or chosen.path
    if place is None:
        raise UserError("index: say where the index goes: -o DIR")
    wanted = (
        VectorsWanted(dense, tuple(dict.fromkeys(dense_fields)), dense_precision, dense_graph)
        if dense
        else None
    )
    options = chosen.of("index")
    annotator = _annotator(given, chosen, quiet=quiet)
    there = index_exists(str(place), options) and not replace
    if there and wanted is None and annotator is None:
        raise UserError(f"{place} is there already: --replace makes it anew")
    making = Making(
        source, str(place), utterances=given["utterances"], skip_bad=skip_bad, quiet=quiet
    )
    with making.brought(there=there) as path:
        if not there and path is not None:
            making.words(path, options, replace=replace)
        of = path if there else None
        if wanted is not None:
            making.vectors(wanted, of)
        if annotator is not None:
            making.annotate(annotator, of, only_cost=given["annotate_cost"])


def _annotator(given: Mapping[str, Any], chosen: shared.Chosen, *, quiet: bool) -> Annotator | None:
    """Create the annotator of --annotate; the model is not started yet."""
    if given["annotate"] is None:
        if given["annotate_cost"]:
            raise UserError("--annotate-cost needs --annotate NAME")
        if given["model"]:
            say("note: only --annotate uses a model; -m has no effect", quiet=quiet)
        return None
    from touche_rad.models.endpoint import named_by_environment

    if not (given["model"] or named_by_environment()):
        raise UserError(
            "index --annotate needs a language model: -m URL#MODEL, -m vllm:MODEL, or "
            "OPENAI_BASE_URL and OPENAI_MODEL in the environment"
        )
    name, options = parse_plugin(given["annotate"])
    plugin = find("annotator", name)
    plugin.parse(options)
    model = shared.made({**given, "quiet": quiet}, chosen)
    made: Annotator = plugin.make(Services(model=model), options)
    return made
