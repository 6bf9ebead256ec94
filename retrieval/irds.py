"""The collections as ir_datasets; importing this module registers them.

An entry point imports it with `import pyterrier`; for ir_datasets alone, import it yourself.

`touche-rad/demo` is the bundled collection, and `touche-rad/claimrev` reads the file that the
environment variable TOUCHE_RAD_CLAIMREV names. Their topics are the claims of the arguments: an
argument that attacks the claim has relevance 2, one that supports it 1. Both have the test
collections of `retrieval.tasks`, such as `touche-rad/demo/counter/orig/test`; the ten claims for
debates are `touche-rad/demo/claims`. In PyTerrier the names start with `irds:`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
import pyterrier as pt
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericQuery, TrecQrel
from ir_datasets.indices import Docstore

from retrieval.tasks import Task, Topic, every, topics
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.demo import demo_file
from touche_rad.errors import UserError

VARIABLE = "TOUCHE_RAD_CLAIMREV"


class ArgumentDoc(NamedTuple):
    """An argument as a document."""

    doc_id: str
    text: str
    attacks: str
    supports: str
    topic: str
    tags: tuple[str, ...]
    references: tuple[str, ...]
    original: str

    def default_text(self) -> str:
        """Return topic and text, without the claims."""
        return f"{self.topic} {self.text}".strip()


class _Store(Docstore):
    def __init__(self, docs: ArgumentDocs) -> None:
        super().__init__(ArgumentDoc, "doc_id")
        self._docs = docs

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[ArgumentDoc]:
        known = self._docs.by_id()
        return (known[doc_id] for doc_id in doc_ids if doc_id in known)


class _Docs(Iterator[ArgumentDoc]):
    """The documents in order; slices are read without loading all documents."""

    def __init__(self, arguments: Callable[[], Iterator[Argument]]) -> None:
        self._read = arguments
        self._left = map(_doc, arguments())

    def __next__(self) -> ArgumentDoc:
        return next(self._left)

    def __getitem__(self, wanted: int | slice) -> ArgumentDoc | Iterator[ArgumentDoc]:
        docs = map(_doc, self._read())
        if isinstance(wanted, slice):
            bounds = (wanted.start, wanted.stop, wanted.step)
            if any(bound is not None and bound < 0 for bound in bounds):
                return iter(list(docs)[wanted])
            return islice(docs, *bounds)
        return list(docs)[wanted]


class ArgumentDocs(BaseDocs):
    """A collection's arguments."""

    def __init__(self, source: Callable[[], Path]) -> None:
        self._source = source
        self._known: tuple[Path, dict[str, ArgumentDoc]] | None = None

    def arguments(self) -> Iterator[Argument]:
        """Read the collection."""
        return files.read_arguments(self._source())

    def docs_iter(self) -> Iterator[ArgumentDoc]:
        """Yield each argument; slices such as `docs_iter()[10:20]` work too."""
        return _Docs(self.arguments)

    def by_id(self) -> dict[str, ArgumentDoc]:
        """Return all arguments by id; the file is read once."""
        place = self._source()
        if self._known is None or self._known[0] != place:
            self._known = place, {doc.doc_id: doc for doc in self.docs_iter()}
        return self._known[1]

    def docs_cls(self) -> type[ArgumentDoc]:
        """Return the documents' type."""
        return ArgumentDoc

    def docs_store(self, **_: Any) -> _Store:
        """Return the documents by id."""
        return _Store(self)

    def docs_count(self) -> int:
        """Count the documents."""
        return len(self.by_id())

    def docs_namespace(self) -> str:
        """Name the collection's ids."""
        return "touche-rad"

    def docs_lang(self) -> str:
        """Return the language."""
        return "en"


class ClaimQueries(BaseQueries):
    """Queries with their ids."""

    def __init__(self, read: Callable[[], Iterator[tuple[str, str]]]) -> None:
        self._read = read

    def queries_iter(self) -> Iterator[GenericQuery]:
        """Yield each query."""
        return (GenericQuery(qid, text) for qid, text in self._read())

    def queries_cls(self) -> type[GenericQuery]:
        """Return the queries' type."""
        return GenericQuery

    def queries_namespace(self) -> str:
        """Name the queries' ids."""
        return "touche-rad"

    def queries_lang(self) -> str:
        """Return the language."""
        return "en"


class TaskQrels(BaseQrels):
    """The relevance judgements of a test collection derived from the collection."""

    def __init__(self, docs: ArgumentDocs, of: Task) -> None:
        self._docs = docs
        self._task = of

    def queries(self) -> Iterator[tuple[str, str]]:
        """Yield the queries."""
        return ((topic.qid, topic.query) for topic in self._topics())

    def qrels_iter(self) -> Iterator[TrecQrel]:
        """Yield each judgement."""
        for topic in self._topics():
            for name in topic.relevant:
                yield TrecQrel(topic.qid, name, 1, "0")

    def qrels_cls(self) -> type[TrecQrel]:
        """Return the judgements' type."""
        return TrecQrel

    def qrels_defs(self) -> dict[int, str]:
        """Describe the relevance levels."""
        return {1: f"relevant by the fields of the collection ({self._task.kind})"}

    def _topics(self) -> list[Topic]:
        return topics(self._docs.arguments(), self._task)


