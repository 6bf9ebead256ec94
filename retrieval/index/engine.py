"""An inverted index of PISA, where its package is installed. One thread at a time searches."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from retrieval._arrays import Array

Scored = tuple[float, int]

# Two to three times as fast as an exhaustive search of all words at once, for short queries. In a
# long query no word can be left out, and one word after the other takes half to a quarter of the
# time. The order of the sums depends on both and on the depth, so equal documents get different
# last digits, which are rounded away.
_OF_SHORT_QUERIES = "maxscore"
_OF_LONG_QUERIES = "ranked_or_taat"
_LONG_QUERY = 40
"""Different words of a query for which both take the same time."""
_DIGITS = 5
# What `pyterrier_pisa` uses where nothing else is said.
_ENCODING = "block_simdbp"
_SCORER = "bm25"
K1 = 0.9
B = 0.4
LEAST_RARITY: Final = 1e-6
"""PISA's weight of a word that is in most documents."""
_SLACK = 4
"""Documents behind the last one that is wanted, to see whether it is equally good."""
_QUERIES_AT_ONCE = 512
_QUERIES_PER_THREAD = 16
_CPUS: Final = os.cpu_count() or 1
_OF_THE_BUILD: Final = ("fwd", "inv.docs", "inv.freqs")
"""Uncompressed files that the engine builds from and no search reads: over half of an index."""
_making = threading.Lock()


def pisa_is_here() -> bool:
    """Whether PISA is installed; it has wheels for x86-64 Linux only."""
    return find_spec("pyterrier_pisa") is not None


def rounded(scores: Array) -> Array:
    """Return scores with the digits that do not depend on the order of their sums."""
    unit = 10.0 ** (np.floor(np.log10(np.maximum(scores, 1e-30))) - (_DIGITS - 1))
    return np.round(scores / unit) * unit


def best_scored(scores: Array, numbers: Array, k: int) -> list[Scored]:
    """Return the `k` best scores with their numbers; equal scores are sorted by number."""
    order = np.lexsort((numbers, -scores))[:k]
    return list(zip(scores[order].tolist(), numbers[order].tolist(), strict=True))


def build_engine(folder: Path, documents: Iterable[tuple[int, str]]) -> None:
    """Index numbered documents of plain words in a new folder."""
    failures: list[Exception] = []

    def rows() -> Iterator[dict[str, str]]:
        try:
            for number, words in documents:
                yield {"docno": str(number), "text": words}
        except Exception as failure:
            failures.append(failure)

    with _alone():
        _index(folder).index(rows())
        if failures:  # which the engine's own thread drops
            raise failures[0]
        # The first search writes the weights: do it now, so that later searches only read.
        _index(folder).bm25(num_results=1)
        for name in _OF_THE_BUILD:
            (folder / name).unlink(missing_ok=True)


def _index(folder: Path) -> Any:
    """The analyser has removed stopwords; the engine's own list would remove negations too."""
    from pyterrier_pisa import PisaIndex, PisaStemmer, PisaStopwords

    return PisaIndex(
        str(folder),
        stemmer=PisaStemmer.none,
        text_field="text",
        stops=PisaStopwords.none,
        threads=1,
    )


@cache
def _native() -> Any:
    """Import the compiled engine without the package around it.

    The package imports PyTerrier, pandas and ir_datasets, which take most of the start of a
    process. If it is imported later, it uses the same module.
    """
    name = "pyterrier_pisa._pisathon"
    if name not in sys.modules:
        package = find_spec("pyterrier_pisa")
        places = package.submodule_search_locations if package else None
        spec = PathFinder.find_spec("_pisathon", places)
        if not spec or spec.origin is None:
            raise ImportError("pyterrier_pisa is not installed: pip install pyterrier-pisa")
        loader = ExtensionFileLoader(name, spec.origin)
        module = module_from_spec(ModuleSpec(name, loader, origin=spec.origin))
        loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name]


class Engine:
    """An opened inverted index; it can be shared by threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._context = _native().RetrievalContext()
        _native().prepare_index(
            self._context,
            str(folder),
            _ENCODING,
            _SCORER,
            "",
            quantize=0,
            stop_fname="",
            bm25_k1=K1,
            bm25_b=B,
        )
        self._lock = threading.Lock()

    def best(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        """Return the `k` best documents of each query; queries are plain words."""
        results: dict[int, list[Scored]] = {}
        depth = k + _SLACK
        waiting = list(range(len(queries)))
        while waiting:
            for start in range(0, len(waiting), _QUERIES_AT_ONCE):
                places = waiting[start : start + _QUERIES_AT_ONCE]
                with self._lock:
                    hits = self._retrieve([queries[place] for place in places], depth)
                for place, best in zip(places, hits, strict=True):
                    best.sort(key=lambda hit: (-hit[0], hit[1]))
                    # If the deepest hit is as good as hit k, equally good ones may be missing.
                    if len(best) < depth or best[k - 1][0] > best[-1][0]:
                        results[place] = best[:k]
            waiting = [place for place in waiting if place not in results]
            depth *= 4
        return [results[place] for place in range(len(queries))]

    def _retrieve(self, queries: Sequence[str], depth: int) -> list[list[Scored]]:
        """Return the hits of each query, in no order where scores are equal."""
        # Queries as words: the engine's own tokenizer never frees 600 bytes.
        short: list[tuple[int, dict[str, float]]] = []
        batches = [(_OF_SHORT_QUERIES, short)]
        for number, query in enumerate(queries):
            words = dict.fromkeys(query.split(), 1.0)
            if len(words) < _LONG_QUERY:
                short.append((number, words))
            else:  # alone: the threads of one call would add to the same scores
                batches.append((_OF_LONG_QUERIES, [(number, words)]))

        results: list[list[Scored]] = [[] for _ in queries]
        for algorithm, batch in batches:
            room = len(batch) * depth
            query_numbers = np.empty(room, dtype=np.int32)
            documents = np.empty(room, dtype=object)
            scores = np.empty(room, dtype=np.float32)
            size = _native().retrieve(
                self._context,
                algorithm,
                batch,
                k=depth,
                # At least two threads: with one, the engine does not release the GIL.
                threads=max(2, min(_CPUS, len(batch) // _QUERIES_PER_THREAD)),
                query_weighted=0,
                pretokenised=True,
                result_qidxs=query_numbers,
                result_docnos=documents,
                result_ranks=np.empty(room, dtype=np.int32),
                result_scores=scores,
            )
            exact = rounded(scores[:size].astype(float)).tolist()
            columns = (query_numbers[:size].tolist(), exact, documents[:size])
            for number, score, document in zip(*columns, strict=True):
                results[number].append((score, int(document)))
        return results


@contextmanager
def _alone() -> Iterator[None]:
    """Let one thread at a time build an index, and hide what the engine prints.

    Two concurrent builds crash the engine. It prints to the process's file descriptors, so they
    are redirected for the whole process while an index is built.
    """
    with _making:
        copies = {stream: os.dup(stream) for stream in (1, 2)}
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            for stream in copies:
                os.dup2(nowhere, stream)
            yield
        finally:
            for stream, copy in copies.items():
                os.dup2(copy, stream)
                os.close(copy)
            os.close(nowhere)
