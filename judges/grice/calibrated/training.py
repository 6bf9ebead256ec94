"""`touche-rad train judge`: the combiner's weights from labelled debates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
import numpy as np

from judges.grice.calibrated.judge import (
    FREE,
    MODEL,
    Bin,
    Calibrated,
    Combiner,
    Report,
    Sum,
    features,
)
from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.errors import UserError
from touche_rad.models import Model
from touche_rad.plugins import Services, find
from touche_rad.runs.judging import judge_view
from touche_rad.training.labels import Labelled, Progress, describe_missing, for_each, labelled

FOLDS: Final = 5
BINS: Final = 10
FEWEST: Final = 10
"""With fewer turns of either label a maxim keeps the weights as shipped."""

_Turn = tuple[Labelled, Mapping[Maxim, Mapping[str, float]], Mapping[Maxim, float]]


def train_judge(
    debates: Path,
    labels: Path,
    out: Path,
    *,
    model: Model | None = None,
    asks: str = "zsl",
    seed: int = 0,
    report: Progress | None = None,
) -> Mapping[str, Any]:
    """Fit the weights, cross-validated by debate, write them, and return what was measured."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise UserError(
            "train judge needs the extra train (pip install 'touche-rad[train]')"
        ) from None
    turns = labelled(debates, labels)
    seen, missing = anyio.run(_featured, turns, model, asks, seed, report)
    sums: dict[str, dict[Maxim, Sum]] = {}
    reports: dict[str, dict[Maxim, Report]] = {}
    for name, wanted in (("without_model", FREE), ("with_model", (*FREE, MODEL))):
        if name == "with_model" and model is None:
            continue
        sums[name], reports[name] = {}, {}
        for maxim in Maxim:
            fitted = _fitted(maxim, seen, wanted, seed)
            if fitted is not None:
                sums[name][maxim], reports[name][maxim] = fitted
    made = _whole(sums, reports, f"{len(turns)} turns of {debates.name}", model, missing)
    with files.atomic_write(out) as stream:
        stream.write(made.model_dump_json(indent=1) + "\n")
    return dict(json.loads(made.model_dump_json())["report"])


async def _featured(
    turns: Sequence[Labelled],
    model: Model | None,
    asks: str,
    seed: int,
    report: Progress | None,
) -> tuple[list[_Turn], str]:
    """Judge all turns with the model-free judge and, where there is one, the model.

    Return them with a line on the turns without the model's verdict.
    """
    services = Services(seed=seed, model=model)
    free: Any = find("judge", Calibrated.Options().rules).make(services)
    asking: Any = find("judge", asks).make(services) if model is not None else None

    async def one(turn: Labelled) -> _Turn:
        seen = await anyio.to_thread.run_sync(free.judge, turn.view)
        likely = None
        if asking is not None:
            said = await judge_view(asking, turn.view)
            if not said.unscored:
                likely = {maxim: float(said.verdicts[maxim].score or 0.0) for maxim in Maxim}
        scores = {maxim: float(seen[maxim].score or 0.0) for maxim in Maxim}
        return turn, features(turn.view, seen, likely), scores

    try:
        found = await for_each(turns, one, report)
        failed = [
            place
            for place, (_, given, _) in enumerate(found)
            if asking is not None and MODEL not in given[Maxim.QUALITY]
        ]
        missing = await describe_missing(asks, turns, failed, model)
    finally:
        if model is not None:
            await model.close()
    return found, missing


def _fitted(
    maxim: Maxim, seen: Sequence[_Turn], wanted: Sequence[str], seed: int
) -> tuple[Sum, Report] | None:
    """Fit one maxim on the turns that have its label and all features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold

    rows = [
        (turn, given[maxim], scores[maxim])
        for turn, given, scores in seen
        if turn.labels.get(maxim) is not None and (MODEL not in wanted or MODEL in given[maxim])
    ]
    labels = np.array([int(bool(turn.labels[maxim])) for turn, _, _ in rows])
    if min(labels.sum(), len(labels) - labels.sum()) < FEWEST:
        return None
    table = np.array([[given.get(name, 0.0) for name in wanted] for _, given, _ in rows])
    groups = np.array([turn.debate for turn, _, _ in rows])
    folds = min(FOLDS, len(set(groups.tolist())))
    if folds < 2:
        raise UserError("train judge: expected labels of at least two debates")
    out_of_fold = np.zeros(len(rows))
    for train, test in GroupKFold(folds).split(table, labels, groups):
        fold = LogisticRegression(C=0.5, max_iter=2000, random_state=seed)
        if len(set(labels[train].tolist())) < 2:
            out_of_fold[test] = labels[train].mean()
            continue
        out_of_fold[test] = fold.fit(table[train], labels[train]).predict_proba(table[test])[:, 1]
    line = _line(out_of_fold, labels)
    whole = LogisticRegression(C=0.5, max_iter=2000, random_state=seed).fit(table, labels)
    weights = dict(zip(wanted, map(float, whole.coef_[0]), strict=True))
    found = Sum(bias=float(whole.intercept_[0]), weights=weights, line=line)
    free = np.array([score >= 0.5 for _, _, score in rows])
    return found, _report(out_of_fold, labels, line, free)


def _line(chances: Any, labels: Any) -> float:
    """Return the probability from which on yes is said, for the best F1 out of fold."""
    tried = np.unique(np.concatenate([chances, [0.5]]))
    best = max(tried, key=lambda line: (_f1(chances >= line, labels)[2], -abs(line - 0.5)))
    return float(min(max(best, 0.02), 0.98))


def _f1(said: Any, labels: Any) -> tuple[float, float, float]:
    right = float((said & (labels == 1)).sum())
    precision = right / said.sum() if said.sum() else 0.0
    recall = right / labels.sum() if labels.sum() else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return float(precision), float(recall), float(f1)


def _report(chances: Any, labels: Any, line: float, free: Any) -> Report:
    precision, recall, f1 = _f1(chances >= line, labels)
    bins, error = [], 0.0
    for low in range(BINS):
        inside = np.minimum((chances * BINS).astype(int), BINS - 1) == low
        count = int(inside.sum())
        if count:
            said, was = float(chances[inside].mean()), float(labels[inside].mean())
            bins.append(Bin(said=said, was=was, turns=count))
            error += abs(said - was) * count / len(labels)
    return Report(
        turns=len(labels),
        precision=precision,
        recall=recall,
        f1=f1,
        always_yes_f1=_f1(np.ones(len(labels), dtype=bool), labels)[2],
        model_free_f1=_f1(free, labels)[2],
        error=error,
        reliability=bins,
    )


def _whole(
    sums: Mapping[str, Mapping[Maxim, Sum]],
    reports: Mapping[str, Mapping[Maxim, Report]],
    how: str,
    model: Model | None,
    no_verdict: str,
) -> Combiner:
    """Fill what could not be fitted with the weights as shipped, and say so."""
    from judges.grice.calibrated.judge import ours

    shipped = ours()
    missing = [f"{name} {maxim}" for name in sums for maxim in Maxim if maxim not in sums[name]]
    words = f"fitted on {how}{f' with {model.name}' if model else ''}"
    words += f"; {no_verdict}" if no_verdict else ""
    return Combiner(
        how=words + (f"; too few labels for {', '.join(missing)}" if missing else ""),
        with_model={**shipped.with_model, **sums.get("with_model", {})},
        without_model={**shipped.without_model, **sums.get("without_model", {})},
        report=reports,
    )
