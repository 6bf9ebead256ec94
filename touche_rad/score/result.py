"""What scoring returns, and its table for the terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from touche_rad.debate import Maxim

ALWAYS_YES = "always-yes"
"""The official baseline, scored beside every run."""

MEAN = "mean"
"""The name of the row with the mean of the maxims that have labels."""

Policy = Literal["strict", "report"]


class ProblemKind(StrEnum):
    """Problems of a run; the value is the text for the terminal."""

    LOST = "lost debate ({} line)"
    BAD_LINE = "unreadable line"
    BLANK = "blank line"
    MISSING_DEBATE = "missing debate"
    EXTRA_DEBATE = "debate without labels"
    MISSING_TURN = "missing turn"
    EXTRA_TURN = "turn without labels"
    MISSING_VERDICT = "missing verdict"
    NULL_SCORE = "null score"
    BAD_SCORE = "score that is no number"
    ODD_SCORE = "odd score"
    REORDERED = "reordered debate"
    UNMATCHED = "debate not in --debates"
    TWICE = "debate given twice"
    OTHER_ORDER = "order not checked"
    NO_LABELS = "no labels"
    FEW = "few debates"
    NO_QUERY = "missing query"
    EXTRA_QUERY = "query without qrels"


class Item(BaseModel):
    """A frozen record; unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Problem(Item):
    """A problem, where it is (counted from 1), and how it was handled."""

    run: str
    kind: ProblemKind
    message: str
    line: int | None = None
    debate: int | None = None
    turn: int | None = None
    maxim: Maxim | None = None
    counted_as_no: int = 0
    """Number of labelled verdicts that count as no because of it."""


class JudgementRow(Item):
    """A run's measures on one maxim, or their mean; None if nothing is labelled."""

    run: str
    maxim: str
    precision: float
    recall: float
    f1: float
    low: float | None = None
    high: float | None = None
    macro_precision: float | None
    macro_recall: float | None
    macro_f1: float | None
    accuracy: float | None
    kappa: float | None
    mcc: float | None
    yes_rate: float | None
    label_rate: float | None
    labelled: int
    tp: int
    fp: int
    fn: int
    tn: int


class LabelRow(Item):
    """How often each label was given on a maxim."""

    maxim: Maxim
    yes: int
    no: int
    unknown: int
    """Turns without a label: the annotators did not know."""


class RetrievalRow(Item):
    """The mean of one measure over the queries."""

    run: str
    measure: str
    value: float
    low: float | None = None
    high: float | None = None
    queries: int


class Comparison(Item):
    """The difference between two runs in one measure; p is None with fewer than two debates."""

    run: str
    against: str
    measure: str
    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None


class Health(Item):
    """Counts of responses, debates and turns that need no label."""

    debates: int
    lost_debates: int
    turns: int
    unanswered: int
    responses: int
    words_median: float | None
    words_max: int | None
    over_60_words: int
    empty: int
    repeated: int
    without_citation: int
    over_2_citations: int
    duplicate_citations: int
    citations_without_text: int


MARKS = (
    "over_60_words",
    "empty",
    "repeated",
    "without_citation",
    "over_2_citations",
    "duplicate_citations",
    "citations_without_text",
)
"""The fields of `Health` that count responses."""


class Report(Item):
    """The fields of every report."""

    kind: str
    truth: str
    runs: tuple[str, ...]
    comparisons: tuple[Comparison, ...] = ()
    problems: tuple[Problem, ...] = ()
    samples: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return self.model_dump(mode="json")

    def lines(self) -> list[str]:
        """Return the report as lines for the terminal."""
        return lines(self)


class JudgementReport(Report):
    """Evaluations scored against labels."""

    kind: Literal["judgements"] = "judgements"
    policy: Policy
    official: bool
    """Whether the official scorer accepts every run and gives the same scores."""
    debates: int
    turns: int
    excluded: int = 0
    """Labelled turns that --exclude left out."""
    label_rows: tuple[LabelRow, ...] = ()
    rows: tuple[JudgementRow, ...]
    health: dict[str, Health] = {}
    labels: Any = Field(exclude=True, repr=False)
    scores: Any = Field(exclude=True, repr=False)
    """The labels, and the aligned scores of each run, for the exports."""


class RetrievalReport(Report):
    """TREC runs scored against qrels."""

    kind: Literal["retrieval"] = "retrieval"
    measures: tuple[str, ...]
    queries: int
    rows: tuple[RetrievalRow, ...]


_SHOWN_PROBLEMS = 3
_POLICIES = {
    "strict": "policy strict (the official one)",
    "report": "policy report: a missing verdict counts as no",
}


def lines(report: Report) -> list[str]:
    """Format a report for the terminal."""
    if isinstance(report, JudgementReport):
        parts = [_judgement_head(report), _label_rows(report), _judgement_rows(report.rows)]
    elif isinstance(report, RetrievalReport):
        parts = [_retrieval_head(report), _retrieval_rows(report.rows)]
    else:
        raise TypeError(f"no layout for a report of kind {report.kind!r}")
    parts.append(_comparisons(report.comparisons))
    if isinstance(report, JudgementReport):
        parts.append(_health(report.health))
    parts.append(_problems(report.problems))
    filled = [list(part) for part in parts]
    return [line for part in filled if part for line in (*part, "")][:-1]


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align the first column to the left, the others to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:.3f} to {high:.3f}"


