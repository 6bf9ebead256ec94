"""The results of scoring, and their tables for the terminal."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from importlib.resources import files as resources
from typing import Any, Final, Literal

from pydantic import Field

from touche_rad.debate import Maxim
from touche_rad.score.tables import (
    Columns,
    Item,
    Printed,
    align_columns,
    cell,
    cells,
    heads,
    table,
)

_BASELINE = tomllib.loads(resources(__package__).joinpath("baseline.toml").read_text("utf-8"))
BASELINE: Final[str] = _BASELINE["name"]
BASELINE_SCORE: Final[float] = _BASELINE["score"]
"""The official baseline, and the score that it gives on every maxim."""

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
    "over_60_words", "empty", "repeated", "without_citation", "over_2_citations",
    "duplicate_citations", "citations_without_text",
)  # fmt: skip
"""The fields of `Health` that count responses."""


class Report(Printed):
    """The fields of every report."""

    kind: str
    truth: str
    runs: tuple[str, ...]
    comparisons: tuple[Comparison, ...] = ()
    problems: tuple[Problem, ...] = ()
    samples: int
    seed: int

    def _drawn(self, what: str) -> str:
        samples = f"{self.samples} bootstrap samples of {what}, seed {self.seed}"
        return f"95 % intervals and p-values from {samples}"


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
    health: dict[str, Health] = Field(default_factory=dict)
    labels: Any = Field(exclude=True, repr=False)
    scores: Any = Field(exclude=True, repr=False)
    """The labels, and the aligned scores of each run, for the exports."""

    def parts(self) -> Iterator[Iterable[str]]:
        """Return the parts of the terminal output, each as lines."""
        without = f", {self.excluded} of them left out" if self.excluded else ""
        same = "" if self.official or self.policy == "strict" else (
            "; the official scorer would give at least one run no score"
        )  # fmt: skip
        yield (
            f"{self.truth}: {self.debates} debates, {self.turns} turns{without}",
            f"{_POLICIES[self.policy]}{same}",
            self._drawn("debates"),
        )
        yield table(_LABEL_COLUMNS, self.label_rows)
        yield _by_maxim(self.rows)
        yield _comparisons(self.comparisons)
        yield _health(self.health)
        yield _problems(self.problems)


class RetrievalReport(Report):
    """TREC runs scored against qrels."""

    kind: Literal["retrieval"] = "retrieval"
    measures: tuple[str, ...]
    queries: int
    rows: tuple[RetrievalRow, ...]

    def parts(self) -> Iterator[Iterable[str]]:
        """Return the parts of the terminal output, each as lines."""
        yield (
            f"{self.truth}: {self.queries} queries; a query without results counts as 0",
            self._drawn("queries"),
        )
        yield _by_measure(self.rows)
        yield _comparisons(self.comparisons)
        yield _problems(self.problems)


_SHOWN_PROBLEMS = 3
_POLICIES = {
    "strict": "policy strict (the official one)",
    "report": "policy report: a missing verdict counts as no",
}
_INTERVAL = "{low:.3f} to {high:.3f}"
_MAXIM_COLUMNS: Columns = (
    ("", "  {run}"), ("labelled", "{labelled}"), ("yes", "{yes_rate:.4f}"),
    ("precision", "{precision:.4f}"), ("recall", "{recall:.4f}"), ("F1", "{f1:.4f}"),
    ("95 % of F1", _INTERVAL), ("macro P", "{macro_precision:.4f}"),
    ("macro R", "{macro_recall:.4f}"), ("macro F1", "{macro_f1:.4f}"),
    ("accuracy", "{accuracy:.4f}"), ("kappa", "{kappa:.4f}"), ("MCC", "{mcc:.4f}"),
)  # fmt: skip
_LABEL_COLUMNS: Columns = (
    ("labels", "  {maxim}"), ("yes", "{yes}"), ("no", "{no}"), ("unknown", "{unknown}"),
)  # fmt: skip
_COMPARISON_COLUMNS: Columns = (
    ("", "  {run} – {against}"), ("by", "{measure}"), ("difference", "{difference:+.4f}"),
    ("95 %", _INTERVAL), ("p", "{p:.4f}"), ("p (Holm)", "{p_holm:.4f}"),
)  # fmt: skip


def _by_maxim(rows: Sequence[JudgementRow]) -> list[str]:
    lines = [heads(_MAXIM_COLUMNS)]
    for maxim in dict.fromkeys(row.maxim for row in rows):
        lines.append([maxim, *[""] * (len(_MAXIM_COLUMNS) - 1)])
        lines += [cells(_MAXIM_COLUMNS, row) for row in rows if row.maxim == maxim]
    return align_columns(lines)


def _by_measure(rows: Sequence[RetrievalRow]) -> list[str]:
    by_run: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_run[row.run] += [cell("{value:.4f}", row), cell(_INTERVAL, row)]
    measures = dict.fromkeys(row.measure for row in rows)
    head = [head for measure in measures for head in (measure, "95 %")]
    return align_columns([["", *head], *([run, *row] for run, row in by_run.items())])


def _comparisons(rows: Sequence[Comparison]) -> Iterator[str]:
    if rows:
        yield "paired differences; p (Holm) is corrected for the number of comparisons"
    yield from table(_COMPARISON_COLUMNS, rows)


def _health(health: dict[str, Health]) -> Iterator[str]:
    if health:
        yield "the judged responses (no labels needed)"
    for run, counts in health.items():
        yield f"  {run}: {'; '.join(_health_parts(counts))}"


def _health_parts(counts: Health) -> Iterator[str]:
    yield f"{counts.responses} responses in {counts.debates} debates"
    if counts.responses:
        yield f"words: median {counts.words_median:g}, maximum {counts.words_max}"
    for name in ("lost_debates", "unanswered", *MARKS):
        if value := getattr(counts, name):
            share = f" ({value / counts.responses:.1%})" if name in MARKS else ""
            yield f"{name.replace('_', ' ')} {value}{share}"


def _problems(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield each kind of problem of each run once, with its first occurrences."""
    grouped: dict[tuple[str, str], list[Problem]] = defaultdict(list)
    for problem in problems:
        grouped[problem.run, problem.kind.value].append(problem)
    for (run, kind), of_kind in grouped.items():
        counted = sum(problem.counted_as_no for problem in of_kind)
        as_no = f", {counted} labelled verdicts counted as no" if counted else ""
        yield f"{run}: {kind}: {len(of_kind)}{as_no}"
        yield from (f"  {_place(one)}{one.message}" for one in of_kind[:_SHOWN_PROBLEMS])
        if len(of_kind) > _SHOWN_PROBLEMS:
            yield f"  and {len(of_kind) - _SHOWN_PROBLEMS} more (--json lists all)"


def _place(problem: Problem) -> str:
    places = {name: getattr(problem, name) for name in ("line", "debate", "turn")}
    words = [f"{name} {number}" for name, number in places.items() if number]
    said = ", ".join([*words, *filter(None, [problem.maxim])])
    return f"{said}: " if said else ""
