"""The collections as ir_datasets; importing this module registers them.

An entry point imports it with `import pyterrier`; for ir_datasets alone, import it yourself.

`touche-rad/demo` is the bundled collection, and `touche-rad/claimrev` reads the file that the
environment variable TOUCHE_RAD_CLAIMREV names. Their topics are the claims of the arguments: an
argument that attacks the claim has relevance 2, one that supports it 1. Both have the test
collections of `retrieval._tasks`, such as `touche-rad/demo/counter/orig/test`; the ten claims for
debates are `touche-rad/demo/claims`. In PyTerrier the names start with `irds:`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
import pyterrier as pt
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericQuery, TrecQrel
from ir_datasets.indices import Docstore

from retrieval._tasks import Task, every, topics
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


Judged = tuple[str, str, Mapping[str, int]]
"""ID and text of a query, and its relevant documents with their levels."""


class ClaimDoc(NamedTuple):
    """One of the two claims of an argument: `ID:attacks` or `ID:supports`."""

    doc_id: str
    text: str

    def default_text(self) -> str:
        """Return the claim."""
        return self.text


class _Sliced(list[Any]):
    """Documents in order; ir_datasets takes slices of them such as `docs_iter()[10:20]`."""

    def __init__(self, docs: Iterable[Any]) -> None:
        super().__init__(docs)
        self._next = iter(self).__next__

    def __next__(self) -> Any:
        return self._next()


class _Store(Docstore):
    def __init__(self, cls: type, docs: Iterable[Any]) -> None:
        super().__init__(cls, "doc_id")
        self._known = {doc.doc_id: doc for doc in docs}

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[Any]:
        return (self._known[doc_id] for doc_id in doc_ids if doc_id in self._known)


class _Docs(BaseDocs):
    """The arguments of a collection, or their claims."""

    def __init__(self, cls: type, read: Callable[[], Iterable[Any]]) -> None:
        self._cls = cls
        self._read = read

    def docs_iter(self) -> _Sliced:
        return _Sliced(self._read())

    def docs_cls(self) -> type:
        return self._cls

    def docs_store(self, **_: Any) -> _Store:
        return _Store(self._cls, self._read())

    def docs_count(self) -> int:
        return sum(1 for _ in self._read())

    def docs_lang(self) -> str:
        return "en"


class _Queries(BaseQueries):
    def __init__(self, read: Callable[[], Iterable[Judged]]) -> None:
        self._read = read

    def queries_iter(self) -> Iterator[GenericQuery]:
        return (GenericQuery(qid, text) for qid, text, _ in self._read())

    def queries_cls(self) -> type[GenericQuery]:
        return GenericQuery

    def queries_lang(self) -> str:
        return "en"


class _Qrels(BaseQrels):
    def __init__(self, read: Callable[[], Iterable[Judged]], levels: dict[int, str]) -> None:
        self._read = read
        self._levels = levels

    def qrels_iter(self) -> Iterator[TrecQrel]:
        for qid, _, relevant in self._read():
            for name, level in relevant.items():
                yield TrecQrel(qid, name, level, "0")

    def qrels_cls(self) -> type[TrecQrel]:
        return TrecQrel

    def qrels_defs(self) -> dict[int, str]:
        return self._levels


AGAINST, FOR = 2, 1
"""Relevance of an argument that attacks the claim, and of one that supports it."""


@lru_cache(2)
def _arguments(path: Path) -> list[Argument]:
    return list(files.read_arguments(path))


def _doc(argument: Argument) -> ArgumentDoc:
    fields = [getattr(argument, name) for name in ArgumentDoc._fields[1:-1]]
    return ArgumentDoc._make([argument.id, *fields, argument.original or ""])


def _claim_docs(arguments: Iterable[Argument]) -> Iterator[ClaimDoc]:
    for argument in arguments:
        for name in ("attacks", "supports"):
            yield ClaimDoc(f"{argument.id}:{name}", getattr(argument, name))


def _claims(arguments: Iterable[Argument]) -> Iterator[Judged]:
    """Return all claims, and the arguments that attack or support them."""
    claims: dict[str, tuple[str, dict[str, int]]] = {}
    for argument in arguments:
        for field, level in (("attacks", AGAINST), ("supports", FOR)):
            claim = getattr(argument, field)
            if claim.strip():
                _, levels = claims.setdefault(claim, (f"{field}-{argument.id}", {}))
                levels[argument.id] = level
    return ((qid, claim, levels) for claim, (qid, levels) in claims.items())


def _topics(source: Callable[[], Path], task: Task) -> Iterator[Judged]:
    for one in topics(_arguments(source()), task):
        yield one.qid, one.query, dict.fromkeys(one.relevant, 1)


def register(name: str, source: Callable[[], Path]) -> None:
    """Register a collection as `touche-rad/NAME`, with its test collections."""
    docs = _Docs(ArgumentDoc, lambda: map(_doc, _arguments(source())))
    claim_docs = _Docs(ClaimDoc, lambda: _claim_docs(_arguments(source())))

    def add(path: str, documents: _Docs, read: Callable[[], Iterable[Judged]], levels: Any) -> None:
        _register(path, Dataset(documents, _Queries(read), _Qrels(read, levels)))

    levels = {AGAINST: "attacks the claim", FOR: "supports the claim"}
    add(f"touche-rad/{name}", docs, lambda: _claims(_arguments(source())), levels)
    for one in every():
        documents = claim_docs if one.kind == "stance" else docs
        levels = {1: f"relevant by the fields of the collection ({one.kind})"}
        read = partial(_topics, source, one)
        add(f"touche-rad/{name}/{one.name}", documents, read, levels)


def _register(name: str, dataset: Any) -> None:
    if name not in ir_datasets.registry:
        ir_datasets.registry.register(name, dataset)


def _claimrev() -> Path:
    place = os.environ.get(VARIABLE)
    if not place:
        raise UserError(f"touche-rad/claimrev: set {VARIABLE} to the collection's JSONL file")
    return Path(place)


def _demo_claims() -> Iterator[Judged]:
    return ((one.id, one.claim, {}) for one in files.read_claims(demo_file("claims.tsv")))


register("demo", lambda: demo_file("arguments.jsonl"))
register("claimrev", _claimrev)
_register("touche-rad/demo/claims", Dataset(_Queries(_demo_claims)))


class ArgumentDatasets(pt.datasets.DatasetProvider):
    """The collections by PyTerrier's names: `pt.get_dataset("touche-rad:demo")`."""

    def get_dataset(self, name: str) -> Any:
        """Return a collection, without `touche-rad/` in its name."""
        return pt.get_dataset(f"irds:touche-rad/{name}")

    def list_dataset_names(self) -> list[str]:
        """Name the collections."""
        kinds = ("", *(f"/{one.name}" for one in every()))
        return [f"{name}{kind}" for name in ("demo", "claimrev") for kind in kinds]
