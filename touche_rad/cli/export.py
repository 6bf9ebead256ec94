"""The command `export`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from touche_rad.cli import help_text
from touche_rad.cli import options as opt
from touche_rad.cli.console import say
from touche_rad.errors import UserError


@click.group("export", cls=help_text.Group)
def export_command() -> None:
    """Write runs in the formats of other evaluation software."""


@dataclass(frozen=True, kw_only=True)
class InspectOptions:
    """The options of `export inspect`."""

    runs: tuple[Path, ...] = opt.argument("RUN...")
    output: Path = opt.output(
        "Folder for the logs, one per RUN.", "DIR", checked=True, required=True
    )
    replace: bool = opt.REPLACE
    labels: Path | None = opt.option(
        "Labels of the debates, in the same order: the targets of the samples."
    )
    skip_bad: bool = opt.SKIP_BAD_OF_RUNS
    quiet: bool = opt.QUIET


@opt.command(
    "inspect",
    "export inspect touche_rad/demo/debates.jsonl -o logs",
    "export inspect rj.jsonl --labels touche_rad/demo/labels.jsonl -o logs-of-judges",
    "export inspect rj.jsonl touche_rad/demo/debates.jsonl -o all-logs",
    group=export_command,
)
def inspect(options: InspectOptions) -> None:
    """Write each RUN as an evaluation log of inspect_ai, for `inspect view`.

    A RUN is simulations, evaluations, responses or annotated debates. Each response is a sample:
    the conversation is its input, and the verdicts on the maxims are its scores.
    """
    from touche_rad import files
    from touche_rad.exchange.inspect_logs import write_log

    for run in options.runs:
        bad = files.BadLines(skip=options.skip_bad)
        path = write_log(run, options.output, labels=options.labels, bad=bad)
        if bad.count:
            say(f"warning: {run}: {bad.count} invalid lines skipped; the first: {bad.first}")
        say(f"written: {path}", quiet=options.quiet)
    say(
        f"next: inspect view --log-dir {options.output} (pip install inspect_ai)",
        quiet=options.quiet,
    )


@dataclass(frozen=True, kw_only=True)
class AutojudgeOptions:
    """The options of `export autojudge`."""

    runs: tuple[Path, ...] = opt.argument("RUN...")
    output: Path = opt.output(
        "Folder for the reports, topics and workflow.", "DIR", checked=True, required=True
    )
    replace: bool = opt.REPLACE
    judge: opt.PluginSpec = opt.plugin(
        "Judge of the workflow: NAME or NAME(KEY=VALUE,...).",
        "-j --judge",
        kinds=("judge", "panel"),
        default=opt.DEFAULT,
    )
    team: str = opt.option("Team in the reports.", metavar="ID", default="touche-rad")
    quiet: bool = opt.QUIET


@opt.command(
    "autojudge",
    "export autojudge touche_rad/demo/debates.jsonl -o autojudge",
    "export autojudge touche_rad/demo/debates.jsonl rj.jsonl -j length -o autojudge-runs",
    "export autojudge touche_rad/demo/debates.jsonl --team ours -o autojudge-team",
    group=export_command,
)
def autojudge(options: AutojudgeOptions) -> None:
    """Write RUNs on the same claims for TREC AutoJudge.

    Writes runs/NAME.jsonl (a report per response), topics.jsonl (a topic per turn of each claim)
    and workflow.yml, which makes a judge of touche-rad a judge of AutoJudge.
    """
    import json

    from touche_rad import files
    from touche_rad.cli.prepare import select
    from touche_rad.exchange.reports import report_records, topic_records, workflow

    runs, out = options.runs, options.output
    select("judge", options.judge)
    names = [run.stem for run in runs]
    if len(set(names)) < len(names):
        raise UserError("two runs have the same name, which AutoJudge tells runs apart by")
    content = {out / "topics.jsonl": topic_records(runs)}
    for run, name in zip(runs, names, strict=True):
        content[out / "runs" / f"{name}.jsonl"] = list(report_records(run, name, options.team))
    for path, records in content.items():
        with files.atomic_write(path) as stream:
            stream.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in records)
        say(f"written: {path}", quiet=options.quiet)
    with files.atomic_write(out / "workflow.yml") as stream:
        stream.write(workflow(str(options.judge)))
    say(
        f"next: auto-judge run --workflow {out}/workflow.yml --rag-responses {out}/runs "
        f"--rag-topics {out}/topics.jsonl --out-dir {out}/out (pip install autojudge-base)",
        quiet=options.quiet,
    )


@dataclass(frozen=True, kw_only=True)
class SimulationsOptions:
    """The options of `export simulations`."""

    reports: Path = opt.argument("REPORTS")
    output: Path = opt.output("File for the simulations.", checked=True, required=True)
    replace: bool = opt.REPLACE
    topics: Path | None = opt.option(
        "Topics whose titles are the user's messages of reports that have no conversation."
    )
    quiet: bool = opt.QUIET


@opt.command(
    "simulations",
    "export simulations autojudge/runs/debates.jsonl -o of-reports.jsonl",
    "export simulations autojudge/runs/debates.jsonl --topics autojudge/topics.jsonl "
    "-o of-topics.jsonl",
    "export simulations autojudge-team/runs/debates.jsonl --quiet -o of-team.jsonl",
    group=export_command,
)
def simulations(options: SimulationsOptions) -> None:
    """Write the REPORTS of TREC AutoJudge as simulations, which judges of touche-rad read.

    A report of another track has no conversation: its topic's title is the user's message.
    """
    from touche_rad import files
    from touche_rad.exchange.reports import read_reports, read_titles

    titles = read_titles(options.topics) if options.topics else {}
    debates = read_reports(options.reports, titles)
    with files.atomic_write(options.output) as stream:
        stream.writelines(f"{files.simulation_line(debate)}\n" for debate in debates)
    say(f"written: {options.output} ({len(debates)} debates)", quiet=options.quiet)
