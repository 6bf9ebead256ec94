"""The command `score`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from touche_rad.cli import options as opt
from touche_rad.cli import run_files
from touche_rad.cli.console import Label, progress, say, terminal_width
from touche_rad.cli.help_text import Section
from touche_rad.cli.program import command
from touche_rad.errors import OptionError, UserError
from touche_rad.samples import SAMPLES
from touche_rad.text import json_text

if TYPE_CHECKING:
    from touche_rad.contests.score_report import ContestReport
    from touche_rad.files import BadLines
    from touche_rad.score import Report
    from touche_rad.score.agreement import AgreementReport
    from touche_rad.score.tables import Printed

_ONLY_FOR_LABELS: Final = ("strict", "debates", "exclude", "correct")
_ONLY_FOR_RUNS: Final = (*_ONLY_FOR_LABELS, "baseline", "measure", "per")
_MAX_WIDTH: Final = 200


@opt.offering("seed", "skip_bad", "as_json", "quiet")
class ScoreOptions(opt.Common):
    """The options of `score`."""

    paths: tuple[Path, ...] = opt.arguments("RUN... [TRUTH]")
    output: Path | None = opt.output(
        "Folder for evaluation.prototext, TIRA's file of the official scores.", "DIR", checked=True
    )
    replace: bool
    pairs: bool = opt.flag("Print the comparisons with the best run and with the baselines.")
    baseline: tuple[Path, ...] = opt.BASELINE
    strict: bool = opt.flag(
        "Like the official scorer: no score if anything is missing.", section=Section.RUN
    )
    debates: Path | None = opt.DEBATES
    criteria: str | None
    exclude: Path | None = opt.option(
        "Leave out the turns that this file uses as examples.", metavar="EXAMPLES"
    )
    correct: bool = opt.flag(
        "TRUTH labels some turns only: estimate the answers and F1 on all turns, "
        "corrected for the judge's errors."
    )
    votes: bool = opt.flag("Whole debates: compare with each vote instead of the winner.")
    measure: tuple[str, ...] = opt.repeatable(
        "Measure of ir-measures for TREC runs, repeatable; the first ranks them. "
        "[default: nDCG@10, RR, R@10, R@100]",
        "-M --measure",
        metavar="MEASURE",
    )
    per: Literal["turn", "debate", "query"] | None = opt.option(
        "Print a row for each of these instead, as CSV or with --json as JSON."
    )
    samples: int = opt.option(
        "Bootstrap samples for confidence intervals and comparisons.",
        least=100,
        default=SAMPLES,
    )
    as_csv: bool = opt.flag("Print CSV: a row per run, or the comparisons with --pairs.", "--csv")


@command(
    "score rj.jsonl touche_rad/demo/labels.jsonl",
    "score mine.jsonl length.jsonl --baseline length.jsonl --pairs",
    "score runs/*.jsonl labels.jsonl --csv > scores.csv",
    "score attack.run qrels.txt",
    "score INDEX other.jsonl experts.jsonl",
)
def score_command(options: ScoreOptions) -> int:
    """Score each RUN against TRUTH, and rank the runs.

    Evaluations alone: the judge's shares or means of answers, with intervals.
    Simulations against labels, or evaluations of several debaters: a leaderboard of the debaters by
    people's answers; with --correct, of all turns by the judge's verdicts and the labels.
    Evaluations against labels: official precision, recall and F1 per maxim, their macro averages,
    accuracy, kappa, MCC and the always-yes baseline; on other criteria the measures of the kind of
    the answers, and three trivial baselines. TREC runs against qrels: nDCG@10, RR and R;
    irds:NAME/qrels are those of a dataset of ir_datasets.
    Outcomes against contests: accuracy, RMSE and correlations per dimension, and biases.
    Annotations against annotations: Jaccard, F1, Hamming, kappa and alpha; a RUN may be an index.
    """
    if options.as_csv and options.as_json:
        raise OptionError("--csv and --json cannot be used together")
    from touche_rad import files
    from touche_rad.contests.score_report import ContestReport
    from touche_rad.score import export, kind_of
    from touche_rad.score.cautions import (
        judged_with_different_indexes,
        of_origins,
    )
    from touche_rad.score.naming import named
    from touche_rad.score.validation import CollectedErrors

    truth = options.paths[-1]
    if truth.is_dir() or kind_of(truth) is not files.Kind.ANNOTATIONS:  # of an index is a folder
        options = replace(options, paths=run_files.expand_folders(options.paths, truth))
    bad = CollectedErrors()
    report: Any = score_runs(options, bad if options.skip_bad else None)
    refused: dict[str, str] = report.refused
    runs = options.paths[:-1] if report.truth else options.paths
    scored = {name: path for name, path in named(runs).items() if name not in refused}
    if options.output and report.kind != "judgements":
        raise UserError("score: -o is for evaluations; use --json for other results")
    written = export(report, options.output) if options.output else ()
    # The result is the first line; what was written and the warnings come after it.
    click.echo(_printed(report, options, refused))
    for path in written:
        say(path, Label.WRITTEN)
    warnings = []
    skipped = [error for error in bad.errors if Path(error.path) in scored.values()]
    if skipped:
        warnings.append(f"invalid lines of runs skipped: {len(skipped)}; the first: {skipped[0]}")
    warnings += of_origins(scored, [*options.paths, options.debates])
    if isinstance(report, ContestReport):
        warnings += judged_with_different_indexes(scored.values())
    for warning in warnings:
        say(warning, Label.WARNING)
    warn_of_answers(scored, are_ranked=report.kind == "shares")
    for error in refused.values():
        say(f"not scored: {error}", Label.ERROR)
    return 1 if refused else 0


def warn_of_answers(runs: Mapping[str, Path], *, are_ranked: bool) -> None:
    """Warn of results that are not from the plugin that a run names.

    Of debaters that are ranked, warn of answers that are empty, too long or without a citation.
    """
    from touche_rad.files.outputs import say_replaced
    from touche_rad.score.validation import check

    runs_with: dict[str, list[str]] = defaultdict(list)
    for name, run in runs.items():
        counts = check(run)
        if counts.replaced:
            say(f"{run}: {say_replaced(counts.replaced)}", Label.WARNING)
        for what, number in counts.odd.items():
            runs_with[what].append(f"{name} {number}")
    for what, names in runs_with.items():
        if are_ranked:
            line = f"{what}s: {', '.join(names)} (touche-rad check of the simulations names them)"
            say(line, Label.WARNING)


def score_runs(
    options: ScoreOptions, bad: BadLines | None = None
) -> Report | ContestReport | AgreementReport:
    """Score the runs of the options against the truth, the last path."""
    from touche_rad import files
    from touche_rad.score import JudgementReport, Policy, ProblemKind, kind_of, score
    from touche_rad.score.people import are_debaters, score_people

    *runs, truth = options.paths
    criteria = options.read_criteria()
    kind = kind_of(truth)
    if kind is files.Kind.EVALUATIONS:
        from touche_rad.score.shares import score_shares

        refused = ("strict", "exclude", "correct", "votes", "output", "measure")
        _refuse(options, refused, "runs without labels")
        return score_shares(
            options.paths,
            criteria=criteria,
            compare=options.pairs,
            baselines=options.baseline,
            samples=options.samples,
            seed=options.seed,
            bad=bad,
            source=options.debates,
        )
    if not runs:
        raise UserError(
            f"{truth} contains {kind}: give evaluations (touche-rad judge makes them) for their "
            "shares of yes, or RUN and then TRUTH: labels, qrels, contests or annotations"
        )
    if kind in files.DEBATES and files.detect_kind(runs[0]) is files.Kind.OUTCOMES:
        kind = files.Kind.CONTESTS
    if options.votes and kind is not files.Kind.CONTESTS:
        raise OptionError("--votes is for whole debates")
    if kind is files.Kind.CONTESTS:
        from touche_rad.contests.scoring import score_contests

        _refuse(options, _ONLY_FOR_RUNS, "whole debates")
        return score_contests(
            runs,
            truth,
            against="votes" if options.votes else "winner",
            compare=options.pairs,
            bad=bad,
            samples=options.samples,
            seed=options.seed,
        )
    if kind is files.Kind.ANNOTATIONS:
        from touche_rad.score.agreement import score_annotations

        _refuse(options, (*_ONLY_FOR_RUNS, "pairs"), "annotations")
        return score_annotations(runs, truth, bad=bad)
    _refuse(
        options,
        ("measure",) if kind is files.Kind.LABELS else _ONLY_FOR_LABELS,
        kind.value,
    )
    policy = Policy(options.strict, options.debates)
    how: dict[str, Any] = {
        "criteria": criteria,
        "policy": policy,
        "baselines": options.baseline,
        "samples": options.samples,
        "seed": options.seed,
        "bad": bad,
    }
    if kind is not files.Kind.LABELS or not are_debaters(runs, truth, policy, criteria):
        with progress("scoring", quiet=options.quiet or len(runs) == 1) as report_progress:
            report = score(
                runs,
                truth,
                exclude=options.exclude,
                progress=report_progress,
                measures=options.measure,
                # One run is always compared with the baseline.
                compare=options.pairs or len(runs) == 1,
                **how,
            )
        if not (options.correct and isinstance(report, JudgementReport)):
            return report
        # Labels of other runs, too, are of several debaters.
        if ProblemKind.OTHER_LABELS not in {problem.kind for problem in report.problems}:
            from touche_rad.score.corrected import correct

            return correct(
                report, compare=options.pairs, samples=options.samples, seed=options.seed
            )
    _refuse(options, ("strict", "exclude", "output"), "labels of several debaters")
    return score_people(runs, truth, correct=options.correct, compare=options.pairs, **how)


def _refuse(options: ScoreOptions, names: tuple[str, ...], truth: str) -> None:
    wrong = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name)]
    if wrong:
        raise OptionError(f"{wrong[0]} is not for {truth}: leave it out")


def _printed(report: Printed, options: ScoreOptions, refused: dict[str, str]) -> str:
    from touche_rad.score import Report
    from touche_rad.score.tables import csv_text, terminal_lines

    if options.per is not None and isinstance(report, Report):
        rows = list(report.unit_rows(options.per))
        if options.as_json:
            return json_text(rows)
        return csv_text(rows).rstrip("\n")
    if options.as_json:
        return json_text(report.to_json())
    if options.as_csv:
        rows = list(report.records())
        if options.pairs:
            comparisons = getattr(report, "comparisons", ())
            if not comparisons:
                why = getattr(report, "not_ranked", "") or "expected several runs"
                raise UserError(f"--pairs: there is nothing to compare: {why}")
            rows = [comparison.model_dump() for comparison in comparisons]
        errors = [{"run": run, "error": error} for run, error in refused.items()]
        return csv_text([*rows, *errors]).rstrip("\n")
    return "\n".join(terminal_lines(list(report.parts()), terminal_width(_MAX_WIDTH)))
