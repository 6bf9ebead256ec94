"""Scores as the page shows them: in tables, in plots, and in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from touche_rad.debate import Maxim
from touche_rad.errors import UserError
from touche_rad.files import BadLines, Kind
from touche_rad.report.plots import Dot, Group
from touche_rad.report.sources import Source
from touche_rad.report.tally import Tally
from touche_rad.score import score
from touche_rad.score.result import (
    ALWAYS_YES,
    MEAN,
    Comparison,
    JudgementReport,
    JudgementRow,
    Report,
    RetrievalReport,
    RetrievalRow,
)

BESIDE = 3
"""The series of what is no run: the baseline."""

PLAINLY = 0.05
Order = dict[str, int]
"""The series of each run."""


def scored(
    sources: Sequence[Source], truth: Source | None, seed: int, bad: BadLines
) -> Report | None:
    """Score the runs that the truth is about."""
    if truth is None:
        return None
    wanted = Kind.RUN if truth.kind is Kind.QRELS else Kind.EVALUATIONS
    fitting = [source for source in sources if source.kind is wanted]
    if not fitting and wanted is Kind.RUN:
        raise UserError(f"{truth.path} holds qrels, but none of the runs is {wanted.value}")
    if not fitting:
        return None
    paths = [source.path for source in fitting]
    found = score(paths, truth.path, seed=seed, bad=BadLines(skip=bad.skip))
    return _renamed(found, dict(zip(found.runs, (one.name for one in fitting), strict=True)))


def _renamed(report: Report, names: dict[str, str]) -> Report:
    """Call the runs what the page calls them: there may be others with a like name."""
    if all(old == new for old, new in names.items()):
        return report

    def called(name: str) -> str:
        return names.get(name, name)

    changes: dict[str, object] = {
        "runs": tuple(map(called, report.runs)),
        "problems": tuple(
            one.model_copy(update={"run": called(one.run)}) for one in report.problems
        ),
        "comparisons": tuple(
            one.model_copy(update={"run": called(one.run), "against": called(one.against)})
            for one in report.comparisons
        ),
    }
    if isinstance(report, JudgementReport | RetrievalReport):
        changes["rows"] = tuple(
            row.model_copy(update={"run": called(row.run)}) for row in report.rows
        )
    return report.model_copy(update=changes)


def in_words(one: Comparison) -> str:
    """Say what a comparison shows, and how sure that is."""
    if one.p_holm is None:
        return f"differs by {one.difference:+.3f}; too little to test it"
    if one.difference == 0:
        return "scores the same"
    way = "better" if one.difference > 0 else "worse"
    by = f"by {abs(one.difference):.3f}"
    if one.p_holm < PLAINLY:
        return f"does {way}, {by}, by more than chance explains"
    return f"does {way}, {by}, but chance alone could do that"


def shown_p(p: float | None) -> str:
    """Write a p value; one of no draw is no zero."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def main_comparisons(report: Report) -> list[Comparison]:
    """Return the comparisons that are told first: by the mean, or by the first measure."""
    if not report.comparisons:
        return []
    measures = [one.measure for one in report.comparisons]
    first = MEAN if MEAN in measures else measures[0]
    return [one for one in report.comparisons if one.measure == first]


def score_groups(report: Report, order: Order) -> list[Group]:
    """Lay the scores out for a plot: a group for each maxim, or for each measure."""
    if isinstance(report, JudgementReport):
        labelled = [row for row in report.rows if row.labelled]
        return [
            Group(maxim, [_dot(row, row.f1, order) for row in labelled if row.maxim == maxim])
            for maxim in (*Maxim, MEAN)
            if any(row.maxim == maxim for row in labelled)
        ]
    if isinstance(report, RetrievalReport):
        return [
            Group(one, [_dot(row, row.value, order) for row in report.rows if row.measure == one])
            for one in report.measures
        ]
    return []


def _dot(row: JudgementRow | RetrievalRow, value: float, order: Order) -> Dot:
    return Dot(row.run, value, row.low, row.high, order.get(row.run, BESIDE))


def yes_groups(tallies: Sequence[Tally], report: Report | None, order: Order) -> list[Group]:
    """Lay the shares of yes out for a plot; the line is the people's own share."""
    labels = dict(_label_rates(report))
    groups = []
    for maxim in Maxim:
        shares = [(tally.run, tally.share(maxim)) for tally in tallies]
        rows = [Dot(run, value, None, None, order[run]) for run, value in shares if value is not None]
        if rows:
            groups.append(Group(maxim, rows, labels.get(maxim)))
    return groups


def _label_rates(report: Report | None) -> Iterator[tuple[str, float]]:
    if isinstance(report, JudgementReport):
        for row in report.rows:
            if row.run == ALWAYS_YES and row.label_rate is not None:
                yield row.maxim, row.label_rate
