"""What says how a debater's model is trained: the recipe's options, and the recipe made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from touche_rad.training.recipe import Recipe

F = TypeVar("F", bound=Callable[..., Any])


def options(function: F) -> F:
    """Add what says how to train."""
    options = (
        click.option("--epochs", type=float, default=3, show_default=True),
        click.option("--rate", type=float, default=1e-5, show_default=True,
                     help="The learning rate (as in the paper)."),
        click.option("--batch", type=int, default=4, show_default=True,
                     help="Records at once on the device."),
        click.option("--accumulate", type=int, default=1, show_default=True,
                     help="So many batches make a step."),
        click.option("--warmup", type=float, default=0.0, show_default=True,
                     help="The share of the steps over which the rate grows."),
        click.option("--rank", type=int, default=16, show_default=True, help="LoRA's rank."),
        click.option("--alpha", type=int, default=32, show_default=True, help="LoRA's alpha."),
        click.option("--dropout", type=float, default=0.05, show_default=True,
                     help="LoRA's dropout."),
        click.option("--targets", default="all-linear", show_default=True,
                     help="The layers with an adapter: all-linear, or names with commas."),
        click.option("--longest", type=int, default=4096, show_default=True,
                     help="Leave records of more tokens out."),
        click.option("--held-out", type=float, default=0.1, show_default=True,
                     help="The share of the topics that is held out."),
        click.option("--save-every", type=int, default=50, show_default=True,
                     help="Steps between checkpoints and measurements."),
        click.option("--precision", default="auto", show_default=True,
                     type=click.Choice(["auto", "float32", "bfloat16", "float16"])),
        click.option("--checkpointing", is_flag=True,
                     help="Compute activations twice, which spares memory."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def made(given: dict[str, Any]) -> Recipe:
    """Return the recipe; a number that cannot be is told by its name."""
    from touche_rad.training.recipe import Recipe, checked

    return checked(Recipe, given)
