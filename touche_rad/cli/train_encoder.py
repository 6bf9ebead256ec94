"""`touche-rad train encoder`: an encoder of one's own for dense search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from touche_rad.cli import shared
from touche_rad.cli.console import progress, say


@click.command("encoder", cls=shared.Verb)
@click.argument("collection", type=click.Path(path_type=Path), metavar="COLLECTION")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR",
              help="The encoder's folder.")  # fmt: skip
@click.option("--base", default="minilm", show_default=True, metavar="MODEL",
              help="What is trained further: minilm, a folder or OWNER/NAME.")  # fmt: skip
@click.option("--held-out", default="test", show_default=True, metavar="test|I/N",
              help="Topics it never sees: the split test, or the I-th of N folds.")  # fmt: skip
@click.option("--epochs", type=int, default=4, show_default=True)
@click.option("--rate", type=float, default=2e-4, show_default=True, help="The learning rate.")
@click.option("--batch", type=int, default=64, show_default=True,
              help="Arguments a step, each a wrong answer to the others' claims.")  # fmt: skip
@click.option("--group", type=int, default=8, show_default=True,
              help="Arguments of a topic that are kept together in a batch.")  # fmt: skip
@click.option("--layers", type=int, default=2, show_default=True,
              help="How many layers learn, from the top; 0: the whole encoder.")  # fmt: skip
@click.option(
    "--precision",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "float32", "bfloat16"]),
)
@click.option("--save-every", type=int, default=50, show_default=True,
              help="Steps between checkpoints.")  # fmt: skip
@shared.seed
@shared.restart
@shared.quiet
@shared.show_config
def encoder(collection: Path, output: Path, held_out: str, **given: Any) -> None:
    """Tune an encoder on a collection: each claim nearer to the arguments on it.

    Whole topics are held out, and what is printed says how well their claims find their arguments
    before and after. Killed, it goes on when the same command is given again.
    """
    from touche_rad.plugins import trainer

    quiet, restart = given.pop("quiet"), given.pop("restart")
    with progress("training", quiet=quiet) as report:
        told = trainer("encoder")(
            collection, output, held_out=held_out, restart=restart, report=report, **given
        )
    say(f"use it with: touche-rad index COLLECTION -o INDEX --dense {output}", quiet=quiet)
    click.echo(json.dumps(told, indent=2))
