"""The cells of a plan: each is one run of a debater with a user, or of a judge, with one seed.

A cell's output is a file in the results:

    debates/seed-0/rules/grounded.jsonl             simulations of a debater with a user
    debates/seed-0/rules/grounded.length.jsonl      a judge's verdicts on them
    labelled/seed-0/length.jsonl                    a judge's verdicts on the labelled debates
"""

from __future__ import annotations

from collections.abc import Iterator

from touche_rad.bench.plan import PlanFile, PluginEntry, UserEntry
from touche_rad.frozen import frozen
from touche_rad.plugins import LoadedDebater, LoadedJudge


@frozen
class _Cell:
    """One run of a plan."""

    path: str
    """Its output in the results."""
    seed: int
    input: str
    """Its input: the output of another cell, or a key of the plan's data."""
    entry: PluginEntry[object]
    """The debater that plays, or the judge."""


@frozen
class DebateCell(_Cell):
    """A debater plays debates with a user."""

    entry: PluginEntry[LoadedDebater]
    user: UserEntry


@frozen
class VerdictCell(_Cell):
    """A judge judges the debates of another cell, or the labelled debates."""

    entry: PluginEntry[LoadedJudge]
    of: DebateCell | None = None


def cells_of(plan_file: PlanFile) -> Iterator[DebateCell | VerdictCell]:
    """Yield the cells of a plan; each comes after its input."""
    for seed in plan_file.plan.seeds:
        for user in plan_file.users:
            for debater in plan_file.debaters:
                place = f"debates/seed-{seed}/{user.name}/{debater.name}"
                debates = DebateCell(f"{place}.jsonl", seed, "claims", debater, user)
                yield debates
                for judge in plan_file.judges:
                    yield VerdictCell(
                        f"{place}.{judge.name}.jsonl", seed, debates.path, judge, debates
                    )
        if plan_file.plan.labels:
            for judge in plan_file.judges:
                yield VerdictCell(
                    f"labelled/seed-{seed}/{judge.name}.jsonl", seed, "debates", judge
                )


def labelled_runs(plan_file: PlanFile) -> list[VerdictCell]:
    """Return the cells that judge the labelled debates."""
    return [cell for cell in cells_of(plan_file) if isinstance(cell, VerdictCell) and not cell.of]
