"""Rankings in words: who leads, who differs significantly, and from which baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from touche_rad.score.result import SIGNIFICANT, RunComparison, RunFault, exact
from touche_rad.score.significance import FEWEST_FOR_TEST
from touche_rad.score.tables import NONE, fixed
from touche_rad.text import count_of

_NAMES_IN_SENTENCE: Final = 4
"""Names in a sentence before the rest is counted."""
_DETAILED: Final = 2
"""Names with their differences in a sentence before the rest is counted."""


def number(value: float | None, digits: int = 2) -> str:
    """Format a value, such as `.80`; a dash if there is none."""
    return NONE if value is None else fixed(value, f".{digits}f")


def signed(value: float) -> str:
    """Format a difference, such as `+.03`; one that is near 0 has a third digit."""
    return fixed(value, f"+.{2 + _is_near_0(value)}f")


def _is_near_0(value: float) -> bool:
    return 0.0005 <= abs(value) < 0.005


def between(low: float | None, high: float | None) -> str:
    """Format an interval, such as `[.78, .82]`; empty without one.

    It has a third digit if a limit is near 0, so that its sign is seen.
    """
    if low is None or high is None:
        return ""
    digits = 2 + (_is_near_0(low) or _is_near_0(high))
    return f"[{number(low, digits)}, {number(high, digits)}]"


def tested(row: RunComparison) -> str:
    """Return a difference with its interval and its corrected p, if it has them."""
    return f"{signed(row.difference)} {_limits(row, row.low, row.high)}".rstrip()


def _limits(row: RunComparison, low: float | None, high: float | None) -> str:
    if row.p_holm is None:
        return ""
    corrected = probability(row.p_holm)
    if not corrected.startswith("<"):
        corrected = f"= {corrected}"
    return f"{between(low, high)}, p (Holm) {corrected} over {count_of(row.family, 'comparison')}"


def probability(p: float | None) -> str:
    """Format a p-value, such as `.034`, or `< .001`; a dash if there is none."""
    if p is not None and p < 0.001:
        return "< .001"
    text = number(p, 3)
    return "< .05" if p is not None and p < SIGNIFICANT and text == ".050" else text


def names_of(names: Sequence[str], most: int = _NAMES_IN_SENTENCE) -> str:
    """Join names; the rest after the first few is counted."""
    if len(names) < 2:
        return "".join(names)
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def faults_in_words(faults: Iterable[RunFault]) -> Iterator[str]:
    """Yield the problems of runs; what ends with how often a run has it is one line for all."""
    lines: dict[str, list[str]] = {}
    for fault in faults:
        what, _, times = fault.text.rpartition(": ")
        if what and times.partition(" ")[0] == str(fault.number):
            lines.setdefault(f"{what}: ", []).append(f"{fault.run} {times}")
        else:
            lines[f"{fault.run}: {fault.text}"] = []
    for what, runs in lines.items():
        yield what + ", ".join(runs)


def tied_first(runs: Mapping[str, float]) -> list[str]:
    """Return the first run, and those that are tied with it."""
    first = exact(next(iter(runs.values())))
    return [run for run, value in runs.items() if exact(value) == first]


def ranking_in_words(
    runs: Mapping[str, float],
    baselines: Mapping[str, float],
    what: str,
    comparisons: Sequence[RunComparison],
    measure: str,
) -> Iterator[str]:
    """Say who leads, who does not differ significantly, and who beats each baseline.

    Args:
        runs: The value of each run, best first.
        baselines: The value of each baseline.
        what: What the values are.
        comparisons: The paired differences of runs, also in other measures.
        measure: The measure of the values in the comparisons.
    """
    difference = by_pair(comparisons, measure)

    def differing(run: str, against: str) -> str:
        """Name the other measures in which a run differs significantly from another one."""
        measures = [
            f"{row.measure} ({signed(row.difference)})"
            for row in comparisons
            if row.significant and (row.run, row.against) == (run, against)
            if row.measure != measure
        ]
        return f"significantly different on {names_of(measures)}" if measures else ""

    def compare(
        names: Iterable[str], against: str, value: float, description: str
    ) -> Iterator[str]:
        """Yield a sentence for all runs that relate to another one in the same way."""
        groups: dict[str, list[str]] = {}
        for run in names:
            row = difference(run, against)
            relation = "not significantly different from"
            if row and row.significant:
                better = "better" if runs[run] > value else "worse"
                relation = f"significantly {better} than"
            groups.setdefault(relation, []).append(run)
        for relation, group in groups.items():
            details = []
            # All runs that the sentence names, and no others, have their differences.
            named = group if len(group) <= _DETAILED + 1 else group[:_DETAILED]
            for run in named:
                row = difference(run, against)
                if row and row.p_holm is not None:
                    detail = tested(row) if len(group) == 1 else f"{run} {tested(row)}"
                    details.append(", ".join(filter(None, [detail, differing(run, against)])))
            parts = [f"{are(group, _DETAILED)} {relation} {description}", "; ".join(details)]
            yield f"{': '.join(filter(None, parts))}."

    if len(runs) > 1:
        leader, second, *_ = runs
        tied = tied_first(runs)
        others = [run for run in runs if run not in (second, *tied)]
        row = difference(second, leader)
        gain = runs[leader] - runs[second]
        size = signed(gain).removeprefix("+") if gain >= 0.0005 else "less than .001"
        lead = f"{leader} leads {second} by {size} {what}"
        if second in tied:
            lead = f"{names_of(tied)} have the same {what}"
        elif row and row.low is not None and row.high is not None:
            # The tested difference is second minus leader; the sentence has it the other way.
            lead += ", significantly" if row.significant else ", not significantly"
            lead += f" ({_limits(row, -row.high, -row.low)})"
        for run in tied[1:] or [second]:
            on_measures = differing(run, leader)
            lead += f"; {run} is {on_measures}" if on_measures else ""
        yield f"{lead}."
        yield from compare(others, leader, runs[leader], leader)
    for baseline, value in baselines.items():
        yield from compare(runs, baseline, value, f"the baseline {baseline} ({number(value)})")


def too_few(units: str, count: int) -> list[str]:
    """Say that there are too few debates to compare runs; empty if there are enough."""
    if count >= FEWEST_FOR_TEST:
        return []
    return [f"Too few {units} ({count}) to tell more: a rank needs {FEWEST_FOR_TEST}."]


def are(names: Sequence[str], most: int = _NAMES_IN_SENTENCE) -> str:
    """Join names as the subject of a sentence."""
    verb = "is" if len(names) == 1 else "are"
    return f"{names_of(names, most)} {verb}"


def by_pair(
    rows: Iterable[RunComparison], measure: str
) -> Callable[[str, str], RunComparison | None]:
    """Look up the difference of two runs in a measure."""
    by_runs = {(row.run, row.against): row for row in rows if row.measure == measure}
    return lambda run, against: by_runs.get((run, against))
