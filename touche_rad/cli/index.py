"""The command `index`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Literal, get_args

from touche_rad import files
from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import Label, next_step, progress, say
from touche_rad.cli.help_text import Section
from touche_rad.cli.program import command
from touche_rad.debate import Argument
from touche_rad.errors import UserError
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
DenseField = Literal["text", "attacks", "supports", "topic", "all"]


@opt.options
class IndexOptions(opt.ModelOptions):
    """The options of `index`."""

    source: str = opt.argument(str, "SOURCE")
    output: Path | None = opt.output("Index folder to write.", "DIR")
    to: str | None = opt.option(
        str,
        "Write the index here instead: elasticsearch:URL/NAME, or a folder.",
        metavar="LOCATION",
    )
    plugin_options: opt.PluginOptions = opt.plugin_options("index")
    replace: bool = opt.flag("Replace an existing index.", section=Section.RUN)
    dense: str | None = opt.option(
        str,
        "Add vectors of this encoder: minilm, stella, openai:URL#MODEL, or a folder.",
        metavar="ENCODER",
    )
    dense_fields: tuple[DenseField, ...] = opt.repeatable(
        get_args(DenseField),
        "Field to encode; repeatable.",
        "--dense-field",
        default=("text", "attacks", "supports"),
    )
    utterances: bool = opt.flag(
        "Index the utterances of debates, not the cited arguments; SOURCE may be a .txt file."
    )
    annotate: opt.PluginSpec | None = opt.option(
        opt.PluginSpec, "Add the annotations of this annotator, such as schemes; needs -m."
    )
    seed: int = opt.SEED
    skip_bad: bool = opt.SKIP_BAD
    quiet: bool = opt.QUIET


@command(
    "index",
    "index touche_rad/demo/arguments.jsonl -o index",
    "index touche_rad/demo/arguments.jsonl -o dense-index --dense minilm",
    "index elasticsearch:http://localhost:9200/arguments -o copy",
)
def index_command(options: IndexOptions) -> None:
    """Build an argument index from SOURCE.

    SOURCE is a collection (JSONL, optionally gzipped, with the fields id, text, attacks, supports,
    topic), a file of debates, whose cited arguments are indexed, an index on a server, which is
    copied (elasticsearch:URL/NAME), or a collection of ir_datasets (irds:NAME). The same command
    resumes a killed one that adds vectors or annotations.
    """
    place = options.to or options.output
    if place is None:
        raise UserError("index: give the index folder: -o DIR")
    vectors = None
    if options.dense:
        fields = tuple(dict.fromkeys(options.dense_fields))
        vectors = VectorsWanted(options.dense, fields)
    with Session(options.seed) as session:
        # What can fail early is tried before the work of minutes or hours.
        annotator = None
        annotator_spec = options.annotate
        if annotator_spec is not None:
            if not prepare.names_model(options):
                raise UserError(f"index --annotate needs {A_MODEL}")
            services = Services(model=prepare.open_model(session, options))
            annotator = find("annotator", annotator_spec.name).make(
                services, annotator_spec.options
            )
        elif options.model:
            say("-m is not used: only --annotate uses a model", Label.NOTE)
        backend = index_backend_of(str(place), options.plugin_options.get("index", {}))
        if vectors is not None:
            with progress(f"loading {vectors.encoder}"):
                backend.check_vectors(vectors)

        builder = _Builder(options, str(place), backend)
        if not builder.exists:
            builder.build()
        elif vectors is None and annotator is None:
            builder.check_same()
        if vectors is not None:
            builder.add_vectors(vectors)
        if annotator is not None:
            builder.annotate(annotator)
    next_step(["retrieve", "--say", "TEXT", "-i", place])


class _Builder:
    """Builds an index, or adds to it."""

    def __init__(self, options: IndexOptions, place: str, backend: IndexBackend) -> None:
        self.options = options
        self.place = place
        self.backend = backend
        self.exists = backend.exists(place) and not options.replace
        self.source = options.source
        self.is_copy = self.source.startswith(COPIED)

    def check_same(self) -> None:
        """Raise an error unless the index has exactly the arguments of the source."""
        expected = self._expected()
        if expected is None or not self.backend.holds(self.place, expected):
            raise UserError(f"{self.place} exists already; replace it with --replace")
        say(f"{self.place} has these arguments already")

    def build(self) -> None:
        """Build the inverted indexes."""
        start = time.monotonic()
        total = None
        bad = files.BadLines(skip=self.options.skip_bad)
        with progress("indexing") as report:
            if not (self.options.quiet or self.options.utterances or self.is_copy):
                total = files.count_arguments(Path(self.source))

            def arguments() -> Iterator[Argument]:
                report(0, total)
                for done, argument in enumerate(self._read(bad), 1):
                    yield argument
                    if done % 1000 == 0 or done == total:
                        report(done, total)

            count = self.backend.build(arguments(), self.place, replace=self.options.replace)
        skipped = f", {bad.count} invalid lines skipped ({bad.first})" if bad.count else ""
        self._say_done(f"indexed {count} arguments", start, skipped)
        if bad.copies:
            first = f"{self.source}:{bad.copies[0]}"
            say(f"arguments given twice: {len(bad.copies)}; the first: {first}", Label.WARNING)

    def add_vectors(self, vectors: VectorsWanted) -> None:
        """Add vectors to the index."""
        start = time.monotonic()
        with progress("encoding") as report:
            expected = self._expected()
            count = self.backend.add_vectors(self.place, vectors, of=expected, report=report)
        if count:
            self._say_done(f"encoded {count} texts by {vectors.encoder}", start)
        else:
            say(f"{self.place} has vectors by {vectors.encoder} already")

    def annotate(self, annotator: Annotator) -> None:
        """Annotate the arguments of the index."""
        start = time.monotonic()
        with progress("annotating") as report:
            expected = self._expected()
            count = self.backend.annotate(self.place, annotator, of=expected, report=report)
        if not count:
            say(f"{self.place} is annotated already")
            return
        usage = annotator.model.usage.total
        self._say_done(
            f"annotated {count} arguments by {annotator.model.name}",
            start,
            f": {usage.calls} calls, {usage.from_cache} answers from the cache, "
            f"{usage.prompt_tokens + usage.completion_tokens:,} tokens",
        )

    def _expected(self) -> Iterable[Argument] | None:
        """Return what an index that exists must contain; None if it is not checked."""
        if not self.exists or self.is_copy:
            return None
        return self._read(files.BadLines(skip=self.options.skip_bad))

    def _read(self, bad: files.BadLines) -> Iterable[Argument]:
        if self.is_copy:
            return index_backend_of(self.source).arguments(self.source)
        read = read_utterances if self.options.utterances else files.read_arguments
        return read(Path(self.source), bad)

    def _say_done(self, result: str, start: float, details: str = "") -> None:
        """Say what was added to the index, and in how many seconds."""
        seconds = time.monotonic() - start
        say(f"{result} in {self.place} in {seconds:.1f} s{details}")
