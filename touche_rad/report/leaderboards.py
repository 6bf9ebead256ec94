"""The leaderboards of judges, TREC runs and panels that are scored against a truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote, urlencode

from touche_rad.contests.score_report import (
    BIAS_COLUMNS,
    BIASES,
    SCORE_COLUMNS,
    SHARE_COLUMNS,
    SIDE_COLUMNS,
    ContestReport,
)
from touche_rad.plots.svg import Dot, dot_plot
from touche_rad.report.boards import Board, BoardCell, BoardTable, agreement, board_table, matrix
from touche_rad.score.confusion import MAIN, TITLES
from touche_rad.score.measures import says_yes
from touche_rad.score.reports import JudgementReport, Report, RetrievalReport
from touche_rad.score.result import BASELINE, MEAN, JudgementRow
from touche_rad.score.tables import cell, table
from touche_rad.score.words import by_pair, number, ranking_in_words, too_few


def judgement_board(report: JudgementReport) -> Board:
    """Show judges that are scored against labels."""
    rows = {(row.run, row.maxim): row for row in report.rows}
    keys = report.criteria.keys
    names = [ranked.run for ranked in report.ranking]
    measured = [key for key in keys if rows[names[0], key].labelled]
    captions = {report.measure.capitalize().replace("f1", "F1"): MEAN}
    main = {criterion.key: TITLES[MAIN[criterion.answers.kind]] for criterion in report.criteria}
    captions |= {f"{main[key]} on {key}": key for key in measured}
    dots: dict[str, list[Dot]] = {}
    for caption, key in captions.items():
        of_key = [rows[name, key] for name in names]
        dots[caption] = [Dot(row.run, row.value, row.low, row.high) for row in of_key]
    board = _ranked_board(report, "Leaderboard", dots)
    labelled = max(rows[names[0], key].labelled for key in keys)
    what = f"{report.measure} of the criteria"
    if report.criteria.official:
        what = "F1 of yes as the task scores it, mean of the maxims,"
    board.note = (
        f"{what} on {labelled} labelled turns of {report.debates} debates. Intervals: "
        f"{report.samples} bootstrap samples of debates, seed {report.seed}; “significantly”: p of "
        "the paired difference is below .05, corrected by Holm. * baseline, without a rank."
    )
    votes: dict[str, list[bool]] = {}
    for name in names:
        # The verdicts of the baseline are all yes: there is nothing to open.
        if name in report.runs:
            squares = [key for key in measured if main[key] == TITLES["f1"]]
            board.squares.append((name, [_square(rows[name, key]) for key in squares]))
            votes[name] = _votes(report, name)
    if len(votes) > 1:
        board.tables.append(agreement(votes))
    return board


def retrieval_board(report: RetrievalReport) -> Board:
    """Show TREC runs that are scored against qrels."""
    dots: dict[str, list[Dot]] = {measure: [] for measure in report.measures}
    for ranked in report.ranking:
        for row in report.rows:
            if row.run == ranked.run:
                dots[row.measure].append(Dot(row.run, row.value, row.low, row.high))
    board = _ranked_board(report, "Leaderboard of retrieval", dots)
    board.note = (
        f"{report.queries} queries; a query without results counts as 0. Intervals: "
        f"{report.samples} bootstrap samples of queries, seed {report.seed}. * baseline, without a "
        "rank."
    )
    return board


def _ranked_board(report: Report, title: str, dots: Mapping[str, Sequence[Dot]]) -> Board:
    """Return the board of a ranking; `dots` has the plots by caption, the ranking one first."""
    baselines = {BASELINE, *report.baselines}
    ranked = {dot.label: dot.value for dot in next(iter(dots.values()))}
    plots = []
    for caption, dots_of_plot in dots.items():
        shown = [dot for dot in dots_of_plot if dot.label not in baselines]
        lines = [(dot.label, dot.value) for dot in dots_of_plot if dot.label in baselines]
        plots.append(dot_plot(caption, shown, lines))
    return Board(
        title,
        report.sentences(),
        tables=[board_table("Scores of the runs", report.board(), baselines)],
        plots=plots,
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


def _votes(report: JudgementReport, run: str) -> list[bool]:
    """Return whether a run says yes, for each label."""
    votes = []
    for labels_of_debate, scores_of_debate in zip(report.labels, report.scores[run], strict=True):
        for labels, scores in zip(labels_of_debate, scores_of_debate, strict=True):
            for key in report.criteria.keys:
                if labels.get(key) is not None:
                    votes.append(says_yes(scores.get(key)))
    return votes


def _square(row: JudgementRow) -> BoardTable:
    """Count verdicts against labels; a count opens these turns."""

    def cell_of(verdict: str, label: str, count: int) -> BoardCell:
        fields = {"run": row.run, "maxim": row.maxim, "verdict": verdict, "label": label}
        href = f"#debates&{urlencode(fields, quote_via=quote, safe='')}"
        return BoardCell(str(count), href, count / row.labelled)

    lines = [
        ["judge yes", cell_of("yes", "yes", row.tp), cell_of("yes", "no", row.fp)],
        ["judge no", cell_of("no", "yes", row.fn), cell_of("no", "no", row.tn)],
    ]
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
        board.title = "Panels"
        board.note = ""
        board.sentences = ["The labels name no winner, so no panel has a score."]
        board.tables = [board_table("Who won", table(SHARE_COLUMNS, report.shares))]
    for dimension in dict.fromkeys(row.dimension for row in report.rows):
        rows = [row for row in report.rows if row.dimension == dimension]
        constants = [row for row in rows if row.basis == "constant"]
        runs = [row for row in rows if row.basis != "constant"]
        if not runs:
            continue
        for row in runs:  # by their first dimension
            board.scores.setdefault(row.label, cell("{accuracy:percent}", row))
        # A random guess has no samples to compare with.
        best = next((row for row in constants if row.accuracy_low is not None), constants[0])
        shown = {row.label: number(row.accuracy) for row in runs if row.decides}
        ranked = {row.label: row.accuracy or 0.0 for row in runs if row.rank}
        sentences = too_few(shown, "accuracy", rows[0].debates, "debates") or ranking_in_words(
            ranked,
            {best.run: best.accuracy or 0.0},
            "accuracy",
            by_pair(report.comparisons, f"accuracy on {dimension}"),
        )
        board.sentences += [f"{dimension}: {sentence}" for sentence in sentences]
        scores = table({"{label}": "run", **SCORE_COLUMNS}, rows)
        board.tables.append(
            board_table(f"Scores on {dimension}", scores, [row.run for row in constants])
        )
        dots = []
        for row in runs:
            if row.accuracy is None:
                continue
            low, high = (
                None if limit is None else 100 * limit
                for limit in (row.accuracy_low, row.accuracy_high)
            )
            dots.append(Dot(row.label, 100 * row.accuracy, low, high))
        marked = []
        if best.accuracy is not None:
            marked.append((best.run, 100 * best.accuracy))
        caption = f"Accuracy in percent, {dimension}"
        board.plots.append(dot_plot(caption, dots, marked, digits=1, axis=(0.0, 100.0)))

    if report.same:
        same = {frozenset((row.first, row.second)): row.same for row in report.same}
        names: dict[str, None] = {}
        for pair in same:
            names |= dict.fromkeys(sorted(pair))
        caption = "Agreement of the panels: share of equal winners"
        board.tables.append(matrix(caption, list(names), lambda *pair: same.get(frozenset(pair))))
    if report.biases:
        biases = board_table("Biases of the winners", table(BIAS_COLUMNS, report.biases))
        board.details.append((biases.caption, [biases]))
        board.note += f" {BIASES.capitalize()}"
    if report.sides:
        caption = "Scores of the sides against people's scores"
        sides = board_table(caption, table(SIDE_COLUMNS, report.sides))
        board.details.append((caption, [sides]))
    board.warnings = [*report.missing_lines(), *_not_scored(report.refused)]
    return board
