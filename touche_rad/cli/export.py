"""The commands `export ...`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import Label, next_step, say
from touche_rad.cli.prepare import warn_of_copies
from touche_rad.cli.program import Group, command
from touche_rad.criteria import grice
from touche_rad.errors import UserError
from touche_rad.exchange import reports
from touche_rad.files.records import write_text
from touche_rad.plugins import find


@click.group("export", cls=Group)
def export_command() -> None:
    """Write runs for TREC AutoJudge."""


@opt.options
class AutojudgeOptions:
    """The options of `export autojudge`."""

    runs: tuple[Path, ...] = opt.arguments("RUN...")
    output: Path = opt.output(
        "Folder for the reports, topics and workflow.", "DIR", checked=True, required=True
    )
    replace: bool = opt.REPLACE
    judge: opt.PluginSpec = opt.option(
        opt.PluginSpec,
        "Judge of the workflow: NAME or NAME(KEY=VALUE,...).",
        "-j --judge",
        default=opt.DEFAULT,
    )
    labels: tuple[Path, ...] = opt.repeatable(
        Path,
        "Labels of a RUN, in the order of the RUNs: writes the leaderboard by labels; repeatable.",
    )
    team: str = opt.option(str, "Team in the reports.", metavar="ID", default="touche-rad")
    quiet: bool = opt.QUIET


@command(
    "autojudge",
    "export autojudge touche_rad/demo/debates.jsonl -o autojudge",
    "export autojudge rj.jsonl --labels touche_rad/demo/labels.jsonl -o autojudge-labelled",
    "export autojudge touche_rad/demo/debates.jsonl rj.jsonl -j length -o autojudge-runs",
    group=export_command,
)
def autojudge(options: AutojudgeOptions) -> None:
    """Write RUNs on the same claims for TREC AutoJudge.

    Writes runs/NAME.jsonl (a report per response), topics.jsonl (a topic per turn of each claim),
    workflow.yml, which makes a judge of touche-rad a judge of AutoJudge, and with --labels also
    truth.eval.txt, the leaderboard by the labels, with which auto-judge-evaluate compares judges.
    """
    out = options.output
    find("judge", options.judge.name).configure(options.judge.options)
    runs = {run.stem: run for run in options.runs}
    if len(runs) < len(options.runs):
        raise UserError("two runs have the same name, which AutoJudge tells runs apart by")
    if options.labels and len(options.labels) != len(runs):
        raise UserError(f"--labels: expected one file for each of {len(runs)} runs")
    truth: list[str] = []
    for (name, run), labels in zip(runs.items(), options.labels, strict=False):
        truth += reports.truth_lines(run, name, labels, grice())
    topics = reports.topic_records(options.runs)
    lines = {out / "topics.jsonl": [json.dumps(topic, ensure_ascii=False) for topic in topics]}
    for name, run in runs.items():
        records = reports.report_records(run, name, options.team)
        path = out / "runs" / f"{name}.jsonl"
        lines[path] = [json.dumps(record, ensure_ascii=False) for record in records]
    if truth:
        lines[out / "truth.eval.txt"] = truth
    # Nothing is written before all of it is read.
    for path, file_lines in lines.items():
        write_text(path, "".join(f"{line}\n" for line in file_lines))
        say(path, Label.WRITTEN)
    warn_of_copies(*options.runs)
    write_text(out / "workflow.yml", reports.workflow(str(options.judge)))
    line = (
        f"auto-judge run --workflow {out}/workflow.yml --rag-responses {out}/runs "
        f"--rag-topics {out}/topics.jsonl --out-dir {out}/out"
    )
    next_step(f"{line} (pip install autojudge-base)")
