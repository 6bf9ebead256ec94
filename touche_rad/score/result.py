"""The records of scores, comparisons and problems."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from touche_rad.records import FrozenRecord
from touche_rad.score.tables import NONE

BASELINE: Final = "always-yes"
"""The official baseline, which gives every criterion the score 1."""
TRIVIAL: Final = ("most-frequent", "middle", "length")
"""The baselines of other criteria than the task's."""
SIGNIFICANT: Final = 0.05
"""Corrected p-values below this are significant."""
MEAN = "mean"
"""The name of the row with the mean of the criteria that have labels."""


MISSING_OR_LOST: Final = "missing or lost debate"
"""A debate that the run does not have, where it is unknown or not said whether a line lost it."""


class ProblemKind(StrEnum):
    """Problems of a run; the value is the text for the terminal.

    A lost debate is an empty record in the run, or an evaluation of a debate without turns; a
    missing one is on no line.
    """

    LOST = "lost debate"
    BAD_LINE = "unreadable line"
    BLANK = "blank line"
    MISSING_DEBATE = "missing debate"
    MISSING_TURN = "missing turn"
    EXTRA_TURN = "turn without labels"
    MISSING_VERDICT = "missing verdict"
    UNKNOWN_KEY = "unknown key"
    NULL_SCORE = "null score"
    BAD_SCORE = "score that is no number"
    ODD_SCORE = "odd score"
    REORDERED = "reordered debate"
    UNMATCHED = "debate without labels or words"
    TWICE = "debate given twice"
    OTHER_DEBATES = "other debates"
    OTHER_LABELS = "labels of other debates"
    NO_LABELS = "no labels"
    UNSETTLED = "unsettled labels"
    FEW = "few debates"
    NO_QUERY = "missing query"
    EXTRA_QUERY = "query without qrels"


COUNTED_OF_KIND: Final = {
    **{
        kind: kind.value
        for kind in (
            ProblemKind.LOST,
            ProblemKind.MISSING_DEBATE,
            ProblemKind.MISSING_TURN,
            ProblemKind.ODD_SCORE,
            ProblemKind.REORDERED,
        )
    },
    ProblemKind.TWICE: "repeated debate",
    ProblemKind.UNMATCHED: "unlabelled debate",
    ProblemKind.BAD_LINE: "lost debate",
    **dict.fromkeys(
        (ProblemKind.MISSING_VERDICT, ProblemKind.NULL_SCORE, ProblemKind.BAD_SCORE),
        "missing verdict",
    ),
}
"""What is counted of a problem, if it is not just a fault."""


class RunFault(NamedTuple):
    """A problem that a run has once or several times."""

    run: str
    number: int
    """How often; 0 if another fault counts it."""
    text: str
    link: str = ""
    """The address of the turns that have it in the reader of a report; empty without one."""
    what: str = "fault"
    """What is counted, in the singular, such as a missing debate."""


class OfficialResult(StrEnum):
    """What the official scorer does with a run."""

    SAME = "same scores"
    WRONG = "wrong scores, because debates are not in the places of their labels"
    REFUSED = "no score"


class Problem(FrozenRecord):
    """A problem, where it is (counted from 1), and how it was handled."""

    run: str
    kind: ProblemKind
    message: str
    line: int | None = None
    debate: int | None = None
    turn: int | None = None
    maxim: str | None = None
    """The key of a criterion."""
    counted_as_no: int = 0
    """Number of labelled verdicts that count as no because of it."""


class LabelRow(FrozenRecord):
    """How often each label was given on a criterion of the task."""

    maxim: str
    yes: int
    no: int
    unknown: int
    """Turns without a label: the annotators did not know."""


class JudgementRow(FrozenRecord):
    """A run's measures on one criterion, or their mean.

    None if nothing is labelled, and for what the kind of the answers does not have.
    """

    run: str
    maxim: str
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    low: float | None = None
    high: float | None = None
    macro_precision: float | None = None
    macro_recall: float | None = None
    macro_f1: float | None = None
    accuracy: float | None = None
    kappa: float | None = None
    mcc: float | None = None
    yes_rate: float | None = None
    label_rate: float | None = None
    labelled: int
    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0
    weighted_kappa: float | None = None
    spearman: float | None = None
    rmse: float | None = None
    value: float
    """The measure that ranks: F1, weighted kappa of a scale, or macro F1 of categories."""
    confusion: tuple[tuple[int, ...], ...] = ()
    """How often each label (rows) has each answer; of categories, the last is no verdict."""


class RetrievalRow(FrozenRecord):
    """The mean of one measure over the queries."""

    run: str
    measure: str
    value: float
    low: float | None = None
    high: float | None = None
    queries: int


class RankedRun(FrozenRecord):
    """A run's rank; a baseline has none, and with too few debates no run has one."""

    run: str
    rank: int | None
    """1 if it is not significantly worse than the first, else its place."""
    place: int | None = None
    """Its place by value."""


def exact(value: float) -> float:
    """Return a value that is equal to those that are tied with it: without errors of arithmetic."""
    return round(value, 9)


def rank_text(rank: int | None, place: int | None) -> str:
    """Return a rank for a table: "≈1" for a run that is not significantly worse than the first."""
    return str(rank or NONE) if rank == place else "≈1"


class RunComparison(FrozenRecord):
    """The difference between two runs in one measure; None is what too few debates cannot say."""

    run: str
    against: str
    measure: str
    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    family: int = 0
    """How many comparisons `p_holm` is corrected for."""

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below .05."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANT
