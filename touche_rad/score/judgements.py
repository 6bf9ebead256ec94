"""Score evaluations against labels: read, align, measure, compare, and collect problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.debate import Maxim
from touche_rad.errors import InputError, UserError
from touche_rad.runs.work import Progress
from touche_rad.score._figures import Draws, baseline_scores, measure
from touche_rad.score.evaluations import read_rows
from touche_rad.score.health import health
from touche_rad.score.matching import (
    Alignment,
    Labelled,
    Matcher,
    Reference,
    Run,
    check_places,
    exclude_examples,
    find_reference,
    match_strictly,
    refuse_missing,
    without_missing,
)
from touche_rad.score.naming import baseline_names, names
from touche_rad.score.reports import JudgementReport
from touche_rad.score.result import (
    BASELINE,
    MEAN,
    Health,
    LabelRow,
    Missing,
    Problem,
    ProblemKind,
    Ranked,
)
from touche_rad.score.significance import Pairs, comparisons, pairs, ranks

FEW = 20
"""With fewer debates p-values are too small: with ten debates, 10 % of simulated differences
without an effect had p < .05."""


@dataclass(frozen=True)
class Policy:
    """How runs are matched to labels, and what a missing verdict is."""

    missing: Missing = "no"
    """Count it as no, skip its turn in all runs, or refuse the run."""
    strict: bool = False
    """Refuse a run that the official scorer refuses."""
    debates: Path | None = None
    """The labelled debates in the labels' order."""
    by_place: bool = False
    """Match by place only, whatever the words are."""


DEFAULT_POLICY = Policy()


def score_judgements(
    runs: Sequence[Path],
    truth: Path,
    *,
    policy: Policy = DEFAULT_POLICY,
    compare: Pairs = "top",
    samples: int = 10_000,
    seed: int = 0,
    baselines: Sequence[Path] = (),
    exclude: Path | None = None,
    bad: files.BadLines | None = None,
    progress: Progress | None = None,
) -> JudgementReport:
    """Score evaluations files against labels."""
    _check_policy(policy, exclude)
    labels, excluded = read_labels(truth), 0
    tags = names(runs)
    marked = baseline_names(baselines, runs, tags)
    if policy.strict:
        aligned, source = [match_strictly(run, truth, labels) for run in runs], None
        read = [Run(tag, path, ()) for tag, path in zip(tags, runs, strict=True)]
    else:
        read = _read(tags, runs, bad, progress)
        shape = [len(turns) for turns in labels]
        reference = None if policy.by_place else find_reference(read, truth, shape, policy.debates)
        if exclude is not None:
            labels, excluded = exclude_examples(labels, read, reference, exclude)
        aligned = [_align(run, truth, labels, reference, policy) for run in read]
        source = reference.source if reference else None
    by_tag = dict(zip(tags, aligned, strict=True))
    scores = {tag: alignment.scores for tag, alignment in by_tag.items()}
    all_labels = labels
    if policy.missing == "skip":
        labels = without_missing(labels, list(scores.values()))
    rows, figures = measure(
        labels, scores | {BASELINE: baseline_scores(labels)}, Draws(samples, seed)
    )
    ranked = ranks(figures, MEAN, (BASELINE, *marked))
    best = next(name for name, _ in ranked if name != BASELINE)
    tested = [row.maxim for row in rows if row.run == BASELINE and row.labelled]
    return JudgementReport(
        truth=str(truth),
        runs=tuple(tags),
        baselines=tuple(marked),
        policy="strict" if policy.strict else policy.missing,
        matched_by=str(source) if source else None,
        official=all(alignment.official for alignment in aligned),
        debates=len(labels),
        turns=sum(len(turns) for turns in labels),
        excluded=excluded,
        label_rows=tuple(_label_row(maxim, labels, all_labels, excluded) for maxim in Maxim),
        rows=tuple(rows),
        ranking=tuple(Ranked(run=run, rank=rank) for run, rank in ranked),
        lost={tag: one.lost for tag, one in zip(tags, aligned, strict=True)},
        comparisons=comparisons(
            figures,
            pairs(compare, tags, best, [*marked, BASELINE]),
            sorted(tested, key=lambda maxim: maxim != MEAN),
        ),
        problems=(
            *(problem for alignment in aligned for problem in alignment.problems),
            *_thin(truth, labels),
        ),
        samples=samples,
        seed=seed,
        health=_health(read),
        labels=labels,
        scores=scores,
    )


