"""What the verbs share that train on a collection: their options, and the call of the trainer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from touche_rad.cli import shared
from touche_rad.cli.console import progress, say

F = TypeVar("F", bound=Callable[..., Any])


def options(
    *own: Callable[[Any], Any], folder: str, base: str, epochs: int, rate: float
) -> Callable[[F], F]:
    """Add what says on what to train, how long and how; a trainer's own options stand amid it.

    Args:
        own: The options that are the trainer's own.
        folder: What is in the folder.
        base: What is said of the base besides.
        epochs: The default of `--epochs`.
        rate: The default of `--rate`.
    """

    def add(function: F) -> F:
        options = (
            click.argument("collection", type=click.Path(path_type=Path), metavar="COLLECTION"),
            click.option("-o", "--output", type=click.Path(path_type=Path), required=True,
                         metavar="DIR", help=folder),
            click.option("--base", default="minilm", show_default=True, metavar="MODEL",
                         help=f"What is trained further: minilm, a folder or OWNER/NAME{base}."),
            click.option("--held-out", default="test", show_default=True, metavar="test|I/N",
                         help="Topics it never sees: the split test, or the I-th of N folds."),
            click.option("--epochs", type=int, default=epochs, show_default=True),
            click.option("--rate", type=float, default=rate, show_default=True,
                         help="The learning rate."),
            *own,
            click.option("--precision", default="auto", show_default=True,
                         type=click.Choice(["auto", "float32", "bfloat16"]),
                         help="bfloat16 is quicker on a processor that has it; auto takes it on a "
                         "graphics card alone."),
            click.option("--save-every", type=int, default=50, show_default=True,
                         help="Steps between checkpoints."),
            shared.seed, shared.restart, shared.quiet, shared.show_config,
        )  # fmt: skip
        for option in reversed(options):
            function = option(function)
        return function

    return add


def run(name: str, given: dict[str, Any], use: str) -> None:
    """Train, tell a person what to do with the model, and print what a program would read."""
    from touche_rad.plugins import trainer

    quiet, collection, output = (given.pop(key) for key in ("quiet", "collection", "output"))
    with progress("training", quiet=quiet) as report:
        told = trainer(name)(
            collection, output, report=report,
            note=lambda line: say(f"note: {line}", quiet=quiet), **given,
        )  # fmt: skip
    say(use.format(output), quiet=quiet)
    click.echo(json.dumps(told, indent=2))
