"""Whether the local index and Elasticsearch give the same arguments for the same queries.

    python benchmarks/same_results.py LOCAL ELASTICSEARCH QUERIES [-k 10]

LOCAL and ELASTICSEARCH are locations of indexes of the same collection; QUERIES is a file with one
query a line. For each field: how many of the lists of the best `k` are the same, how many hold the
same arguments in another order, and of the rest how far apart the scores are where they part.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from touche_rad.plugins import ArgumentIndex, open_index

FIELDS = ("text", "attacks", "supports", "topic", "all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("local")
    parser.add_argument("elasticsearch")
    parser.add_argument("queries", type=Path)
    parser.add_argument("-k", type=int, default=10)
    options = parser.parse_args()
    queries = [line for line in options.queries.read_text("utf-8").splitlines() if line.strip()]
    local, there = open_index(options.local), open_index(options.elasticsearch)
    print(f"{len(queries)} queries, the best {options.k}")
    print("| field | same list | same arguments | others | widest gap of scores at the cut |")
    print("| --- | --- | --- | --- | --- |")
    for field in FIELDS:
        print(compared(local, there, field, queries, options.k))


def compared(
    local: ArgumentIndex, there: ArgumentIndex, field: str, queries: list[str], k: int
) -> str:
    same, reordered, gaps = 0, 0, []
    found = zip(local.scored(field, queries, k), there.scored(field, queries, k), strict=True)
    for one, other in found:
        here, elsewhere = [name for name, _ in one], [name for name, _ in other]
        if here == elsewhere:
            same += 1
        elif set(here) == set(elsewhere):
            reordered += 1
        else:
            scores = dict(one)
            last = one[-1][1]
            gaps += [(scores[name] - last) / last for name in set(here) - set(elsewhere)]
    others = len(queries) - same - reordered
    return f"| {field} | {same} | {reordered} | {others} | {max(gaps, default=0):.1%} |"


if __name__ == "__main__":
    main()
