"""Check the smallest differences of `touche_rad.score.power` by simulation.

    python benchmarks/power.py [--debates 20] [--turns 3] [--runs 400]

Judges with errors that are alike within a debate are simulated. One of them is better by the
smallest difference; the table shows how often the paired bootstrap of `score` finds it (p < .05),
and how often it finds a difference where there is none.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from touche_rad.score import power
from touche_rad.score.significance import compare, f1, resampled_sums

SAMPLES = 500


def verdicts(chance: Any, rate: Any, shape: tuple[int, int], correlation: float) -> Any:
    """Draw yes or no with a probability per cell; the cells of a row are correlated."""
    shared = chance.random((shape[0], 1)) < np.sqrt(correlation)
    own, common = chance.random(shape), chance.random((shape[0], 1))
    return np.where(shared & (chance.random(shape) < np.sqrt(correlation)), common, own) < rate


def counts(labels: Any, said: Any) -> Any:
    """Return true positives, false positives and false negatives by debate."""
    return np.stack([(labels & said).sum(1), (~labels & said).sum(1), (labels & ~said).sum(1)], 1)


def found(debates: int, turns: int, gain: float, seed: int) -> bool:
    """Whether the bootstrap finds the difference between two simulated judges."""
    chance, shape = np.random.default_rng(seed), (debates, turns)
    labels = verdicts(chance, power.YES, shape, power.CORRELATION)
    base = 2 * power.YES / (1 + power.YES)
    both = []
    for target in (base - gain / 2, base + gain / 2):
        false_yes = min(1.0, (1 - target) * power.YES / (1 - power.YES))
        rate = np.where(labels, min(1.0, target), false_yes)
        both.append(counts(labels, verdicts(chance, rate, shape, power.CORRELATION)))
    drawn = [f1(*resampled_sums(one, SAMPLES, seed).T) for one in both]
    values = [float(f1(*one.sum(0)[:, None].astype(float))[0]) for one in both]
    return compare(values[1] - values[0], drawn[1] - drawn[0]).p < 0.05


def share(debates: int, turns: int, gain: float, runs: int) -> float:
    """Return the share of simulated comparisons that find a difference."""
    return sum(found(debates, turns, gain, seed) for seed in range(runs)) / runs


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--debates", type=int, nargs="*", default=[20, 50, 160])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--runs", type=int, default=400)
    given = parser.parse_args()
    print("| debates | turns | smallest difference in F1 | found | found without a difference |")
    print("| --- | --- | --- | --- | --- |")
    for debates in given.debates:
        whole = debates * given.turns
        least = power.smallest(power.f1_variance(power.YES), debates, whole)
        shares = [share(debates, given.turns, gain, given.runs) for gain in (least, 0.0)]
        print(f"| {debates} | {whole} | {least:.3f} | {shares[0]:.0%} | {shares[1]:.0%} |")


if __name__ == "__main__":
    main()
