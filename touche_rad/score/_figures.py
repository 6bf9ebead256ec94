"""The measures of each run on each criterion, with confidence intervals.

A measure without labelled turns is None, but the official ones are 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from touche_rad.criteria import Criteria, Criterion
from touche_rad.score import confusion
from touche_rad.score import significance as bootstrap
from touche_rad.score.matching import Scored
from touche_rad.score.measures import FORMULAS, OFFICIAL, Counts
from touche_rad.score.reference import Labelled
from touche_rad.score.result import MEAN, TRIVIAL, JudgementRow
from touche_rad.score.significance import Figures, Floats, Measured, mean_of

_CELLS = ("tp", "fp", "fn", "tn")
_NUMBERS = (*FORMULAS, "accuracy", "kappa", "weighted_kappa", "spearman", "rmse")


def measure(
    labels: Labelled, scores: Mapping[str, Scored], criteria: Criteria, samples: int, seed: int
) -> tuple[list[JudgementRow], Figures]:
    """Return the rows of all runs (each criterion and their mean), and the measures that rank.

    All runs share the bootstrap samples of debates, which are drawn once.
    """
    tables_of: list[Floats] = []  # by criterion: the tables by debate and run
    for criterion in criteria:
        of_runs = [_tables(labels, scored, criterion) for scored in scores.values()]
        tables_of.append(np.array(of_runs).swapaxes(0, 1))
    # The table of a sample is the sum of its debates' tables: all samples in one step.
    debates = len(tables_of[0])
    flat = np.concatenate([tables.reshape(debates, -1) for tables in tables_of], axis=1)
    sums = bootstrap.resampled_sums(flat, samples, seed)
    figures: dict[str, dict[str, Measured]] = {run: {} for run in scores}
    rows: dict[str, list[JudgementRow]] = {run: [] for run in scores}
    end = 0
    for criterion, tables in zip(criteria, tables_of, strict=True):
        start = end
        end += tables[0].size
        draws: Floats | None = None
        if sums is not None:
            drawn = sums[:, start:end].reshape(-1, *tables.shape[1:])
            draws = confusion.main_measure(criterion, drawn)
        for at, (run, table) in enumerate(zip(scores, tables.sum(axis=0), strict=True)):
            drawn_of_run = None if draws is None else draws[:, at]
            row, figures[run][criterion.key] = _row(run, criterion, table, drawn_of_run)
            rows[run].append(row)
    for run, of_run in rows.items():
        labelled = [row for row in of_run if row.labelled]
        mean = mean_of([figures[run][row.maxim] for row in labelled])
        figures[run][MEAN] = mean
        of_run.append(_mean_row(run, labelled, mean))
    return [row for of_run in rows.values() for row in of_run], figures


def _tables(labels: Labelled, scores: Scored, criterion: Criterion) -> list[Floats]:
    """Count labels and answers of each debate."""
    size = confusion.size_of(criterion)
    tables = []
    for turns, verdicts in zip(labels, scores, strict=True):
        answers = [
            confusion.place_of_score(criterion, verdict.get(criterion.key)) for verdict in verdicts
        ]
        places = [label.get(criterion.key) for label in turns]
        tables.append(confusion.count_answers(zip(places, answers, strict=True), size))
    return tables


def _row(
    run: str, criterion: Criterion, table: Floats, draws: Floats | None
) -> tuple[JudgementRow, Measured]:
    """Return all measures of a run that are for the kind of the answers, and the one that ranks."""
    kind = criterion.answers.kind
    numbers = table.astype(int)
    labelled = int(table.sum())
    apart = confusion.distances(criterion)
    unequal = np.sign(apart)
    values: dict[str, Any] = {
        "accuracy": 1 - confusion.distance(table, unequal),
        "kappa": confusion.kappa(table, unequal),
    }
    if kind == "scale":
        values["rmse"] = confusion.distance(table, apart) ** 0.5
        values["spearman"] = confusion.spearman(table)
    if kind != "yes-no":
        values[confusion.MAIN[kind]] = confusion.main_measure(criterion, table)
    values = {name: float(value) for name, value in values.items() if labelled}
    if kind == "yes-no":
        tn, fp, fn, tp = numbers.ravel().tolist()
        cells = Counts(tp, fp, fn, tn)
        values |= cells._asdict()
        values |= {name: formula(cells) for name, formula in FORMULAS.items()}
    measured = Measured(values.get(confusion.MAIN[kind], 0.0), draws)
    low, high = measured.interval
    row = JudgementRow(
        run=run,
        maxim=criterion.key,
        value=measured.value,
        low=low,
        high=high,
        labelled=labelled,
        confusion=tuple(map(tuple, numbers.tolist())),
        **values,
    )
    return row, measured


def _mean_row(run: str, rows: list[JudgementRow], measured: Measured) -> JudgementRow:
    """Return the mean of the rows of a run; the official measures of no rows are 0."""
    values: dict[str, Any] = {}
    for name in ("labelled", *_CELLS):
        values[name] = sum(getattr(row, name) or 0 for row in rows)
    for name in _NUMBERS:
        of_rows = [getattr(row, name) for row in rows]
        numbers = [number for number in of_rows if number is not None]
        if numbers:
            values[name] = fmean(numbers)
        elif not rows and name in OFFICIAL:
            values[name] = 0.0
    low, high = measured.interval
    return JudgementRow(run=run, maxim=MEAN, value=measured.value, low=low, high=high, **values)


def trivial_scores(
    labels: Labelled, lengths: Sequence[Sequence[int]], criteria: Criteria
) -> dict[str, Scored]:
    """Return the scores of judges that read nothing.

    They give the most frequent label; the middle of a scale; or the higher answers to the longer
    responses, each as often as people give it. To categories all give the most frequent label.
    """
    result: dict[str, Any] = {}
    for name in TRIVIAL:
        result[name] = []
        for turns in labels:
            result[name].append([{} for _ in turns])
    for criterion in criteria:
        places = []
        words = []
        for debate, turns in enumerate(labels):
            for turn, labels_of_turn in enumerate(turns):
                label = labels_of_turn.get(criterion.key)
                if label is not None:
                    places.append(label)
                    length = lengths[debate][turn : turn + 1] if lengths else ()
                    words.append((*length, debate, turn))
        if not places:
            continue
        most_frequent = Counter(places).most_common(1)[0][0]
        frequent = confusion.score_of_place(criterion, most_frequent)
        middle = 0.5 if criterion.answers.kind == "scale" else frequent
        if criterion.answers.kind == "categories":  # which have no order
            places = [most_frequent] * len(places)
        for place, (*_, debate, turn) in zip(sorted(places), sorted(words), strict=True):
            answers = (frequent, middle, confusion.score_of_place(criterion, place))
            for name, score in zip(TRIVIAL, answers, strict=True):
                result[name][debate][turn][criterion.key] = score
    if not any(lengths):
        del result["length"]
    return result
