"""The cells of a plan: each is one run of a debater with a user, or of a judge, with one seed.

A cell's output is a file in the results:

    debates/seed-0/rules/grounded.jsonl             simulations of a debater with a user
    debates/seed-0/rules/grounded.length.jsonl      a judge's verdicts on them
    labelled/seed-0/length.jsonl                    a judge's verdicts on the labelled debates
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from touche_rad.editions.plan import Chosen, ChosenUser, Loaded
from touche_rad.errors import UserError
from touche_rad.files.outputs import status_beside
from touche_rad.files.traces import TRACE
from touche_rad.runs.journal import SUFFIX
from touche_rad.runs.stand_ins import ERRORS

DEBATES, LABELLED = "debates", "labelled"


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
                place = f"{DEBATES}/seed-{seed}/{user.name}/{debater.name}"
                played = Cell(f"{place}.jsonl", seed, "claims", debater, user)
                cells.append(played)
                cells += [
                    Cell(f"{place}.{judge.name}.jsonl", seed, played.path, debater, user, judge)
                    for judge in loaded.judges
                ]
        if loaded.plan.labels:
            cells += [
                Cell(f"{LABELLED}/seed-{seed}/{judge.name}.jsonl", seed, "debates", judge=judge)
                for judge in loaded.judges
            ]
    return cells


def files_of(out: Path) -> list[Path]:
    """Return the files that belong to the output of a cell, with the output itself."""
    beside = (out.with_name(f"{out.name}{end}") for end in (SUFFIX, TRACE, ERRORS))
    return [out, status_beside(out), *beside]


def check_foreign(results: Path, cells: Sequence[Cell], *, replace: bool) -> None:
    """Refuse results that the plan does not name, or delete them.

    Args:
        results: The folder of the results.
        cells: The cells of the plan.
        replace: Whether to delete them.
    """
    known = {path for cell in cells for path in files_of(results / cell.path)}
    for top in (DEBATES, LABELLED):
        for path in sorted((results / top).rglob("*.jsonl")):
            if path in known or path.name.endswith(TRACE):
                continue
            if not replace:
                raise UserError(
                    f"{path} is of an entry that the plan does not name: delete it with --replace, "
                    "or name the entry"
                )
            for one in files_of(path):
                one.unlink(missing_ok=True)
