"""The command `index`."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final, Literal

from touche_rad import files
from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import Label, next_step, progress, say
from touche_rad.cli.help_text import Section
from touche_rad.cli.program import command
from touche_rad.debate import Argument
from touche_rad.errors import OptionError, UserError
from touche_rad.files.documents import FIELDS
from touche_rad.files.outputs import REPLACE_OUTPUT
from touche_rad.files.transcripts import read_utterances
from touche_rad.plugins import (
    Annotator,
    IndexBackend,
    Services,
    VectorsWanted,
    find,
    index_backend_of,
)
from touche_rad.plugins.registry import A_MODEL
from touche_rad.session import Session

COPIED: Final = ("elasticsearch:", "irds:")
"""Beginnings of the sources that are indexes or collections on another machine."""
CLAIMS: Final = ("attacks", "supports")


def without_attacks(claims: Collection[str]) -> str:
    """Say what finds nothing in arguments that have only these fields with a claim."""
    useless = "attack and hybrid" if "supports" in claims else "attack, hybrid, support and chain"
    return (
        f"no argument has the claim that it attacks: debater verbatim and retrievers {useless} "
        "find nothing; use -r text, or name the field: index --map KEY=attacks"
    )


@opt.offering("seed", "skip_bad", "quiet")
class IndexOptions(opt.ModelOptions):
    """The options of `index`."""

    source: str = opt.argument("SOURCE")
    output: Path | None = opt.output("Index folder to write.", "DIR")
    to: str | None = opt.option(
        "Write the index here instead: elasticsearch:URL/NAME, or a folder.",
        metavar="LOCATION",
    )
    plugin_options: opt.PluginOptions = opt.plugin_options("index")
    replace: bool = opt.flag("Replace an existing index.", section=Section.RUN)
    dense: str | None = opt.option(
        "Add vectors of this encoder: minilm, stella, openai:URL#MODEL, or a folder.",
        metavar="ENCODER",
    )
    dense_fields: tuple[Literal["text", "attacks", "supports", "topic", "all"], ...] = (
        opt.repeatable(
            "Field to encode; repeatable.",
            "--dense-field",
            default=("text", "attacks", "supports"),
        )
    )
    names: str = opt.option(
        "Names of the fields in SOURCE: KEY=id,KEY=text, also topic, attacks, supports.",
        "--map",
        default="",
        metavar="KEY=FIELD,...",
    )
    utterances: bool = opt.flag(
        "Index the utterances of debates, not the cited arguments; SOURCE may be a .txt file."
    )
    annotate: opt.PluginSpec | None = opt.option(
        "Add the annotations of this annotator, such as schemes; needs -m."
    )


@command(
    "index touche_rad/demo/arguments.jsonl -o index",
    "index touche_rad/demo/arguments.jsonl -o dense-index --dense minilm",
    "index documents.trec -o index --map title=topic",
    "index elasticsearch:http://localhost:9200/arguments -o copy",
)
def index_command(options: IndexOptions) -> None:
    """Build an argument index from SOURCE.

    SOURCE is a collection, optionally gzipped: JSONL with the fields id, text, topic, attacks and
    supports (or others: --map), TREC documents, or a table (id TAB text, or columns with names in
    the first line). Or it is a file of debates, whose cited arguments are indexed, an index on a
    server, which is copied (elasticsearch:URL/NAME), or a collection of ir_datasets (irds:NAME).
    The same command resumes a killed one that adds vectors or annotations.
    """
    place = options.to or options.output
    if place is None:
        raise UserError("index: give the index folder: -o DIR")
    vectors = None
    if options.dense:
        vectors = VectorsWanted(options.dense, tuple(dict.fromkeys(options.dense_fields)))
    with Session(options.seed) as session:
        # What can fail early is tried before the work of minutes or hours.
        annotator: Annotator | None = None
        annotator_spec = options.annotate
        if annotator_spec:
            if not prepare.names_model(options):
                raise UserError(f"index --annotate needs {A_MODEL}")
            annotator = find("annotator", annotator_spec.name).make(
                Services(model=prepare.open_model(session, options)), annotator_spec.options
            )
        elif options.model:
            say("-m is not used: only --annotate uses a model", Label.NOTE)
        backend = index_backend_of(str(place), options.plugin_options["index"])
        if vectors:
            with progress(f"loading {vectors.encoder}"):
                backend.check_vectors(vectors)

        _build(options, str(place), backend, vectors, annotator)
    next_step(["retrieve", "--say", "TEXT", "-i", place])


def _build(
    options: IndexOptions,
    place: str,
    backend: IndexBackend,
    vectors: VectorsWanted | None,
    annotator: Annotator | None,
) -> None:
    """Build an index, or add to the one that exists; then it must be of the same arguments."""
    source = options.source
    is_copy = source.startswith(COPIED)
    names = {}
    for pair in filter(None, options.names.split(",")):
        key, _, field = pair.partition("=")
        if field not in FIELDS:
            raise OptionError(f"--map {pair}: expected KEY=FIELD with one of {', '.join(FIELDS)}")
        names[key] = field
    exists = backend.exists(place) and not options.replace

    def read(bad: files.BadLines) -> Iterable[Argument]:
        if is_copy:
            return index_backend_of(source).arguments(source)
        if options.utterances:
            return read_utterances(Path(source), bad)
        return files.read_arguments(Path(source), bad, names)

    def expected() -> Iterable[Argument] | None:
        # A copy is not read again from its server.
        if not exists or is_copy:
            return None
        return read(files.BadLines(skip=options.skip_bad))

    if not exists:
        start = time.monotonic()
        bad = files.BadLines(skip=options.skip_bad)
        with progress("indexing") as report:
            claims: set[str] = set()
            """The fields with a claim that some arguments have."""

            def arguments() -> Iterator[Argument]:
                for done, argument in enumerate(read(bad), 1):
                    claims.update(field for field in CLAIMS if getattr(argument, field))
                    yield argument
                    if done % 1000 == 0:
                        report(done, None)

            count = backend.build(arguments(), place, replace=options.replace)
        line = f"indexed {count} arguments in {place} in {time.monotonic() - start:.1f} s"
        if bad.count:
            line += f"; invalid lines skipped: {bad}"
        say(line)
        if "attacks" not in claims:
            say(without_attacks(claims), Label.WARNING)
        if bad.copies:
            first = f"{source}:{bad.copies[0]}"
            say(f"arguments given twice: {len(bad.copies)}; the first: {first}", Label.WARNING)
    elif not vectors and annotator is None:
        arguments_wanted = expected()
        if arguments_wanted is None or not backend.holds(place, arguments_wanted):
            raise UserError(f"{place} exists already: {REPLACE_OUTPUT}")
        say(f"{place} has these arguments already")

    if vectors:
        start = time.monotonic()
        with progress("encoding") as report:
            count = backend.add_vectors(place, vectors, of=expected(), report=report)
        if count:
            seconds = time.monotonic() - start
            say(f"encoded {count} texts by {vectors.encoder} in {place} in {seconds:.1f} s")
        else:
            say(f"{place} has vectors by {vectors.encoder} already")

    if annotator:
        start = time.monotonic()
        with progress("annotating") as report:
            count = backend.annotate(place, annotator, of=expected(), report=report)
        if count:
            seconds = time.monotonic() - start
            usage = annotator.model.usage.total
            say(
                f"annotated {count} arguments by {annotator.model.name} in {place} "
                f"in {seconds:.1f} s: {usage.calls} calls, "
                f"{usage.from_cache} answers from the cache, "
                f"{usage.prompt_tokens + usage.completion_tokens:,} tokens"
            )
        else:
            say(f"{place} is annotated already")
