"""The members of a judge that combines other judges, beside the judge itself.

Such a judge writes the score of each member into its verdicts (`votes`); a member that was not
asked is not among them. Verdicts on which it abstains have the field `abstained`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from touche_rad.debate import Maxim
from touche_rad.score.alignment import Alignment, Labelled
from touche_rad.score.official import count
from touche_rad.score.result import JurorRow


def juror_rows(runs: Mapping[str, Alignment], labels: Labelled) -> tuple[JurorRow, ...]:
    """Return a row for each member of each judge that has members, the best first."""
    rows: list[JurorRow] = []
    for run, aligned in runs.items():
        names = dict.fromkeys(
            name for reads in aligned.votes.values() for votes in reads.values() for name in votes
        )
        made = [_row(run, name, aligned, labels) for name in names]
        rows += sorted(made, key=lambda row: -(row.f1 or 0.0))
    return tuple(rows)


def _row(run: str, juror: str, aligned: Alignment, labels: Labelled) -> JurorRow:
    own: dict[Maxim, list[tuple[int | None, float | None]]] = {maxim: [] for maxim in Maxim}
    judge: dict[Maxim, list[tuple[int | None, float | None]]] = {maxim: [] for maxim in Maxim}
    asked = total = 0
    for (debate, turn), reads in aligned.votes.items():
        known = labels[debate][turn]
        if all(known.get(maxim) is None for maxim in Maxim):
            continue
        total += 1
        asked += any(juror in votes for votes in reads.values())
        for maxim, votes in reads.items():
            if juror in votes:
                own[maxim].append((known.get(maxim), votes[juror]))
                judge[maxim].append((known.get(maxim), aligned.scores[debate][turn].get(maxim)))
    return JurorRow(
        run=run,
        juror=juror,
        turns=asked,
        saved=1 - asked / total if total else 0.0,
        f1=_mean_f1(own),
        judge_f1=_mean_f1(judge),
    )


def _mean_f1(
    pairs: Mapping[Maxim, Sequence[tuple[int | None, float | None]]],
) -> float | None:
    counted = [counts.f1 for of in pairs.values() if (counts := count(of)).labelled]
    return fmean(counted) if counted else None


def without_abstained(labels: Labelled, runs: Sequence[Alignment]) -> Labelled:
    """Remove each label on which any run abstains, so that all runs are scored alike."""
    abstained = frozenset().union(*(run.abstained for run in runs))
    return [
        [
            {
                maxim: None if (at, turn, maxim) in abstained else label
                for maxim, label in of_turn.items()
            }
            for turn, of_turn in enumerate(turns)
        ]
        for at, turns in enumerate(labels)
    ]
