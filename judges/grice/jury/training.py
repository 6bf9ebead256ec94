"""`touche-rad train jury`: the weights of a jury from labelled debates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import numpy as np
from numpy.typing import NDArray

from judges.grice.calibrated.judge import Sum, logit
from judges.grice.jury.judge import Jury
from judges.grice.jury.weights import Weights
from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.errors import UserError
from touche_rad.models import Model
from touche_rad.plugins import Services
from touche_rad.training.labels import Labelled, Progress, describe_missing, for_each, labelled

FOLDS: Final = 5
FEWEST: Final = 10
"""With fewer turns of either label the members get equal weights on a maxim."""
MARGINS: Final = (0.05, 0.1, 0.2, 0.3)
"""Margins of abstention in the report."""
_REGULARISATION: Final = 0.5

Floats = NDArray[np.float64]


def train_jury(
    debates: Path,
    labels: Path,
    out: Path,
    *,
    of: str = "",
    model: Model | None = None,
    seed: int = 0,
    report: Progress | None = None,
) -> Mapping[str, Any]:
    """Fit the weights, cross-validated by debate, write them, and return what was measured.

    Args:
        debates: The labelled debates.
        labels: Their labels, in the same order.
        out: The weights to write.
        of: The members, cheapest first, as in the option `of` of the judge.
        model: The language model of the members.
        seed: Random seed of the members and of the regression.
        report: Called with the number of judged responses and their total.
    """
    try:
        from threadpoolctl import threadpool_limits  # a dependency of scikit-learn
    except ImportError:
        raise UserError(
            "train jury needs the extra train (pip install 'touche-rad[train]')"
        ) from None
    turns = labelled(debates, labels)
    jury = Jury(Jury.Options(of=of), Services(seed=seed, model=model))
    scores, missing = anyio.run(_scores_of, jury, turns, model, report)
    groups = np.array([turn.debate for turn in turns])
    if len(set(groups.tolist())) < 2:
        raise UserError("train jury: expected labels of at least two debates")
    with threadpool_limits(1):  # the fits are small: threads would only wait for each other
        fitted = {
            maxim: _fit(maxim, turns, scores[maxim], groups, jury.members, seed) for maxim in Maxim
        }
    few = [maxim.value for maxim in Maxim if fitted[maxim].report is None]
    how = f"fitted on {len(turns)} turns of {debates.name}{f' with {model.name}' if model else ''}"
    how += "".join(f"; {line}" for line in missing)
    if few:
        how += f"; equal weights, because there are too few labels: {', '.join(few)}"
    made = Weights(
        how=how,
        members=jury.members,
        means={maxim: fitted[maxim].means for maxim in Maxim},
        sums=tuple(
            {maxim: fitted[maxim].sums[count] for maxim in Maxim}
            for count in range(len(jury.members))
        ),
        report={maxim.value: found for maxim in Maxim if (found := fitted[maxim].report)},
    )
    with files.atomic_write(out) as stream:
        stream.write(made.model_dump_json(indent=1) + "\n")
    return {"how": made.how, **made.report}


async def _scores_of(
    jury: Jury,
    turns: Sequence[Labelled],
    model: Model | None,
    report: Progress | None,
) -> tuple[dict[Maxim, Floats], list[str]]:
    """Return each member's score of each turn, nan where it failed, and a line on each failure."""
    try:
        found = await for_each(turns, lambda turn: jury.votes(turn.view), report)
        missing = [
            await describe_missing(name, turns, places, model)
            for name in jury.members
            if (places := [place for place, votes in enumerate(found) if votes[name] is None])
        ]
    finally:
        if model is not None:
            await model.close()
    scores = {
        maxim: np.array(
            [
                [
                    np.nan if (given := votes[name]) is None else given[maxim]
                    for name in jury.members
                ]
                for votes in found
            ]
        )
        for maxim in Maxim
    }
    return scores, missing


@dataclass(frozen=True)
class _Fitted:
    """The weights on one maxim for each number of members, and what was measured."""

    means: Mapping[str, float]
    sums: Sequence[Sum]
    report: Mapping[str, Any] | None = None


def _fit(
    maxim: Maxim,
    turns: Sequence[Labelled],
    scores: Floats,
    groups: Any,
    names: Sequence[str],
    seed: int,
) -> _Fitted:
    """Fit one maxim on the turns that have its label."""
    given = [turn.labels.get(maxim) for turn in turns]
    known = np.array([label is not None for label in given])
    truth = np.array([int(bool(label)) for label in given])[known]
    table = _logits(scores)
    means = np.nanmean(table, axis=0)
    of_member = dict(zip(names, map(float, means), strict=True))
    if min(truth.sum(), len(truth) - truth.sum()) < FEWEST:
        equal = [
            Sum(weights=dict.fromkeys(names[:count], 1 / count))
            for count in range(1, len(names) + 1)
        ]
        return _Fitted(of_member, equal)
    table = np.where(np.isnan(table), means, table)[known]
    fit = _Fit(table, truth, groups[known], seed)
    sums = [fit.sum(names[:count]) for count in range(1, len(names) + 1)]
    return _Fitted(of_member, sums, fit.report(scores[known], names))


def _logits(scores: Floats) -> Floats:
    return np.array(
        [[np.nan if np.isnan(one) else logit(float(one)) for one in row] for row in scores]
    )


