"""The steps of `touche-rad index`: words, vectors and memory, each with its progress."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from touche_rad import files
from touche_rad.cli.console import Progress, progress, say
from touche_rad.debate import Argument
from touche_rad.models.waiting import waited
from touche_rad.plugins import VectorsWanted, add_vectors, build_index, dump_index, keeps_memory
from touche_rad.schemes import Annotator
from touche_rad.transcripts import read_utterances

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

    def memory(self, annotator: Annotator, of: Path | None, *, only_cost: bool) -> None:
        """Say what the memory will cost and, unless that is all, make it."""
        home = keeps_memory(self.place)
        cost = home.cost_of_annotating(self.place, annotator)
        if cost.texts:
            say(f"to annotate {cost.told}", quiet=self.quiet and not only_cost)
        if only_cost:
            return
        begun = time.monotonic()
        try:
            with progress("annotating", quiet=self.quiet) as report:
                count = home.annotate(self.place, annotator, of=self._held(of), report=report)
        finally:
            waited(annotator.model.close())
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
