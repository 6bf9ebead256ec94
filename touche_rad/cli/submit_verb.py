"""`touche-rad submit`: the command line that hands something in to TIRA."""

from __future__ import annotations

import json
from pathlib import Path

import click

from touche_rad.cli import options as shared


@click.command("submit", cls=shared.Verb)
@click.argument("name", required=False, metavar="[NAME]")
@click.option("--file", type=click.Path(path_type=Path), default="tira.yml", show_default=True,
              metavar="FILE", help="What can be handed in.")  # fmt: skip
@click.option("--dataset", metavar="ID", help="Try it on this dataset. [default: the sub-task's]")
@click.option("--upload", is_flag=True, help="Hand it in; without it the client only tries it.")
@shared.as_json
@shared.show_config
def command(
    name: str | None, file: Path, dataset: str | None, upload: bool, as_json: bool
) -> int:  # fmt: skip
    """Print the command line of TIRA's client (tira-cli) that tries or hands in NAME.

    NAME is an entry of tira.yml; without it they are listed. The client builds the image, runs it
    on a small dataset as TIRA does and checks what comes out: touche-rad submit NAME | sh
    """
    from touche_rad.tira import submission

    read = submission.load(file)
    path = str(file.parent)
    if name is not None:
        read.find(name)
    chosen = [name] if name is not None else list(read.software)
    words = {one: read.words(one, path=path, dataset=dataset, upload=upload) for one in chosen}
    if as_json:
        click.echo(json.dumps(words[name] if name is not None else words, indent=2))
    elif name is not None:
        click.echo(read.command_line(name, path=path, dataset=dataset, upload=upload))
    else:
        for each, one in read.software.items():
            click.echo(f"{each:18}  sub-task {one.sub_task}  {one.command}")
    return 0
