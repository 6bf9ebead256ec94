"""One inverted index of PISA: words in, numbers of documents with their BM25 scores out.

Documents are numbered by the caller, and equal scores stand in the order of these numbers. What
PISA's own search does not give and this does: the same scores and the same order for whatever
depth is asked, texts of many documents searched once, threads that do not starve one another, and
no data frame on the way of a single query.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from pyterrier_pisa import PisaIndex, PisaStemmer, PisaStopwords, _pisathon

from retrieval.repeated import Members, Repeats
from retrieval.together import Together

Scored = tuple[float, int]

# Two to three times as quick as summing every word's score in order, but the order of its sums
# depends on the depth, so that equal documents get unequal last digits: these are rounded away.
_WAY = "maxscore"
_DIGITS = 5
# The words come as the analyser wants them; the engine's own list has the negations.
_STOPS = PisaStopwords.none
_STEMMER = PisaStemmer.none
_SLACK = 4
_AT_ONCE = 512
_A_THREAD = 16
_making = threading.Lock()


Documents = Iterable[tuple[int, str]]


def build_engine(folder: Path, documents: Callable[[], Documents]) -> None:
    """Index numbered documents, given as plain words, in a folder that is not there yet.

    They are gone through several times, each time from the first.
    """
    repeats = Repeats(documents())
    with _alone():
        if not repeats.many:
            _indexed(folder, documents())
        else:
            _indexed(folder, repeats.once(documents()))
            repeats.write(folder)
            _weigh_all(folder, chain(repeats.once(documents()), repeats.again(documents())))
        # The first search writes the weights; made now, a search never writes.
        _index(folder).bm25(num_results=1)


def _weigh_all(folder: Path, documents: Documents) -> None:
    """Let words weigh in an index of distinct texts what they weigh among all documents.

    The weights are a file of their own, told by the numbers of words and documents, which are the
    same in an index of everything whose first documents are the distinct ones.
    """
    whole = folder.with_name(f"{folder.name}.whole")
    _indexed(whole, documents)
    _index(whole).bm25(num_results=1)
    weights = min(whole.glob("bm25*"), key=lambda path: len(path.name))
    weights.rename(folder / weights.name)
    shutil.rmtree(whole)


def _indexed(folder: Path, documents: Documents) -> None:
    """Index documents; the engine takes them in a thread of its own, whose failures it drops."""
    failures: list[Exception] = []

    def given() -> Iterator[dict[str, str]]:
        try:
            for number, words in documents:
                yield {"docno": str(number), "text": words}
        except Exception as failure:
            failures.append(failure)

    _index(folder).index(given())
    if failures:
        raise failures[0]


def _index(folder: Path) -> Any:
    return PisaIndex(str(folder), stemmer=_STEMMER, text_field="text", stops=_STOPS, threads=1)


class Engine:
    """An opened inverted index; threads may share it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._context = _index(folder).bm25()._ctxt
        self._members = Members(folder)
        self._together = Together(self._best, _AT_ONCE)

    def __reduce__(self) -> tuple[type[Engine], tuple[Path]]:
        return Engine, (self._folder,)

    def best(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        """Return each query's `k` best documents; queries are plain words, as documents are."""
        found: list[list[Scored]] = []
        for start in range(0, len(queries), _AT_ONCE):
            found += self._together.best(queries[start : start + _AT_ONCE], k)
        return found

    def _best(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        found: dict[int, list[Scored]] = {}
        depth, left = k + _SLACK, list(range(len(queries)))
        while left:
            deepest = self._deepest([queries[place] for place in left], depth)
            for place, texts in zip(left, deepest, strict=True):
                first = self._first(texts, k, more=len(texts) == depth)
                if first is not None:
                    found[place] = first
            left = [place for place in left if place not in found]
            depth *= 4
        return [found[place] for place in range(len(queries))]

    def _first(self, texts: list[tuple[float, str]], k: int, more: bool) -> list[Scored] | None:
        """The `k` best documents; None where as good ones may lie beyond the found texts."""
        best: list[Scored] = []
        texts.sort(reverse=True)
        for score, equal in groupby(texts, key=itemgetter(0)):
            if more and score == texts[-1][0]:
                return None
            room = k - len(best)
            members = sorted(chain(*(self._members.first(int(text), room) for _, text in equal)))
            best += [(score, number) for number in members[:room]]
            if len(best) == k:
                break
        return best

    def _deepest(self, queries: Sequence[str], depth: int) -> list[list[tuple[float, str]]]:
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
        found: list[list[tuple[float, str]]] = [[] for _ in queries]
        rounded = _rounded(scores[:size].astype(float))
        columns = (query_numbers[:size].tolist(), rounded.tolist(), documents[:size])
        for query, score, document in zip(*columns, strict=True):
            found[query].append((score, document))
        return found


def _threads(queries: int) -> int:
    """Two at least: with one, the engine would keep Python to itself as long as it searches."""
    return max(2, min(os.cpu_count() or 1, queries // _A_THREAD))


def _rounded(scores: Any) -> Any:
    """Keep the digits of each score that any order of summing gives."""
    unit = 10.0 ** (np.floor(np.log10(np.maximum(scores, 1e-30))) - (_DIGITS - 1))
    return np.round(scores / unit) * unit


@contextmanager
def _alone() -> Iterator[None]:
    """Let one thread at a time make an index, with the engine's own printing off the terminal.

    Two makers at once crash the engine. It writes past Python's streams, so that they are kept for
    the whole process: while an index is made, and never in a search.
    """
    with _making:
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
