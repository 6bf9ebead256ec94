"""Tables and lines of scores, comparisons and problems for the terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from touche_rad.score.result import (
    MARKS,
    Comparison,
    Health,
    JudgementRow,
    LabelRow,
    Problem,
)
from touche_rad.score.tables import Columns, Part, Table, cells, heads, table

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


def measures(labels: Sequence[LabelRow], rows: Sequence[JudgementRow]) -> Iterator[Part]:
    """Yield the numbers of labels, and all measures of each run."""
    yield table(_LABEL_COLUMNS, labels)
    yield _by_maxim(rows)


def _by_maxim(rows: Sequence[JudgementRow]) -> Table:
    lines = []
    for maxim in dict.fromkeys(row.maxim for row in rows):
        lines.append([maxim, *[""] * (len(_MAXIM_COLUMNS) - 1)])
        lines += [cells(_MAXIM_COLUMNS, row) for row in rows if row.maxim == maxim]
    return Table(heads(_MAXIM_COLUMNS), lines)


def comparison_table(rows: Sequence[Comparison]) -> Part:
    """Return the table of paired differences; its last column is Holm-corrected over all rows."""
    return table(_COMPARISON_COLUMNS, rows)


def health_lines(health: Mapping[str, Health]) -> Iterator[str]:
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


def problem_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield each kind of problem of each run once, with its first occurrences."""
    grouped: dict[tuple[str, str], list[Problem]] = defaultdict(list)
    for problem in problems:
        grouped[problem.run, problem.kind.value].append(problem)
    for (run, kind), of_kind in grouped.items():
        yield f"{run}: {kind}: {len(of_kind)}{_verdicts(of_kind)}"
        yield from (f"  {_place(one)}{one.message}" for one in of_kind[:_SHOWN_PROBLEMS])
        if len(of_kind) > _SHOWN_PROBLEMS:
            yield f"  and {len(of_kind) - _SHOWN_PROBLEMS} more (--json lists all)"


def problem_counts(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield each kind of problem once, with its number and its first occurrence."""
    grouped: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        grouped[problem.kind.value].append(problem)
    for kind, of_kind in grouped.items():
        runs = dict.fromkeys(problem.run for problem in of_kind)
        among = f" in {len(runs)} files" if len(runs) > 1 else ""
        first = of_kind[0]
        yield f"{kind}: {len(of_kind)}{among}{_verdicts(of_kind)}"
        yield f"  {first.run}: {_place(first)}{first.message}"
    if len(problems) > len(grouped):
        yield "--details lists the problems of each run"


def _verdicts(problems: Sequence[Problem]) -> str:
    counted = sum(problem.counted_as_no for problem in problems)
    left_out = sum(problem.left_out for problem in problems)
    as_no = f", {counted} labelled verdicts counted as no" if counted else ""
    return as_no + (f", {left_out} labelled verdicts left out" if left_out else "")


def _place(problem: Problem) -> str:
    places = {name: getattr(problem, name) for name in ("line", "debate", "turn")}
    words = [f"{name} {number}" for name, number in places.items() if number]
    said = ", ".join([*words, *filter(None, [problem.maxim])])
    return f"{said}: " if said else ""
