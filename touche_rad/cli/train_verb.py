"""`touche-rad train`: train models on a collection or on labelled debates."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from touche_rad.cli import options as shared
from touche_rad.cli import train_debater
from touche_rad.cli.console import progress, say
from touche_rad.errors import UserError

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


@click.command("encoder", cls=shared.Verb)
@options(
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
    run("encoder", given, "use it with: touche-rad index COLLECTION -o INDEX --dense {}")


@click.command("stance", cls=shared.Verb)
@options(
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
    run("stance", given, "the model is in {0}; use it as trained:{0}")


@click.group("train")
def command() -> None:
    """Train models of one's own, from a collection of arguments or from labelled debates."""


_DEBATES = click.argument("debates", type=click.Path(path_type=Path), metavar="DEBATES")
_LABELS = click.argument("labels", type=click.Path(path_type=Path), metavar="LABELS")


@command.command("judge", cls=shared.Verb)
@_DEBATES
@_LABELS
@shared.output("The weights to write.")
@shared.options
@click.option("--asks", default="zsl", show_default=True, metavar="JUDGE",
              help="The judge that asks the model, where one is given.")  # fmt: skip
@shared.seed
@shared.quiet
@shared.show_config
@click.pass_context
def judge(
    ctx: click.Context, /, debates: Path, labels: Path, asks: str, seed: int, **given: Any
) -> None:
    """Fit the judge `calibrated` to labelled debates, cross-validated by debate.

    DEBATES and LABELS belong together line by line. With -m the model's word is weighed too. What
    is printed was measured on debates that the weights had not seen; use them with
    -j calibrated -O judge.weights=FILE.
    """
    import json

    from touche_rad.models.endpoint import named_by_environment
    from touche_rad.plugins import trainer

    chosen = shared.choose(ctx, "judge", given["output"], given["option"])
    if chosen.path is None:
        raise UserError("train judge: say where the weights go: -o FILE")
    asked = given["model"] or named_by_environment()
    model = shared.made({**given, "seed": seed}, chosen, chosen.path) if asked else None
    with progress("judging", quiet=given["quiet"]) as report:
        told = trainer("judge")(
            debates, labels, chosen.path, model=model, asks=asks, seed=seed, report=report
        )
    say(f"the weights are in {chosen.path}", quiet=given["quiet"])
    click.echo(json.dumps(told, indent=2))


@command.command("examples", cls=shared.Verb)
@_DEBATES
@_LABELS
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Where the examples go.")  # fmt: skip
@click.option("--count", type=click.IntRange(1), default=5, show_default=True,
              help="Examples of each maxim and label.")  # fmt: skip
@shared.seed
@shared.quiet
@shared.show_config
def examples(debates: Path, labels: Path, output: Path, count: int, seed: int, quiet: bool) -> None:
    """Choose the examples that SINAI's judges show a model, from labelled debates.

    As many yes as no for each maxim; those that the model-free judge gets wrong and that are least
    like each other. Use them with -j fsl1 -O examples=FILE.
    """
    import json

    from touche_rad.plugins import trainer

    told = trainer("examples")(debates, labels, output, count=count, seed=seed)
    say(f"the examples are in {output}", quiet=quiet)
    click.echo(json.dumps(told, indent=2))


for one in (stance, encoder, *train_debater.COMMANDS):
    command.add_command(one)
