"""The board of runs without labels: their judges' share of yes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from touche_rad.criteria import Criteria
from touche_rad.plots.svg import Dot, dot_plot, line_plot
from touche_rad.report._conversations import ClaimTopic
from touche_rad.report.boards import (
    Board,
    BoardTable,
    Votes,
    agreement,
    interval,
    number,
    ranking_in_words,
    too_few,
)
from touche_rad.score.rates import count_yes, measure_yes
from touche_rad.score.result import MEAN
from touche_rad.score.significance import compare_runs


def rate_board(
    topics: Sequence[ClaimTopic],
    judges: Mapping[str, str],
    lost: Sequence[int],
    criteria: Criteria,
    *,
    samples: int,
    seed: int,
) -> Board | None:
    """Rank runs by their judges' share of yes, if there are verdicts.

    Runs of different judges are not compared. A judge is empty if it is unknown. A lost debate is
    a no on as many verdicts as the run's other debates have on average.
    """
    names, problems = list(judges), Counter[str]()
    counts = np.zeros((len(topics) + max(lost), len(names), len(criteria), 2))
    for at, topic in enumerate(topics):
        for one in topic.conversations:
            for run in one.repeated:
                problems[f"{names[run]}: debates given twice, the first counts"] += 1
            for run, _, verdicts in one.counted:
                name, of_turn = names[run], count_yes([verdicts], criteria)
                missing = len(criteria) - int(of_turn[:, 1].sum())
                problems[f"{name}: missing verdicts, counted as no"] += missing
                counts[at, run] += of_turn[:, 0, None] * (1, 0) + (0, 1)
    has: Any = counts[..., 1].any(axis=2)  # which run has which debate
    alone = has.any(axis=0) & ~has[has.sum(axis=1) > 1].any(axis=0)
    absent = has[:, ~alone].any(axis=1).sum() - has.sum(axis=0) - lost
    for run, name in enumerate(names) if (has.any(axis=0) & ~alone).any() else ():
        if alone[run]:
            problems[f"{name}: not comparable; debates of no other run"] = int(has[:, run].sum())
        elif has[:, run].any():
            problems[f"{name}: debates missing that other runs have"] = max(0, int(absent[run]))
    for run, debates in enumerate(lost):
        judged = counts[:, run, :, 1].any(axis=1)
        if debates and judged.any():
            counts[np.flatnonzero(~judged)[:debates], run, :, 1] = counts[judged, run, :, 1].mean()
            problems[f"{names[run]}: lost debates, counted as no"] = debates
    counts = counts[counts.any(axis=(1, 2, 3))]
    every = {
        name: measure_yes(counts[:, [run]], criteria, samples, seed)
        for run, name in enumerate(names)
        if counts[:, run, :, 1].any()
    }
    if not every:
        return None
    figures = dict(sorted(every.items(), key=lambda pair: -pair[1][MEAN].value))
    means = {name: own[MEAN].value for name, own in figures.items()}
    order = list(figures)
    same = all(len(topic.conversations) == 1 for topic in topics)
    shared = any(len(one.verdicts) > 1 for topic in topics for one in topic.conversations)
    groups: dict[str, dict[str, float]] = {}
    for name, mean in means.items():
        of_one = judges[name] or name * (shared or any(judges.values()))
        groups.setdefault(of_one, {})[name] = mean
    if same:
        least = f"; {order[-1]} least often ({number(means[order[-1]])})" * (len(order) > 1)
        sentences = [
            f"{order[0]} says yes on {number(means[order[0]])} of the verdicts{least}. Without "
            "labels, nobody knows which verdicts are right."
        ]
    else:
        sentences = [
            sentence
            for own in groups.values()
            for shown in [{name: number(value) for name, value in own.items()}]
            for sentence in too_few(shown, "share of yes", len(counts), "claims")
            or ranking_in_words(
                own, {}, "share of yes", lambda run, other: compare_runs(figures, run, other, MEAN)
            )
        ]
        if len(groups) > 1:
            sentences.append("Runs of different or unknown judges are not compared.")
    rows = []
    for name, own in figures.items():
        shares = [number(own[key].value) for key in criteria.keys]
        count = str(int(counts[:, names.index(name), :, 1].sum()))
        rows.append([name, number(means[name]), interval(*own[MEAN].interval), *shares, count])
    heads = ["run", "mean", "95 % interval", *criteria.keys, "verdicts"]
    tables = [BoardTable("Share of yes", heads, rows)]
    if same and len(order) > 1:
        tables.append(agreement(_votes(topics, names, criteria)))
    board = Board(
        "Verdicts" if same else "Leaderboard",
        sentences,
        "Share of yes among the verdicts, mean of the maxims. Intervals: "
        f"{samples} bootstrap samples of claims, seed {seed}. The judge may be wrong: only labels "
        "show how often.",
        tables,
        [
            dot_plot(
                f"Share of yes, {key}",
                [Dot(name, own[key].value, *own[key].interval) for name, own in figures.items()],
            )
            for key in (MEAN, *criteria.keys)
        ],
    )
    board.warnings = [f"{problem}: {times}" for problem, times in problems.items() if times]
    board.scores = {name: number(mean) for name, mean in means.items()}
    return board


def _votes(topics: Sequence[ClaimTopic], names: Sequence[str], criteria: Criteria) -> Votes:
    """Return the verdicts of each run on the turns of all debates."""
    votes: dict[str, list[bool | None]] = {}
    for one in (one for topic in topics for one in topic.conversations):
        of_run = dict(one.verdicts)
        for run, name in enumerate(names):
            for verdicts in of_run.get(run, [{}] * len(one.turns)):
                known = (verdicts.get(key) for key in criteria.keys)
                own = votes.setdefault(name, [])
                own += [None if verdict is None else verdict.yes for verdict in known]
    return {name: own for name, own in votes.items() if any(vote is not None for vote in own)}


def turn_plot(
    topics: Sequence[ClaimTopic], names: Sequence[str], criteria: Criteria
) -> Markup | None:
    """Plot the share of yes by turn, if debates with verdicts have several turns."""
    counts: dict[str, list[Any]] = {}
    for one in (one for topic in topics for one in topic.conversations):
        for run, turn, verdicts in one.counted:
            own = counts.setdefault(names[run], [])
            own += [0] * (turn + 1 - len(own))
            yes = count_yes([verdicts], criteria)[:, 0].sum()
            own[turn] = own[turn] + np.array((yes, len(criteria)))
    series = {
        name: [one[0] / one[1] if np.any(one) else None for one in own]
        for name, own in counts.items()
    }
    if max(map(len, series.values()), default=0) < 2:
        return None
    return line_plot("Share of yes by turn", series, axis=(0.0, 1.0))
