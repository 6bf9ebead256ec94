"""Same-family bias: does a judge score responses of its own model family higher?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from touche_rad.debate import Maxim
from touche_rad.files.outputs import read_status
from touche_rad.score.audit.figures import Bias, Scores
from touche_rad.score.significance import interval, weights

_SAMPLES = 2_000


def family_of(model: str) -> str:
    """Return a model's family: the first word of its name, without owner and size."""
    name = model.rstrip("/").rpartition("/")[2].lower()
    word = re.match(r"[^\W\d_]+", name)
    return word[0] if word else name


def wrote(run: Path) -> str | None:
    """Return the model family that wrote a run, from the run's status file."""
    try:
        return family_of(str(read_status(run)["identity"]["model"]["name"]))
    except (LookupError, TypeError):
        return None


Key = tuple[str, int]


def biases(
    judge: str,
    family: str,
    runs: Sequence[tuple[str | None, Mapping[Key, Scores]]],
    seed: int,
) -> list[Bias]:
    """Compare a judge's scores of its own family with those of other families, turn by turn.

    Args:
        judge: The judge's name.
        family: Its model's family.
        runs: For each run its model family, and the scores by debate and turn.
        seed: Random seed of the interval (bootstrap of debates).
    """
    own = [scores for wrote, scores in runs if wrote == family]
    others = [scores for wrote, scores in runs if wrote not in (None, family)]
    rows = []
    for maxim in Maxim if own and others else ():
        by_debate: dict[str, list[float]] = defaultdict(list)
        for key in sorted(set().union(*own) & set().union(*others)):
            mine = [s[key][maxim] for s in own if key in s]
            theirs = [s[key][maxim] for s in others if key in s]
            if None in mine or None in theirs:
                continue
            by_debate[key[0]].append(float(np.mean(mine)) - float(np.mean(theirs)))  # type: ignore[arg-type]
        if by_debate:
            rows.append(_row(judge, family, maxim, list(by_debate.values()), seed))
    return rows


def _row(judge: str, family: str, maxim: Maxim, differences: list[list[float]], seed: int) -> Bias:
    sums = np.array([sum(one) for one in differences])
    counts = np.array([len(one) for one in differences], float)
    low = high = None
    if len(differences) > 1:
        draws = [
            (drawn @ sums) / (drawn @ counts) for drawn in weights(len(differences), _SAMPLES, seed)
        ]
        low, high = interval(np.concatenate(draws))
    return Bias(
        judge=judge,
        family=family,
        maxim=maxim,
        turns=int(counts.sum()),
        difference=float(sums.sum() / counts.sum()),
        low=low,
        high=high,
    )
