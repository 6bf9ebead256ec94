"""Time of searching vectors, exactly and by the graph, and what the graph misses.

    OMP_NUM_THREADS=1 python benchmarks/dense_speed.py INDEX [--synthetic N] [--queries N]

INDEX is a folder with vectors of texts (touche-rad index --dense). With --synthetic, N vectors are
made of them: each between two random ones, with noise, since an argument of two sentences lies
between them. Queries are made alike; the searches take turns. Prints a markdown table; quote the
ratios, the times are this machine's.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval.dense.neighbours import Graph, Neighbours, write_graph, write_vectors
from retrieval.dense.search import dense_index
from touche_rad.plugins import open_index

Vectors = NDArray[np.float32]
SEED = 7
DEPTH = 10
NOISE = 0.3
"""The length of what is added to a made-up vector of length 1."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index")
    parser.add_argument("--synthetic", type=int, default=287_156)
    parser.add_argument("--queries", type=int, default=300)
    asked = parser.parse_args()
    chance = np.random.default_rng(SEED)
    real = vectors_of(asked.index)
    vectors = invented(real, asked.synthetic, chance)
    queries = invented(real, asked.queries, chance)
    print(f"{len(vectors)} vectors of {vectors.shape[1]} numbers, {len(queries)} queries, "
          f"the best {DEPTH}\n")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "exact")
        exact = spent(lambda: write_vectors(vectors, made))
        graph = spent(lambda: write_graph(vectors, Path(folder)))
        report(vectors, queries, Neighbours(made), Graph(Path(folder)), (exact, graph))


def report(
    vectors: Vectors, queries: Vectors, exact: Neighbours, graph: Graph, made: tuple[float, float]
) -> None:
    """Print a row for each way to search."""

    def plain(query: Vectors) -> set[int]:
        products = vectors @ query[0]
        return set(np.argpartition(-products, DEPTH)[:DEPTH].tolist())

    ways: dict[str, Callable[[Vectors], set[int]]] = {
        "plain product": plain,
        "exact, bounded": lambda query: {key for _, key in exact.nearest(query, DEPTH)[0]},
        "graph (HNSW)": lambda query: {key for _, key in graph.nearest(query, DEPTH)[0]},
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    recall: dict[str, list[float]] = {way: [] for way in ways}
    for at in range(len(queries)):
        query = queries[at : at + 1]
        found = {}
        for way, search in ways.items():
            begun = time.perf_counter()
            found[way] = search(query)
            times[way].append(1000 * (time.perf_counter() - begun))
        for way, keys in found.items():
            recall[way].append(len(keys & found["plain product"]) / DEPTH)
    print(
        "| search | made in, s | median, ms | p99, ms | recall |\n| --- | --- | --- | --- | --- |"
    )
    for way, seconds in zip(ways, (0.0, *made), strict=True):
        print(f"| {way} | {seconds:.0f} | {statistics.median(times[way]):.2f} | "
              f"{np.quantile(times[way], 0.99):.2f} | {np.mean(recall[way]):.3f} |")  # fmt: skip


def vectors_of(place: str) -> Vectors:
    """The vectors of an index's texts, encoded anew: a folder does not give them whole."""
    from retrieval.dense.encoders import encoder

    index = open_index(place)
    _, name = dense_index(index)
    return np.asarray(encoder(name).passages([one.text for one in index.arguments()]))


def invented(real: Vectors, count: int, chance: np.random.Generator) -> Vectors:
    """Vectors of length 1, each between two real ones."""
    made = real[chance.integers(len(real), size=count)]
    made = made + real[chance.integers(len(real), size=count)]
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    noise = chance.standard_normal(made.shape, dtype=np.float32)
    made += NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return np.ascontiguousarray(made, dtype=np.float32)


def spent(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
