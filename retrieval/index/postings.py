"""BM25 over postings in numpy arrays: the engine of machines without PISA, with the same hits."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from retrieval._arrays import Array, mapped
from retrieval.index.analyser import LONGEST_QUERY, TOPICS, tokens
from retrieval.index.engine import K1, LEAST_RARITY, B, Engine, Scored, best_scored, rounded
from touche_rad.debate import Argument, Hit

_WEIGHTS_OF: Final = {TOPICS: (8.0, 0.75)}
"""k1 and b of fields with other ones. A topic has thousands of words: it matters how often one is
among them."""
_WORDS = "words.txt"
_STARTS = "starts.npy"
_DOCUMENTS = "documents.npy"
_WEIGHTS = "weights.npy"


@dataclass(frozen=True, slots=True)
class Postings:
    """The documents of each word, and what the word adds to the score of each of them."""

    places: dict[str, int]
    """The documents of a word are at `starts[place]` to `starts[place + 1]`."""
    starts: Array
    documents: Array
    weights: Array
    size: int
    """One more than the largest number of a document."""

    @classmethod
    def build(cls, documents: Iterable[tuple[int, str]], field: str = "") -> Postings:
        """Index numbered documents of plain words; what has the same number is one document."""
        k1, b = _WEIGHTS_OF.get(field, (K1, B))
        places: dict[str, int] = {}
        words = array("q")
        numbers = array("q")
        lengths = array("q")
        for number, text in documents:
            stems = text.split()
            words.extend(places.setdefault(stem, len(places)) for stem in stems)
            numbers.append(number)
            lengths.append(len(stems))
        size = max(numbers) + 1
        pairs = np.array(words) * size + np.repeat(numbers, lengths)
        pairs, counts = np.unique(pairs, return_counts=True)
        word, document = np.divmod(pairs, size)
        length = np.bincount(numbers, lengths, size)
        count = np.count_nonzero(length)
        share = counts / (counts + k1 * (1 - b + b * length[document] * count / sum(lengths)))
        holding = np.bincount(word)
        rarity = np.log((count - holding + 0.5) / (holding + 0.5))
        weights = (1 + k1) * np.maximum(LEAST_RARITY, rarity)[word] * share
        starts = np.concatenate([[0], np.cumsum(holding)])
        return cls(places, starts, document.astype(np.int32), weights.astype(np.float32), size)

    def write(self, folder: Path) -> None:
        """Write them into a new folder."""
        folder.mkdir()
        (folder / _WORDS).write_text("\n".join(self.places), "utf-8", newline="\n")
        np.save(folder / _STARTS, self.starts)
        np.save(folder / _DOCUMENTS, self.documents)
        np.save(folder / _WEIGHTS, self.weights)

    @classmethod
    def read(cls, folder: Path, size: int) -> Postings:
        """Open a folder of them; the arrays are memory-mapped."""
        words = (folder / _WORDS).read_text("utf-8").split("\n")
        places = {word: place for place, word in enumerate(words)}
        files = (_STARTS, _DOCUMENTS, _WEIGHTS)
        starts, documents, weights = (mapped(folder / name) for name in files)
        return cls(places, starts, documents, weights, size)

    def best(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        """Return the `k` best documents of each query; queries are plain words."""
        results: list[list[Scored]] = []
        for query in queries:
            parts = [slice(0)]
            for word in dict.fromkeys(query.split()):
                place = self.places.get(word)
                if place is not None:
                    parts.append(slice(*self.starts[place : place + 2]))
            holding = np.concatenate([self.documents[part] for part in parts])
            added = np.concatenate([self.weights[part] for part in parts])
            scores = np.bincount(holding, added, self.size)
            numbers = np.flatnonzero(scores)
            if len(numbers) > k:  # those that may be among the best after rounding
                least = np.partition(scores[numbers], -k)[-k] * (1 - 1e-4)
                numbers = numbers[scores[numbers] >= least]
            results.append(best_scored(rounded(scores[numbers]), numbers, k))
        return results


def search_all(
    engine: Engine | Postings,
    argument_at: Callable[[int], Argument],
    field: str,
    queries: Sequence[str],
    k: int,
) -> list[list[Hit]]:
    """Search many queries in the documents of a field."""
    stems = [" ".join(tokens(str(query))[:LONGEST_QUERY]) for query in queries]
    hits: list[list[Hit]] = []
    for scored in engine.best(stems, k):
        hits.append(
            [
                Hit(argument=argument_at(number), score=score, rank=rank, path=(field,))
                for rank, (score, number) in enumerate(scored)
            ]
        )
    return hits
