"""How fast the embedded index is, and how much memory it takes.

    python benchmarks/retrieval_speed.py COLLECTION [--synthetic N] [--queries N]

prints a TSV: what was measured, its value, its unit. With `--synthetic N` the collection is made
of N arguments, each of two random sentences of COLLECTION (seeded, so always the same). Indexing
and searching run in a process of their own each, so that each one's memory is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from touche_rad import files
from touche_rad.debate import Argument
from touche_rad.plugins import build_index, open_index
from touche_rad.text import sentences

SEED = 7
DEPTH = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--synthetic", type=int, metavar="N")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--part", choices=["index", "search"], help=argparse.SUPPRESS)
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        part = indexing(asked) if asked.part == "index" else searching(asked)
        print(json.dumps(part | {"peak memory, MB": peak()}))
        return
    with tempfile.TemporaryDirectory() as folder:
        asked.place = Path(folder) / "index"
        for name in ("index", "search"):
            for what, value in part_of(name, asked).items():
                print(f"{name}\t{what}\t{value:.4g}", flush=True)


def part_of(name: str, asked: argparse.Namespace) -> dict[str, float]:
    call = [sys.executable, __file__, str(asked.collection), "--part", name,
            "--place", str(asked.place), "--queries", str(asked.queries)]  # fmt: skip
    if asked.synthetic:
        call += ["--synthetic", str(asked.synthetic)]
    root = Path(__file__).parents[1]
    done = subprocess.run(
        call, check=True, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)}
    )
    return dict(json.loads(done.stdout))


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def indexing(asked: argparse.Namespace) -> dict[str, float]:
    source = collection(asked)
    begun = time.perf_counter()
    count = build_index(source, str(asked.place))
    seconds = time.perf_counter() - begun
    disk = sum(path.stat().st_size for path in asked.place.rglob("*") if path.is_file())
    return {"arguments": count, "seconds": seconds, "on disk, MB": disk / 2**20}


def collection(asked: argparse.Namespace) -> Iterator[Argument]:
    real = files.read_arguments(asked.collection)
    return invented(list(real), asked.synthetic) if asked.synthetic else real


def invented(real: list[Argument], count: int) -> Iterator[Argument]:
    chance = random.Random(SEED)
    said = [sentence for argument in real for sentence in sentences(argument.text)]
    for number in range(count):
        like = chance.choice(real)
        text = f"{chance.choice(said)} {chance.choice(said)}"
        yield like.model_copy(update={"id": f"{number}.1", "text": text})


def searching(asked: argparse.Namespace) -> dict[str, float]:
    real = files.read_arguments(asked.collection)
    claims = sorted({argument.attacks for argument in real})
    queries = random.Random(SEED).sample(claims, min(asked.queries, len(claims)))
    open_index(str(asked.place))  # what is imported once is not measured
    begun = time.perf_counter()
    index = open_index(str(asked.place))
    found: dict[str, float] = {"opening, seconds": time.perf_counter() - begun}
    for field in ("text", "attacks", "supports"):
        begun = time.perf_counter()
        one_by_one = [index.search(field, query, DEPTH) for query in queries]
        found[f"{field}: queries a second, single"] = len(queries) / (time.perf_counter() - begun)
        begun = time.perf_counter()
        at_once = index.search_all(field, queries, DEPTH)
        found[f"{field}: queries a second, batch"] = len(queries) / (time.perf_counter() - begun)
        if at_once != one_by_one:
            raise SystemExit(f"{field}: a batch finds other arguments than single queries")
    return found


if __name__ == "__main__":
    main()