class _Fit:
    """Regularised logistic regression on the members' scores of one maxim."""

    def __init__(self, table: Floats, truth: Any, groups: Any, seed: int) -> None:
        self.table, self.truth, self.groups, self.seed = table, truth, groups, seed
        self.everything = np.arange(len(truth))
        self.folds = list(_folds(self.everything, groups))

    def sum(self, names: Sequence[str]) -> Sum:
        """Fit the first members on all turns."""
        count = len(names)
        whole = self._model(self.everything, count)
        line = _line(self._held_out(self.everything, count), self.truth)
        weights = dict(zip(names, map(float, whole.coef_[0]), strict=True))
        return Sum(bias=float(whole.intercept_[0]), weights=weights, line=line)

    def report(self, scores: Floats, names: Sequence[str]) -> dict[str, Any]:
        """Measure on held-out debates; thresholds and best juror are from the other debates."""
        truth, count = self.truth, len(names)
        filled = np.where(np.isnan(scores), 0.5, scores)
        jury = np.stack([self._shifted(number) for number in range(1, count + 1)])
        best, majority = np.zeros(len(truth)), np.zeros(len(truth))
        for train, test in self.folds:
            known = [_f1(filled[train, at] >= 0.5, truth[train]) for at in range(count)]
            best[test] = filled[test, int(np.argmax(known))]
            majority[test] = float(truth[train].mean() >= 0.5)
        sure = np.abs(jury[-1] - 0.5)
        return {
            "turns": len(truth),
            "debates": len(set(self.groups.tolist())),
            "yes": round(float(truth.mean()), 4),
            "jury": _measures(jury[-1], truth),
            "equal weights": _measures(filled.mean(axis=1), truth),
            "best juror": _measures(best, truth),
            "always yes": _measures(np.ones(len(truth)), truth),
            "majority": _measures(majority, truth),
            "jurors": {name: _measures(filled[:, at], truth) for at, name in enumerate(names)},
            "first jurors": [_measures(one, truth) for one in jury],
            "abstention": [
                {
                    "margin": margin,
                    "decided": round(float(kept.mean()), 4),
                    **_measures(jury[-1][kept], truth[kept]),
                }
                for margin in MARGINS
                if (kept := sure >= margin).any()
            ],
        }

    def _shifted(self, count: int) -> Floats:
        """Return held-out scores whose threshold, from the other debates, is 0.5."""
        shifted = np.zeros(len(self.truth))
        for train, test in self.folds:
            line = _line(self._held_out(train, count), self.truth[train])
            model = self._model(train, count)
            one = Sum(weights={"": 1.0}, line=line)
            totals = model.decision_function(self.table[test, :count])
            shifted[test] = [one.score({"": float(total)}) for total in totals]
        return shifted

    def _held_out(self, chosen: Any, count: int) -> Floats:
        """Return the probabilities of some turns, each from a model of the other debates."""
        chances = np.zeros(len(chosen))
        for train, test in _folds(chosen, self.groups[chosen]):
            model = self._model(chosen[train], count)
            chances[test] = model.predict_proba(self.table[chosen[test], :count])[:, 1]
        return chances

    def _model(self, chosen: Any, count: int) -> Any:
        from sklearn.linear_model import LogisticRegression

        # A turn of each label without information keeps a fold with one label fittable.
        table = np.concatenate([self.table[chosen, :count], np.zeros((2, count))])
        truth = np.concatenate([self.truth[chosen], [0, 1]])
        model = LogisticRegression(C=_REGULARISATION, max_iter=2000, random_state=self.seed)
        return model.fit(table, truth)


def _folds(chosen: Any, groups: Any) -> list[tuple[Any, Any]]:
    from sklearn.model_selection import GroupKFold

    count = min(FOLDS, len(set(groups.tolist())))
    if count < 2:
        return [(np.arange(len(chosen)), np.arange(len(chosen)))]
    return list(GroupKFold(count).split(chosen, groups=groups))


def _line(chances: Floats, truth: Any) -> float:
    """Return the probability from which yes has the best F1; of equal ones that nearest to 0.5."""
    tried = np.unique(np.concatenate([chances, [0.5]]))
    order = np.argsort(chances)
    hits = truth.sum() - np.concatenate([[0], np.cumsum(truth[order])])
    at = np.searchsorted(chances[order], tried)
    f1 = 2 * hits[at] / np.maximum(len(truth) - at + truth.sum(), 1)
    best = min(zip(-f1, np.abs(tried - 0.5), tried, strict=True))[2]
    return float(min(max(best, 0.02), 0.98))


def _f1(said: Any, truth: Any) -> float:
    whole = said.sum() + truth.sum()
    return 2 * float((said & (truth == 1)).sum()) / whole if whole else 0.0


def _measures(scores: Floats, truth: Any) -> dict[str, float]:
    """Return F1 of yes, accuracy and Cohen's kappa."""
    said = scores >= 0.5
    right, yes, label = float((said == truth).mean()), said.mean(), truth.mean()
    chance = float(yes * label + (1 - yes) * (1 - label))
    kappa = (right - chance) / (1 - chance) if chance < 1 else 0.0
    return {"f1": round(_f1(said, truth), 4), "accuracy": round(right, 4), "kappa": round(kappa, 4)}
