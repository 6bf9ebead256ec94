"""What scoring gives back: rows, comparisons, and everything that was amiss."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from touche_rad.debate import Maxim

ALWAYS_YES = "always-yes"
"""The official baseline: it stands beside every run."""

MEAN = "mean"
"""The row that averages the maxims that have labels."""

Policy = Literal["strict", "report"]


class Trouble(StrEnum):
    """What can be amiss with a run; the value is how it is told."""

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
    FEW = "few to draw from"
    NO_QUERY = "missing query"
    EXTRA_QUERY = "query without qrels"


class Fact(BaseModel):
    """A frozen record without room for anything unnamed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Problem(Fact):
    """One thing that was amiss, where, and how it was handled. Counted from 1."""

    run: str
    kind: Trouble
    message: str
    line: int | None = None
    debate: int | None = None
    turn: int | None = None
    maxim: Maxim | None = None
    counted_as_no: int = 0
    """How many labelled verdicts were counted as no because of it."""


class JudgementRow(Fact):
    """A run's figures on one maxim, or their mean; None where there is nothing to measure."""

    run: str
    maxim: str
    precision: float
    recall: float
    f1: float
    low: float | None = None
    high: float | None = None
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


class RetrievalRow(Fact):
    """A retrieval run's mean of one measure over the queries."""

    run: str
    measure: str
    value: float
    low: float | None = None
    high: float | None = None
    queries: int


class Comparison(Fact):
    """How far `run` is ahead of `against` by one measure; p is None where nothing can be drawn."""

    run: str
    against: str
    measure: str
    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None


class Health(Fact):
    """What a run looks like without any label: counts of responses."""

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
"""What of a run's health is counted in responses that have it."""


class Report(Fact):
    """What all reports share."""

    kind: str
    truth: str
    runs: tuple[str, ...]
    comparisons: tuple[Comparison, ...] = ()
    problems: tuple[Problem, ...] = ()
    samples: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Everything that a program would read, of plain strict JSON values."""
        return self.model_dump(mode="json")

    def lines(self) -> list[str]:
        """The report for a terminal."""
        from touche_rad.score.table import lines

        return lines(self)


class JudgementReport(Report):
    """Judges' runs against people's labels."""

    kind: Literal["judgements"] = "judgements"
    policy: Policy
    official: bool
    """Whether the official scorer would have taken every run as it is, and given these figures."""
    debates: int
    turns: int
    rows: tuple[JudgementRow, ...]
    health: dict[str, Health] = {}
    labels: Any = Field(exclude=True, repr=False)
    scores: Any = Field(exclude=True, repr=False)
    """The labels, and each run's scores laid beside them: what the exports are made of."""


class RetrievalReport(Report):
    """Retrieval runs against qrels."""

    kind: Literal["retrieval"] = "retrieval"
    measures: tuple[str, ...]
    queries: int
    rows: tuple[RetrievalRow, ...]
