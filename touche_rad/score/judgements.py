"""Score evaluations against labels: read, align, measure, compare, and collect problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.errors import InputError, UserError
from touche_rad.score.alignment import (
    Aligner,
    Alignment,
    Labelled,
    Reference,
    align_strict,
    other_order,
)
from touche_rad.score.evaluations import Row, read_rows
from touche_rad.score.exclusion import exclude as exclude_turns
from touche_rad.score.exclusion import known_turns
from touche_rad.score.figures import Draws, baseline_scores, measure
from touche_rad.score.health import health
from touche_rad.score.naming import baseline_name, names
from touche_rad.score.result import (
    BASELINE,
    MEAN,
    JudgementReport,
    LabelRow,
    Problem,
    ProblemKind,
)
from touche_rad.score.significance import comparisons, pairs

FEW = 20
"""With fewer debates p-values are too small: with ten debates, 10 % of simulated differences
without an effect had p < .05."""


def score_judgements(
    runs: Sequence[Path],
    truth: Path,
    *,
    strict: bool = False,
    samples: int = 10_000,
    seed: int = 0,
    debates: Path | None = None,
    baseline: Path | None = None,
    exclude: Path | None = None,
    bad: files.BadLines | None = None,
) -> JudgementReport:
    """Score evaluations files against labels.

    Args:
        runs: Evaluations files.
        truth: The labels.
        strict: Refuse a run that the official scorer refuses.
        samples: Number of bootstrap samples of debates.
        seed: Random seed of the bootstrap.
        debates: The labelled debates in the labels' order; needed to align reordered runs.
        baseline: Compare each run with this one instead of all pairs.
        exclude: Examples whose turns are left out.
        bad: What to do with lines that are not JSON.
    """
    labels, excluded = read_labels(truth), 0
    if exclude is not None:
        labels, excluded = _without(labels, exclude, runs, truth, strict=strict, debates=debates)
    tags = names(runs)
    aligned, problems = align_all(
        tags, runs, truth, labels, strict=strict, debates=debates, bad=bad
    )
    draws = Draws(samples, seed)
    scores = {tag: alignment.scores for tag, alignment in zip(tags, aligned, strict=True)}
    measured = {
        tag: measure(tag, labels, scored, draws)
        for tag, scored in (scores | {BASELINE: baseline_scores(labels)}).items()
    }
    rows = [row for found, _ in measured.values() for row in found]
    tested = [row.maxim for row in rows if row.run == BASELINE and row.labelled]
    against = baseline_name(baseline, runs, tags)
    return JudgementReport(
        truth=str(truth), runs=tuple(tags), policy="strict" if strict else "report",
        official=not problems and all(alignment.official for alignment in aligned),
        debates=len(labels), turns=sum(len(turns) for turns in labels), excluded=excluded,
        label_rows=tuple(_label_row(maxim, labels, excluded) for maxim in Maxim),
        rows=tuple(rows),
        comparisons=comparisons(
            {tag: figures for tag, (_, figures) in measured.items()},
            pairs(tags, baseline=against, beside=BASELINE),
            sorted(tested, key=lambda maxim: maxim != MEAN),
        ),
        problems=(
            *(problem for alignment in aligned for problem in alignment.problems),
            *problems,
            *_thin(truth, labels),
        ),
        samples=samples, seed=seed,
        health={
            tag: counts
            for tag, run in zip(tags, runs, strict=True)
            if (counts := health(run)).responses
        },
        labels=labels, scores=scores,
    )  # fmt: skip


def read_labels(truth: Path) -> Labelled:
    """Read the labels; a bad line is always an error because labels belong to positions."""
    labels = [list(turns) for turns in files.read_labels(truth)]
    if not labels:
        raise InputError(truth, "contains no labels: expected one JSON array per debate")
    return labels


def _without(
    labels: Labelled, exclude: Path, runs: Sequence[Path], truth: Path, *, strict: bool,
    debates: Path | None,
) -> tuple[Labelled, int]:  # fmt: skip
    """Remove the labels of the turns that are examples; return also how many turns."""
    if strict:
        raise UserError("--exclude cannot be used with --strict: the official scorer scores all")
    reference = _reference(debates, truth, labels) if debates is not None else None
    skip = files.BadLines(skip=True)  # reported when the runs are aligned
    rows = [
        [row for row in read_rows(run, skip) if row.trouble is not ProblemKind.BLANK]
        for run in runs
    ]
    return exclude_turns(labels, known_turns(rows, reference), exclude)


def _label_row(maxim: Maxim, labels: Labelled, excluded: int) -> LabelRow:
    given = [turn.get(maxim) for turns in labels for turn in turns]
    counts = {label: given.count(label) for label in (1, 0, None)}
    return LabelRow(maxim=maxim, yes=counts[1], no=counts[0], unknown=counts[None] - excluded)


def align_all(
    tags: Sequence[str],
    runs: Sequence[Path],
    truth: Path,
    labels: Labelled,
    *,
    strict: bool,
    debates: Path | None,
    bad: files.BadLines | None,
) -> tuple[list[Alignment], list[Problem]]:
    """Align all runs with the labels; also return problems between runs."""
    if strict:
        if debates is not None:
            raise UserError("--debates cannot be used with --strict: it aligns by position only")
        return [align_strict(run, truth, labels) for run in runs], []
    held = [_rows(run, bad) for run in runs]
    reference = _reference(debates, truth, labels) if debates is not None else None
    aligned = [
        Aligner(tag, labels, reference).align(rows) for tag, rows in zip(tags, held, strict=True)
    ]
    return aligned, [] if reference else other_order(tags, held)


def _rows(run: Path, bad: files.BadLines | None) -> list[Row]:
    rows = read_rows(run, bad)
    if not any(row.turns for row in rows):
        raise InputError(
            run, f"contains no evaluations: run `touche-rad judge {run} -o EVALUATIONS` first"
        )
    return rows


def _reference(debates: Path, truth: Path, labels: Labelled) -> Reference:
    reference = Reference(list(files.read_debates(debates)))
    got = [len(turns) for turns in reference.turns]
    wanted = [len(turns) for turns in labels]
    if len(got) != len(wanted):
        raise UserError(
            f"--debates {debates} has {len(got)} debates, and {truth} has labels for {len(wanted)}:"
            " give the labelled debates in the labels' order"
        )
    for number, (turns, labelled) in enumerate(zip(got, wanted, strict=True), 1):
        if turns != labelled:
            raise UserError(
                f"--debates {debates}: debate {number} has {turns} turns, and {truth} has labels"
                f" for {labelled}: give the labelled debates in the labels' order"
            )
    return reference


def _thin(truth: Path, labels: Labelled) -> Iterator[Problem]:
    """Yield a problem for maxims without labels and for too few debates."""
    for maxim in Maxim:
        if not any(label.get(maxim) is not None for turns in labels for label in turns):
            yield Problem(
                run=str(truth),
                kind=ProblemKind.NO_LABELS,
                message="its scores mean nothing and are not part of the mean",
                maxim=maxim,
            )
    if len(labels) < FEW:
        message = "intervals and p-values are imprecise" if len(labels) > 1 else "no intervals"
        yield Problem(
            run=str(truth), kind=ProblemKind.FEW, message=f"{len(labels)} debates: {message}"
        )
