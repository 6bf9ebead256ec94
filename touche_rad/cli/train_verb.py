"""`touche-rad train`: models of one's own, from a collection or from labelled debates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from touche_rad.cli import asking, shared, train_debater, train_encoder, train_stance
from touche_rad.cli.console import progress, say
from touche_rad.errors import UserError


@click.group("train")
def command() -> None:
    """Train models of one's own, from a collection of arguments or from labelled debates."""


_DEBATES = click.argument("debates", type=click.Path(path_type=Path), metavar="DEBATES")
_LABELS = click.argument("labels", type=click.Path(path_type=Path), metavar="LABELS")


@command.command("judge", cls=shared.Verb)
@_DEBATES
@_LABELS
@shared.output("The weights to write.")
@asking.options
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
    -j calibrated -o judge.weights=FILE.
    """
    import json

    from touche_rad.models.places import named_by_environment
    from touche_rad.plugins import trainer

    chosen = shared.choose(ctx, "judge", given["short"], given["output"], given["option"])
    if chosen.path is None:
        raise UserError("train judge: say where the weights go: -o FILE")
    asked = given["model"] or named_by_environment()
    model = asking.made({**given, "seed": seed}, chosen, chosen.path) if asked else None
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
    like each other. Use them with -j fsl1 -o examples=FILE.
    """
    import json

    from touche_rad.plugins import trainer

    told = trainer("examples")(debates, labels, output, count=count, seed=seed)
    say(f"the examples are in {output}", quiet=quiet)
    click.echo(json.dumps(told, indent=2))


for one in (train_stance.stance, train_encoder.encoder, *train_debater.COMMANDS):
    command.add_command(one)
