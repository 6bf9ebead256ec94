"""A report as lines for a terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from touche_rad.score.result import (
    MARKS,
    Comparison,
    Health,
    JudgementReport,
    JudgementRow,
    Problem,
    Report,
    RetrievalReport,
    RetrievalRow,
)

_SHOWN_PROBLEMS = 3
_POLICIES = {
    "strict": "policy strict: the official one",
    "report": "policy report: a missing verdict counts as no",
}


def lines(report: Report) -> list[str]:
    """Lay a report out."""
    if isinstance(report, JudgementReport):
        parts = [_judgement_head(report), _judgement_rows(report.rows)]
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


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align columns: the first to the left, the others to the right."""
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
    yield f"{report.truth}: {report.debates} debates, {report.turns} turns"
    same = "" if report.official or report.policy == "strict" else (
        "; the official scorer would give at least one run no score"
    )  # fmt: skip
    yield f"{_POLICIES[report.policy]}{same}"
    yield _drawn(report, "debates")


def _drawn(report: Report, what: str) -> str:
    return f"95 % intervals and p from {report.samples} draws of {what}, seed {report.seed}"


def _judgement_rows(rows: Sequence[JudgementRow]) -> Iterator[str]:
    head = ("", "labelled", "yes", "precision", "recall", "F1", "95 % of F1", "macro-F1",
            "accuracy", "kappa", "MCC")  # fmt: skip
    table: list[tuple[str, ...]] = [head]
    maxims = dict.fromkeys(row.maxim for row in rows)
    for maxim in maxims:
        table.append((maxim, *[""] * (len(head) - 1)))
        table += [_judgement_cells(row) for row in rows if row.maxim == maxim]
    yield from aligned(table)


def _judgement_cells(row: JudgementRow) -> tuple[str, ...]:
    return (
        f"  {row.run}",
        str(row.labelled),
        _number(row.yes_rate),
        _number(row.precision),
        _number(row.recall),
        _number(row.f1),
        _interval(row.low, row.high),
        _number(row.macro_f1),
        _number(row.accuracy),
        _number(row.kappa),
        _number(row.mcc),
    )


def _retrieval_head(report: RetrievalReport) -> Iterator[str]:
    yield f"{report.truth}: {report.queries} queries; a query that a run lacks counts as 0"
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
    yield from aligned(table)


def _comparisons(rows: Sequence[Comparison]) -> Iterator[str]:
    if not rows:
        return
    yield "paired differences; p after Holm's correction over all of them"
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
    yield from aligned(table)


def _health(found: dict[str, Health]) -> Iterator[str]:
    if not found:
        return
    yield "responses judged, without any label"
    for run, counted in found.items():
        yield f"  {run}: {'; '.join(_health_parts(counted))}"


def _health_parts(counted: Health) -> Iterator[str]:
    yield f"{counted.responses} responses in {counted.debates} debates"
    if counted.responses:
        yield f"words {counted.words_median:g} in the middle and {counted.words_max} at most"
    for name in ("lost_debates", "unanswered"):
        if value := getattr(counted, name):
            yield f"{_words(name)} {value}"
    for name in MARKS:
        if value := getattr(counted, name):
            yield f"{_words(name)} {value} ({value / counted.responses:.1%})"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _problems(problems: Sequence[Problem]) -> Iterator[str]:
    """Tell each kind of problem of each run once, with its first places."""
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
