"""Public collections, queries and qrels by their names in ir_datasets, such as `irds:beir/arguana`.

ir_datasets downloads what it does not have yet. A document of args.me supports or attacks its
conclusion, as its stance says; other documents have a text, and a title as their topic.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from touche_rad.debate import Argument
from touche_rad.demo import cached_index
from touche_rad.errors import UserError, WorkError, nearest
from touche_rad.events import log
from touche_rad.plugins import ArgumentIndex, IndexBackend

if TYPE_CHECKING:
    from ir_datasets import Dataset


class IrdsIndexes(IndexBackend):
    """A collection of ir_datasets, `irds:NAME`; its index is built once, in the user's cache."""

    needs = ("module:ir_datasets",)

    def open(self, location: str) -> ArgumentIndex:
        """Open the index of a collection; the first call builds it."""
        docs = _dataset(location, "docs").docs_handler()
        content = location.encode()
        if location.startswith("irds:touche-rad/"):  # made of a file, which may change
            content += docs.docs_path().read_bytes()
        name = f"irds/{hashlib.sha256(content).hexdigest()[:12]}"
        return cached_index(name, lambda: self._arguments_to_index(location))

    def _arguments_to_index(self, location: str) -> Iterator[Argument]:
        log.warning("%s: its index is built, once", location)
        return self.arguments(location)

    def arguments(self, location: str) -> Iterator[Argument]:
        """Yield the documents of a collection as arguments."""
        return map(_argument, _read(location, "docs"))

    def queries(self, location: str) -> Iterator[tuple[str, str]]:
        """Yield the ids and texts of the queries."""
        return ((query.query_id, query.default_text()) for query in _read(location, "queries"))

    def qrels(self, location: str) -> Iterator[tuple[str, str, int]]:
        """Yield the id of a query, the id of a document, and its relevance."""
        return ((qrel.query_id, qrel.doc_id, qrel.relevance) for qrel in _read(location, "qrels"))

    def exists(self, location: str) -> bool:
        """Whether it cannot be written; no collection can."""
        raise UserError(f"{location} is a collection of ir_datasets: write the index elsewhere")


def _read(location: str, part: str) -> Iterator[Any]:
    """Yield the docs, queries or qrels of a dataset."""
    rows: Iterable[object] = getattr(_dataset(location, part), f"{part}_iter")()
    try:
        yield from rows
    except (OSError, RuntimeError) as error:  # mostly a download
        reason = str(error).partition("\n")[0]
        raise WorkError(f"{location}: ir_datasets cannot read its {part}: {reason}") from error


def _dataset(location: str, part: str) -> Dataset:
    """Return the dataset of a name, which must have the part docs, queries or qrels."""
    import ir_datasets

    import retrieval.irds  # noqa: F401, registers ours

    name = location.removeprefix("irds:")
    try:
        dataset: Dataset = ir_datasets.load(name)
    except KeyError:
        hint = nearest(name, ir_datasets.registry, otherwise="")
        raise UserError(f"{location}: ir_datasets has no dataset {name!r}{hint}") from None
    if not dataset.has(ir_datasets.EntityType(part)):
        raise UserError(f"{location}: the dataset {name!r} of ir_datasets has no {part}")
    return dataset


def _argument(doc: Any) -> Argument:
    fields = doc._asdict()
    if "supports" in fields:
        original = fields.pop("original") or None
        return Argument(id=fields.pop("doc_id"), original=original, **fields)
    if "premises_texts" in fields:
        against = any(premise.stance.name == "CON" for premise in doc.premises)
        claim = {"attacks" if against else "supports": doc.conclusion}
        return Argument(id=doc.doc_id, text=doc.premises_texts, topic=doc.topic, **claim)
    text = fields.get("text") or doc.default_text()
    return Argument(id=doc.doc_id, text=text, topic=fields.get("title") or "")
