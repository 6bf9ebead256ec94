"""Leaderboards: a ranking in words, a table that can be sorted, plots, and further tables.

Runs of every kind (judges, debaters, TREC runs, panels, tournaments) are shown by the same board.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from markupsafe import Markup

from touche_rad.files.outputs import read_status
from touche_rad.plots.svg import Dot, dots
from touche_rad.score.result import Comparison
from touche_rad.score.tables import NONE, Table

_NAMED: Final = 4
"""Names in a sentence before the rest is counted."""


class Link(str):
    """The text of a cell that opens a part of the page."""

    href: str

    def __new__(cls, text: str, href: str) -> Link:
        """Make a text with an address."""
        link = super().__new__(cls, text)
        link.href = href
        return link


@dataclass(frozen=True)
class BoardTable:
    """A table whose first column names the rows."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    baselines: frozenset[str] = frozenset()


def board_table(caption: str, table: Table, baselines: Iterable[str] = ()) -> BoardTable:
    """Show a table of the terminal, with the names in the first column."""
    heads, *rows = (
        [row[table.name], *row[: table.name], *row[table.name + 1 :]]
        for row in (table.heads, *table.rows)
    )
    return BoardTable(caption, heads, rows, frozenset(baselines))


@dataclass(frozen=True)
class Plot:
    """A plot with its caption."""

    caption: str
    svg: Markup


def dot_plot(
    caption: str,
    rows: Sequence[Dot],
    baselines: Sequence[tuple[str, float]] = (),
    *,
    digits: int = 3,
) -> Plot:
    """Plot values with intervals; each baseline is a line."""
    return Plot(caption, dots(caption, rows, baselines, digits=digits))


@dataclass
class Board:
    """What a report says about a group of runs."""

    title: str
    sentences: list[str]
    note: str = ""
    tables: list[BoardTable] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    details: list[tuple[str, list[BoardTable]]] = field(default_factory=list)
    """Folded tables by title."""
    warnings: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    """Other pages: address and text."""


def without_model(runs: Iterable[Path]) -> list[str]:
    """Return a warning if a judge without a language model made some of these verdicts."""
    statuses = map(read_status, runs)
    if all(one.get("verb") != "judge" or one.get("usage") for one in statuses):
        return []
    return [
        "These verdicts are from a judge without a language model: it does not see on which side "
        "an answer argues, and it may share code with a debater. Rank debaters by people, or by a "
        "judge with a model."
    ]


def number(value: float | None, digits: int = 3) -> str:
    """Format a value; a dash if there is none."""
    return NONE if value is None else f"{value:.{digits}f}"


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


Difference = Callable[[str, str], Comparison | None]


def ranking_in_words(
    runs: Mapping[str, float],
    baselines: Mapping[str, float],
    measure: str,
    difference: Difference,
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
            sentences.append(f"{are(names)} {how} the baseline {baseline} ({_short(value)}).")
    return sentences


def _lead(leader: str, second: str, gain: float, measure: str, tested: Comparison | None) -> str:
    head = f"{leader} leads {second} by {_short(gain)} {measure}"
    if tested is None or tested.low is None or tested.high is None:
        return f"{head}; there are too few debates for an interval."
    between = f"95 % interval of the difference {_short(-tested.high)} to {_short(-tested.low)}"
    if _clear(tested):
        return f"{head}, significantly ({between})."
    if abs(gain) < 5e-4:
        return f"{leader} and {second} have the same {measure} ({between})."
    return f"{head}, not significantly ({between} contains 0)."


def are(names: Sequence[str]) -> str:
    """Join names as the subject of a sentence."""
    return f"{names_of(names)} {'is' if len(names) == 1 else 'are'}"


def _clear(tested: Comparison | None) -> bool:
    if tested is None or tested.low is None or tested.high is None:
        return False
    return tested.low > 0 or tested.high < 0


def _short(value: float) -> str:
    """Format a share as papers do: .040."""
    text = f"{abs(value):.3f}"
    short = text.replace("0.", ".", 1) if text.startswith("0.") else text
    return f"−{short}" if value < 0 and float(text) else short


def by_pair(rows: Iterable[Comparison], measure: str) -> Difference:
    """Look up the difference of two runs in a measure."""
    by_runs = {(one.run, one.against): one for one in rows if one.measure == measure}
    return lambda run, against: by_runs.get((run, against))
