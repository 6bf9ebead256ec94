"""Leaderboards: a ranking in words, a table that can be sorted, plots, and further tables.

Runs of every kind (judges, debaters, TREC runs, panels, tournaments) are shown by the same board.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Final
from urllib.parse import quote

from markupsafe import Markup

from touche_rad.files.outputs import read_status
from touche_rad.score.result import RunComparison
from touche_rad.score.significance import FEWEST_FOR_TEST
from touche_rad.score.tables import NONE, TOO_FEW, Table, csv_rows

_NAMES_IN_SENTENCE: Final = 4
"""Names in a sentence before the rest is counted."""


class BoardCell(str):
    """The text of a cell that opens a part of the page, or has a background."""

    href: str
    shade: int
    """Strength of the background, from 0 to 10."""

    def __new__(cls, text: str, href: str = "", share: float | None = None) -> BoardCell:
        """Make a text with an address, and with a background for a share."""
        cell = super().__new__(cls, text)
        cell.href = href
        cell.shade = round(10 * (share or 0))
        return cell


@dataclass(frozen=True)
class BoardTable:
    """A table whose first column names the rows."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    baselines: frozenset[str] = frozenset()
    grid: bool = False
    """Whether it is a picture of shares: no rows to sort, and shaded cells."""

    @property
    def csv(self) -> str:
        """Return its content as an address to download."""
        text = csv_rows([self.heads, *self.rows])
        return "data:text/csv;charset=utf-8," + quote(text.encode("utf-8", "replace"))


def board_table(caption: str, table: Table, baselines: Iterable[str] = ()) -> BoardTable:
    """Show a table of the terminal, with the names in the first column."""
    at = table.name
    rows = [[row[at], *row[:at], *row[at + 1 :]] for row in (table.heads, *table.rows)]
    return BoardTable(caption, rows[0], rows[1:], frozenset(baselines))


def matrix(
    caption: str,
    names: Sequence[str],
    share: Callable[[str, str], float | None],
    show: Callable[[float | None], str] | None = None,
) -> BoardTable:
    """Show a share of each two runs, shaded."""
    show = show or number
    rows = []
    for row_name in names:
        row = [row_name]
        for column_name in names:
            value = share(row_name, column_name) if row_name != column_name else None
            row.append(BoardCell(show(value), share=value))
        rows.append(row)
    return BoardTable(caption, ["", *names], rows, grid=True)


Votes = Mapping[str, Sequence[bool | None]]
"""The verdicts of each judge on the same turns and maxims, in one order; None if it has none."""


def agreement(votes: Votes) -> BoardTable:
    """Show the share of equal verdicts of each two judges."""

    def share_of_equal(first: str, second: str) -> float | None:
        pairs = zip(votes[first], votes[second], strict=True)
        equal = [vote == against for vote, against in pairs if None not in (vote, against)]
        return fmean(equal) if equal else None

    return matrix("Agreement of the judges: share of equal verdicts", list(votes), share_of_equal)


@dataclass
class Board:
    """What a report says about a group of runs."""

    title: str
    sentences: list[str]
    note: str = ""
    tables: list[BoardTable] = field(default_factory=list)
    plots: list[Markup] = field(default_factory=list)
    details: list[tuple[str, list[BoardTable]]] = field(default_factory=list)
    """Folded tables by title."""
    warnings: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    """Other pages: address and text."""
    scores: dict[str, str] = field(default_factory=dict)
    """The score of each run, by which it is ranked."""
    squares: list[tuple[str, list[BoardTable]]] = field(default_factory=list)
    """Verdicts against labels, by run: a table of two by two for each maxim."""


WITHOUT_MODEL: Final = (
    "These verdicts are from a judge without a language model: it does not see on which side "
    "an answer argues, and it may share code with a debater. Rank debaters by people, or by a "
    "judge with a model."
)


def without_model(runs: Iterable[Path]) -> list[str]:
    """Return a warning if a judge without a language model made some of these verdicts."""
    statuses = map(read_status, runs)
    if any(status.get("verb") == "judge" and not status.get("usage") for status in statuses):
        return [WITHOUT_MODEL]
    return []


def number(value: float | None, digits: int = 3) -> str:
    """Format a value; a dash if there is none."""
    return NONE if value is None else f"{value:z.{digits}f}"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Format an interval; too few debates have none."""
    if low is None or high is None:
        return TOO_FEW
    return f"{number(low, digits)} to {number(high, digits)}"


def names_of(names: Sequence[str]) -> str:
    """Join names; the rest after the first few is counted."""
    if len(names) < 2:
        return "".join(names)
    if len(names) > _NAMES_IN_SENTENCE + 1:
        shown = ", ".join(names[:_NAMES_IN_SENTENCE])
        return f"{shown} and {len(names) - _NAMES_IN_SENTENCE} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"


Difference = Callable[[str, str], RunComparison | None]


def ranking_in_words(
    runs: Mapping[str, float], baselines: Mapping[str, float], measure: str, difference: Difference
) -> list[str]:
    """Say who leads, who does not differ significantly, and who beats each baseline.

    Args:
        runs: The value of each run, best first.
        baselines: The value of each baseline.
        measure: What the values are.
        difference: Returns the paired difference of two runs.
    """
    sentences: list[str] = []
    if len(runs) > 1:
        leader, second, *others = runs
        gain = runs[leader] - runs[second]
        tested = difference(second, leader)
        lead = f"{leader} leads {second} by {number(gain)} {measure}"
        if number(gain) == number(0):
            lead = f"{leader} and {second} have the same {measure}"
        elif tested is not None and tested.low is not None and tested.high is not None:
            # The tested difference is second minus leader; the sentence has it the other way.
            between = interval(-tested.high, -tested.low)
            lead += ", significantly" if tested.significant else ", not significantly"
            lead += f" (p {number(tested.p_holm)}, 95 % interval of the difference {between})"
        sentences.append(f"{lead}.")
        equal = [run for run in others if not _is_significant(difference(run, leader))]
        if equal:
            sentences.append(f"{are(equal)} not significantly different from {leader} either.")
    for baseline, baseline_value in baselines.items():
        groups: dict[str, list[str]] = {}
        for run, value in runs.items():
            relation = "not significantly different from"
            if _is_significant(difference(run, baseline)):
                better = "better" if value > baseline_value else "worse"
                relation = f"significantly {better} than"
            groups.setdefault(relation, []).append(run)
        for relation, names in groups.items():
            sentences.append(
                f"{are(names)} {relation} the baseline {baseline} ({number(baseline_value)})."
            )
    return sentences


def too_few(values: Mapping[str, str], what: str, count: int, units: str) -> list[str]:
    """Say who is first, but not by how much; empty if there are enough debates."""
    if count >= FEWEST_FOR_TEST or not values:
        return []
    best = [name for name, value in values.items() if value == next(iter(values.values()))]
    have = "has" if len(best) == 1 else "have"
    head = f"{names_of(best)} {have} the highest {what}; too" if len(values) > 1 else "Too"
    return [f"{head} few {units} ({count}) to tell more."]


def are(names: Sequence[str]) -> str:
    """Join names as the subject of a sentence."""
    verb = "is" if len(names) == 1 else "are"
    return f"{names_of(names)} {verb}"


def _is_significant(tested: RunComparison | None) -> bool:
    return tested is not None and tested.significant


def by_pair(rows: Iterable[RunComparison], measure: str) -> Difference:
    """Look up the difference of two runs in a measure."""
    by_runs = {(row.run, row.against): row for row in rows if row.measure == measure}
    return lambda run, against: by_runs.get((run, against))
