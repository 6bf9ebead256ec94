"""The collections as ir_datasets; importing this module registers them.

`touche-rad/demo` is the bundled collection, and `touche-rad/claimrev` reads the file that the
environment variable TOUCHE_RAD_CLAIMREV names. Both have the test collections of `_tasks`. In
PyTerrier, which imports this module by an entry point, the names start with `irds:`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import ir_datasets
from ir_datasets.datasets.base import Dataset
from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericQrel, GenericQuery
from ir_datasets.indices import Docstore

from retrieval._tasks import RetrievalTask, all_tasks, topics
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.demo import demo_file
from touche_rad.errors import UserError
from touche_rad.frozen import frozen

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


JudgedQuery = tuple[str, str, Mapping[str, int]]
"""ID and text of a query, and its relevant documents with their levels."""


@frozen
class _Docs(BaseDocs):
    """The arguments of a collection."""

    docs_path: Callable[[], Path]

    def docs_iter(self) -> _Sliced:
        return _Sliced(map(_doc, _arguments(self.docs_path())))

    def docs_cls(self) -> type:
        return ArgumentDoc

    def docs_store(self, **_: object) -> _Store:
        return _Store(self.docs_iter())

    def docs_count(self) -> int:
        return len(_arguments(self.docs_path()))


class _Sliced(list[Any]):
    """Documents in order; ir_datasets takes slices of them such as `docs_iter()[10:20]`."""

    def __init__(self, docs: Iterable[object]) -> None:
        super().__init__(docs)
        self._next = iter(self).__next__

    def __next__(self) -> object:
        return self._next()


class _Store(Docstore):
    def __init__(self, docs: Iterable[ArgumentDoc]) -> None:
        super().__init__(ArgumentDoc, "doc_id")
        self._known = {doc.doc_id: doc for doc in docs}

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[object]:
        return (self._known[doc_id] for doc_id in doc_ids if doc_id in self._known)


@frozen
class _JudgedQueries(BaseQueries, BaseQrels):
    """Queries with their relevant documents."""

    read: Callable[[], Iterable[JudgedQuery]]
    levels: Mapping[int, str]

    def queries_iter(self) -> Iterator[GenericQuery]:
        return (GenericQuery(qid, text) for qid, text, _ in self.read())

    def qrels_iter(self) -> Iterator[GenericQrel]:
        for qid, _, relevant in self.read():
            for doc_id, level in relevant.items():
                yield GenericQrel(qid, doc_id, level)

    def qrels_defs(self) -> Mapping[int, str]:
        return self.levels


AGAINST: Final = 2
"""Relevance of an argument that attacks the claim."""
FOR: Final = 1
"""Relevance of an argument that supports the claim."""


@lru_cache(2)
def _arguments(path: Path) -> list[Argument]:
    return list(files.read_arguments(path))


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


def _claims(arguments: Iterable[Argument]) -> Iterator[JudgedQuery]:
    """Return all claims, and the arguments that attack or support them."""
    claims: dict[str, tuple[str, dict[str, int]]] = {}
    for argument in arguments:
        for field, level in (("attacks", AGAINST), ("supports", FOR)):
            claim = argument.text_of(field)
            if claim.strip():
                _, levels = claims.setdefault(claim, (f"{field}-{argument.id}", {}))
                levels[argument.id] = level
    return ((qid, claim, levels) for claim, (qid, levels) in claims.items())


def _topics(source: Callable[[], Path], task: RetrievalTask) -> Iterator[JudgedQuery]:
    for topic in topics(_arguments(source()), task):
        yield topic.qid, topic.query, dict.fromkeys(topic.relevant, 1)


def register(name: str, source: Callable[[], Path]) -> None:
    """Register a collection as `touche-rad/NAME`, with its test collections."""
    docs = _Docs(source)
    levels = {AGAINST: "attacks the claim", FOR: "supports the claim"}
    all_claims = _JudgedQueries(lambda: _claims(_arguments(source())), levels)
    _register(f"touche-rad/{name}", Dataset(docs, all_claims))
    for task in all_tasks():
        levels = {1: f"relevant by the fields of the collection ({task.kind})"}
        queries = _JudgedQueries(partial(_topics, source, task), levels)
        _register(f"touche-rad/{name}/{task.name}", Dataset(docs, queries))


def _register(name: str, dataset: object) -> None:
    if name not in ir_datasets.registry:
        ir_datasets.registry.register(name, dataset)


def _claimrev() -> Path:
    place = os.environ.get(VARIABLE)
    if not place:
        raise UserError(f"touche-rad/claimrev: set {VARIABLE} to the collection's JSONL file")
    return Path(place)


class _Queries(BaseQueries):
    """The ten claims for debates."""

    def queries_iter(self) -> Iterator[GenericQuery]:
        claims = files.read_claims(demo_file("claims.tsv"))
        return (GenericQuery(claim.id, claim.claim) for claim in claims)


register("demo", lambda: demo_file("arguments.jsonl"))
register("claimrev", _claimrev)
_register("touche-rad/demo/claims", Dataset(_Queries()))
