"""How often do corrected intervals contain the truth? Simulated studies of labelled debates.

    python benchmarks/coverage.py [--studies N] [--mixed]

Each study has labelled debates and three times as many that only the judge has seen. Debates differ
in how good their responses are, so turns of one debate are alike. The truth is known: it is the
share of yes, or the judge's F1, in a million turns of the same world. The table shows how many of
the 95 % intervals contain it, and their mean half width.

With --mixed, as many turns are labelled, but single ones: 30 % at random, and 70 % where the judge
is least certain, or says no.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from touche_rad.score import correction
from touche_rad.score.correction import Estimate, Sample

SIZES = (20, 60, 160)
TURNS = 5
UNLABELLED = 3
"""Debates without labels for each labelled one."""
RANDOM_SHARE = 0.3


@dataclass(frozen=True)
class World:
    """A kind of run and judge."""

    name: str
    quality: float
    """The logit of the share of yes."""
    spread: float
    """Standard deviation between debates, in logits."""
    sensitivity: float
    specificity: float
    graded: bool
    """Whether the judge's scores are probabilities, or 0 and 1."""

    def draw(self, debates: int, chance: np.random.Generator) -> tuple[Sample, np.ndarray]:
        """Return turns without labels, and their true labels."""
        effect = np.repeat(chance.normal(self.quality, self.spread, debates), TURNS)
        truth = (chance.random(debates * TURNS) < 1 / (1 + np.exp(-effect))).astype(float)
        right = np.where(truth == 1, self.sensitivity, self.specificity)
        said = np.where(chance.random(len(truth)) < right, truth, 1 - truth)
        scores = said
        if self.graded:
            sure = 0.5 + 0.5 * chance.beta(2, 1, len(truth))
            scores = np.where(said == 1, sure, 1 - sure)
        return Sample(
            np.repeat(np.arange(debates), TURNS), scores, np.full(len(truth), np.nan)
        ), truth


WORLDS = (
    World("good judge", 0.8, 1.0, 0.92, 0.85, True),
    World("lenient judge", 0.8, 1.0, 0.95, 0.45, False),
    World("rare no", 2.2, 1.0, 0.95, 0.6, True),
    World("rare yes", -1.8, 1.0, 0.7, 0.9, False),
    World("poor judge", 0.4, 0.5, 0.6, 0.55, True),
)
ESTIMATES: dict[str, Callable[[Sample], Estimate]] = {
    "labels only": correction.labels_only,
    "prediction-powered": correction.yes_rate,
    "Rogan-Gladen": correction.rogan_gladen,
    "F1": correction.f1,
}


def truths(world: World) -> dict[str, float]:
    """Return the true values, from a million turns."""
    sample, truth = world.draw(200_000, np.random.default_rng(1))
    said, share = sample.verdicts, float(truth.mean())
    f1 = 2 * float((said * truth).sum()) / float(said.sum() + truth.sum())
    return {name: f1 if name == "F1" else share for name in ESTIMATES}


Study = Callable[[World, int, np.random.Generator], Sample]


def study(world: World, labelled: int, chance: np.random.Generator) -> Sample:
    """Return one study: the first debates have labels."""
    sample, truth = world.draw(labelled * (1 + UNLABELLED), chance)
    return Sample(sample.debates, sample.scores, np.where(sample.debates < labelled, truth, np.nan))


def mixed_study(world: World, labelled: int, chance: np.random.Generator) -> Sample:
    """Return one study with random and chosen turns."""
    sample, truth = world.draw(labelled * (1 + UNLABELLED), chance)
    random = np.zeros(len(truth), dtype=bool)
    random[chance.permutation(len(truth))[: round(RANDOM_SHARE * labelled * TURNS)]] = True
    order = np.lexsort((chance.random(len(truth)), sample.scores, np.abs(sample.scores - 0.5)))
    wanted = labelled * TURNS - random.sum()
    deepest = int(np.searchsorted(np.cumsum(~random[order]), wanted))
    selected = np.zeros(len(truth), dtype=bool)
    selected[order[: deepest + 1]] = True  # those that are random too stand for themselves
    labels = np.where(random | selected, truth, np.nan)
    return Sample(sample.debates, sample.scores, labels, selected)


def rows(studies: int, study: Study) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| world | estimate | " + " | ".join(f"{size} debates" for size in SIZES) + " |"
    yield "| --- | --- |" + " --- |" * len(SIZES)
    for number, world in enumerate(WORLDS):
        true = truths(world)
        cells: dict[str, list[str]] = {name: [] for name in ESTIMATES}
        for size in SIZES:
            chance = np.random.default_rng([number, size])
            drawn = [study(world, size, chance) for _ in range(studies)]
            for name, estimate in ESTIMATES.items():
                found = [one for one in map(estimate, drawn) if one.low is not None]
                hits = [one.low <= true[name] <= one.high for one in found]
                width = np.mean([one.half_width for one in found])
                lost = f", {studies - len(found)} none" if len(found) < studies else ""
                cells[name].append(f"{100 * np.mean(hits):.1f} % (±{width:.3f}{lost})")
        for name, shown in cells.items():
            yield f"| {world.name} | {name} | {' | '.join(shown)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--mixed", action="store_true")
    given = parser.parse_args()
    for row in rows(given.studies, mixed_study if given.mixed else study):
        print(row, flush=True)


if __name__ == "__main__":
    main()
