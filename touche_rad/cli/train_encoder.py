"""`touche-rad train encoder`: an encoder of one's own for dense search."""

from __future__ import annotations

from typing import Any

import click

from touche_rad.cli import shared, train_collection


@click.command("encoder", cls=shared.Verb)
@train_collection.options(
    click.option("--batch", type=int, default=64, show_default=True,
                 help="Arguments a step, each a wrong answer to the others' claims."),
    click.option("--group", type=int, default=8, show_default=True,
                 help="Arguments of a topic that are kept together in a batch."),
    click.option("--layers", type=int, default=2, show_default=True,
                 help="How many layers learn, from the top; 0: the whole encoder."),
    folder="The encoder's folder.", base="", epochs=4, rate=2e-4,
)  # fmt: skip
def encoder(**given: Any) -> None:
    """Tune an encoder on a collection: each claim nearer to the arguments on it.

    Whole topics are held out, and what is printed says how well their claims find their arguments
    before and after. Killed, it goes on when the same command is given again.
    """
    train_collection.run(
        "encoder", given, "use it with: touche-rad index COLLECTION -o INDEX --dense {}"
    )
