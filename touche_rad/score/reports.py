"""The reports of scores: a ranked table of several runs, or the details of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from pydantic import Field

from touche_rad.debate import Maxim
from touche_rad.score.printing import (
    comparison_table,
    health_lines,
    measures,
    problem_counts,
    problem_lines,
)
from touche_rad.score.result import (
    BASELINE,
    MEAN,
    Comparison,
    Health,
    JudgementRow,
    LabelRow,
    Missing,
    Problem,
    Ranked,
    RetrievalRow,
)
from touche_rad.score.tables import (
    INTERVAL,
    NONE,
    Columns,
    Part,
    Printed,
    Table,
    cell,
    cells,
    heads,
)

_POLICIES: Final = {
    "strict": "policy: strict, as in the official scorer",
    "no": "missing verdicts count as no",
    "skip": "a turn on which any run has no verdict is left out for all runs",
    "error": "no verdict is missing",
}
_EXTRA_COLUMNS: Columns = (
    ("macro F1", "{macro_f1:.3f}"),
    ("accuracy", "{accuracy:.3f}"),
    ("kappa", "{kappa:.3f}"),
    ("MCC", "{mcc:.3f}"),
    ("precision", "{precision:.3f}"),
    ("recall", "{recall:.3f}"),
)
_TIES: Final = (
    "Runs share a rank if the 95 % interval of their paired difference from the first run of that "
    "rank contains 0."
)
_MARK: Final = "*"
_SHORT_INTERVAL: Final = "{low:.3f}–{high:.3f}"


class Report(Printed):
    """The fields of every report."""

    kind: str
    truth: str
    runs: tuple[str, ...]
    baselines: tuple[str, ...] = ()
    """The runs that are baselines."""
    ranking: tuple[Ranked, ...] = ()
    """The runs and baselines, best first."""
    comparisons: tuple[Comparison, ...] = ()
    problems: tuple[Problem, ...] = ()
    samples: int
    seed: int


class JudgementReport(Report):
    """Evaluations scored against labels."""

    kind: Literal["judgements"] = "judgements"
    policy: Missing | Literal["strict"]
    matched_by: str | None = None
    """The file whose words match the runs with the labels; None if they are matched by place."""
    official: bool
    """Whether the official scorer accepts every run and gives the same scores."""
    debates: int
    turns: int
    excluded: int = 0
    """Labelled turns that --exclude left out."""
    label_rows: tuple[LabelRow, ...] = ()
    rows: tuple[JudgementRow, ...]
    lost: Mapping[str, int] = Field(default_factory=dict)
    """Labelled debates without any verdict, by run."""
    health: dict[str, Health] = Field(default_factory=dict)
    labels: Any = Field(exclude=True, repr=False)
    scores: Any = Field(exclude=True, repr=False)
    """The labels, and the aligned scores of each run, for the exports."""

    def parts(self) -> Iterator[Part]:
        """Yield the details of one run, or a ranked table of several."""
        return _judgements(self)

    def details(self) -> Iterator[Part]:
        """Yield all measures of each run, and all problems."""
        yield from measures(self.label_rows, self.rows)
        yield health_lines(self.health)
        yield problem_lines(self.problems)

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Yield a row per run, best first, with all measures."""
        rows = {(row.run, row.maxim): row for row in self.rows}
        names = (
            "precision",
            "recall",
            "f1",
            "low",
            "high",
            "macro_precision",
            "macro_recall",
            "macro_f1",
            "accuracy",
            "kappa",
            "mcc",
            "yes_rate",
            "labelled",
        )
        for one in self.ranking:
            yield {
                "rank": one.rank,
                "run": one.run,
                "baseline": one.run == BASELINE or one.run in self.baselines,
                **{
                    f"{maxim}_{name}": getattr(rows[one.run, maxim], name)
                    for maxim in (MEAN, *map(str, Maxim))
                    for name in names
                },
                "lost_debates": self.lost.get(one.run, 0),
            }


