"""`touche-rad demo`: the main job on the bundled data."""

from __future__ import annotations

from pathlib import Path

import click

from touche_rad.cli import shared


@click.command("demo", cls=shared.Verb)
@shared.output("The folder for all that the demo makes. [default: demo]", metavar="DIR")
@shared.seed
@shared.quiet
@shared.show_config
@click.pass_context
def command(
    ctx: click.Context,
    short: tuple[str, ...],
    output: str | None,
    option: tuple[str, ...],
    seed: int,
    quiet: bool,
) -> None:
    """Index, retrieve, respond, simulate, judge, score and report on data of our own writing."""
    from touche_rad.cli import run
    from touche_rad.demo.job import run_demo

    out = shared.choose(ctx, "demo", short, output, option).path or Path("demo")
    run_demo(out, seed=seed, quiet=quiet, call=run)
