"""The command `index`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import Progress, next_step, progress, say
from touche_rad.errors import UserError

if TYPE_CHECKING:
    from touche_rad.debate import Argument
    from touche_rad.plugins import Annotator, IndexBackend, VectorsWanted

SERVER: Final = "elasticsearch:"
DENSE_FIELDS: Final = ("text", "attacks", "supports", "topic", "all")


@opt.command(
    "index",
    "index touche_rad/demo/arguments.jsonl -o index",
    "index touche_rad/demo/arguments.jsonl -o dense-index --dense minilm",
    "index elasticsearch:http://localhost:9200/arguments -o copy",
)
@click.argument("source", metavar="SOURCE")
@opt.options(
    opt.output("Index folder to write.", "DIR"),
    click.option(
        "--to",
        metavar="LOCATION",
        help="Write the index here instead: elasticsearch:URL/NAME, or a folder.",
    ),
    opt.plugin_options("index"),
    opt.flag("--replace", "Replace an existing index."),
    click.option(
        "--dense",
        metavar="ENCODER",
        help="Add vectors of this encoder: minilm, stella, openai:URL#MODEL, or a folder.",
    ),
    click.option(
        "--dense-field",
        "dense_fields",
        multiple=True,
        default=DENSE_FIELDS[:3],
        show_default=True,
        type=click.Choice(DENSE_FIELDS),
        help="Field to encode; repeatable.",
    ),
    click.option(
        "--dense-precision",
        type=click.Choice(["float16", "int8"]),
        default="float16",
        show_default=True,
        help="Number format of the vectors.",
    ),
    opt.flag(
        "--utterances",
        "Index the utterances of debates, not the cited arguments; SOURCE may be a .txt file.",
    ),
    opt.plugin(
        "--annotate", help="Add the annotations of this annotator, such as schemes; needs -m."
    ),
    opt.flag("--annotate-cost", "Print the cost of --annotate, and do not annotate."),
    *opt.MODEL_OPTIONS,
    opt.SEED,
    opt.SKIP_BAD,
    opt.QUIET,
)
def index_command(source: str, **given: Any) -> None:
    """Build an argument index from SOURCE.

    SOURCE is a collection (JSONL, optionally gzipped, with the fields id, text, attacks, supports,
    topic), a file of debates, whose cited arguments are indexed, or an index on a server
    (elasticsearch:URL/NAME), which is copied. A stopped command is resumed by the same command.
    """
    from touche_rad.plugins import VectorsWanted, index_backend_of

    place = given["to"] or given["output"]
    if place is None:
        raise UserError("index: give the index folder: -o DIR")
    options = given["options"].get("index", {})
    vectors = None
    if given["dense"]:
        fields = tuple(dict.fromkeys(given["dense_fields"]))
        vectors = VectorsWanted(given["dense"], fields, given["dense_precision"])
    annotator = _make_annotator(given)
    backend = index_backend_of(str(place), options)
    exists = backend.exists(str(place)) and not given["replace"]
    if vectors is not None:
        with progress(f"loading {vectors.encoder}", quiet=given["quiet"]):
            backend.check_vectors(vectors)
    builder = _Builder(source, str(place), given["utterances"], given["skip_bad"], given["quiet"])
    if exists and vectors is None and annotator is None:
        if not builder.is_built(backend):
            raise UserError(f"{place} exists already; replace it with --replace")
        say(f"{place} has these arguments already", quiet=given["quiet"])
        next_step(["retrieve", "--say", "TEXT", "-i", place], quiet=given["quiet"])
        return
    with builder.local_source(exists=exists) as path:
        if not exists and path is not None:
            builder.build(path, backend.build, replace=given["replace"])
        of = path if exists else None
        if vectors is not None:
            builder.add_vectors(vectors, of)
        if annotator is not None:
            builder.annotate(annotator, of, only_cost=given["annotate_cost"])
    if not given["annotate_cost"]:
        next_step(["retrieve", "--say", "TEXT", "-i", place], quiet=given["quiet"])


def _make_annotator(given: prepare.Given) -> Annotator | None:
    """Make the annotator of `--annotate`; the model is not started yet."""
    if given["annotate"] is None:
        if given["annotate_cost"]:
            raise UserError("--annotate-cost needs --annotate NAME")
        if given["model"]:
            say("note: -m is not used: only --annotate uses a model", quiet=given["quiet"])
        return None
    from touche_rad.plugins import Services
    from touche_rad.plugins.registry import A_MODEL

    if not prepare.names_model(given):
        raise UserError(f"index --annotate needs {A_MODEL}")
    annotator = prepare.select("annotator", given["annotate"])
    open_model = prepare.make_model if given["annotate_cost"] else prepare.open_model
    made: Annotator = annotator.make(Services(model=open_model(given)))
    return made


@dataclass
class _Builder:
    """Builds an index, or adds to it."""

    source: str
    place: str
    utterances: bool
    skip_bad: bool
    quiet: bool
    _state: str = ""

    @contextmanager
    def local_source(self, *, exists: bool) -> Iterator[Path | None]:
        """Yield the source as a file; an index on a server is copied to a file first.

        The copy remains until the index is complete, so that a stopped command can be resumed. If
        the index exists already, nothing is copied.
        """
        if not self.source.startswith(SERVER):
            yield Path(self.source)
            return
        if exists:
            yield None
            return
        from hashlib import sha256

        from touche_rad.plugins import index_backend_of

        local = ":" not in self.place
        target = Path(self.place) if local else Path(tempfile.gettempdir(), "touche-rad")
        digest = sha256(self.source.encode("utf-8", "replace")).hexdigest()[:8]
        copy = target.with_name(f".{target.name}.{digest}.dump.jsonl")
        if not copy.is_file():
            with progress("copying", quiet=self.quiet) as report:
                count = index_backend_of(self.source).dump(self.source, copy, report)
            say(f"copied {count} arguments from {self.source}", quiet=self.quiet)
        yield copy
        copy.unlink()

    def is_built(self, backend: IndexBackend) -> bool:
        """Whether the index has exactly the arguments of the source."""
        if self.source.startswith(SERVER):
            return False
        arguments = self._arguments(Path(self.source))
        return arguments is not None and backend.holds(self.place, arguments)

    def build(self, path: Path, build: Callable[..., int], *, replace: bool) -> None:
        """Build the inverted indexes."""
        from touche_rad import files

        start = time.monotonic()
        bad = files.BadLines(skip=self.skip_bad)
        with progress("indexing", quiet=self.quiet, describe=lambda: self._state) as report:
            total = None if self.quiet or self.utterances else files.count_arguments(path)
            arguments = self._report_each(self._read(path, bad), report, total)
            count = build(arguments, self.place, replace=replace)
        skipped = f", {bad.count} invalid lines skipped ({bad.first})" if bad.count else ""
        self._say(f"indexed {count} arguments in {self.place}", start, skipped)

    def add_vectors(self, vectors: VectorsWanted, of: Path | None) -> None:
        """Add vectors; `of` is the file of the arguments that the index must contain."""
        from touche_rad.plugins import add_vectors

        start = time.monotonic()
        with progress("encoding", quiet=self.quiet) as report:
            count = add_vectors(self.place, vectors, of=self._arguments(of), report=report)
        if count:
            self._say(f"encoded {count} texts by {vectors.encoder} in {self.place}", start)
        else:
            say(f"{self.place} has vectors by {vectors.encoder} already", quiet=self.quiet)

    def annotate(self, annotator: Annotator, of: Path | None, *, only_cost: bool) -> None:
        """Print the cost of the annotation and, unless `only_cost`, annotate."""
        from touche_rad.calls import run_sync
        from touche_rad.plugins import index_backend_of

        backend = index_backend_of(self.place)
        texts, letters = backend.left_to_annotate(self.place, annotator)
        if texts:
            cost = annotator.estimate(texts, letters)
            say(f"to annotate {cost}", quiet=self.quiet and not only_cost)
        if only_cost:
            return
        start = time.monotonic()
        try:
            with progress("annotating", quiet=self.quiet) as report:
                count = backend.annotate(
                    self.place, annotator, of=self._arguments(of), report=report
                )
        finally:
            run_sync(annotator.model.close())
        if not count:
            say(f"{self.place} is annotated already", quiet=self.quiet)
            return
        usage = annotator.model.usage.total
        self._say(
            f"annotated {count} arguments by {annotator.model.name} in {self.place}",
            start,
            f": {usage.calls} calls, {usage.from_cache} answers from the cache, "
            f"{usage.prompt_tokens + usage.completion_tokens:,} tokens",
        )

    def _report_each(
        self, arguments: Iterable[Argument], report: Progress, total: int | None
    ) -> Iterator[Argument]:
        """Yield the arguments and report the progress; the index is written after the last one."""
        done = 0
        report(done, total)
        for done, argument in enumerate(arguments, 1):
            yield argument
            if done % 1000 == 0 and done != total:
                report(done, total)
        self._state = "writing"
        report(done, None)

    def _arguments(self, of: Path | None) -> Iterable[Argument] | None:
        from touche_rad import files

        return self._read(of, files.BadLines(skip=self.skip_bad)) if of else None

    def _read(self, path: Path, bad: Any) -> Iterable[Argument]:
        from touche_rad import files
        from touche_rad.files.transcripts import read_utterances

        return read_utterances(path, bad) if self.utterances else files.read_arguments(path, bad)

    def _say(self, line: str, start: float, more: str = "") -> None:
        say(f"{line} in {time.monotonic() - start:.1f} s{more}", quiet=self.quiet)
