"""`touche-rad index`: arguments in, an index folder out."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from touche_rad.cli import asking, shared
from touche_rad.cli.console import Progress, progress, say
from touche_rad.debate import Argument
from touche_rad.errors import UserError

if TYPE_CHECKING:
    from touche_rad.plugins import VectorsWanted
    from touche_rad.schemes import Annotator

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
@click.option("--annotate", is_flag=True,
              help="Make the memory too: a model (-m) says which schemes are used.")  # fmt: skip
@click.option("--annotate-profile", type=click.Choice(["lean", "paper"]), default="lean",
              show_default=True, help="One call for several, or two for each one.")  # fmt: skip
@click.option("--annotate-per-call", type=click.IntRange(1, 16), default=4, show_default=True,
              help="Arguments that a lean call is about.")  # fmt: skip
@click.option("--annotate-cost", is_flag=True,
              help="Say what --annotate would take, and annotate nothing.")  # fmt: skip
@asking.model_options
@shared.seed
@shared.skip_bad
@shared.quiet
@shared.show_config
@click.pass_context
def command(
    ctx: click.Context,
    /,
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
    **given: Any,
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
    annotator = _annotator(given, chosen, quiet=quiet)
    there = index_exists(str(place), options) and not replace
    if there and wanted is None and annotator is None:
        raise UserError(f"{place} is there already: --replace makes it anew")
    made = _Made(str(place), skip_bad, quiet)
    if there and source.startswith(SERVERS):
        made.besides(wanted, annotator, of=None, only_cost=given["annotate_cost"])
        return
    with _file(source, str(place), quiet=quiet) as path:
        if not there:
            _words(path, str(place), options, replace=replace, skip_bad=skip_bad, quiet=quiet)
        of = path if there else None
        made.besides(wanted, annotator, of=of, only_cost=given["annotate_cost"])


def _annotator(given: Mapping[str, Any], chosen: shared.Chosen, *, quiet: bool) -> Annotator | None:
    """Make who annotates, where that was asked; no model is started yet."""
    if not (given["annotate"] or given["annotate_cost"]):
        if given["model"]:
            say("note: only --annotate asks a model; -m is not used", quiet=quiet)
        return None
    from touche_rad.models.places import named_by_environment
    from touche_rad.schemes import Annotator

    if not (given["model"] or named_by_environment()):
        raise UserError(
            "index --annotate needs a language model: -m URL#MODEL, -m vllm:MODEL, or "
            "OPENAI_BASE_URL and OPENAI_MODEL in the environment"
        )
    model = asking.made({**given, "quiet": quiet}, chosen)
    return Annotator(model, profile=given["annotate_profile"], per_call=given["annotate_per_call"])


@dataclass(frozen=True)
class _Made:
    """An index that is there, and what is made beside it."""

    place: str
    skip_bad: bool
    quiet: bool

    def besides(
        self,
        wanted: VectorsWanted | None,
        annotator: Annotator | None,
        *,
        of: Path | None,
        only_cost: bool,
    ) -> None:
        if wanted is not None:
            _vectors(self.place, wanted, of=of, skip_bad=self.skip_bad, quiet=self.quiet)
        if annotator is not None:
            self._memory(annotator, of, only_cost=only_cost)

    def _memory(self, annotator: Annotator, of: Path | None, *, only_cost: bool) -> None:
        from touche_rad import files
        from touche_rad.models.waiting import waited
        from touche_rad.plugins import keeps_memory

        home = keeps_memory(self.place)
        cost = home.cost_of_annotating(self.place, annotator)
        if cost.texts:
            say(f"to annotate {cost.told}", quiet=self.quiet and not only_cost)
        if only_cost:
            return
        begun = time.monotonic()
        held = files.read_arguments(of, bad=files.BadLines(skip=self.skip_bad)) if of else None
        try:
            with progress("annotating", quiet=self.quiet) as report:
                count = home.annotate(self.place, annotator, of=held, report=report)
        finally:
            waited(annotator.model.close())
        asked = annotator.model.usage.total
        told = (
            f"annotated {count} arguments by {annotator.model.name} in {self.place} in "
            f"{time.monotonic() - begun:.1f} s: {asked.calls} calls, {asked.from_cache} answers "
            f"from the cache, {asked.prompt_tokens + asked.completion_tokens:,} tokens"
        )
        say(told if count else f"{self.place} is annotated already", quiet=self.quiet)


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
