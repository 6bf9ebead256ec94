"""`touche-rad train`: models of one's own, from a collection."""

from __future__ import annotations

from pathlib import Path

import click

from touche_rad.cli import shared
from touche_rad.cli.console import say


@click.group("train")
def command() -> None:
    """Train models of one's own: a stance model from a collection of arguments."""


@command.command("stance", cls=shared.Verb)
@click.argument("collection", type=click.Path(path_type=Path), metavar="COLLECTION")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR",
              help="Where the model goes.")  # fmt: skip
@click.option("--base", default="minilm", show_default=True, metavar="MODEL",
              help="What is trained further: minilm, a folder or OWNER/NAME.")  # fmt: skip
@click.option("--epochs", type=click.IntRange(1), default=3, show_default=True)
@click.option("--rate", type=float, default=5e-5, show_default=True, help="The learning rate.")
@shared.seed
@shared.quiet
@shared.show_config
def stance(
    collection: Path, output: Path, base: str, epochs: int, rate: float, seed: int, quiet: bool
) -> None:
    """Train a cross-encoder to tell the claim that an argument attacks from its negation.

    Whole topics are held out. Beside the accuracy on them stand chance and a model that never sees
    the argument's text; no better than these, the model knows nothing of stance.
    """
    import json

    from touche_rad.plugins import trainer

    report = trainer("stance")(collection, output, base=base, epochs=epochs, rate=rate, seed=seed)
    say(f"the model is in {output}; use it as trained:{output}", quiet=quiet)
    click.echo(json.dumps(report, indent=2))
