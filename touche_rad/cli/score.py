"""The command `score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.cli import old_options as opt
from touche_rad.cli.console import progress, say, terminal_width
from touche_rad.errors import OptionError, UserError
from touche_rad.text import printable

if TYPE_CHECKING:
    from touche_rad.contests.score_report import ContestReport
    from touche_rad.files import BadLines
    from touche_rad.score import Report
    from touche_rad.score.agreement import AgreementReport
    from touche_rad.score.corrected import CorrectionReport

_FOR_LABELS: Final = (
    "strict",
    "missing",
    "debates",
    "by_place",
    "exclude",
    "details",
    "correct",
)
_FOR_PAIRS: Final = ("baseline", "pairs", "all_pairs")
_WIDEST: Final = 200
_FORMATS: Final = ("as_markdown", "as_csv", "as_json")


@opt.command(
    "score",
    "score rj.jsonl touche_rad/demo/labels.jsonl",
    "score a.jsonl b.jsonl labels.jsonl --pairs",
    "score runs/*.jsonl labels.jsonl --csv > scores.csv",
    "score attack.run qrels.txt",
    "score INDEX other.jsonl experts.jsonl",
)
@opt.path_argument("paths", "RUN... TRUTH", nargs=-1, required=True)
@opt.options(
    opt.output(
        "Folder for evaluation.prototext and the files of ir_measures.", "DIR", checked=True
    ),
    opt.REPLACE,
    opt.flag("--pairs", "Compare each run with the best one and with the baselines."),
    opt.flag("--all-pairs", "Compare all runs with each other."),
    click.option(
        "--baseline",
        type=click.Path(path_type=Path),
        metavar="RUN",
        multiple=True,
        help="Mark this run as a baseline, without a rank; repeatable.",
    ),
    opt.flag("--details", "With several runs: print all measures and problems of each run."),
    click.option(
        "--missing",
        type=click.Choice(["no", "skip", "error"]),
        help="A missing verdict counts as no, its turn is left out for all runs, or it is "
        "an error. [default: no]",
    ),
    opt.flag("--strict", "Like the official scorer: no score if anything is missing."),
    opt.file("--debates", "Labelled debates in the labels' order, to match runs by id and text."),
    opt.flag("--by-place", "Match lines to labels by their order only."),
    opt.file("--exclude", "Leave out the turns that this file uses as examples.", "EXAMPLES"),
    opt.flag(
        "--correct",
        "TRUTH labels some turns only: estimate the share of yes and F1 on "
        "all turns, corrected for the judge's errors.",
    ),
    opt.flag("--votes", "Whole debates: compare with each vote instead of the winner."),
    opt.integer(
        "--samples", "Bootstrap samples for confidence intervals and comparisons.", 10_000, 100
    ),
    opt.SEED,
    opt.SKIP_BAD_OF_RUNS,
    opt.flag("--md", "Print Markdown.", "as_markdown"),
    opt.flag("--csv", "Print CSV: a row per run, or the comparisons with --pairs.", "as_csv"),
    opt.JSON,
    opt.QUIET,
)
def score_command(paths: tuple[Path, ...], **given: Any) -> None:
    """Score each RUN against TRUTH, and rank the runs.

    Evaluations against labels: official precision, recall and F1 per maxim, their macro averages,
    accuracy, kappa, MCC and the always-yes baseline. TREC runs against qrels: nDCG@10, RR and R.
    Outcomes against contests: accuracy, RMSE and correlations per dimension, and biases.
    Annotations against annotations: Jaccard, Hamming, kappa and alpha; a RUN may be an index.
    """
    if len(paths) < 2:
        raise UserError(
            "score: give at least one RUN, then TRUTH (labels, qrels, contests or annotations)"
        )
    if sum(given[name] for name in _FORMATS) > 1:
        raise OptionError("--md, --csv and --json cannot be used together")
    from touche_rad import files

    *runs, truth = paths
    bad = files.BadLines(skip=given["skip_bad"])
    report = _score(runs, truth, given, bad)
    if bad.count:
        lines = "invalid line" if bad.count == 1 else "invalid lines"
        say(f"warning: {bad.count} {lines} of runs skipped; the first: {bad.first}")
    if given["correct"]:
        click.echo(_printed(_correct(report, given), given))
        return
    if given["output"] is not None:
        from touche_rad.score import Report, export

        if not isinstance(report, Report):
            raise UserError("score: -o is for evaluations; use --json for other results")
        for path in export(report, given["output"]):
            say(f"written: {path}", quiet=given["quiet"])
    click.echo(_printed(report, given))


def _correct(report: Any, given: dict[str, Any]) -> CorrectionReport:
    """Correct a report on labels; other reports were refused before."""
    from touche_rad.score.corrected import correct

    if given["output"] is not None or given["pairs"] or given["all_pairs"] or given["details"]:
        raise OptionError("--correct cannot be used with -o, --pairs, --all-pairs or --details")
    return correct(report)


def _score(
    runs: list[Path], truth: Path, given: dict[str, Any], bad: BadLines
) -> Report | ContestReport | AgreementReport:
    from touche_rad import files

    kind = files.detect_kind(truth)
    if given["votes"] and kind is not files.Kind.CONTESTS:
        raise OptionError("--votes is for whole debates")
    if kind is files.Kind.CONTESTS:
        from touche_rad.contests.scoring import score_contests

        _refuse(given, (*_FOR_LABELS, *_FOR_PAIRS), "whole debates")
        return score_contests(
            runs,
            truth,
            against="votes" if given["votes"] else "winner",
            bad=bad,
            samples=given["samples"],
            seed=given["seed"],
        )
    if kind is files.Kind.ANNOTATIONS:
        from touche_rad.score.agreement import score_annotations

        _refuse(given, (*_FOR_LABELS, *_FOR_PAIRS), "annotations")
        return score_annotations(runs, truth, bad=bad)
    from touche_rad.score import Policy, score

    if kind is not files.Kind.LABELS:
        _refuse(given, _FOR_LABELS, kind.value)
    policy = Policy(
        missing=given["missing"] or "no",
        strict=given["strict"],
        debates=given["debates"],
        by_place=given["by_place"],
    )
    with progress("scoring", quiet=given["quiet"] or len(runs) == 1) as report:
        return score(
            runs,
            truth,
            policy=policy,
            compare=_compared(runs, given),
            exclude=given["exclude"],
            baselines=given["baseline"],
            samples=given["samples"],
            seed=given["seed"],
            bad=bad,
            progress=report,
        )


def _refuse(given: dict[str, Any], names: tuple[str, ...], truth: str) -> None:
    wrong = [f"--{name.replace('_', '-')}" for name in names if given[name]]
    if wrong:
        raise OptionError(f"{wrong[0]} is not for {truth}: leave it out")


def _compared(runs: list[Path], given: dict[str, Any]) -> Any:
    """Return which runs to compare; one run is always compared with the baseline."""
    if given["all_pairs"]:
        return "all"
    return "top" if given["pairs"] or len(runs) == 1 else "none"


def _printed(
    report: Report | ContestReport | AgreementReport | CorrectionReport, given: dict[str, Any]
) -> str:
    from touche_rad.score import JudgementReport
    from touche_rad.score.tables import csv_text, markdown_lines, terminal_lines

    if given["as_json"]:
        return json.dumps(report.to_json(), ensure_ascii=False, indent=2)
    if given["as_csv"]:
        pairs = given["pairs"] or given["all_pairs"]
        compared = getattr(report, "comparisons", ()) if pairs else ()
        rows = [one.model_dump() for one in compared] if pairs else report.records()
        return csv_text(rows).rstrip("\n")
    parts = list(report.parts())
    if given["details"] and isinstance(report, JudgementReport):
        parts += report.details()
    if given["as_markdown"]:
        return printable("\n".join(markdown_lines(parts)))
    return "\n".join(terminal_lines(parts, terminal_width(_WIDEST)))
