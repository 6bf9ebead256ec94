"""The embedded index: one PISA index per field, in a folder; it needs no server and no JVM."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from retrieval._links import Link, link_between
from retrieval._server import close_connections
from retrieval.index._build import build, postings_of
from retrieval.index.analyser import TOPICS, check_field
from retrieval.index.engine import Engine, pisa_is_here
from retrieval.index.parts import ABOUT, verify_parts
from retrieval.index.postings import Postings, search_all
from retrieval.index.statements import STATEMENTS, Statements
from retrieval.index.store import ANNOTATIONS, DENSE, Store, digest, read_manifest, verify
from touche_rad import session
from touche_rad.debate import Argument, Hit
from touche_rad.demo import DEMO, open_demo
from touche_rad.errors import OptionError, UserError, nearest
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import refuse_links
from touche_rad.plugins import (
    Annotations,
    Annotator,
    ArgumentIndex,
    IndexBackend,
    Meaning,
    VectorsWanted,
)
from touche_rad.plugins.contracts import Of, Progress
from touche_rad.text import digest_of_text

if TYPE_CHECKING:
    from retrieval.dense.encoders import Vectors
    from retrieval.dense.vectors import DenseVectors


class PisaIndexes(IndexBackend):
    """The embedded index (PISA): a folder, or `demo`, the bundled demo collection."""

    for_paths = True

    def open(self, location: str) -> ArgumentIndex:
        """Open the index in a folder, or the demo collection."""
        return open_demo() if location == DEMO else PisaArguments(Path(location))

    def verify(self, location: str) -> None:
        """Compare the checksums of all files, which takes longer than opening them."""
        if location != DEMO:
            verify(Path(location), read_manifest(Path(location)).checksums)
            verify_parts(Path(location))

    def holds(self, location: str, of: Iterable[Argument]) -> bool:
        """Whether the folder is an index of this version with exactly these arguments."""
        try:
            return read_manifest(Path(location)).collection == digest(of)
        except UserError:
            return False

    def build(self, arguments: Iterable[Argument], location: str, *, replace: bool = False) -> int:
        """Build an index; the folder appears only when it is complete."""
        if location == DEMO:
            raise UserError(f"{DEMO} is the name of the demo collection: choose another folder")
        return build(arguments, location, replace=replace)

    def check_vectors(self, wanted: VectorsWanted) -> None:
        """Load the encoder, which may need an extra."""
        from retrieval.dense.search import loaded

        loaded(wanted.encoder)

    def add_vectors(
        self, location: str, wanted: VectorsWanted, *, of: Of = None, report: Progress | None = None
    ) -> int:
        """Encode the arguments of an index; a killed run is resumed."""
        from retrieval.dense.search import loaded
        from retrieval.dense.vectors import add_vectors

        collection = _collection(location, of)
        return add_vectors(Path(location), collection, loaded(wanted.encoder), wanted, report)

    def annotate(
        self, location: str, annotator: Annotator, *, of: Of = None, report: Progress | None = None
    ) -> int:
        """Annotate the arguments of an index; a killed run is resumed."""
        from retrieval.index.annotations import annotate

        collection = _collection(location, of)
        return session.run(partial(annotate, Path(location), collection, annotator, report=report))


class PisaArguments(ArgumentIndex):
    """An opened index; threads and processes can share it."""

    def __init__(self, folder: Path) -> None:
        self.manifest = read_manifest(folder)
        self.folder = folder
        self._store = Store(folder)
        self._engines: dict[str, Engine | Postings] = {}
        is_pisa = self.manifest.engine == "pisa"
        if is_pisa and not pisa_is_here():
            self._engines.update(postings_of(self._store))
            return
        for field in self.manifest.fields.keys() - {TOPICS}:
            path = folder / field
            self._engines[field] = Engine(path) if is_pisa else Postings.read(path, len(self))

    @property
    def fingerprint(self) -> str:
        """A digest of the content."""
        return self.manifest.collection[:16]

    # The index has no connections of its own; these are to the servers of encoders and rerankers.
    close = staticmethod(close_connections)

    def __len__(self) -> int:
        return len(self._store)

    def get(self, argument_id: str) -> Argument | None:
        """Return the argument with this id, or None."""
        number = self._store.number(argument_id)
        return None if number is None else self._store.at(number)

    def arguments(self) -> Iterator[Argument]:
        """Yield every argument, in the order of the collection."""
        return iter(self._store)

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search many queries; equal scores are sorted by id."""
        check_field(field)
        if field not in self._engines and field in self.manifest.fields:
            # Postings are opened by the first search; the folder may have another index by now.
            verify(self.folder, self.manifest.checksums, f"{field}/")
            self._engines[field] = Postings.read(self.folder / field, len(self))
        engine = self._engines.get(field)
        if not engine or k <= 0:
            return [[] for _ in queries]
        return search_all(engine, self._store.at, field, queries, k)

    def links(self, argument_id: str) -> list[Link]:
        """Return the arguments that share a statement with this one."""
        number = self._store.number(argument_id)
        if number is None:
            return []
        argument = self._store.at(number)
        return [
            link_between(argument, from_role, self._store.at(linked), to_role)
            for from_role, to_role, linked in self._statements.linked(number)
        ]

    @cached_property
    def _statements(self) -> Statements:
        return Statements(self.folder / STATEMENTS)

    @cached_property
    def _vectors(self) -> dict[str, DenseVectors]:
        if not (self.folder / DENSE).is_dir():
            return {}
        from retrieval.dense.vectors import open_vectors

        return open_vectors(self.folder, self.manifest.collection)

    @property
    def vectors(self) -> Mapping[str, str]:
        """A digest of the vectors by the folder of each encoder, and the variables it needs."""
        digests = {
            about.parent.name: sha256_of(about)[:16]
            for about in sorted((self.folder / DENSE).glob(f"*/{ABOUT}"))
        }
        if not digests:
            return {}
        from retrieval.dense.encoders import TRUST, VARIABLE

        for variable in (TRUST, VARIABLE):
            text = os.environ.get(variable)
            if text:  # an address may be private
                digests[variable] = digest_of_text(text, 16)
        return digests

    @property
    def encoders(self) -> Sequence[str]:
        """The encoders whose vectors the index has."""
        return list(self._vectors)

    @cached_property
    def meaning(self) -> Meaning | None:
        """Similarity by vectors, if the index has any and their encoder loads."""
        if not self._vectors:
            return None
        from retrieval.dense.search import vector_meaning

        return vector_meaning(
            self, {encoder: vectors.about.fields for encoder, vectors in self._vectors.items()}
        )

    @cached_property
    def annotations(self) -> Mapping[str, Annotations]:
        """The annotations of the arguments, by name."""
        from retrieval.index.annotations import open_annotations

        return open_annotations(self.folder, self.manifest.collection, self._store.number)

    def nearest(
        self, encoder: str, field: str, queries: Vectors, k: int
    ) -> list[list[tuple[str, float]]]:
        """Return each query's nearest arguments' ids with the cosines."""
        id_at = self._store.id_at
        results = self._vectors_by(encoder).nearest(field, queries, k)
        return [[(id_at(number), score) for score, number in hits] for hits in results]

    def likeness(
        self, encoder: str, field: str, queries: Vectors, ids: Sequence[str]
    ) -> list[list[float]]:
        """Return the cosine of each query with each argument; 0 if it has no such text."""
        numbers: list[int] = []
        for id_ in ids:
            number = self._store.number(id_)
            if number is None:
                raise KeyError("an argument is not in the index")
            numbers.append(number)
        likeness = self._vectors_by(encoder).likeness(field, queries, numbers)
        cosines: list[list[float]] = likeness.tolist()
        return cosines

    def _vectors_by(self, encoder: str) -> DenseVectors:
        if encoder not in self._vectors:
            raise OptionError(f"no vectors by {encoder!r}{nearest(encoder, self._vectors)}")
        return self._vectors[encoder]


def _collection(location: str, of: Of) -> str:
    """Return the digest of the arguments of an index that gets more parts.

    Raises:
        UserError: The arguments are not those of `of`, or a part is a link.
    """
    folder = Path(location)
    collection = read_manifest(folder).collection
    for parts in (DENSE, ANNOTATIONS):
        refuse_links(folder / parts)
    if of is not None and digest(of) != collection:
        raise UserError(f"{location} contains other arguments: build it again with --replace")
    return collection
