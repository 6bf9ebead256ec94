"""The cells of a plan: each is one run of a debater with a user, or of a judge, with one seed.

A cell's output is a file in the results:

    debates/seed-0/rules/grounded.jsonl             simulations of a debater with a user
    debates/seed-0/rules/grounded.length.jsonl      a judge's verdicts on them
    labelled/seed-0/length.jsonl                    a judge's verdicts on the labelled debates
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from touche_rad.bench.plan import Chosen, ChosenUser, Loaded


@dataclass(frozen=True)
class Cell:
    """One run of a plan."""

    path: str
    """Its output in the results."""
    seed: int
    input: str
    """Its input: the output of another cell, or a key of the plan's data."""
    debater: Chosen | None = None
    user: ChosenUser | None = None
    judge: Chosen | None = None

    @property
    def plays(self) -> bool:
        """Whether it plays debates; otherwise it judges them."""
        return self.judge is None

    @property
    def is_labelled(self) -> bool:
        """Whether it judges the labelled debates."""
        return self.debater is None

    def source(self, loaded: Loaded, results: Path) -> Path:
        """Return the path of its input."""
        return loaded.data.get(self.input) or results / self.input


def cells_of(loaded: Loaded) -> list[Cell]:
    """Return the cells of a plan; each comes after its input."""
    cells: list[Cell] = []
    for seed in loaded.plan.seeds:
        for user in loaded.users:
            for debater in loaded.debaters:
                place = f"debates/seed-{seed}/{user.name}/{debater.name}"
                played = Cell(f"{place}.jsonl", seed, "claims", debater, user)
                cells.append(played)
                cells += [
                    Cell(f"{place}.{judge.name}.jsonl", seed, played.path, debater, user, judge)
                    for judge in loaded.judges
                ]
        if loaded.plan.labels:
            cells += [
                Cell(f"labelled/seed-{seed}/{judge.name}.jsonl", seed, "debates", judge=judge)
                for judge in loaded.judges
            ]
    return cells
