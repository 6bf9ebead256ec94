"""The board of runs without labels: their judges' share of yes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from touche_rad.debate import Maxim
from touche_rad.plots.svg import Dot, dots
from touche_rad.report.boards import (
    Board,
    BoardTable,
    Cell,
    Plot,
    Standing,
    interval,
    number,
    ranking_in_words,
)
from touche_rad.report.conversations import Topic
from touche_rad.score import significance
from touche_rad.score.result import MEAN, Comparison
from touche_rad.score.significance import Measured, compare


def rate_board(
    topics: Sequence[Topic], names: Sequence[str], samples: int, seed: int
) -> Board | None:
    """Rank runs by their judges' share of yes, if there are verdicts.

    Runs with the same responses have different judges: then a larger share is no better.
    """
    counts = np.zeros((len(topics), len(names), len(Maxim), 2))
    for at, topic in enumerate(topics):
        for one in topic.conversations:
            for run, of_turns in one.judged:
                for verdicts in of_turns:
                    for place, maxim in enumerate(Maxim):
                        verdict = verdicts.get(maxim)
                        if verdict is not None and verdict.score is not None:
                            counts[at, run, place] += verdict.yes, 1
    judged = [run for run in range(len(names)) if counts[:, run, :, 1].any()]
    if not judged:
        return None
    same = all(len(topic.conversations) == 1 for topic in topics)
    sums = significance.resampled_sums(counts, samples, seed) if len(counts) > 1 else None
    figures = {
        names[run]: _measured_rates(counts[:, run], None if sums is None else sums[:, run])
        for run in judged
    }
    order = sorted(figures, key=lambda name: -figures[name][MEAN].value)
    standings = [Standing(name, figures[name][MEAN].value) for name in order]

    def difference(run: str, against: str) -> Comparison | None:
        ours, theirs = figures[run][MEAN], figures[against][MEAN]
        if ours.draws is None or theirs.draws is None:
            return None
        tested = compare(ours.value - theirs.value, ours.draws - theirs.draws)
        return Comparison(run=run, against=against, measure=MEAN, p_holm=tested.p, **vars(tested))

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
        sentences = list(ranking_in_words(standings, [], "share of yes", difference))
    keys = [MEAN, *map(str, Maxim)]
    return Board(
        "Verdicts" if same else "Leaderboard",
        sentences,
        "Share of yes among the verdicts, mean of the maxims. Intervals: "
        f"{samples} bootstrap samples of claims, seed {seed}. The judge may be wrong: only labels "
        "show how often.",
        [
            BoardTable(
                "Share of yes",
                [
                    "run",
                    "mean",
                    "95 % interval",
                    *map(str, Maxim),
                    "verdicts",
                ],
                [
                    [
                        Cell(name),
                        Cell(number(figures[name][MEAN].value)),
                        Cell(interval(*figures[name][MEAN].interval)),
                        *(Cell(number(figures[name][str(maxim)].value)) for maxim in Maxim),
                        Cell(str(int(counts[:, names.index(name), :, 1].sum()))),
                    ]
                    for name in order
                ],
            )
        ],
        [
            Plot(
                f"Share of yes, {key}",
                dots(
                    f"Share of yes, {key}",
                    [
                        Dot(name, figures[name][key].value, *figures[name][key].interval)
                        for name in order
                    ],
                ),
            )
            for key in keys
        ],
    )


def _measured_rates(counts: Any, sums: Any) -> dict[str, Measured]:
    """Return the share of yes on each maxim and their mean, with bootstrap samples of claims."""
    total = counts.sum(axis=0)
    values = np.divide(total[:, 0], total[:, 1], out=np.zeros(len(total)), where=total[:, 1] > 0)
    if sums is None:
        found = {str(maxim): Measured(float(values[at])) for at, maxim in enumerate(Maxim)}
        return {**found, MEAN: Measured(float(values.mean()))}
    shares = np.divide(
        sums[..., 0], sums[..., 1], out=np.zeros(sums.shape[:-1]), where=sums[..., 1] > 0
    )
    found = {
        str(maxim): Measured(float(values[at]), shares[:, at]) for at, maxim in enumerate(Maxim)
    }
    return {**found, MEAN: Measured(float(values.mean()), shares.mean(axis=1))}
