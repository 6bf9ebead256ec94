"""The leaderboards of judges, TREC runs and panels that are scored against a truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from urllib.parse import quote, urlencode

from touche_rad.contests.score_report import (
    BIAS_COLUMNS,
    BIASES,
    SCORE_COLUMNS,
    SHARE_COLUMNS,
    SIDE_COLUMNS,
    ContestReport,
    ContestRow,
)
from touche_rad.plots.svg import Dot, dot_plot
from touche_rad.report.boards import (
    FEWEST,
    Board,
    BoardCell,
    BoardTable,
    agreement,
    board_table,
    by_pair,
    matrix,
    names_of,
    number,
    ranking_in_words,
    too_few,
)
from touche_rad.score.measures import says_yes
from touche_rad.score.reports import JudgementReport, Report, RetrievalReport
from touche_rad.score.result import BASELINE, MEAN, JudgementRow
from touche_rad.score.tables import Columns, FrozenRecord, cell, table


def judgement_board(report: JudgementReport) -> Board:
    """Show judges that are scored against labels."""
    rows = {(row.run, row.maxim): row for row in report.rows}
    keys = report.criteria.keys
    measured = [key for key in keys if rows[BASELINE, key].labelled]
    names = [one.run for one in report.ranking]
    captions = {"Mean F1": MEAN, **{f"F1 on {key}": key for key in measured}}
    dots: dict[str, list[Dot]] = {caption: [] for caption in captions}
    for (caption, key), name in product(captions.items(), names):
        row = rows[name, key]
        dots[caption].append(Dot(name, row.f1, row.low, row.high))
    board = _ranked_board(report, "Leaderboard", dots, "mean F1", MEAN)
    board.sentences = too_few(board.scores, "mean F1", report.debates, "debates") or board.sentences
    if not measured:
        board.sentences = ["The labels say nothing about these turns, so no run has a score."]
    labelled = max(rows[BASELINE, key].labelled for key in keys)
    board.note = (
        f"F1 of yes as the task scores it, mean of the maxims, on {labelled} labelled turns "
        f"of {report.debates} debates. Intervals: {report.samples} bootstrap samples of debates, "
        f"seed {report.seed}; “significantly” means that the interval of the paired difference "
        "excludes 0. * baseline, without a rank."
    )
    runs = [name for name in names if name != BASELINE]
    board.squares = [(run, [_square(rows[run, key]) for key in measured]) for run in runs]
    if len(runs) > 1:
        board.tables.append(agreement({run: list(_votes(report, run)) for run in runs}))
    return board


def retrieval_board(report: RetrievalReport) -> Board:
    """Show TREC runs that are scored against qrels."""
    first = report.measures[0]
    dots: dict[str, list[Dot]] = {measure: [] for measure in report.measures}
    for run, row in product(report.ranking, report.rows):
        if row.run == run.run:
            dots[row.measure].append(Dot(row.run, row.value, row.low, row.high))
    board = _ranked_board(report, "Leaderboard of retrieval", dots, first, first)
    board.sentences = too_few(board.scores, first, report.queries, "queries") or board.sentences
    board.note = (
        f"{report.queries} queries; a query without results counts as 0. Intervals: "
        f"{report.samples} bootstrap samples of queries, seed {report.seed}. * baseline, without a "
        "rank."
    )
    return board


def _ranked_board(
    report: Report, title: str, dots: Mapping[str, Sequence[Dot]], what: str, measure: str
) -> Board:
    """Return the board of a ranking; `dots` has the plots by caption, the ranking one first."""
    baselines = {BASELINE, *report.baselines}
    ranked = {dot.label: dot.value for dot in next(iter(dots.values()))}
    runs = {name: value for name, value in ranked.items() if name not in baselines}
    marked = {name: value for name, value in ranked.items() if name in baselines}
    return Board(
        title,
        ranking_in_words(runs, marked, what, by_pair(report.comparisons, measure)),
        tables=[board_table("Scores of the runs", report.board(), baselines)],
        plots=[
            dot_plot(
                caption,
                [dot for dot in of_measure if dot.label not in baselines],
                [(dot.label, dot.value) for dot in of_measure if dot.label in baselines],
            )
            for caption, of_measure in dots.items()
        ],
        warnings=[*_not_scored(report.refused, report.others), *report.warnings()],
        scores={name: number(value) for name, value in ranked.items()},
    )


def _not_scored(refused: Mapping[str, str], others: Sequence[str] = ()) -> Iterator[str]:
    """Yield a line for each run that could not be scored; those on other debates have one."""
    if len(others) > 1:
        head = f"{len(others)} runs are on other debates than the labels: {', '.join(others)}"
        yield f"{head}; the first: {refused[others[0]]}"
    for run, error in refused.items():
        if len(others) < 2 or run not in others:
            yield f"not scored: {run}: {error}"


def _votes(report: JudgementReport, run: str) -> Iterator[bool]:
    """Yield whether a run says yes, for each label."""
    for of_debate, scores in zip(report.labels, report.scores[run], strict=True):
        for labels, of_turn in zip(of_debate, scores, strict=True):
            for key in report.criteria.keys:
                if labels.get(key) is not None:
                    yield says_yes(of_turn.get(key))


def _square(row: JudgementRow) -> BoardTable:
    """Count verdicts against labels; a count opens these turns."""
    lines = []
    for verdict, names in (("yes", ("tp", "fp")), ("no", ("fn", "tn"))):
        line = [f"judge {verdict}"]
        for label, name in zip(("yes", "no"), names, strict=True):
            count = getattr(row, name)
            at = {"run": row.run, "maxim": row.maxim, "verdict": verdict, "label": label}
            line.append(
                BoardCell(
                    str(count),
                    f"#debates&{urlencode(at, quote_via=quote, safe='')}",
                    count / row.labelled,
                )
            )
        lines.append(line)
    return BoardTable(row.maxim, ["", "label yes", "label no"], lines, grid=True)


def contest_board(report: ContestReport) -> Board:
    """Show panels that are scored against the winners of debates."""
    board = Board(
        "Leaderboard of panels",
        [],
        f"Accuracy: share of {report.debates} debates with the right winner. Intervals: "
        f"{report.samples} bootstrap samples of debates, seed {report.seed}. A constant predictor "
        "always gives the same winner.",
    )
    if not report.rows:
        board.title, board.note = "Panels", ""
        board.sentences = ["The labels name no winner, so no panel has a score."]
        board.tables = [board_table("Who won", table(SHARE_COLUMNS, report.shares))]
    for dimension in dict.fromkeys(row.dimension for row in report.rows):
        rows = [row for row in report.rows if row.dimension == dimension]
        runs = sorted(
            (row for row in rows if row.basis != "constant"), key=lambda row: -(row.accuracy or 0)
        )
        constants = [row for row in rows if row.basis == "constant"]
        board.scores = {row.label: cell("{accuracy:percent}", row) for row in runs} | board.scores
        if not runs:
            continue
        best = max(constants, key=lambda row: row.accuracy or 0, default=None)
        own = [row for row in runs if row.decides]
        board.sentences += _panels_in_words(dimension, own, best)
        scores = table({"{label}": "run", **SCORE_COLUMNS}, [*runs, *constants])
        board.tables.append(
            board_table(f"Scores on {dimension}", scores, [row.run for row in constants])
        )
        marked = [(best.run, 100 * best.accuracy)] if best and best.accuracy is not None else []
        dots = []
        for row in runs:
            values = (row.accuracy, row.accuracy_low, row.accuracy_high)
            value, low, high = (None if one is None else 100 * one for one in values)
            if value is not None:
                dots.append(Dot(row.label, value, low, high))
        caption = f"Accuracy in percent, {dimension}"
        board.plots.append(dot_plot(caption, dots, marked, digits=1, axis=(0.0, 100.0)))
    if report.same:
        same = {frozenset((one.first, one.second)): one.same for one in report.same}
        names = list(dict.fromkeys(name for pair in same for name in sorted(pair)))
        caption = "Agreement of the panels: share of equal winners"
        board.tables.append(matrix(caption, names, lambda *pair: same.get(frozenset(pair))))
    further: tuple[tuple[str, Columns, Sequence[FrozenRecord]], ...] = (
        ("Biases of the winners", BIAS_COLUMNS, report.biases),
        ("Scores of the sides against people's scores", SIDE_COLUMNS, report.sides),
    )
    board.details = [
        (caption, [board_table(caption, table(columns, rows))])
        for caption, columns, rows in further
        if rows
    ]
    if report.biases:
        board.note += f" {BIASES.capitalize()}"
    board.warnings = [*report.missing_lines(), *_not_scored(report.refused)]
    return board


def _panels_in_words(
    dimension: str, runs: Sequence[ContestRow], best: ContestRow | None
) -> Iterator[str]:
    first = runs[0]
    within = cell("{accuracy_low:share} to {accuracy_high:share}", first)
    names = [row.label for row in runs if row.accuracy == first.accuracy]
    verb, within = ("is", f" (95 % interval {within})") if len(names) == 1 else ("are", "")
    yield (
        f"{dimension}: the most accurate {verb} {names_of(names)}, with the right winner in "
        f"{cell('{accuracy:percent}', first)} of the debates{within}."
    )
    if best is not None and (best.accuracy or 0) >= (first.accuracy or 0):
        right, equal = cell("{accuracy:percent}", best), best.accuracy == first.accuracy
        than = "as accurate" if equal else f"more accurate ({right})"
        yield f"{dimension}: the baseline “{best.run}” is {than}."
        return
    if best is None or best.accuracy is None or first.debates < FEWEST:
        return
    # Means of repeats have no interval.
    groups: dict[bool, list[str]] = {}
    for row in runs:
        if row.accuracy_low is not None:
            groups.setdefault(row.accuracy_low > best.accuracy, []).append(row.label)
    for is_better, names in groups.items():
        yield (
            f"{dimension}: {'' if is_better else 'not '}significantly better than “{best.run}”, "
            f"which is right in {cell('{accuracy:percent}', best)}: {names_of(names)}."
        )
