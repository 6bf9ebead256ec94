"""`touche-rad train stance`: a model that tells which of two claims an argument attacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from touche_rad.cli import shared
from touche_rad.cli.console import progress, say


@click.command("stance", cls=shared.Verb)
@click.argument("collection", type=click.Path(path_type=Path), metavar="COLLECTION")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR",
              help="The model's folder.")  # fmt: skip
@click.option("--base", default="minilm", show_default=True, metavar="MODEL",
              help="What is trained further: minilm, a folder or OWNER/NAME; an NLI model "
              "begins with what it knows.")  # fmt: skip
@click.option("--held-out", default="test", show_default=True, metavar="test|I/N",
              help="Topics it never sees: the split test, or the I-th of N folds.")  # fmt: skip
@click.option("--epochs", type=int, default=3, show_default=True)
@click.option("--rate", type=float, default=5e-5, show_default=True, help="The learning rate.")
@click.option("--batch", type=int, default=16, show_default=True,
              help="Arguments a step, each with both of its claims.")  # fmt: skip
@click.option("--layers", type=int, default=0, show_default=True,
              help="How many layers learn, from the top; 0: the whole model.")  # fmt: skip
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
def stance(collection: Path, output: Path, held_out: str, **given: Any) -> None:
    """Train a cross-encoder to tell the claim that an argument attacks from its negation.

    Whole topics are held out. Beside the accuracy on them stand the base's own, chance, and a model
    that never sees the argument's text; no better than these, the model knows nothing of stance.
    Killed, it goes on when the same command is given again.
    """
    from touche_rad.plugins import trainer

    quiet, restart = given.pop("quiet"), given.pop("restart")
    with progress("training", quiet=quiet) as report:
        told = trainer("stance")(
            collection, output, held_out=held_out, restart=restart, report=report, **given
        )
    say(f"the model is in {output}; use it as trained:{output}", quiet=quiet)
    click.echo(json.dumps(told, indent=2))
