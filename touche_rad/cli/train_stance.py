"""`touche-rad train stance`: a model that tells which of two claims an argument attacks."""

from __future__ import annotations

from typing import Any

import click

from touche_rad.cli import shared, train_collection


@click.command("stance", cls=shared.Verb)
@train_collection.options(
    click.option("--batch", type=int, default=16, show_default=True,
                 help="Arguments a step, each with both of its claims."),
    click.option("--layers", type=int, default=0, show_default=True,
                 help="How many layers learn, from the top; 0: the whole model."),
    folder="The model's folder.", base="; an NLI model begins with what it knows",
    epochs=3, rate=5e-5,
)  # fmt: skip
def stance(**given: Any) -> None:
    """Train a cross-encoder to tell the claim that an argument attacks from its negation.

    Whole topics are held out. Beside the accuracy on them stand the base's own, chance, and a model
    that never sees the argument's text; no better than these, the model knows nothing of stance.
    Killed, it goes on when the same command is given again.
    """
    train_collection.run("stance", given, "the model is in {0}; use it as trained:{0}")
