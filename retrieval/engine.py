"""One inverted index of PISA: words in, numbers of documents with their BM25 scores out.

Documents are numbered by the caller, and equal scores stand in the order of these numbers. What
PISA's own search does not give and this does: the same scores and the same order for whatever
depth is asked, and no data frame on the way of a single query.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pyterrier_pisa import PisaIndex, PisaStemmer, PisaStopwords, _pisathon

Scored = tuple[float, int]

# Two to three times as quick as summing every word's score in order, but the order of its sums
# depends on the depth, so that equal documents get unequal last digits: these are rounded away.
_WAY = "maxscore"
_DIGITS = 5
# The words come as the analyser wants them; the engine's own list has the negations.
_STOPS = PisaStopwords.none
_STEMMER = PisaStemmer.none
_SLACK = 16
_AT_ONCE = 512
_A_THREAD = 16
_silence = threading.Lock()


def build_engine(folder: Path, documents: Iterable[tuple[int, str]]) -> None:
    """Index numbered documents, given as plain words, in a folder that is not there yet."""
    with _silent():
        index = _index(folder)
        index.index({"docno": str(number), "text": words} for number, words in documents)
        # The first search writes the weights; made now, a search never writes.
        index.bm25(num_results=1)


def _index(folder: Path) -> Any:
    return PisaIndex(str(folder), stemmer=_STEMMER, text_field="text", stops=_STOPS, threads=1)


class Engine:
    """An opened inverted index; threads may share it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._context = _index(folder).bm25()._ctxt

    def __reduce__(self) -> tuple[type[Engine], tuple[Path]]:
        return Engine, (self._folder,)

    def best(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        """Return each query's `k` best documents; queries are plain words, as documents are."""
        found: list[list[Scored]] = []
        for start in range(0, len(queries), _AT_ONCE):
            found += self._best(queries[start : start + _AT_ONCE], k)
        return found

    def _best(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        depth = k + _SLACK
        found = self._deepest(queries, depth)
        for place, query in enumerate(queries):
            reach = depth
            while _may_miss_equals(found[place], k, reach):
                reach *= 4
                found[place] = self._deepest([query], reach)[0]
        return [sorted(one, key=lambda hit: (-hit[0], hit[1]))[:k] for one in found]

    def _deepest(self, queries: Sequence[str], depth: int) -> list[list[Scored]]:
        room = len(queries) * depth
        query_numbers = np.empty(room, dtype=np.int32)
        documents = np.empty(room, dtype=object)
        scores = np.empty(room, dtype=np.float32)
        size = _pisathon.retrieve(
            self._context, _WAY, list(enumerate(queries)), k=depth,
            threads=_threads(len(queries)), query_weighted=0,
            pretokenised=False, result_qidxs=query_numbers, result_docnos=documents,
            result_ranks=np.empty(room, dtype=np.int32), result_scores=scores,
        )  # fmt: skip
        found: list[list[Scored]] = [[] for _ in queries]
        rounded = _rounded(scores[:size].astype(float))
        columns = (query_numbers[:size].tolist(), rounded.tolist(), documents[:size])
        for query, score, document in zip(*columns, strict=True):
            found[query].append((score, int(document)))
        return found


def _threads(queries: int) -> int:
    """A thread for so many queries; starting one costs more than a few of them."""
    return max(1, min(os.cpu_count() or 1, queries // _A_THREAD))


def _rounded(scores: Any) -> Any:
    """Keep the digits of each score that any order of summing gives."""
    unit = 10.0 ** (np.floor(np.log10(np.maximum(scores, 1e-30))) - (_DIGITS - 1))
    return np.round(scores / unit) * unit


def _may_miss_equals(found: Sequence[Scored], k: int, depth: int) -> bool:
    """Whether documents as good as the last wanted one may lie beyond the depth."""
    return len(found) == depth and found[k - 1][0] == found[-1][0]


@contextmanager
def _silent() -> Iterator[None]:
    """Keep the engine's own printing off the terminal; it writes past Python's streams.

    That holds for the whole process, so it is done while an index is made and never in a search.
    """
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
