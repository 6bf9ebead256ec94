"""Time R-Debater's argument memory (`benchmarks/speed.py memory`)."""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.speed import SEED, folder_size, peak_memory, row, seconds, synthetic
from touche_rad import files
from touche_rad.debate import Debate
from touche_rad.demo import demo_file
from touche_rad.plugins import build_index
from touche_rad.text import content_words


def report(options: argparse.Namespace) -> None:
    """Measure look-ups of five annotations, and a whole retrieval of the debater rdebater."""
    from retrieval.index.annotations import ANNOTATIONS
    from retrieval.index.pisa import PisaArguments
    from touche_rad.debaters.rdebater.annotations import SchemeAnnotations
    from touche_rad.debaters.rdebater.options import RdebaterOptions
    from touche_rad.debaters.rdebater.retrieval import retrieved, with_priors
    from touche_rad.debaters.rdebater.schemes import SCHEMES

    real = list(files.read_arguments(demo_file("arguments.jsonl")))
    chance = random.Random(SEED + 1)
    with tempfile.TemporaryDirectory() as folder:
        place = options.index or Path(folder, "index")
        if not place.is_dir():
            build_index(synthetic(real, options.records), str(place))
        if not (place / ANNOTATIONS).is_dir():
            annotate(place)
        index = PisaArguments(place)
        start = time.perf_counter()
        stored = index.annotations[SCHEMES]
        print(f"| what | value |\n| --- | --- |\n| arguments | {len(index)} |")
        row("open the memory, ms", 1000 * (time.perf_counter() - start))
        row("memory on disk, MiB", folder_size(place / ANNOTATIONS / SCHEMES))
        numbers = [
            [f"{chance.randrange(len(index)):06}" for _ in range(5)]
            for _ in range(options.look_ups)
        ]
        percentiles("look-up of 5 by id", [seconds(stored.get_all, five) for five in numbers])
        settings, known = RdebaterOptions(), SchemeAnnotations(index, None).known

        def retrieve() -> None:
            claim = chance.choice(real).attacks
            words = content_words(claim)
            keywords = chance.sample(words, min(4, len(words)))
            result = retrieved(index, known, Debate().with_utterance(claim), keywords, settings)
            known([one.argument.id for one in result.evidence])
            with_priors(result, result.evidence, settings)

        for _ in range(20):
            retrieve()
        percentiles(
            "whole retrieval", [seconds(retrieve) for _ in range(min(300, options.look_ups))]
        )
        row("peak memory, MiB", peak_memory())


def annotate(place: Path) -> None:
    """Add random annotations to an index."""
    from retrieval.index.annotations import ANNOTATIONS, RECORDS, finish, line_of
    from retrieval.index.pisa import PisaArguments
    from touche_rad.debaters.rdebater.schemes import (
        SCHEMES,
        Annotation,
        Dimension,
        Level,
        Mark,
        Scheme,
    )

    chance, index = random.Random(SEED), PisaArguments(place)
    folder = place / ANNOTATIONS / SCHEMES
    folder.mkdir(parents=True)
    levels = [level for level in Level if level]
    with (folder / RECORDS).open("wb") as records:
        for _ in range(len(index)):
            schemes = chance.sample(list(Scheme), chance.randrange(4))
            annotation = Annotation(
                marks={
                    scheme: Mark(
                        levels={one: chance.choice(levels) for one in Dimension},
                        reason="says that one thing causes another and explains how",
                    )
                    for scheme in schemes
                }
            )
            records.write(line_of(annotation.model_dump(mode="json")))
    finish(folder, index.manifest.collection, {"model": "synthetic"})


def percentiles(name: str, times: list[float]) -> None:
    row(f"{name}, median, ms", 1000 * statistics.median(times))
    row(f"{name}, p99, ms", 1000 * statistics.quantiles(times, n=100)[98])
