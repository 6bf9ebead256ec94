"""The embedded index: PISA, one inverted index a field, in a folder on disk; no JVM, no server."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyterrier as pt

from retrieval.analyser import LONGEST_QUERY, STEMMER, analyse, tokens
from retrieval.manifest import read_manifest, write_manifest
from retrieval.store import Store, write_store
from touche_rad.debate import Argument, Hit
from touche_rad.errors import OptionError, UserError, WorkError, nearest
from touche_rad.plugins import Options, Services

FIELDS = ("text", "attacks", "supports")
_SLACK = 10
_silence = threading.Lock()


class PisaIndexes:
    """The embedded index (PISA): a folder on this disk."""

    def __init__(self, options: Options, services: Services) -> None:
        pass

    def accepts(self, location: str) -> bool:
        """Whether this is a folder's path and no address."""
        return "://" not in location and not location.startswith("elasticsearch:")

    def open(self, location: str) -> PisaArguments:
        """Open the index in a folder."""
        return PisaArguments(Path(location))

    def build(self, arguments: Iterable[Argument], location: str, *, replace: bool = False) -> int:
        """Make an index; it stands there whole or not at all."""
        target = Path(location)
        if target.exists() and not replace:
            raise UserError(f"{target} is there already: --replace makes it anew")
        if target.exists() and not (target / "manifest.json").is_file() and any(target.iterdir()):
            raise UserError(f"{target} is no index: it is not replaced")
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            count = _build(arguments, folder)
            folder.chmod(0o755)
            if target.exists():
                shutil.rmtree(target)
            folder.rename(target)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return count


def _build(arguments: Iterable[Argument], folder: Path) -> int:
    collection, count = write_store(arguments, folder)
    counts = {field: _build_field(Store(folder), field, folder / field) for field in FIELDS}
    write_manifest(folder, collection, count, counts)
    return count


def _build_field(store: Store, field: str, folder: Path) -> int:
    count = 0

    def documents() -> Iterator[dict[str, str]]:
        nonlocal count
        for argument in store:
            words = analyse(getattr(argument, field))
            if words:
                count += 1
                yield {"docno": argument.id, "text": words}

    if not any(tokens(getattr(argument, field)) for argument in store):
        return 0
    with _silent():
        index = _engine(folder)
        index.index(documents())
        # The first search writes the weights; made now, they need not be written where it is read.
        index.bm25(num_results=1).search("word")
    return count


def _engine(folder: Path) -> Any:
    from pyterrier_pisa import PisaIndex

    return PisaIndex(str(folder), stemmer=STEMMER, text_field="text", threads=1)


@contextmanager
def _silent() -> Iterator[None]:
    """Keep the engine's own printing off the terminal; it writes past Python's streams."""
    with _silence:
        kept = os.dup(1), os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            yield
        finally:
            for stream, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, stream)
                os.close(copy)
            os.close(nowhere)


class PisaArguments:
    """An opened index; any number of threads and processes may read it."""

    def __init__(self, folder: Path) -> None:
        self.manifest = read_manifest(folder)
        self.folder = folder
        self._store = Store(folder)
        self._engines = {
            field: _engine(folder / field) for field in FIELDS if self.manifest.fields.get(field)
        }

    @property
    def fingerprint(self) -> str:
        """What tells this index's content from another's."""
        return self.manifest.collection[:16]

    def __len__(self) -> int:
        return self.manifest.arguments

    def get(self, argument_id: str) -> Argument | None:
        """Return the argument with this id, or None."""
        return self._store.get(argument_id)

    def arguments(self) -> Iterator[Argument]:
        """Yield every argument, in the collection's order."""
        return iter(self._store)

    def search(self, field: str, query: str, k: int) -> list[Hit]:
        """Return the best `k` arguments by one field; as a batch of one, only quicker."""
        engine, words = self.pipeline(field, k).engine, _query(query)
        if engine is None or not words:
            return []
        found = engine.bm25(num_results=k + _SLACK).search(words)
        scored = zip(found["score"].tolist(), found["docno"].tolist(), strict=True)
        best = sorted(scored, key=lambda one: (-one[0], one[1]))[:k]
        return [self._hit(id_, score, rank, field) for rank, (score, id_) in enumerate(best)]

    def search_all(self, field: str, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search many queries at once; equal scores stand in the order of the ids."""
        numbers = [str(number) for number in range(len(queries))]
        asked = pd.DataFrame({"qid": numbers, "query": list(queries)}, dtype=object)
        hits: list[list[Hit]] = [[] for _ in queries]
        for row in self.pipeline(field, k).transform(asked).to_dict("records"):
            hit = self._hit(row["docno"], row["score"], row["rank"], field)
            hits[int(row["qid"])].append(hit)
        return hits

    def _hit(self, argument_id: str, score: float, rank: int, field: str) -> Hit:
        argument = self.get(argument_id)
        if argument is None:
            raise WorkError(f"{self.folder}: the index is damaged: {argument_id!r} is not in it")
        return Hit(argument=argument, score=score, rank=rank, path=(field,))

    def pipeline(self, field: str, k: int) -> FieldSearch:
        """Return the search of one field as a PyTerrier transformer."""
        if field not in FIELDS:
            raise OptionError(f"there is no field {field!r}{nearest(field, FIELDS)}")
        return FieldSearch(self._engines.get(field), field, k)


class FieldSearch(pt.Transformer):
    """BM25 over one field: queries in, ranked documents out."""

    def __init__(self, engine: Any, field: str, k: int) -> None:
        super().__init__()
        self.engine = engine
        self.field = field
        self.k = k

    def transform(self, inp: Any) -> Any:
        """Search each query; further columns of the queries are kept."""
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        rows = inp.reset_index(drop=True)
        asked = pd.DataFrame({"qid": rows.index.astype(str), "query": rows["query"].map(_query)})
        asked = asked[asked["query"] != ""]
        if self.engine is None or asked.empty:
            return self._joined(rows, pd.DataFrame(columns=["row", "docno", "score", "rank"]))
        found = self.engine.bm25(num_results=self.k + _SLACK)(asked)
        found = found.assign(row=found["qid"].astype(int))[["row", "docno", "score"]]
        found = found.sort_values(["row", "score", "docno"], ascending=[True, False, True])
        found = found.assign(rank=found.groupby("row").cumcount())
        return self._joined(rows, found[found["rank"] < self.k])

    def _joined(self, rows: Any, found: Any) -> Any:
        kept = rows.drop(columns=["docno", "score", "rank"], errors="ignore")
        merged = found.astype({"row": int}).merge(kept, left_on="row", right_index=True)
        typed = merged.astype({"docno": str, "score": float, "rank": int})
        return typed[[*kept.columns, "docno", "score", "rank"]].reset_index(drop=True)


def _query(text: str) -> str:
    return " ".join(tokens(str(text))[:LONGEST_QUERY])