def _check_policy(policy: Policy, exclude: Path | None) -> None:
    if policy.strict and (exclude is not None or policy.debates is not None or policy.by_place):
        raise UserError(
            "--strict cannot be used with --exclude, --debates or --by-place: the official scorer "
            "scores all turns by their places"
        )
    if policy.strict and policy.missing != "no":
        raise UserError("--strict and --missing cannot be used together: --strict refuses the run")
    if policy.by_place and policy.debates is not None:
        raise UserError("--by-place and --debates cannot be used together")


def _read(
    tags: Sequence[str],
    paths: Sequence[Path],
    bad: files.BadLines | None,
    progress: Progress | None,
) -> list[Run]:
    runs: list[Run] = []
    for tag, path in zip(tags, paths, strict=True):
        rows = read_rows(path, bad)
        if not any(row.turns for row in rows):
            raise InputError(
                path, f"contains no evaluations: run `touche-rad judge {path} -o EVALUATIONS` first"
            )
        blank = [row.line for row in rows if row.trouble is ProblemKind.BLANK]
        held = [row for row in rows if row.trouble is not ProblemKind.BLANK]
        runs.append(Run(tag, path, held, blank))
        if progress is not None:
            progress(len(runs), len(paths))
    return runs


def _align(
    run: Run, truth: Path, labels: Labelled, reference: Reference | None, policy: Policy
) -> Alignment:
    if not policy.by_place and (reference is None or not run.has_words):
        check_places(run, truth, labels)
    aligned = Matcher(run, labels, reference, skip=policy.missing == "skip").match()
    if policy.missing == "error":
        refuse_missing(run.path, aligned)
    return aligned


def _health(runs: Sequence[Run]) -> dict[str, Health]:
    """Count the responses of each run that has debates."""
    counted = {run.name: health(run.path) for run in runs if run.has_words or not run.rows}
    return {run: counts for run, counts in counted.items() if counts.responses}


def read_labels(truth: Path) -> Labelled:
    """Read the labels; a bad line is always an error because labels belong to positions."""
    labels = [list(turns) for turns in files.read_labels(truth)]
    if not labels:
        raise InputError(truth, "contains no labels: expected one JSON array per debate")
    return labels


def _label_row(maxim: Maxim, labels: Labelled, all_labels: Labelled, excluded: int) -> LabelRow:
    """Count the labels that are scored, and the turns that people did not label."""
    values = [turn.get(maxim) for turns in labels for turn in turns]
    unknown = sum(turn.get(maxim) is None for turns in all_labels for turn in turns)
    return LabelRow(
        maxim=maxim, yes=values.count(1), no=values.count(0), unknown=unknown - excluded
    )


def _marks(labels: Sequence[Sequence[Mapping[Any, Any]]]) -> list[str | None]:
    """Return why each labelled turn was labelled; only `touche-rad label` says it."""
    return [
        turn.get("sample")
        for turns in labels
        for turn in turns
        if any(turn.get(maxim) is not None for maxim in Maxim)
    ]


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
    marks = _marks(labels)
    if chosen := sum(mark not in (None, "random") for mark in marks):
        yield Problem(
            run=str(truth),
            kind=ProblemKind.CHOSEN,
            message=f"{chosen} of {len(marks)} labelled turns were chosen, not drawn at random: "
            "these scores describe the labelled turns only; --correct describes all turns",
        )
    if len(labels) < FEW:
        message = "intervals and p-values are imprecise" if len(labels) > 1 else "no intervals"
        yield Problem(
            run=str(truth), kind=ProblemKind.FEW, message=f"{len(labels)} debates: {message}"
        )
