"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from touche_rad.cli import options as opt
from touche_rad.cli.console import Label, next_step, open_page, print_text, say
from touche_rad.cli.program import command
from touche_rad.text import printable

LARGE_REPORT: Final = 8_000_000
"""Bytes of input from which a report is a folder, if no output is given."""


@opt.offering("seed", "skip_bad", "quiet")
class ReportOptions(opt.Common):
    """The options of `report`."""

    runs: tuple[Path, ...] = opt.arguments("RUN...")
    output: Path | None = opt.output(
        "HTML file, or a folder for large runs. [default: report.html or report/]"
    )
    replace: bool
    labels: Path | None = opt.option(
        "Labels by hand, qrels for TREC runs, or contests or debates for outcomes."
    )
    baseline: tuple[Path, ...] = opt.BASELINE
    debates: Path | None = opt.DEBATES
    criteria: str | None
    title: str | None = opt.option("Title of the page.")
    queries: Path | None = opt.option("Queries of TREC runs, for their texts.", metavar="FILE")
    index: str | None = opt.option("Index with the arguments of TREC runs.", "-i --index")


@command(
    "report evaluations.jsonl -o report.html",
    "report rj.jsonl --labels touche_rad/demo/labels.jsonl -o judge.html",
    "report tournament -o tournament.html",
    "report attack.run --labels qrels.txt --queries claims.tsv -i demo -o attack.html",
    "report runs/*.jsonl --labels labels.jsonl -o report/",
)
def report_command(options: ReportOptions) -> int:
    """Write a report on any number of RUNs: a ranking, and all debates to filter.

    A RUN is an official file (evaluations, simulations, responses, outcomes or a TREC run), or a
    tournament's folder or ratings.json, or a folder with RUNs, also in its subfolders. The page
    needs no server and no network. One HTML file holds small runs; a folder, with index.html and
    its data beside it, opens fast at any size.
    """
    from touche_rad import files

    size = sum(path.stat().st_size for path in options.runs if path.is_file())
    out = options.output or Path("report" if size > LARGE_REPORT else "report.html")
    files.check_output(out, replace=options.replace)  # before the slow imports
    from touche_rad.cli.retrieve import read_queries
    from touche_rad.report import write_report
    from touche_rad.score import Policy

    summary = write_report(
        options.runs,
        out,
        bad=files.BadLines(skip=options.skip_bad),
        criteria=options.read_criteria(),
        labels=options.labels,
        title=options.title,
        seed=options.seed,
        baselines=options.baseline,
        queries=dict(read_queries(options.queries)) if options.queries else None,
        index=options.index,
        policy=Policy(debates=options.debates),
    )
    if not options.quiet:
        for sentence in summary.sentences:
            print_text(printable(sentence))
    for warning in summary.warnings:
        say(warning, Label.WARNING)
    for error in summary.refused.values():
        say(error, Label.ERROR)
    say(summary.page, Label.WRITTEN)
    next_step(open_page(summary.page))
    return 1 if summary.refused else 0
