"""The pages of a run: the leaderboard with all debates, and the judges on the labelled debates."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Final

from touche_rad.bench._cells import VerdictCell, cells_of, labelled_runs
from touche_rad.bench.figures import BenchSummary, Figures
from touche_rad.bench.plan import PlanFile
from touche_rad.bench.record import PAGE
from touche_rad.plots.svg import Dot, dot_plot
from touche_rad.report import write_report
from touche_rad.report.boards import Board, BoardTable, board_table
from touche_rad.report.calls import cost_board
from touche_rad.report.leaderboards import judgement_board
from touche_rad.report.page import INDEX
from touche_rad.score.cautions import without_model
from touche_rad.score.result import MEAN
from touche_rad.score.words import by_pair, number, ranking_in_words, too_few

JUDGES: Final = "judges"
"""The folder of the judges' page."""


def write_pages(plan_file: PlanFile, results: Path, summary: BenchSummary) -> Path:
    """Write the pages of a run, and return the first one."""
    folder = results / PAGE
    plan = plan_file.plan
    title = plan.pages.title or plan.name
    # The names that are not their plugins'.
    rows = [row for row in summary.figures.entries if row[0] != row[2]]
    entries = [BoardTable("Entries", ["name", "kind", "plugin"], rows)] if rows else []

    judges = summary.judges
    if judges is not None:
        board = judgement_board(judges)
        board.tables += entries
        page = write_report(
            [results / cell.path for cell in labelled_runs(plan_file)],
            folder / JUDGES if plan_file.debaters else folder,
            criteria=plan_file.criteria,
            labels=plan_file.data["labels"],
            boards=[board],
            title=f"{title}: judges" if plan_file.debaters else title,
            debates=plan.pages.debates,
        ).page
    if not plan_file.debaters:
        return page

    cells = list(cells_of(plan_file))
    verdict_cells = [cell for cell in cells if isinstance(cell, VerdictCell)]
    baselines = plan.pages.baselines
    board = _debaters_board(summary.figures, baselines)
    board.tables += entries
    board.warnings += without_model(
        results / cell.path for cell in verdict_cells if cell.entry.name not in baselines
    )
    boards = [board]
    if judges is not None:
        board = judgement_board(judges)
        board.title = "Judges"
        board.squares = []
        board.links = [(f"{JUDGES}/{INDEX}", "Read the labelled debates with all verdicts")]
        boards.append(board)
    costs = cost_board({cell.path.removesuffix(".jsonl"): results / cell.path for cell in cells})
    if costs is not None:
        boards.append(costs)
    return write_report(
        [results / cell.path for cell in verdict_cells if cell.of is not None],
        folder,
        criteria=plan_file.criteria,
        title=title,
        boards=boards,
        debates=plan.pages.debates,
    ).page


def _debaters_board(figures: Figures, baselines: Container[str]) -> Board:
    """Show the debaters with their share of yes, by maxim, judge and user."""
    debaters = figures.debaters
    shares = {debater.name: debater.yes for debater in debaters}
    unranked = frozenset(name for name in shares if name in baselines)
    board = Board(
        "Debaters",
        too_few(
            {name: number(share) for name, share in shares.items()},
            figures.measure,
            figures.claims,
            "claims",
        )
        or ranking_in_words(
            {name: share for name, share in shares.items() if name not in unranked},
            {name: shares[name] for name in shares if name in unranked},
            figures.measure,
            by_pair(figures.comparisons, MEAN),
        ),
        f"On {figures.claims} claims: {figures.mean}. "
        f"Intervals: {figures.samples} bootstrap samples of claims, seed 0. Judges may be wrong: "
        "their scores on labelled debates show how often.",
        [board_table("Share of yes", figures.board(), unranked)],
    )

    shares_with_intervals = []
    lengths = []
    for debater in debaters:
        name = debater.name
        shares_with_intervals.append(Dot(name, debater.yes, debater.low, debater.high))
        lengths.append(Dot(name, debater.words, None, None))
        if debater.fallbacks:
            board.warnings.append(
                f"{name}: {debater.fallbacks} of {debater.responses} responses are fallbacks"
            )
    board.plots = [
        dot_plot("Share of yes", shares_with_intervals),
        dot_plot("Words per response", lengths, [("limit", 60.0)], digits=0, axis=(0.0,)),
    ]

    for kind in ("judge", "user", "seed"):
        heads = list(getattr(debaters[0], f"{kind}s"))
        if kind == "judge" or len(heads) > 1:
            rows = []
            for debater in debaters:
                values = getattr(debater, f"{kind}s")
                rows.append([debater.name, *(number(values[head]) for head in heads)])
            caption = f"Share of yes by {kind}"
            table = BoardTable(caption, ["debater", *heads], rows, unranked)
            board.details.append((caption, [table]))
    return board


def page_files(results: Path) -> list[Path]:
    """Return the files of the pages."""
    return sorted(path for path in (results / PAGE).rglob("[!.]*") if path.is_file())