class RetrievalReport(Report):
    """TREC runs scored against qrels."""

    kind: Literal["retrieval"] = "retrieval"
    measures: tuple[str, ...]
    queries: int
    rows: tuple[RetrievalRow, ...]

    def parts(self) -> Iterator[Part]:
        """Yield a ranked table of the runs."""
        return _retrieval(self)

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Yield a row per run, best first."""
        for one in self.ranking:
            of_run = [row for row in self.rows if row.run == one.run]
            yield {
                "rank": one.rank,
                "run": one.run,
                "baseline": one.run in self.baselines,
                **{
                    key: value
                    for row in of_run
                    for key, value in (
                        (row.measure, row.value),
                        (f"{row.measure}_low", row.low),
                        (f"{row.measure}_high", row.high),
                    )
                },
            }


def _judgements(report: JudgementReport) -> Iterator[Part]:
    """Yield the details of one run, or a ranked table of several."""
    yield _head(report)
    if len(report.runs) == 1:
        yield from measures(report.label_rows, report.rows)
        yield comparison_table(report.comparisons)
        yield health_lines(report.health)
        yield problem_lines(report.problems)
    else:
        yield _board(report)
        yield _notes(report)
        yield comparison_table(report.comparisons)
        yield problem_counts(report.problems)


def _retrieval(report: RetrievalReport) -> Iterator[Part]:
    """Yield a ranked table of TREC runs."""
    yield (
        f"{report.truth}: {report.queries} queries; a query without results counts as 0",
        _drawn(report, "queries"),
    )
    yield _retrieval_board(report)
    yield _notes(report)
    yield comparison_table(report.comparisons)
    yield problem_lines(report.problems)


def _head(report: JudgementReport) -> Iterator[str]:
    without = f", {report.excluded} of them left out" if report.excluded else ""
    yield f"{report.truth}: {report.debates} debates, {report.turns} turns{without}"
    if report.policy != "strict":
        by = f"by id and text with {report.matched_by}" if report.matched_by else "by place"
        yield f"runs are matched to labels {by}"
    same = (
        ""
        if report.official or report.policy == "strict"
        else ("; the official scorer would give at least one run no score")
    )
    yield f"{_POLICIES[report.policy]}{same}"
    yield _drawn(report, "debates")


def _drawn(report: Report, what: str) -> str:
    return f"95 % intervals from {report.samples} bootstrap samples of {what}, seed {report.seed}"


def _board(report: JudgementReport) -> Table:
    rows = {(row.run, row.maxim): row for row in report.rows}
    lost = any(report.lost.values())
    table_rows = []
    for one in report.ranking:
        mean = rows[one.run, MEAN]
        table_rows.append(
            [
                _rank(one.rank),
                one.run,
                cell("{f1:.4f}", mean),
                cell(_SHORT_INTERVAL, mean),
                *(
                    cell("{f1:.3f}", rows[one.run, maxim])
                    if rows[one.run, maxim].labelled
                    else NONE
                    for maxim in Maxim
                ),
                *([str(report.lost.get(one.run, NONE))] if lost else []),
                *cells(_EXTRA_COLUMNS, mean),
            ]
        )
    names = ("rank", "run", "mean F1", INTERVAL, "quant.", "qual.", "rel.", "manner")
    columns = [*names, *(["lost"] if lost else []), *heads(_EXTRA_COLUMNS)]
    return Table(columns, table_rows, name=1, optional=len(_EXTRA_COLUMNS))


def _retrieval_board(report: RetrievalReport) -> Table:
    values: dict[str, list[RetrievalRow]] = defaultdict(list)
    for row in report.rows:
        values[row.run].append(row)
    first, *others = report.measures
    intervals = [f"{INTERVAL} of {measure}" for measure in others]
    rows = []
    for one in report.ranking:
        texts = [cell("{value:.4f}", row) for row in values[one.run]]
        between = [cell(_SHORT_INTERVAL, row) for row in values[one.run]]
        rows.append([_rank(one.rank), one.run, texts[0], between[0], *texts[1:], *between[1:]])
    columns = ["rank", "run", first, INTERVAL, *others, *intervals]
    return Table(columns, rows, name=1, optional=len(intervals))


def _rank(rank: int | None) -> str:
    return _MARK if rank is None else str(rank)


def _notes(report: Report) -> Iterator[str]:
    if len(report.ranking) < 2:
        return
    yield _TIES
    if any(one.rank is None for one in report.ranking):
        yield f"{_MARK} baseline, without a rank."
    if isinstance(report, JudgementReport) and any(report.lost.values()):
        yield "lost: labelled debates for which the run has no verdict."
