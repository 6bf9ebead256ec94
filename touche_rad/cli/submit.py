"""The commands `check` and `submit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from touche_rad.cli import options as opt
from touche_rad.cli.console import say


@opt.command(
    "check", "check simulations.jsonl --input claims.tsv -i index", "check evaluations.jsonl"
)
@opt.path_argument("runs", "RUN...", nargs=-1, required=True)
@opt.options(
    click.option("--input", "source", type=click.Path(path_type=Path), metavar="FILE",
                 help="Input of the runs, to find missing debates."),
    click.option("-i", "--index", metavar="DIR",
                 help="Argument index, to check the cited arguments."),
    opt.MAX_WORDS, opt.JSON, opt.QUIET,
)  # fmt: skip
def check_command(runs: tuple[Path, ...], **given: Any) -> int:
    """Check that each RUN is complete and valid.

    RUN is a run file, or a folder that contains exactly one *.jsonl.

    Simulations and responses: each turn has a response of at most 60 words, which cites arguments
    of the index. Evaluations: each response has a score of 0 to 1 on each maxim. Each problem is
    printed with file and line; then the exit code is 1.
    """
    from touche_rad.plugins import open_index
    from touche_rad.score.validation import check

    index = open_index(given["index"]) if given["index"] else None
    results = [
        check(run, source=given["source"], index=index, words=given["max_words"]) for run in runs
    ]
    if given["as_json"]:
        click.echo(json.dumps([one.record() for one in results], indent=2))
    else:
        for one in results:
            for finding in one.findings:
                click.echo(str(finding))
            state = "valid" if one.good else "not valid"
            line = f"{one.path}: {one.kind or 'unknown format'}, {one.debates} lines, {state}"
            say(line, quiet=given["quiet"])
    return 0 if all(one.good for one in results) else 1


@opt.command("submit", "submit", "submit grounded | sh", "submit grounded --upload | sh")
@click.argument("name", required=False, metavar="[NAME]")
@opt.options(
    click.option("--file", type=click.Path(path_type=Path), default="tira.yml",
                 show_default=True, metavar="FILE", help="File with the submissions."),
    click.option("--dataset", metavar="ID",
                 help="Dataset for the trial run. [default: the dataset of the sub-task]"),
    opt.flag("--upload", "Upload; without it, only a trial run."),
    opt.JSON,
)  # fmt: skip
def submit_command(
    name: str | None, file: Path, dataset: str | None, upload: bool, as_json: bool
) -> int:
    """Print the command line of tira-cli that tries or submits NAME.

    NAME is an entry of tira.yml; without NAME, the entries are listed. tira-cli builds the image,
    runs it on a small dataset and validates the output.
    """
    from touche_rad.tira import submission

    read = submission.load(file)
    names = [name] if name is not None else list(read.software)
    how: dict[str, Any] = {"path": str(file.parent), "dataset": dataset, "upload": upload}
    commands = {one: read.words(one, **how) for one in names}
    if as_json:
        click.echo(json.dumps(commands[name] if name is not None else commands, indent=2))
    elif name is not None:
        click.echo(read.command_line(name, **how))
    else:
        for each, one in read.software.items():
            click.echo(f"{each:18}  sub-task {one.sub_task}  {one.command}")
    return 0
