"""The command `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from touche_rad.cli import help_text
from touche_rad.cli import old_options as opt
from touche_rad.cli.console import say
from touche_rad.cli.program import Command
from touche_rad.errors import UserError


@click.group("export", cls=help_text.Group)
def export_command() -> None:
    """Write runs in the formats of other evaluation software."""


@export_command.command(
    "inspect",
    cls=Command,
    examples=(
        "export inspect touche_rad/demo/debates.jsonl -o logs",
        "export inspect rj.jsonl --labels touche_rad/demo/labels.jsonl -o logs-of-judges",
        "export inspect rj.jsonl touche_rad/demo/debates.jsonl -o all-logs",
    ),
)
@opt.path_argument("runs", "RUN...", nargs=-1, required=True)
@opt.options(
    opt.output("Folder for the logs, one per RUN.", "DIR", required=True, checked=True),
    opt.REPLACE,
    opt.file("--labels", "Labels of the debates, in the same order: the targets of the samples."),
    opt.SKIP_BAD_OF_RUNS,
    opt.QUIET,
)
def inspect(runs: tuple[Path, ...], **given: Any) -> None:
    """Write each RUN as an evaluation log of inspect_ai, for `inspect view`.

    A RUN is simulations, evaluations, responses or annotated debates. Each response is a sample:
    the conversation is its input, and the verdicts on the maxims are its scores.
    """
    from touche_rad import files
    from touche_rad.exchange.inspect_logs import write_log

    for run in runs:
        bad = files.BadLines(skip=given["skip_bad"])
        path = write_log(run, given["output"], labels=given["labels"], bad=bad)
        if bad.count:
            say(f"warning: {run}: {bad.count} invalid lines skipped; the first: {bad.first}")
        say(f"written: {path}", quiet=given["quiet"])
    say(
        f"next: inspect view --log-dir {given['output']} (pip install inspect_ai)",
        quiet=given["quiet"],
    )


@export_command.command(
    "autojudge",
    cls=Command,
    examples=(
        "export autojudge touche_rad/demo/debates.jsonl -o autojudge",
        "export autojudge touche_rad/demo/debates.jsonl rj.jsonl -j length -o autojudge-runs",
        "export autojudge touche_rad/demo/debates.jsonl --team ours -o autojudge-team",
    ),
)
@opt.path_argument("runs", "RUN...", nargs=-1, required=True)
@opt.options(
    opt.output("Folder for the reports, topics and workflow.", "DIR", required=True, checked=True),
    opt.REPLACE,
    opt.plugin(
        "-j",
        "--judge",
        default="grounded",
        show_default=True,
        help="Judge of the workflow: NAME or NAME(KEY=VALUE,...).",
    ),
    click.option(
        "--team", metavar="ID", default="touche-rad", show_default=True, help="Team in the reports."
    ),
    opt.QUIET,
)
def autojudge(runs: tuple[Path, ...], **given: Any) -> None:
    """Write RUNs on the same claims for TREC AutoJudge.

    Writes runs/NAME.jsonl (a report per response), topics.jsonl (a topic per turn of each claim)
    and workflow.yml, which makes a judge of touche-rad a judge of AutoJudge.
    """
    import json

    from touche_rad import files
    from touche_rad.cli.prepare import select
    from touche_rad.exchange.reports import report_records, topic_records, workflow

    select("judge", given["judge"])
    names = [run.stem for run in runs]
    if len(set(names)) < len(names):
        raise UserError("two runs have the same name, which AutoJudge tells runs apart by")
    out: Path = given["output"]
    content = {out / "topics.jsonl": topic_records(runs)}
    for run, name in zip(runs, names, strict=True):
        content[out / "runs" / f"{name}.jsonl"] = list(report_records(run, name, given["team"]))
    for path, records in content.items():
        with files.atomic_write(path) as stream:
            stream.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in records)
        say(f"written: {path}", quiet=given["quiet"])
    with files.atomic_write(out / "workflow.yml") as stream:
        stream.write(workflow(str(given["judge"])))
    say(
        f"next: auto-judge run --workflow {out}/workflow.yml --rag-responses {out}/runs "
        f"--rag-topics {out}/topics.jsonl --out-dir {out}/out (pip install autojudge-base)",
        quiet=given["quiet"],
    )


@export_command.command(
    "simulations",
    cls=Command,
    examples=(
        "export simulations autojudge/runs/debates.jsonl -o of-reports.jsonl",
        "export simulations autojudge/runs/debates.jsonl --topics autojudge/topics.jsonl "
        "-o of-topics.jsonl",
        "export simulations autojudge-team/runs/debates.jsonl --quiet -o of-team.jsonl",
    ),
)
@opt.path_argument("reports", "REPORTS")
@opt.options(
    opt.output("File for the simulations.", required=True, checked=True),
    opt.REPLACE,
    opt.file(
        "--topics",
        "Topics whose titles are the user's messages of reports that have no conversation.",
    ),
    opt.QUIET,
)
def simulations(reports: Path, **given: Any) -> None:
    """Write the REPORTS of TREC AutoJudge as simulations, which judges of touche-rad read.

    A report of another track has no conversation: its topic's title is the user's message.
    """
    from touche_rad import files
    from touche_rad.exchange.reports import read_reports, read_titles

    titles = read_titles(given["topics"]) if given["topics"] else {}
    debates = read_reports(reports, titles)
    with files.atomic_write(given["output"]) as stream:
        stream.writelines(f"{files.simulation_line(debate)}\n" for debate in debates)
    say(f"written: {given['output']} ({len(debates)} debates)", quiet=given["quiet"])
