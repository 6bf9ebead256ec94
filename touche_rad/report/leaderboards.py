"""The leaderboards of judges, TREC runs and panels that are scored against a truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from touche_rad.contests.score_report import ContestReport, ContestRow
from touche_rad.debate import Maxim
from touche_rad.plots.svg import Dot, dots
from touche_rad.report.boards import (
    Board,
    BoardTable,
    Cell,
    Plot,
    Standing,
    by_pair,
    interval,
    names_of,
    number,
    ranking_in_words,
)
from touche_rad.score.reports import JudgementReport, RetrievalReport
from touche_rad.score.result import BASELINE, MEAN, JudgementRow, Problem
from touche_rad.score.tables import NONE


def _scored_turns(report: JudgementReport, rows: Mapping[tuple[str, str], JudgementRow]) -> str:
    """Return how many turns the scores are about: labels may cover some turns only."""
    labelled = max(rows[BASELINE, maxim].labelled for maxim in Maxim)
    return (
        f"{report.turns} turns"
        if labelled >= report.turns
        else (f"{labelled} labelled turns (of {report.turns})")
    )


def judgement_board(report: JudgementReport) -> Board:
    """Show judges that are scored against labels."""
    rows = {(row.run, row.maxim): row for row in report.rows}
    baselines = {BASELINE, *report.baselines}
    ranked = [Standing(one.run, rows[one.run, MEAN].f1) for one in report.ranking]
    runs = [one for one in ranked if one.name not in baselines]
    marked = [one for one in ranked if one.name in baselines]
    measured = [maxim for maxim in Maxim if rows[BASELINE, maxim].labelled]
    return Board(
        "Leaderboard",
        list(ranking_in_words(runs, marked, "mean F1", by_pair(report.comparisons, MEAN)))
        if measured
        else ["The labels say nothing about these turns, so no run has a score."],
        f"F1 of yes as the task scores it, mean of the maxims, on {_scored_turns(report, rows)} "
        f"of {report.debates} debates. Intervals: {report.samples} bootstrap samples of debates, "
        f"seed {report.seed}; “clearly” means that the interval of the paired difference excludes "
        "0.",
        [
            BoardTable(
                "Scores of the runs",
                [
                    "run",
                    "rank",
                    "mean F1",
                    "95 % interval",
                    *(f"F1 {maxim}" for maxim in Maxim),
                    "macro F1",
                    "accuracy",
                    "kappa",
                    "yes",
                ],
                [_judge_cells(one.run, one.rank, rows) for one in report.ranking],
                frozenset(baselines),
            )
        ],
        [
            Plot(
                caption,
                dots(
                    caption,
                    [
                        _f1_dot(rows[one.run, maxim])
                        for one in report.ranking
                        if one.run not in baselines
                    ],
                    [(one.name, rows[one.name, maxim].f1) for one in marked],
                ),
            )
            for maxim, caption in [(MEAN, "Mean F1"), *((str(m), f"F1 on {m}") for m in measured)]
        ],
        [
            (
                "Confusion of verdicts and labels",
                [
                    _confusion(maxim, [rows[one.run, maxim] for one in report.ranking], baselines)
                    for maxim in measured
                ],
            )
        ],
        [_warning(one) for one in report.problems],
    )


def _warning(one: Problem) -> str:
    """Return a problem with its kind, without which the message alone may be unclear."""
    of_maxim = f" of {one.maxim}" if one.maxim else ""
    return f"{one.run}: {one.kind.value}{of_maxim}: {one.message}"


def _f1_dot(row: JudgementRow) -> Dot:
    return Dot(row.run, row.f1, row.low, row.high)


def _judge_cells(
    run: str, rank: int | None, rows: Mapping[tuple[str, str], JudgementRow]
) -> list[Cell]:
    mean = rows[run, MEAN]
    return [
        Cell(text)
        for text in (
            run,
            NONE if rank is None else str(rank),
            number(mean.f1, 4),
            interval(mean.low, mean.high),
            *(
                number(rows[run, maxim].f1 if rows[run, maxim].labelled else None)
                for maxim in Maxim
            ),
            number(mean.macro_f1),
            number(mean.accuracy),
            number(mean.kappa),
            number(mean.yes_rate, 2),
        )
    ]


def _confusion(maxim: Maxim, rows: Sequence[JudgementRow], baselines: set[str]) -> BoardTable:
    """Count verdicts against labels; a count opens these turns."""
    heads = ["run", "yes, label yes", "yes, label no", "no, label yes", "no, label no"]
    kinds = (("tp", "yes", "yes"), ("fp", "yes", "no"), ("fn", "no", "yes"), ("tn", "no", "no"))
    table = []
    for row in rows:
        cells = [Cell(row.run)]
        for name, verdict, label in kinds:
            count = str(getattr(row, name))
            at = {"run": row.run, "maxim": str(maxim), "verdict": verdict, "label": label}
            cells.append(Cell(count, "" if row.run == BASELINE else _address(at)))
        table.append(cells)
    return BoardTable(f"Verdicts and labels on {maxim}", heads, table, frozenset(baselines))


def _address(values: Mapping[str, str]) -> str:
    return "#debates&" + "&".join(f"{key}={quote(value, safe='')}" for key, value in values.items())


def retrieval_board(report: RetrievalReport) -> Board:
    """Show TREC runs that are scored against qrels."""
    rows = {(row.run, row.measure): row for row in report.rows}
    first = report.measures[0]
    ranked = [Standing(one.run, rows[one.run, first].value) for one in report.ranking]
    runs = [one for one in ranked if one.name not in report.baselines]
    marked = [one for one in ranked if one.name in report.baselines]
    heads = ["run", "rank"]
    for measure in report.measures:
        heads += [measure, f"95 % of {measure}"]
    return Board(
        "Leaderboard of retrieval",
        list(ranking_in_words(runs, marked, first, by_pair(report.comparisons, first))),
        f"{report.queries} queries; a query without results counts as 0. Intervals: "
        f"{report.samples} bootstrap samples of queries, seed {report.seed}.",
        [
            BoardTable(
                "Scores of the runs",
                heads,
                [
                    [
                        Cell(one.run),
                        Cell(NONE if one.rank is None else str(one.rank)),
                        *(
                            Cell(text)
                            for measure in report.measures
                            for row in [rows[one.run, measure]]
                            for text in (number(row.value, 4), interval(row.low, row.high))
                        ),
                    ]
                    for one in report.ranking
                ],
                frozenset(report.baselines),
            )
        ],
        [
            Plot(
                measure,
                dots(
                    measure,
                    [
                        Dot(
                            one.run,
                            rows[one.run, measure].value,
                            rows[one.run, measure].low,
                            rows[one.run, measure].high,
                        )
                        for one in report.ranking
                        if one.run not in report.baselines
                    ],
                    [(one.name, rows[one.name, measure].value) for one in marked],
                ),
            )
            for measure in report.measures
        ],
        warnings=[f"{one.run}: {one.message}" for one in report.problems[:20]],
    )


def contest_board(report: ContestReport) -> Board:
    """Show panels that are scored against the winners of debates."""
    board = Board(
        "Leaderboard of panels",
        [],
        f"Share of {report.debates} debates with the right winner. Intervals: {report.samples} "
        f"bootstrap samples of debates, seed {report.seed}. A constant predictor always gives the "
        "same winner.",
    )
    for dimension in dict.fromkeys(row.dimension for row in report.rows):
        rows = [row for row in report.rows if row.dimension == dimension]
        runs = sorted(
            (row for row in rows if row.basis != "constant"), key=lambda row: -(row.accuracy or 0)
        )
        constants = [row for row in rows if row.basis == "constant"]
        if not runs:
            continue
        best = max(constants, key=lambda row: row.accuracy or 0, default=None)
        board.sentences += _panels_in_words(dimension, runs, best)
        board.tables.append(_panel_table(dimension, [*runs, *constants]))
        marked = [(best.run, best.accuracy)] if best and best.accuracy is not None else []
        caption = f"Accuracy, {dimension}"
        found = [_panel_dot(row) for row in runs if row.accuracy is not None]
        board.plots.append(Plot(caption, dots(caption, found, marked)))
    board.details += _further_panel_tables(report)
    board.warnings = [
        f"{run}: {len(lost)} of {report.debates} debates have no verdict, the first is {lost[0]}"
        for run, lost in report.missing.items()
    ]
    return board


def _panels_in_words(
    dimension: str, runs: Sequence[ContestRow], best: ContestRow | None
) -> Iterator[str]:
    if runs and runs[0].accuracy is not None:
        first = runs[0]
        within = interval(first.accuracy_low, first.accuracy_high, 2)
        yield (
            f"{dimension}: {_panel_name(first)} names the right winner in {first.accuracy:.0%} "
            f"of the debates (95 % interval {within})."
        )
    if best is None or best.accuracy is None:
        return
    above = [row for row in runs if row.accuracy_low is not None and row.accuracy is not None]
    better = [_panel_name(row) for row in above if (row.accuracy_low or 0) > best.accuracy]
    rest = [_panel_name(row) for row in runs if _panel_name(row) not in better]
    if better:
        verb = "is" if len(better) == 1 else "are"
        yield (
            f"{dimension}: {names_of(better)} {verb} clearly better than “{best.run}” "
            f"({best.accuracy:.0%})."
        )
    if rest:
        yield (
            f"{dimension}: {names_of(rest)} cannot be told from “{best.run}” "
            f"({best.accuracy:.0%}), or {'is' if len(rest) == 1 else 'are'} worse."
        )


def _panel_name(row: ContestRow) -> str:
    return row.run if row.basis == "winner" else f"{row.run}, {row.basis_text}"


def _panel_dot(row: ContestRow) -> Dot:
    return Dot(_panel_name(row), row.accuracy or 0.0, row.accuracy_low, row.accuracy_high)


def _panel_table(dimension: str, rows: Sequence[ContestRow]) -> BoardTable:
    heads = [
        "run",
        "basis",
        "accuracy",
        "95 % interval",
        "completed",
        "RMSE",
        "MAE",
        "Pearson",
        "Spearman",
        "Kendall",
    ]
    return BoardTable(
        f"Scores on {dimension}",
        heads,
        [
            [
                Cell(text)
                for text in (
                    row.run,
                    row.basis_text,
                    number(row.accuracy),
                    interval(row.accuracy_low, row.accuracy_high),
                    number(row.completed, 2),
                    number(row.rmse, 2),
                    number(row.mae, 2),
                    number(row.pearson),
                    number(row.spearman),
                    number(row.kendall),
                )
            ]
            for row in rows
        ],
        frozenset(row.run for row in rows if row.basis == "constant"),
    )


def _further_panel_tables(report: ContestReport) -> Iterator[tuple[str, list[BoardTable]]]:
    if report.biases:
        yield "Biases of the winners", [_records("Biases", "run", report.biases)]
    if report.sides:
        yield (
            "Scores of the sides against people's scores",
            [_records("Scores of sides", "run", report.sides)],
        )
    if report.same:
        yield "Agreement between the runs", [_records("Agreement", "first", report.same)]


def _records(caption: str, first: str, records: Sequence[Any]) -> BoardTable:
    names = [first, *(name for name in type(records[0]).model_fields if name != first)]
    return BoardTable(
        caption,
        [_NAMES.get(name, name.replace("_", " ")) for name in names],
        [[Cell(_plain(getattr(one, name))) for name in names] for one in records],
    )


_NAMES: Final = {
    "first": "run",
    "second": "other run",
    "con": "con wins",
    "con_gold": "con wins (truth)",
    "last": "last speaker wins",
    "last_gold": "last speaker wins (truth)",
    "longest": "longest speaker wins",
    "longest_gold": "longest speaker wins (truth)",
    "same": "same winner",
    "flipped": "winner changes with the sides",
    "people": "people's score",
}


def _plain(value: object) -> str:
    if value is None:
        return NONE
    return f"{value:.3f}" if isinstance(value, float) else str(value)
