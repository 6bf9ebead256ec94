"""The board of runs without labels: their judges' share of yes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from touche_rad.debate import Maxim
from touche_rad.plots.svg import Dot, dot_plot, line_plot
from touche_rad.report._conversations import Topic
from touche_rad.report.boards import (
    Board,
    BoardTable,
    Votes,
    agreement,
    interval,
    number,
    ranking_in_words,
)
from touche_rad.score.rates import count_yes, measure_yes
from touche_rad.score.result import MEAN
from touche_rad.score.significance import compare_runs


def rate_board(
    topics: Sequence[Topic], names: Sequence[str], samples: int, seed: int
) -> Board | None:
    """Rank runs by their judges' share of yes, if there are verdicts.

    Runs with the same responses have different judges: then a larger share is no better.
    """
    counts = np.zeros((len(topics), len(names), len(Maxim), 2))
    for at, topic in enumerate(topics):
        for one in topic.conversations:
            for run, of_turns in one.verdicts:
                counts[at, run] += count_yes(of_turns)
    figures = {
        name: measure_yes(counts[:, [run]], samples, seed)
        for run, name in enumerate(names)
        if counts[:, run, :, 1].any()
    }
    if not figures:
        return None
    order = sorted(figures, key=lambda name: -figures[name][MEAN].value)
    means = {name: figures[name][MEAN].value for name in order}
    same = all(len(topic.conversations) == 1 for topic in topics)
    if not same:
        sentences = ranking_in_words(
            means,
            {},
            "share of yes",
            lambda run, against: compare_runs(figures, run, against, MEAN),
        )
    elif len(order) > 1:
        sentences = [
            f"{order[0]} says yes most often ({number(means[order[0]])}), {order[-1]} least often "
            f"({number(means[order[-1]])}). Without labels, nobody knows which verdicts are right."
        ]
    else:
        sentences = [
            f"{order[0]} says yes on {number(means[order[0]])} of the verdicts. Without labels, "
            "nobody knows whether they are right."
        ]
    rows = [
        [
            name,
            number(means[name]),
            interval(*figures[name][MEAN].interval),
            *(number(figures[name][maxim].value) for maxim in Maxim),
            str(int(counts[:, names.index(name), :, 1].sum())),
        ]
        for name in order
    ]
    heads = ["run", "mean", "95 % interval", *map(str, Maxim), "verdicts"]
    tables = [BoardTable("Share of yes", heads, rows)]
    if same and len(order) > 1:
        tables.append(agreement(_votes(topics, names)))
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
                [
                    Dot(name, figures[name][key].value, *figures[name][key].interval)
                    for name in order
                ],
            )
            for key in (MEAN, *Maxim)
        ],
    )
    board.scores = {name: number(mean) for name, mean in means.items()}
    return board


def _votes(topics: Sequence[Topic], names: Sequence[str]) -> Votes:
    """Return the verdicts of each run on the turns of all debates."""
    votes: dict[str, list[bool | None]] = {}
    for one in (one for topic in topics for one in topic.conversations):
        of_run = dict(one.verdicts)
        for run, name in enumerate(names):
            for verdicts in of_run.get(run, [{}] * len(one.turns)):
                known = (verdicts.get(maxim) for maxim in Maxim)
                own = votes.setdefault(name, [])
                own += [None if verdict is None else verdict.yes for verdict in known]
    return {name: own for name, own in votes.items() if any(vote is not None for vote in own)}


def turn_plot(topics: Sequence[Topic], names: Sequence[str]) -> Markup | None:
    """Plot the share of yes by turn, if debates with verdicts have several turns."""
    counts: dict[str, list[Any]] = {}
    for one in (one for topic in topics for one in topic.conversations):
        for run, of_turns in one.verdicts:
            own = counts.setdefault(names[run], [])
            own += [0] * (len(of_turns) - len(own))
            for turn, verdicts in enumerate(of_turns):
                own[turn] = own[turn] + count_yes([verdicts]).sum(axis=0)
    series = {
        name: [yes / known if known else None for yes, known in own] for name, own in counts.items()
    }
    if max(map(len, series.values()), default=0) < 2:
        return None
    return line_plot("Share of yes by turn", series, axis=(0.0, 1.0))
