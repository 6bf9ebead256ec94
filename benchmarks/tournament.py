"""How many debates give the right order? Informative pairs first, against a round robin.

    python benchmarks/tournament.py [--studies N]

Each study draws the strengths of the debaters from a normal distribution (150 rating points) and
lets them debate 40 claims; a claim may favour a debater (60 points), and one in five debates is a
tie. Debates are added in batches: to the most informative pairs, to random pairs, or claim by claim
to all pairs (a round robin). The table shows how many debates each needs, in the median, until the
best debater stands first for good, and until at most one pair in twenty is in the wrong order. A
study ends after 60 debates for each debater.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from touche_rad.contests.tournament.ratings import TENFOLD, strengths
from touche_rad.contests.tournament.schedule import next_pairs

SIZES = (4, 8, 16)
CLAIMS = 40
SPREAD, FAVOUR, TIES = 150.0, 60.0, 0.2
SCALE = TENFOLD / np.log(10)


class World:
    """Debaters of known strengths."""

    def __init__(self, debaters: int, seed: int) -> None:
        self.chance = np.random.default_rng([debaters, seed])
        self.true = self.chance.normal(0, SPREAD, debaters) / SCALE
        self.favour = self.chance.normal(0, FAVOUR, (CLAIMS, debaters)) / SCALE
        self.seed = seed

    def play(self, wins: np.ndarray, pair: tuple[int, int], claim: int) -> None:
        """Play both sides of a claim."""
        here = self.true + self.favour[claim]
        chance = np.random.default_rng([self.seed, *pair, claim])
        for _ in range(2):
            won = 1.0 if chance.random() < 1 / (1 + np.exp(here[pair[1]] - here[pair[0]])) else 0.0
            won = 0.5 if chance.random() < TIES else won
            wins[pair] += won
            wins[pair[::-1]] += 1 - won


def wrong_pairs(wins: np.ndarray, true: np.ndarray) -> float:
    """Return the share of pairs that the ratings put in the wrong order."""
    found = strengths(wins)
    pairs = list(combinations(range(len(true)), 2))
    return sum((found[a] > found[b]) != (true[a] > true[b]) for a, b in pairs) / len(pairs)


def order_of(rule: str, world: World, debaters: int) -> Iterator[np.ndarray]:
    """Yield the wins after each batch of debates."""
    wins = np.zeros((debaters, debaters))
    pairs = list(combinations(range(debaters), 2))
    left = {pair: list(range(CLAIMS)) for pair in pairs}
    chance = np.random.default_rng(world.seed)
    batch = max(1, debaters // 2)
    while any(left.values()):
        open_pairs = [pair for pair, claims in left.items() for _ in claims]
        if rule == "informative":
            chosen = next_pairs(wins, open_pairs, batch)
        elif rule == "random":
            picked = chance.choice(len(open_pairs), min(batch, len(open_pairs)), replace=False)
            chosen = [open_pairs[one] for one in picked]
        else:
            chosen = sorted(left, key=lambda pair: (-len(left[pair]), pair))[:batch]
        for pair in chosen:
            if left[pair]:
                world.play(wins, pair, left[pair].pop(0))
        yield wins


def first_times(rule: str, debaters: int, seed: int) -> tuple[int, int]:
    """Return the debates until the best one is first, and until 1 pair in 20 is wrong, for good."""
    world = World(debaters, seed)
    best, order, total = 0, 0, 0
    for wins in order_of(rule, world, debaters):
        total = int(wins.sum())
        if int(np.argmax(strengths(wins))) != int(np.argmax(world.true)):
            best = total
        if wrong_pairs(wins, world.true) > 0.05:
            order = total
        if total > 60 * debaters:
            break
    return best, order


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--studies", type=int, default=40)
    studies = range(parser.parse_args().studies)
    print("| debaters | all debates | order of play | best first | order right |")
    print("| --- | --- | --- | --- | --- |")
    for debaters in SIZES:
        every = debaters * (debaters - 1) * CLAIMS
        for rule in ("informative", "random", "round robin"):
            found = np.array([first_times(rule, debaters, seed) for seed in studies])
            best, order = np.median(found, axis=0)
            print(f"| {debaters} | {every} | {rule} | {best:.0f} | {order:.0f} |", flush=True)


if __name__ == "__main__":
    main()