AGAINST, FOR = 2, 1
"""Relevance of an argument that attacks the claim, and of one that supports it."""


class ClaimQrels(BaseQrels):
    """All claims of a collection, and the arguments that attack or support them."""

    def __init__(self, docs: ArgumentDocs) -> None:
        self._docs = docs

    def queries(self) -> Iterator[tuple[str, str]]:
        """Yield each claim once."""
        return ((qid, claim) for qid, claim, _ in self._claims())

    def qrels_iter(self) -> Iterator[TrecQrel]:
        """Yield each judgement."""
        for qid, _, levels in self._claims():
            for name, level in levels.items():
                yield TrecQrel(qid, name, level, "0")

    def qrels_cls(self) -> type[TrecQrel]:
        """Return the judgements' type."""
        return TrecQrel

    def qrels_defs(self) -> dict[int, str]:
        """Describe the relevance levels."""
        return {AGAINST: "attacks the claim", FOR: "supports the claim"}

    def _claims(self) -> Iterator[tuple[str, str, Mapping[str, int]]]:
        """Return id, text and relevant arguments of each claim, in the collection's order."""
        found: dict[str, tuple[str, dict[str, int]]] = {}
        for argument in self._docs.arguments():
            for field, level in (("attacks", AGAINST), ("supports", FOR)):
                claim = getattr(argument, field)
                if claim.strip():
                    _, levels = found.setdefault(claim, (f"{field}-{argument.id}", {}))
                    levels[argument.id] = level
        return ((qid, claim, levels) for claim, (qid, levels) in found.items())


class ClaimDoc(NamedTuple):
    """One of the two claims of an argument."""

    doc_id: str
    text: str

    def default_text(self) -> str:
        """Return the claim."""
        return self.text


class ClaimDocs(BaseDocs):
    """The claims that arguments attack and support: `ID:attacks` and `ID:supports`."""

    def __init__(self, docs: ArgumentDocs) -> None:
        self._docs = docs

    def docs_iter(self) -> Iterator[ClaimDoc]:
        """Yield both claims of each argument."""
        for argument in self._docs.arguments():
            for name in ("attacks", "supports"):
                yield ClaimDoc(f"{argument.id}:{name}", getattr(argument, name))

    def docs_cls(self) -> type[ClaimDoc]:
        """Return the documents' type."""
        return ClaimDoc

    def docs_count(self) -> int:
        """Count the documents."""
        return 2 * self._docs.docs_count()

    def docs_namespace(self) -> str:
        """Name the claims' ids."""
        return "touche-rad-claims"

    def docs_lang(self) -> str:
        """Return the language."""
        return "en"


def _doc(argument: Argument) -> ArgumentDoc:
    return ArgumentDoc(
        argument.id,
        argument.text,
        argument.attacks,
        argument.supports,
        argument.topic,
        argument.tags,
        argument.references,
        argument.original or "",
    )


def register(name: str, source: Callable[[], Path]) -> None:
    """Register a collection as `touche-rad/NAME`, with its test collections."""
    docs = ArgumentDocs(source)
    whole = ClaimQrels(docs)
    _register(f"touche-rad/{name}", Dataset(docs, ClaimQueries(whole.queries), whole))
    claims = ClaimDocs(docs)
    for one in every():
        qrels = TaskQrels(docs, one)
        shown = claims if one.kind == "stance" else docs
        dataset = Dataset(shown, ClaimQueries(qrels.queries), qrels)
        _register(f"touche-rad/{name}/{one.name}", dataset)


def _register(name: str, dataset: Any) -> None:
    if name not in ir_datasets.registry:
        ir_datasets.registry.register(name, dataset)


_named: list[Path] = []


def register_claimrev(path: str | Path) -> None:
    """Set the file that `touche-rad/claimrev` reads; this overrides the environment variable."""
    _named[:] = [Path(path)]


def _claimrev() -> Path:
    place = _named[0] if _named else os.environ.get(VARIABLE)
    if not place:
        raise UserError(
            f"touche-rad/claimrev: set {VARIABLE} to the collection's JSONL file"
            " (or call retrieval.irds.register_claimrev)"
        )
    return Path(place)


def _demo_claims() -> Iterator[tuple[str, str]]:
    return ((one.id, one.claim) for one in files.read_claims(demo_file("claims.tsv")))


register("demo", lambda: demo_file("arguments.jsonl"))
register("claimrev", _claimrev)
_register("touche-rad/demo/claims", Dataset(ClaimQueries(_demo_claims)))


class ArgumentDatasets(pt.datasets.DatasetProvider):
    """The collections by PyTerrier's names: `pt.get_dataset("touche-rad:demo")`."""

    def get_dataset(self, name: str) -> Any:
        """Return a collection, without `touche-rad/` in its name."""
        return pt.get_dataset(f"irds:touche-rad/{name}")

    def list_dataset_names(self) -> list[str]:
        """Name the collections."""
        kinds = ("", *(f"/{one.name}" for one in every()))
        return [f"{name}{kind}" for name in ("demo", "claimrev") for kind in kinds]
