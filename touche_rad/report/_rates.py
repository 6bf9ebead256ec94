"""The board of runs without labels: their judges' share of yes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from touche_rad.debate import Maxim
from touche_rad.plots.svg import Dot
from touche_rad.report._conversations import Topic
from touche_rad.report.boards import Board, BoardTable, dot_plot, interval, number, ranking_in_words
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
            f"{order[0]} says yes most often ({means[order[0]]:.0%}), {order[-1]} least often "
            f"({means[order[-1]]:.0%}). Without labels, nobody knows which verdicts are right."
        ]
    else:
        sentences = [
            f"{order[0]} says yes on {means[order[0]]:.0%} of the verdicts. Without labels, nobody "
            "knows whether they are right."
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
    return Board(
        "Verdicts" if same else "Leaderboard",
        sentences,
        "Share of yes among the verdicts, mean of the maxims. Intervals: "
        f"{samples} bootstrap samples of claims, seed {seed}. The judge may be wrong: only labels "
        "show how often.",
        [BoardTable("Share of yes", heads, rows)],
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
