"""The pages of a run: the leaderboard with all debates, and the judges on the labelled debates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from touche_rad.bench._cells import VerdictCell, cells_of, labelled_runs
from touche_rad.bench.figures import Figures, Summary
from touche_rad.bench.plan import PlanFile
from touche_rad.bench.record import PAGE
from touche_rad.plots.svg import Dot, dot_plot
from touche_rad.report import write_report
from touche_rad.report.boards import (
    Board,
    BoardTable,
    board_table,
    by_pair,
    number,
    ranking_in_words,
    too_few,
    without_model,
)
from touche_rad.report.calls import cost_board
from touche_rad.report.leaderboards import judgement_board
from touche_rad.report.page import INDEX
from touche_rad.score.result import MEAN

JUDGES: Final = "judges"
"""The folder of the judges' page."""


def write_pages(plan_file: PlanFile, results: Path, summary: Summary) -> Path:
    """Write the pages of a run, and return the first one."""
    folder, plan = results / PAGE, plan_file.plan
    title = plan.pages.title or plan.name
    judges = summary.judges
    if judges is not None:
        board = judgement_board(judges)
        board.tables += _entries(summary)
        page = write_report(
            [results / one.path for one in labelled_runs(plan_file)],
            folder / JUDGES if plan_file.debaters else folder,
            labels=plan_file.file("labels"),
            boards=[board],
            title=f"{title}: judges" if plan_file.debaters else title,
            debates=plan.pages.debates,
        ).page
    if plan_file.debaters:
        cells = (one for one in cells_of(plan_file) if isinstance(one, VerdictCell))
        runs = [results / one.path for one in cells if one.of is not None]
        page = write_report(
            runs,
            folder,
            title=title,
            boards=list(_boards(plan_file, results, summary)),
            debates=plan.pages.debates,
        ).page
    return page


def _entries(summary: Summary) -> list[BoardTable]:
    """Return a table of the names that are not their plugins', if there are any."""
    rows = [row for row in summary.figures.entries if row[0] != row[2]]
    return [BoardTable("Entries", ["name", "kind", "plugin"], rows)] if rows else []


def _boards(plan_file: PlanFile, results: Path, summary: Summary) -> Iterator[Board]:
    board = _debaters(summary.figures, set(plan_file.plan.pages.baselines))
    board.tables += _entries(summary)
    board.warnings += without_model(
        results / cell.path
        for cell in cells_of(plan_file)
        if isinstance(cell, VerdictCell) and cell.entry.name not in plan_file.plan.pages.baselines
    )
    yield board
    if summary.judges is not None:
        board = judgement_board(summary.judges)
        board.title = "Judges"
        board.squares = []
        board.links = [(f"{JUDGES}/{INDEX}", "Read the labelled debates with all verdicts")]
        yield board
    cells = (cell.path for cell in cells_of(plan_file))
    cost = cost_board({path.removesuffix(".jsonl"): results / path for path in cells})
    if cost is not None:
        yield cost


def _debaters(figures: Figures, baselines: set[str]) -> Board:
    """Show the debaters with their share of yes, by maxim, judge and user."""
    debaters = figures.debaters
    unranked = frozenset(one.name for one in debaters if one.name in baselines)
    shown = {one.name: number(one.yes) for one in debaters}
    return Board(
        "Debaters",
        too_few(shown, "share of yes", figures.claims, "claims")
        or ranking_in_words(
            {one.name: one.yes for one in debaters if one.name not in unranked},
            {one.name: one.yes for one in debaters if one.name in unranked},
            "share of yes",
            by_pair(figures.comparisons, MEAN),
        ),
        f"On {figures.claims} claims: {figures.mean}. "
        f"Intervals: {figures.samples} bootstrap samples of claims, seed 0. Judges may be wrong: "
        "their scores on labelled debates show how often.",
        [board_table("Share of yes", figures.board(), unranked)],
        [
            dot_plot(
                "Share of yes", [Dot(one.name, one.yes, one.low, one.high) for one in debaters]
            ),
            dot_plot(
                "Words per response",
                [Dot(one.name, one.words, None, None) for one in debaters],
                [("limit", 60.0)],
                digits=0,
                axis=(0.0,),
            ),
        ],
        [
            (caption, [_table(caption, values, unranked)])
            for kind in ("judge", "user", "seed")
            for caption in [f"Share of yes by {kind}"]
            for values in [{one.name: getattr(one, f"{kind}s") for one in debaters}]
            if kind == "judge" or len(getattr(debaters[0], f"{kind}s")) > 1
        ],
        [
            f"{one.name}: {one.fallbacks} of {one.responses} responses are fallbacks"
            for one in debaters
            if one.fallbacks
        ],
    )


def _table(
    caption: str, values: Mapping[str, Mapping[str, float | None]], unranked: frozenset[str]
) -> BoardTable:
    names = list(next(iter(values.values())))
    rows = [[name, *(number(of_one[key]) for key in names)] for name, of_one in values.items()]
    return BoardTable(caption, ["debater", *names], rows, unranked)


def page_files(results: Path) -> list[Path]:
    """Return the files of the pages."""
    return sorted(path for path in (results / PAGE).rglob("[!.]*") if path.is_file())
