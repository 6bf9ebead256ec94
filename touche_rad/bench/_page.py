"""The pages of a run: the leaderboard with all debates, and the judges on the labelled debates."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from touche_rad.bench._cells import VerdictCell, cells_of, labelled_runs
from touche_rad.bench.figures import Figures
from touche_rad.bench.plan import PlanFile
from touche_rad.bench.record import PAGE
from touche_rad.report import write_report
from touche_rad.report.boards import Board, boards_of, faults_of, page_table, reader_link
from touche_rad.report.page import INDEX
from touche_rad.score.cautions import without_model
from touche_rad.score.words import names_of

JUDGES: Final = "judges"
"""The folder of the judges' page."""


def write_pages(plan_file: PlanFile, results: Path, figures: Figures) -> Path:
    """Write the pages of a run, and return the first one."""
    folder = results / PAGE
    plan = plan_file.plan
    title = plan.pages.title or plan.name
    boards: list[Board] = []
    if figures.judges:
        boards += boards_of(figures.judges)
        boards[0]["warnings"] = [*figures.not_scored, *judges_without_index(plan_file)]
        page = write_report(
            [results / cell.path for cell in labelled_runs(plan_file)],
            folder / JUDGES if plan_file.debaters else folder,
            criteria=plan_file.criteria,
            labels=plan_file.data["labels"],
            boards=boards,
            title=f"{title}: judges" if plan_file.debaters else title,
            debates=plan.pages.debates,
        ).page
        boards[0]["link"] = f"./{JUDGES}/{INDEX}"
    if not plan_file.debaters:
        return page

    cells = list(cells_of(plan_file))
    runs: list[Path] = []
    numbers: dict[str, list[str]] = {}  # the runs of each debater, as the reader counts them
    for cell in cells:
        if isinstance(cell, VerdictCell) and cell.of:
            numbers.setdefault(cell.of.entry.name, []).append(str(len(runs)))
            runs.append(results / cell.path)
    shares = figures.shares
    assert shares
    (of_debaters,) = boards_of(shares)
    of_debaters["warnings"] = judge_warnings(plan_file, results)
    # Add what only a bench knows of its debaters: plugin, words, and the shares by entry.
    plugins = {name: plugin for name, _, plugin in figures.entries}
    of_debaters["columns"].append(["words", ""])
    for row, debater in zip(of_debaters["rows"], figures.debaters, strict=True):
        row["about"] = plugins[debater.name]
        row["cells"].append(f"{debater.words:.1f}")
    for kind in ("judges", "users", "seeds"):
        heads = list(getattr(figures.debaters[0], kind))
        if kind == "judges" or len(heads) > 1:
            values = [
                [debater.name, *getattr(debater, kind).values()] for debater in figures.debaters
            ]
            of_debaters["tables"].append(
                page_table(f"{figures.measure}: {kind}", ["debater", *heads], values)
            )
    faults = [
        fault._replace(link=reader_link(mark="fallback", **{"with": ".".join(numbers[fault.run])}))
        for fault in faults_of(shares)
    ]
    return write_report(
        runs,
        folder,
        criteria=plan_file.criteria,
        title=title,
        boards=[of_debaters, *boards],
        faults=faults,
        costs={cell.path.removesuffix(".jsonl"): results / cell.path for cell in cells},
        debates=plan.pages.debates,
    ).page


def judge_warnings(plan_file: PlanFile, results: Path) -> list[str]:
    """Return a warning if a judge without a language model ranks the debaters."""
    judges = {judge.name for judge in plan_file.judges}.difference(plan_file.plan.pages.baselines)
    return without_model(
        results / cell.path
        for cell in cells_of(plan_file)
        if isinstance(cell, VerdictCell) and cell.of and cell.entry.name in judges
    )


def judges_without_index(plan_file: PlanFile) -> list[str]:
    """Say which judges would use the plan's index, and judge the labelled debates without it."""
    judges = [judge.name for judge in plan_file.judges if "index" in judge.configured.plugin.uses]
    if not (judges and plan_file.debaters and plan_file.plan.labels):
        return []
    return [
        f"{names_of(judges)} judged the labelled debates without the index, because they may cite "
        "other arguments; a plan without debaters judges them with it"
    ]
