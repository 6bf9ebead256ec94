"""How often stance backends find, of an argument's two claims, the one that its text attacks.

    python benchmarks/stance_quality.py COLLECTION --by BACKEND ... [--folds DIR ...]
        [--held-out test|I/N|all]

BACKEND is rules, nli:MODEL, trained:DIR or model:URL#NAME. Asked are the arguments of the topics
that are held out (default: the split test). A trained model is asked only where it saw nothing of
the topic; --folds names one of each fold, and each argument is decided by one that never saw its
topic. Both claims alike are half right. Prints the accuracy with an interval of 95 % (bootstrap
over topics), and apart for arguments whose attacked claim people wrote and those whose supported
claim they wrote: good for one of them only, a backend knows how generated negations read.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from retrieval.index.store import digest
from retrieval.stance.backend import backend
from retrieval.stance.contract import StanceBackend
from retrieval.stance.language_model import ModelStance
from retrieval.stance.trained import TrainedStance
from retrieval.stance.training import ORIGINS, usable
from retrieval.tasks import Unseen
from touche_rad import files
from touche_rad.debate import Argument

DRAWS = 1000
HEAD = (
    "| backend | arguments | accuracy | people wrote the attacked claim | the supported one |\n"
    "| --- | --- | --- | --- | --- |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", type=Path)
    parser.add_argument("--by", action="append", default=[], metavar="BACKEND")
    parser.add_argument("--folds", nargs="+", default=[], metavar="DIR")
    parser.add_argument("--held-out", default="test", metavar="test|I/N|all")
    options = parser.parse_args()
    arguments = list(files.read_arguments(options.collection))
    asked = usable(arguments)
    if options.held_out != "all":
        unseen = Unseen.named(options.held_out)
        asked = [one for one in asked if one.topic in unseen]
    print(HEAD)
    for name in options.by:
        print(row(name, list(decided([backend(name)], asked, digest(arguments)))), flush=True)
    if options.folds:
        made = [TrainedStance(folder) for folder in options.folds]
        print(row("trained, by folds", list(decided(made, asked, digest(arguments)))))


def decided(
    backends: Sequence[StanceBackend], asked: Sequence[Argument], collection: str
) -> Iterator[tuple[Argument, float]]:
    """Yield how right the first backend is that may be asked of an argument: 1, 0, or a half."""
    left = list(asked)
    for one in backends:
        if isinstance(one, TrainedStance) and one.report.collection != collection:
            raise SystemExit("a model learnt from another collection: what it saw is not known")
        part = [each for each in left if not _saw(one, each.topic)]
        left = [each for each in left if _saw(one, each.topic)]
        yield from zip(part, _right(one, part), strict=True)


def _right(one: StanceBackend, part: Sequence[Argument]) -> Iterator[float]:
    """Yield how right a backend is of each argument.

    Most read a text against an argument's two claims, and are given its own. A language model is
    shown the argument alone, and is asked what it is to each of the claims.
    """
    if not isinstance(one, ModelStance):
        for stance in one.stances([(each.text, each) for each in part]):
            yield (1 - np.sign(stance.against)) / 2
        return
    claims = [each.attacks for each in part] + [each.supports for each in part]
    found = one.stances(list(zip(claims, (*part, *part), strict=True)))
    for attacked, supported in zip(found[: len(part)], found[len(part) :], strict=True):
        yield (1 + np.sign(attacked.against - supported.against)) / 2


def _saw(one: StanceBackend, topic: str) -> bool:
    return isinstance(one, TrainedStance) and one.report.saw(topic)


def row(name: str, found: Sequence[tuple[Argument, float]]) -> str:
    """A line of the table."""
    parts = [[right for one, right in found if one.original == origin] for origin in ORIGINS]
    shares = " | ".join(f"{np.mean(part):.3f}" if part else "–" for part in parts)
    return f"| {name} | {len(found)} | {_with_interval(found)} | {shares} |"


def _with_interval(found: Sequence[tuple[Argument, float]]) -> str:
    if not found:
        return "–"
    by_topic: dict[str, list[float]] = {}
    for one, right in found:
        by_topic.setdefault(one.topic, []).append(right)
    sums = np.array([(sum(part), len(part)) for part in by_topic.values()], dtype=float)
    chance = np.random.default_rng(0)
    drawn: Any = sums[chance.integers(len(sums), size=(DRAWS, len(sums)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
    return f"{np.mean([right for _, right in found]):.3f} ({low:.3f}-{high:.3f})"


if __name__ == "__main__":
    main()
