"""The pages of a run: the leaderboard with all debates, and the judges on the labelled debates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from touche_rad.bench._cells import VerdictCell, cells_of, labelled_runs
from touche_rad.bench.figures import BenchSummary, Figures
from touche_rad.bench.plan import PlanFile
from touche_rad.bench.record import PAGE
from touche_rad.report import write_report
from touche_rad.report.boards import Board, board, boards_of, lead, page_table, short
from touche_rad.report.page import INDEX
from touche_rad.score.cautions import without_model

JUDGES: Final = "judges"
"""The folder of the judges' page."""


def write_pages(plan_file: PlanFile, results: Path, summary: BenchSummary) -> Path:
    """Write the pages of a run, and return the first one."""
    folder = results / PAGE
    plan = plan_file.plan
    title = plan.pages.title or plan.name
    judges = summary.judges
    boards: list[Board] = []
    if judges is not None:
        boards += boards_of(judges)
        boards[0]["warnings"] = [
            f"not scored: {run}: {error}" for run, error in judges.refused.items()
        ]
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
    verdict_cells = [cell for cell in cells if isinstance(cell, VerdictCell)]
    warnings = judge_warnings(plan_file, results)
    return write_report(
        [results / cell.path for cell in verdict_cells if cell.of is not None],
        folder,
        criteria=plan_file.criteria,
        title=title,
        boards=[_debaters_board(summary.figures, warnings), *boards],
        costs={cell.path.removesuffix(".jsonl"): results / cell.path for cell in cells},
        debates=plan.pages.debates,
    ).page


def judge_warnings(plan_file: PlanFile, results: Path) -> list[str]:
    """Return a warning if a judge without a language model ranks the debaters."""
    runs = []
    for cell in cells_of(plan_file):
        is_of_debater = isinstance(cell, VerdictCell) and cell.of is not None
        if is_of_debater and cell.entry.name not in plan_file.plan.pages.baselines:
            runs.append(results / cell.path)
    return without_model(runs)


def _debaters_board(figures: Figures, warnings: Sequence[str]) -> Board:
    """Return the debaters with their figures, by criterion, judge and user."""
    plugins = {name: plugin for name, _, plugin in figures.entries}
    fallbacks = []
    rows = []
    for debater in figures.debaters:
        if debater.fallbacks:
            count = f"{debater.fallbacks} of {debater.responses} responses"
            fallbacks.append(f"{debater.name}: {count} are fallbacks")
        rows.append(
            {
                "run": debater.name,
                "about": plugins.get(debater.name, ""),
                "rank": debater.rank,
                "baseline": debater.name in figures.baselines,
                "value": debater.yes,
                "low": debater.low,
                "high": debater.high,
                "cells": [*map(short, debater.maxims.values()), f"{debater.words:.0f}"],
            }
        )
    tables = []
    for kind in ("judge", "user", "seed"):
        heads = list(getattr(figures.debaters[0], f"{kind}s"))
        if kind == "judge" or len(heads) > 1:
            values = []
            for debater in figures.debaters:
                of_debater = getattr(debater, f"{kind}s")
                values.append([debater.name, *(of_debater[head] for head in heads)])
            tables.append(page_table(f"{figures.measure} by {kind}", ["debater", *heads], values))
    return board(
        lead(rows, figures.measure) if figures.is_ranked else "Categories have no rank",
        rows,
        figures.measure,
        text=figures.sentences() if figures.is_ranked else [],
        warnings=[*warnings, *fallbacks],
        note=f"{figures.claims} claims: {figures.mean}. Intervals: 95 %, bootstrap over claims, "
        f"{figures.samples} samples. Judges may be wrong: labels show how often.",
        columns=[*([key, ""] for key in figures.debaters[0].maxims), ["words", ""]],
        tables=tables,
    )


def page_files(results: Path) -> list[Path]:
    """Return the files of the pages."""
    return sorted(path for path in (results / PAGE).rglob("[!.]*") if path.is_file())
