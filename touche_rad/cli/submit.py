"""The command `submit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from touche_rad.cli import options as opt


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
