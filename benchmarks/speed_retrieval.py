"""Compare the local index with Elasticsearch, side by side in one run.

    python benchmarks/speed_retrieval.py COLLECTION SERVER [--synthetic N] [--queries N]

SERVER is a server's URL. The same arguments go into a folder and into an index there; the same
queries (arguments' claims) are then asked of both in turns, one at a time, in a batch, and by 32
debates at once, which begin together and ask 30 queries each without a pause. With --synthetic the
collection is made of N arguments, each of two random sentences of COLLECTION. Prints a markdown
table; quote the ratios, the times are this machine's.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from retrieval_speed import invented

from retrieval.elastic.connection import Connection
from retrieval.elastic.connection import place as place_of
from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.plugins import ArgumentIndex, build_index, open_index

ROUNDS = 3
DEBATES, TURNS = 32, 30
DEPTH = 10
NAME = "touche-rad-speed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", type=Path)
    parser.add_argument("server")
    parser.add_argument("--synthetic", type=int)
    parser.add_argument("--queries", type=int, default=300)
    asked = parser.parse_args()
    real = list(files.read_arguments(asked.collection))
    arguments = list(invented(real, asked.synthetic)) if asked.synthetic else real
    claims = list(dict.fromkeys(one.attacks for one in real if one.attacks.strip()))
    queries = claims[:: max(1, len(claims) // asked.queries)][: asked.queries]
    there = f"elasticsearch:{asked.server}/{NAME}"
    print(f"{len(arguments)} arguments, {len(queries)} queries, the best {DEPTH}\n")
    print("| what | local | Elasticsearch | ratio |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        here = str(Path(folder, "index"))
        remove(there)
        row("index, seconds", *(spent(built, arguments, place) for place in (here, there)))
        indexes = open_index(here), open_index(there)
        for field in ("text", "attacks"):
            row(
                f"{field}, one at a time, ms a query",
                *alternated(one_by_one, indexes, field, queries),
            )
            row(f"{field}, a batch, ms a query", *alternated(at_once, indexes, field, queries))
        for index, name in zip(indexes, ("local", "Elasticsearch"), strict=True):
            middle, worst = crowded(index, queries)
            print(f"| {DEBATES} debates at once, {name}: median and p99, ms | {middle:.1f} | "
                  f"{worst:.1f} | {worst / middle:.1f} |", flush=True)  # fmt: skip


def remove(there: str) -> None:
    """Make sure that what a former run loaded is not found there."""
    at = place_of(there)

    def removed(es: Any) -> None:
        for name in es.indices.get(index=f"{at.index}*", expand_wildcards="all"):
            es.indices.delete(index=name)

    Connection(at).ask(removed)


def built(arguments: Sequence[Argument], place: str) -> None:
    build_index(iter(arguments), place, replace=True)


def spent(work: Callable[..., object], *words: object) -> float:
    begun = time.perf_counter()
    work(*words)
    return time.perf_counter() - begun


def row(what: str, local: float, there: float) -> None:
    print(f"| {what} | {local:.3g} | {there:.3g} | {there / local:.1f}x |", flush=True)


def alternated(
    work: Callable[[ArgumentIndex, str, Sequence[str]], None],
    indexes: Sequence[ArgumentIndex],
    field: str,
    queries: Sequence[str],
) -> list[float]:
    """The median time a query of each, measured in turns after one round that does not count."""
    times: list[list[float]] = [[] for _ in indexes]
    for turn in range(ROUNDS + 1):
        for place, index in enumerate(indexes):
            seconds = spent(work, index, field, queries)
            if turn:
                times[place].append(1000 * seconds / len(queries))
    return [statistics.median(one) for one in times]


def one_by_one(index: ArgumentIndex, field: str, queries: Sequence[str]) -> None:
    for query in queries:
        index.search(field, query, DEPTH)


def at_once(index: ArgumentIndex, field: str, queries: Sequence[str]) -> None:
    index.search_all(field, queries, DEPTH)


def crowded(index: ArgumentIndex, queries: Sequence[str]) -> tuple[float, float]:
    times: list[float] = []
    together = threading.Barrier(DEBATES)

    def debate(number: int) -> None:
        together.wait()
        for turn in range(TURNS):
            query = queries[(number + turn * DEBATES) % len(queries)]
            begun = time.perf_counter()
            index.search("attacks", query, DEPTH)
            times.append(1000 * (time.perf_counter() - begun))

    threads = [threading.Thread(target=debate, args=(number,)) for number in range(DEBATES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return float(np.median(times)), float(np.quantile(times, 0.99))


if __name__ == "__main__":
    main()
