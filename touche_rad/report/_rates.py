"""The board of runs without labels: their judges' share of yes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from touche_rad.debate import Maxim
from touche_rad.plots.svg import Dot
from touche_rad.report._conversations import Topic
from touche_rad.report.boards import (
    Board,
    BoardTable,
    Standing,
    dot_plot,
    interval,
    number,
    ranking_in_words,
)
from touche_rad.score.result import MEAN
from touche_rad.score.significance import Measured, compare_runs, resampled_sums


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
                for verdicts in of_turns:
                    for place, maxim in enumerate(Maxim):
                        verdict = verdicts.get(maxim)
                        if verdict is not None and verdict.score is not None:
                            counts[at, run, place] += verdict.yes, 1
    runs = [run for run in range(len(names)) if counts[:, run, :, 1].any()]
    if not runs:
        return None
    same = all(len(topic.conversations) == 1 for topic in topics)
    sums = resampled_sums(counts, samples, seed) if len(counts) > 1 else None
    figures = {
        names[run]: _measured_rates(counts[:, run], None if sums is None else sums[:, run])
        for run in runs
    }
    order = sorted(figures, key=lambda name: -figures[name][MEAN].value)
    standings = [Standing(name, figures[name][MEAN].value) for name in order]
    if same:
        sentences = (
            [
                f"{order[0]} says yes most often ({standings[0].value:.0%}), {order[-1]} least "
                f"often ({standings[-1].value:.0%}). Without labels, nobody knows which verdicts "
                "are right."
            ]
            if len(order) > 1
            else [
                f"{order[0]} says yes on {standings[0].value:.0%} of the verdicts. Without labels, "
                "nobody knows whether they are right."
            ]
        )
    else:
        sentences = list(
            ranking_in_words(
                standings,
                [],
                "share of yes",
                lambda run, against: compare_runs(figures, run, against, MEAN),
            )
        )
    return Board(
        "Verdicts" if same else "Leaderboard",
        sentences,
        "Share of yes among the verdicts, mean of the maxims. Intervals: "
        f"{samples} bootstrap samples of claims, seed {seed}. The judge may be wrong: only labels "
        "show how often.",
        [
            BoardTable(
                "Share of yes",
                ["run", "mean", "95 % interval", *map(str, Maxim), "verdicts"],
                [
                    [
                        name,
                        number(figures[name][MEAN].value),
                        interval(*figures[name][MEAN].interval),
                        *(number(figures[name][maxim].value) for maxim in Maxim),
                        str(int(counts[:, names.index(name), :, 1].sum())),
                    ]
                    for name in order
                ],
            )
        ],
        [
            dot_plot(
                f"Share of yes, {key}",
                [
                    Dot(name, of[key].value, *of[key].interval)
                    for name in order
                    for of in [figures[name]]
                ],
            )
            for key in (MEAN, *Maxim)
        ],
    )


def _measured_rates(counts: Any, sums: Any) -> dict[str, Measured]:
    """Return the share of yes on each maxim and their mean, with bootstrap samples of claims."""
    values = _shares(counts.sum(axis=0))
    draws = None if sums is None else _shares(sums)
    rates = {
        maxim.value: Measured(float(values[at]), None if draws is None else draws[:, at])
        for at, maxim in enumerate(Maxim)
    }
    mean = Measured(float(values.mean()), None if draws is None else draws.mean(axis=1))
    return {**rates, MEAN: mean}


def _shares(counts: Any) -> Any:
    yes, total = counts[..., 0], counts[..., 1]
    return np.divide(yes, total, out=np.zeros(total.shape), where=total > 0)
