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
from touche_rad.score.tables import NONE, Table, csv_rows

_NAMED: Final = 4
"""Names in a sentence before the rest is counted."""
FEWEST: Final = 10
"""Debates, claims or queries from which sentences say who is better."""


class BoardCell(str):
    """The text of a cell that opens a part of the page, or has a background."""

    href: str
    shade: int
    """Strength of the background, from 0 to 10."""

    def __new__(cls, text: str, href: str = "", share: float | None = None) -> BoardCell:
        """Make a text with an address, and with a background for a share."""
        made = super().__new__(cls, text)
        made.href, made.shade = href, round(10 * (share or 0))
        return made


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
    heads, *rows = (
        [row[table.name], *row[: table.name], *row[table.name + 1 :]]
        for row in (table.heads, *table.rows)
    )
    return BoardTable(caption, heads, rows, frozenset(baselines))


def matrix(
    caption: str,
    names: Sequence[str],
    share: Callable[[str, str], float | None],
    show: Callable[[float | None], str] | None = None,
) -> BoardTable:
    """Show a share of each two runs, shaded."""
    rows = []
    for one in names:
        shares = [share(one, other) if one != other else None for other in names]
        rows.append([one, *(BoardCell((show or number)(value), share=value) for value in shares)])
    return BoardTable(caption, ["", *names], rows, grid=True)


Votes = Mapping[str, Sequence[bool | None]]
"""The verdicts of each judge on the same turns and maxims, in one order; None if it has none."""


def agreement(votes: Votes) -> BoardTable:
    """Show the share of equal verdicts of each two judges."""

    def equal(one: str, other: str) -> float | None:
        pairs = zip(votes[one], votes[other], strict=True)
        same = [first == second for first, second in pairs if None not in (first, second)]
        return fmean(same) if same else None

    return matrix("Agreement of the judges: share of equal verdicts", list(votes), equal)


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
    judged = (one for one in map(read_status, runs) if one.get("verb") == "judge")
    return [WITHOUT_MODEL] * any(not one.get("usage") for one in judged)


def number(value: float | None, digits: int = 3) -> str:
    """Format a value; a dash if there is none."""
    return NONE if value is None else f"{value:z.{digits}f}"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Format an interval; a dash if there is none."""
    return (
        NONE if low is None or high is None else f"{number(low, digits)} to {number(high, digits)}"
    )


def names_of(names: Sequence[str]) -> str:
    """Join names; the rest after the first few is counted."""
    if len(names) > _NAMED + 1:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


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
    leader, second, *others = [*runs, None, None]
    if leader is not None and second is not None:
        tested = difference(second, leader)
        sentences.append(_lead(leader, second, runs[leader] - runs[second], measure, tested))
        equal = [one for one in others if one and not _clear(difference(one, leader))]
        if equal:
            sentences.append(f"{are(equal)} not significantly different from {leader} either.")
    for baseline, value in baselines.items():
        groups: dict[str, list[str]] = {}
        for run, of_run in runs.items():
            better = "better than" if of_run > value else "worse than"
            clear = _clear(difference(run, baseline))
            how = f"significantly {better}" if clear else "not significantly different from"
            groups.setdefault(how, []).append(run)
        for how, names in groups.items():
            sentences.append(f"{are(names)} {how} the baseline {baseline} ({number(value)}).")
    return sentences


def too_few(values: Mapping[str, str], what: str, count: int, units: str) -> list[str]:
    """Say who is first, but not by how much; empty if there are enough debates."""
    if count >= FEWEST or not values:
        return []
    best = [name for name, value in values.items() if value == next(iter(values.values()))]
    have = "has" if len(best) == 1 else "have"
    head = f"{names_of(best)} {have} the highest {what}; too" if len(values) > 1 else "Too"
    return [f"{head} few {units} ({count}) to tell more."]


def _lead(leader: str, second: str, gain: float, measure: str, tested: RunComparison | None) -> str:
    if number(gain) == number(0):
        return f"{leader} and {second} have the same {measure}."
    head = f"{leader} leads {second} by {number(gain)} {measure}"
    if tested is None or tested.low is None or tested.high is None:
        return f"{head}."
    between = f"95 % interval of the difference {interval(-tested.high, -tested.low)}"
    if _clear(tested):
        return f"{head}, significantly ({between})."
    return f"{head}, not significantly ({between} contains 0)."


def are(names: Sequence[str]) -> str:
    """Join names as the subject of a sentence."""
    return f"{names_of(names)} {'is' if len(names) == 1 else 'are'}"


def _clear(tested: RunComparison | None) -> bool:
    if tested is None or tested.low is None or tested.high is None:
        return False
    return tested.low > 0 or tested.high < 0


def by_pair(rows: Iterable[RunComparison], measure: str) -> Difference:
    """Look up the difference of two runs in a measure."""
    by_runs = {(one.run, one.against): one for one in rows if one.measure == measure}
    return lambda run, against: by_runs.get((run, against))