def _judgement_head(report: JudgementReport) -> Iterator[str]:
    without = f", {report.excluded} of them left out" if report.excluded else ""
    yield f"{report.truth}: {report.debates} debates, {report.turns} turns{without}"
    same = "" if report.official or report.policy == "strict" else (
        "; the official scorer would give at least one run no score"
    )  # fmt: skip
    yield f"{_POLICIES[report.policy]}{same}"
    yield _drawn(report, "debates")


def _drawn(report: Report, what: str) -> str:
    samples = f"{report.samples} bootstrap samples of {what}, seed {report.seed}"
    return f"95 % intervals and p-values from {samples}"


def _label_rows(report: JudgementReport) -> Iterator[str]:
    table = [("labels", "yes", "no", "unknown")]
    table += [
        (f"  {row.maxim}", str(row.yes), str(row.no), str(row.unknown)) for row in report.label_rows
    ]
    yield from align_columns(table)


def _judgement_rows(rows: Sequence[JudgementRow]) -> Iterator[str]:
    head = ("", "labelled", "yes", "precision", "recall", "F1", "95 % of F1", "macro P",
            "macro R", "macro F1", "accuracy", "kappa", "MCC")  # fmt: skip
    table: list[tuple[str, ...]] = [head]
    maxims = dict.fromkeys(row.maxim for row in rows)
    for maxim in maxims:
        table.append((maxim, *[""] * (len(head) - 1)))
        table += [_judgement_cells(row) for row in rows if row.maxim == maxim]
    yield from align_columns(table)


def _judgement_cells(row: JudgementRow) -> tuple[str, ...]:
    return (
        f"  {row.run}",
        str(row.labelled),
        _number(row.yes_rate),
        _number(row.precision),
        _number(row.recall),
        _number(row.f1),
        _interval(row.low, row.high),
        _number(row.macro_precision),
        _number(row.macro_recall),
        _number(row.macro_f1),
        _number(row.accuracy),
        _number(row.kappa),
        _number(row.mcc),
    )


def _retrieval_head(report: RetrievalReport) -> Iterator[str]:
    yield f"{report.truth}: {report.queries} queries; a query without results counts as 0"
    yield _drawn(report, "queries")


def _retrieval_rows(rows: Sequence[RetrievalRow]) -> Iterator[str]:
    measures = list(dict.fromkeys(row.measure for row in rows))
    cells: dict[str, dict[str, RetrievalRow]] = defaultdict(dict)
    for row in rows:
        cells[row.run][row.measure] = row
    heads = [part for measure in measures for part in (measure, "95 %")]
    table = [("", *heads)]
    for run, found in cells.items():
        shown = [
            part
            for measure in measures
            for part in (
                _number(found[measure].value),
                _interval(found[measure].low, found[measure].high),
            )
        ]
        table.append((run, *shown))
    yield from align_columns(table)


def _comparisons(rows: Sequence[Comparison]) -> Iterator[str]:
    if not rows:
        return
    yield "paired differences; p (Holm) is corrected for the number of comparisons"
    table = [("", "by", "difference", "95 %", "p", "p (Holm)")]
    for row in rows:
        table.append(
            (
                f"  {row.run} – {row.against}",
                row.measure,
                f"{row.difference:+.4f}",
                _interval(row.low, row.high),
                _number(row.p),
                _number(row.p_holm),
            )
        )
    yield from align_columns(table)


def _health(found: dict[str, Health]) -> Iterator[str]:
    if not found:
        return
    yield "the judged responses (no labels needed)"
    for run, counted in found.items():
        yield f"  {run}: {'; '.join(_health_parts(counted))}"


def _health_parts(counted: Health) -> Iterator[str]:
    yield f"{counted.responses} responses in {counted.debates} debates"
    if counted.responses:
        yield f"words: median {counted.words_median:g}, maximum {counted.words_max}"
    for name in ("lost_debates", "unanswered"):
        if value := getattr(counted, name):
            yield f"{_words(name)} {value}"
    for name in MARKS:
        if value := getattr(counted, name):
            yield f"{_words(name)} {value} ({value / counted.responses:.1%})"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _problems(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield each kind of problem of each run once, with its first occurrences."""
    grouped: dict[tuple[str, str], list[Problem]] = defaultdict(list)
    for problem in problems:
        grouped[problem.run, problem.kind.value].append(problem)
    for (run, kind), found in grouped.items():
        counted = sum(problem.counted_as_no for problem in found)
        as_no = f", {counted} labelled verdicts counted as no" if counted else ""
        yield f"{run}: {kind}: {len(found)}{as_no}"
        yield from (f"  {_place(problem)}{problem.message}" for problem in found[:_SHOWN_PROBLEMS])
        if len(found) > _SHOWN_PROBLEMS:
            yield f"  and {len(found) - _SHOWN_PROBLEMS} more (--json lists all)"


def _place(problem: Problem) -> str:
    parts: Iterable[str | None] = (
        f"line {problem.line}" if problem.line else None,
        f"debate {problem.debate}" if problem.debate else None,
        f"turn {problem.turn}" if problem.turn else None,
        problem.maxim.value if problem.maxim else None,
    )
    said = ", ".join(part for part in parts if part)
    return f"{said}: " if said else ""
