"""Score evaluations against labels: read, match, measure, compare, and collect problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from touche_rad import files
from touche_rad.criteria import Criteria
from touche_rad.errors import UserError
from touche_rad.files.labels import is_unsettled, say_unsettled
from touche_rad.runs.work import Progress
from touche_rad.samples import SAMPLES
from touche_rad.score._figures import measure, trivial_scores
from touche_rad.score.evaluations import Run, criteria_of_all, read_evaluated
from touche_rad.score.matching import Alignment, Matcher, Scored, check_places, match_strictly
from touche_rad.score.naming import Runs, baseline_names, each_run, named
from touche_rad.score.reference import (
    DEFAULT_POLICY,
    NO_TEXTS_FIX,
    Labelled,
    Policy,
    exclude_examples,
    find_reference,
    order_by_texts,
    read_truth,
)
from touche_rad.score.reports import JudgementReport
from touche_rad.score.result import (
    BASELINE,
    MEAN,
    LabelRow,
    OfficialResult,
    Problem,
    ProblemKind,
)
from touche_rad.score.significance import FEWEST_FOR_TEST, rank

FEW_DEBATES = 20
"""With fewer debates p-values are too small: with ten debates, 10 % of simulated differences
without an effect had p < .05."""


def score_judgements(
    runs: Runs,
    truth: Path,
    *,
    criteria: Criteria | None = None,
    policy: Policy = DEFAULT_POLICY,
    compare: bool = True,
    samples: int = SAMPLES,
    seed: int = 0,
    baselines: Sequence[Path] = (),
    exclude: Path | None = None,
    bad: files.BadLines | None = None,
    progress: Progress | None = None,
) -> JudgementReport:
    """Score evaluations files against labels; without criteria, on those of the task.

    A run that cannot be scored is listed if another one can; otherwise its error is raised.
    """
    if policy.strict and (exclude or policy.debates):
        raise UserError(
            "--strict cannot be used with --exclude or --debates: the official scorer scores all "
            "turns by their places"
        )
    paths = named(runs)
    criteria = criteria_of_all(criteria, paths.values(), truth)
    if policy.strict and not criteria.official:
        raise UserError(f"--strict is the policy of the task, and not for {criteria.name}")
    labels, lines = read_truth(truth, criteria, policy.debates)
    excluded = 0
    marked = baseline_names(baselines, paths)
    refused: dict[str, str] = {}
    evaluated = each_run(
        paths, partial(read_evaluated, criteria=criteria, bad=bad), refused, progress
    )
    read_runs = list(evaluated.values())
    reference = (
        None if policy.strict else find_reference(read_runs, truth, labels, policy, criteria)
    )
    if reference:
        places = reference.expected_of(read_runs)
        labels = [labels[place] for place in places]
        lines = [lines[place] for place in places]
        reference = reference.only(places)
    left_out = sum(1 for _ in files.read_labels(truth, criteria=criteria)) - len(labels)
    with_examples = list(chain.from_iterable(labels))

    def is_labelled(turn: Mapping[str, Any]) -> bool:
        return any(turn.get(key) is not None for key in criteria.keys)

    if exclude:
        labels, excluded = exclude_examples(labels, read_runs, reference, exclude)

    def align(_: str, run: Run) -> Alignment:
        if policy.strict:
            return match_strictly(truth, labels, lines, run)
        if not reference or not run.has_words:
            check_places(run, truth, labels, lines, "" if reference else NO_TEXTS_FIX)
        return Matcher(run, labels, lines, reference, is_part=left_out > 0).match()

    aligned = each_run(evaluated, align, refused)
    marked = [tag for tag in marked if tag in aligned]
    scores = {tag: alignment.scores for tag, alignment in aligned.items()}
    # The baselines are measured beside the runs, on the same bootstrap samples.
    aligned_runs = [evaluated[tag] for tag in aligned]
    order = order_by_texts(labels, aligned_runs, scores.values(), reference)
    # A debate without any label tells nothing, and is none of those that make an interval sure.
    order = [place for place in order if any(map(is_labelled, labels[place]))] or order
    measured = [labels[place] for place in order]
    yes = dict.fromkeys(criteria.keys, 1.0)
    trivial: dict[str, Scored] = {BASELINE: [[yes] * len(turns) for turns in measured]}
    if not criteria.official:
        lengths = max((alignment.lengths for alignment in aligned.values()), key=len)
        lengths = [lengths[place] for place in order if lengths]
        trivial = trivial_scores(measured, lengths, criteria)
        marked += trivial
    in_order = {}
    for tag, of_run in scores.items():
        in_order[tag] = [of_run[place] for place in order]
    rows, figures = measure(measured, {**in_order, **trivial}, criteria, samples, seed)
    first = next(iter(trivial))
    tested = [row.maxim for row in rows if row.run == first and row.labelled and row.maxim != MEAN]
    ranking = rank(figures, MEAN, len(measured), baselines=(*marked, BASELINE), others=tested)
    label_rows = []
    for row in rows:
        if row.run == BASELINE and row.maxim != MEAN:
            label_rows.append(
                LabelRow(
                    maxim=row.maxim,
                    yes=row.tp,
                    no=row.fp,
                    unknown=[turn.get(row.maxim) for turn in with_examples].count(None),
                )
            )
    problems = [problem for alignment in aligned.values() for problem in alignment.problems]
    if left_out > 0:
        message = f"{left_out} labelled debates are of other runs, and are left out" + (
            ", but for one on each claim on which the run has no debate: it counts as no (not with "
            "--correct, in --per and in frames)"
            if policy.debates
            else " (with --debates FILE, debates that a judge lost count as no)"
        )
        problems.append(Problem(run=str(truth), kind=ProblemKind.OTHER_LABELS, message=message))
    # That scorer refuses labels of other runs, which says nothing about these.
    is_comparable = criteria.official and left_out <= 0
    official = {tag: aligned[tag].official for tag in aligned if is_comparable}
    return JudgementReport(
        truth=str(truth),
        criteria=criteria,
        runs=tuple(aligned),
        refused=refused,
        baselines=tuple(marked),
        policy="strict" if policy.strict else "no",
        matched_by=str(reference.source) if reference else None,
        without_texts=tuple(tag for tag in aligned if not evaluated[tag].has_words),
        official={*official.values()} == {OfficialResult.SAME},
        by_official_scorer=official,
        debates=len(measured),
        turns=sum(map(is_labelled, with_examples)),
        excluded=excluded,
        label_rows=tuple(label_rows),
        rows=tuple(rows),
        ranking=ranking.runs,
        lost={tag: alignment.lost for tag, alignment in aligned.items()},
        comparisons=ranking.comparisons,
        figures=figures,
        shows_pairs=compare,
        problems=(*problems, *_problems_of_labels(truth, labels, len(measured), criteria)),
        samples=samples,
        seed=seed,
        labels=labels,
        label_lines=lines,
        claims=list(map(max, zip(*(of_run.claims for of_run in aligned.values()), strict=True))),
        scores=scores,
    )


def _problems_of_labels(
    truth: Path, labels: Labelled, debates: int, criteria: Criteria
) -> Iterator[Problem]:
    """Yield a problem for criteria without labels, and for few debates."""
    turns = list(chain.from_iterable(labels))
    unsettled = {}
    for key in criteria.keys:
        unsettled[key] = sum(is_unsettled(turn, key) for turn in turns)
    message = "; ".join(say_unsettled(unsettled))
    if message:
        yield Problem(run=str(truth), kind=ProblemKind.UNSETTLED, message=message)
    for key in criteria.keys:
        if all(turn.get(key) is None for turn in turns):
            message = "its scores mean nothing and are not part of the mean"
            yield Problem(run=str(truth), kind=ProblemKind.NO_LABELS, message=message, maxim=key)
    if FEWEST_FOR_TEST <= debates < FEW_DEBATES:  # the result names fewer
        message = f"{debates} debates: intervals and p-values are imprecise"
        yield Problem(run=str(truth), kind=ProblemKind.FEW, message=message)
