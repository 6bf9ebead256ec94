"""The reports of scores: a ranked table of several runs, or the details of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import Field

from touche_rad.debate import Maxim
from touche_rad.score.result import (
    BASELINE,
    MARKS,
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
    table,
)

_SHOWN_PROBLEMS: Final = 3
_INTERVAL: Final = "{low:.3f} to {high:.3f}"
_MAXIM_COLUMNS: Columns = (
    ("", "  {run}"),
    ("labelled", "{labelled}"),
    ("yes", "{yes_rate:.4f}"),
    ("precision", "{precision:.4f}"),
    ("recall", "{recall:.4f}"),
    ("F1", "{f1:.4f}"),
    ("95 % of F1", _INTERVAL),
    ("macro P", "{macro_precision:.4f}"),
    ("macro R", "{macro_recall:.4f}"),
    ("macro F1", "{macro_f1:.4f}"),
    ("accuracy", "{accuracy:.4f}"),
    ("kappa", "{kappa:.4f}"),
    ("MCC", "{mcc:.4f}"),
)
_LABEL_COLUMNS: Columns = (
    ("labels", "  {maxim}"),
    ("yes", "{yes}"),
    ("no", "{no}"),
    ("unknown", "{unknown}"),
)
_COMPARISON_COLUMNS: Columns = (
    ("runs", "{run} – {against}"),
    ("measure", "{measure}"),
    ("diff.", "{difference:+.4f}"),
    ("95 %", "{low:+.3f} to {high:+.3f}"),
    ("p", "{p:.4f}"),
    ("p (Holm)", "{p_holm:.4f}"),
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
    ("yes", "{yes_rate:.2f}"),
)
_CSV_FIELDS: Final = [
    name
    for name in JudgementRow.model_fields
    if name not in ("run", "maxim", "label_rate", "tp", "fp", "fn", "tn")
]
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
        yield _head(self)
        if len(self.runs) > 1:
            yield score_table(self)
            yield _notes(self)
        else:
            yield from _all_measures(self)
        yield table(_COMPARISON_COLUMNS, self.comparisons)
        if len(self.runs) == 1:
            yield _health_lines(self.health)
        yield _problem_lines(self.problems)

    def details(self) -> Iterator[Part]:
        """Yield all measures of each run, and counts of its responses."""
        yield from _all_measures(self)
        yield _health_lines(self.health)

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Yield a row per run, best first, with all measures."""
        rows = {(row.run, row.maxim): row for row in self.rows}
        for one in self.ranking:
            yield {
                "rank": one.rank,
                "run": one.run,
                "baseline": one.run == BASELINE or one.run in self.baselines,
                **{
                    f"{maxim}_{name}": getattr(rows[one.run, maxim], name)
                    for maxim in (MEAN, *map(str, Maxim))
                    for name in _CSV_FIELDS
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
        yield (
            f"{self.truth}: {self.queries} queries; a query without results counts as 0",
            _drawn(self, "queries"),
        )
        yield score_table(self)
        yield _notes(self)
        yield table(_COMPARISON_COLUMNS, self.comparisons)
        yield _problem_lines(self.problems)

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Yield a row per run, best first."""
        for one in self.ranking:
            of_run = [row for row in self.rows if row.run == one.run]
            yield {
                "rank": one.rank,
                "run": one.run,
                "baseline": one.run in self.baselines,
                **{
                    f"{row.measure}{ending}": value
                    for row in of_run
                    for ending, value in (("", row.value), ("_low", row.low), ("_high", row.high))
                },
            }


def _head(report: JudgementReport) -> Iterator[str]:
    without = f", {report.excluded} of them left out" if report.excluded else ""
    yield f"{report.truth}: {report.debates} debates, {report.turns} turns{without}"
    if report.policy != "strict":
        by = f"by id and text with {report.matched_by}" if report.matched_by else "by place"
        yield f"runs are matched to labels {by}"
    refused = not report.official and report.policy != "strict"
    more = "; the official scorer would give at least one run no score" if refused else ""
    yield f"{_POLICIES[report.policy]}{more}"
    yield _drawn(report, "debates")


def _drawn(report: Report, what: str) -> str:
    return f"95 % intervals from {report.samples} bootstrap samples of {what}, seed {report.seed}"


def score_table(report: JudgementReport | RetrievalReport) -> Table:
    """Return the ranked table of the runs."""
    if isinstance(report, JudgementReport):
        return _judgement_table(report)
    return _retrieval_table(report)


def _judgement_table(report: JudgementReport) -> Table:
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


def _retrieval_table(report: RetrievalReport) -> Table:
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


def _all_measures(report: JudgementReport) -> Iterator[Table]:
    """Yield the numbers of labels, and all measures of each run by maxim."""
    yield table(_LABEL_COLUMNS, report.label_rows)
    lines = []
    for maxim in dict.fromkeys(row.maxim for row in report.rows):
        lines.append([maxim, *[""] * (len(_MAXIM_COLUMNS) - 1)])
        lines += [cells(_MAXIM_COLUMNS, row) for row in report.rows if row.maxim == maxim]
    yield Table(heads(_MAXIM_COLUMNS), lines)


def _health_lines(health: Mapping[str, Health]) -> Iterator[str]:
    """Yield the counts of responses, once for runs on the same responses."""
    if health:
        yield "the judged responses (no labels needed)"
    names: dict[Health, list[str]] = defaultdict(list)
    for run, counts in health.items():
        names[counts].append(run)
    for counts, runs in names.items():
        alike = runs[0] if len(runs) == 1 else f"{len(runs)} runs"
        yield f"  {alike}: {'; '.join(_health_parts(counts))}"


def _health_parts(counts: Health) -> Iterator[str]:
    yield f"{counts.responses} responses in {counts.debates} debates"
    if counts.responses:
        yield f"words: median {counts.words_median:g}, maximum {counts.words_max}"
    for name in ("lost_debates", "unanswered", *MARKS):
        if value := getattr(counts, name):
            share = f" ({value / counts.responses:.1%})" if name in MARKS else ""
            yield f"{name.replace('_', ' ')} {value}{share}"


def _problem_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield each kind of problem once, with its first occurrences."""
    grouped: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        grouped[problem.kind.value].append(problem)
    for kind, of_kind in grouped.items():
        as_no = sum(one.counted_as_no for one in of_kind)
        left_out = sum(one.left_out for one in of_kind)
        more = f", {as_no} labelled verdicts counted as no" if as_no else ""
        more += f", {left_out} labelled verdicts left out" if left_out else ""
        yield f"{kind}: {len(of_kind)}{more}"
        for one in of_kind[:_SHOWN_PROBLEMS]:
            yield f"  {one.run}: {_place(one)}{one.message}"
        if len(of_kind) > _SHOWN_PROBLEMS:
            yield f"  and {len(of_kind) - _SHOWN_PROBLEMS} more (--json lists all)"


def _place(problem: Problem) -> str:
    numbers = (("line", problem.line), ("debate", problem.debate), ("turn", problem.turn))
    words = [f"{name} {number}" for name, number in numbers if number]
    place = ", ".join([*words, problem.maxim] if problem.maxim else words)
    return f"{place}: " if place else ""
