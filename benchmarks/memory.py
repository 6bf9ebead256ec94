"""How fast the argument memory is looked up in, and how large it is.

    python benchmarks/memory.py [--records 287156] [--look-ups 2000] [--index DIR]

Makes an index of synthetic arguments (two sentences of the demo collection each, seeded) with a
memory of seeded annotations, and prints a TSV: what was measured, its value, its unit. A look-up is
the annotations of five arguments by their ids, with labels and reasons; a retrieval is the debater
rdebater's: keywords over two fields, the schemes of each candidate, the cosine of words and the
priors of the five best. With --index the index is kept there, and used where it is there already.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from retrieval.index.pisa import PisaArguments
from touche_rad.debate import Argument, Debate
from touche_rad.debaters.rdebater.memory.store import MEMORY, Writing
from touche_rad.debaters.rdebater.options import RdebaterOptions
from touche_rad.debaters.rdebater.remembering import Remembering
from touche_rad.debaters.rdebater.retrieval import retrieved, with_priors
from touche_rad.debaters.rdebater.schemes import Annotation, Dimension, Level, Mark, Scheme
from touche_rad.demo import demo_file
from touche_rad.files import read_arguments
from touche_rad.plugins import build_index
from touche_rad.text import content_words, sentences

SEED = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=287_156)
    parser.add_argument("--look-ups", type=int, default=2_000)
    parser.add_argument("--index", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = asked.index or Path(folder) / "index"
        if not place.is_dir():
            build_index(synthetic(asked.records), str(place))
        if not (place / MEMORY).is_dir():
            remember(place)
        measure(place, asked.look_ups)


def synthetic(count: int) -> Iterator[Argument]:
    """Arguments of random sentences; two of the demo collection's make a text."""
    chance = random.Random(SEED)
    known = list(read_arguments(demo_file("arguments.jsonl")))
    said = [sentence for one in known for sentence in sentences(one.text)]
    for number in range(count):
        claim = chance.choice(known)
        yield Argument(
            id=f"{number:06}", topic=claim.topic, attacks=claim.attacks, supports=claim.supports,
            text=" ".join(chance.sample(said, 2)),
        )  # fmt: skip


def remember(place: Path) -> None:
    """Write a memory of seeded annotations beside an index."""
    chance = random.Random(SEED)
    index = PisaArguments(place)
    (place / MEMORY).mkdir()
    writing = Writing(place / MEMORY, len(index))
    levels = [level for level in Level if level]
    for _ in range(len(index)):
        writing.add(Annotation(marks={
            scheme: Mark(
                levels={one: chance.choice(levels) for one in Dimension},
                reason="says that one thing brings about another and gives the way between them",
            )
            for scheme in chance.sample(list(Scheme), chance.randrange(4))}))  # fmt: skip
    writing.finish(index.manifest.collection, {"model": "synthetic"})


def measure(place: Path, look_ups: int) -> None:
    chance = random.Random(SEED + 1)
    index = PisaArguments(place)
    begun = time.perf_counter()
    memory = index.memory
    told("open the memory", 1e3 * (time.perf_counter() - begun), "ms")
    assert memory is not None
    told("records", len(index), "arguments")
    size = sum(path.stat().st_size for path in (place / MEMORY).iterdir())
    told("memory on disk", size / 2**20, "MiB")
    ids = [[f"{chance.randrange(len(index)):06}" for _ in range(5)] for _ in range(look_ups)]
    spread(
        "look-up of 5 by id", [timed(lambda five=five: memory.annotations(five)) for five in ids]
    )
    options = RdebaterOptions()
    remembering = Remembering(index, None)
    claims = [one.attacks for one in read_arguments(demo_file("arguments.jsonl"))]

    def retrieval() -> None:
        claim = chance.choice(claims)
        keywords = chance.sample(content_words(claim), min(4, len(content_words(claim))))
        debate = Debate().spoken(claim)
        found = retrieved(index, remembering, debate, keywords, options)
        known = memory.annotations([one.argument.id for one in found.evidence])
        assert len(known) == options.k
        with_priors(found, found.evidence, options)

    for _ in range(20):
        retrieval()
    spread("whole retrieval", [timed(retrieval) for _ in range(min(300, look_ups))])
    told("peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB")


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - begun)


def spread(what: str, took: list[float]) -> None:
    told(f"{what}, median", statistics.median(took), "ms")
    told(f"{what}, 99th of 100", statistics.quantiles(took, n=100)[98], "ms")


def told(what: str, value: float, unit: str) -> None:
    print(f"{what}\t{value:.4g}\t{unit}", flush=True)


if __name__ == "__main__":
    main()
