"""`touche-rad report`: runs in, one page to look at out."""

from __future__ import annotations

from pathlib import Path

import click

from touche_rad.cli import options as shared
from touche_rad.cli.console import say


@click.command("report", cls=shared.Verb)
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path),
                metavar="RUN...")  # fmt: skip
@shared.output("The page to write. [default: report.html]")
@click.option("--labels", type=click.Path(path_type=Path), metavar="FILE",
              help="Hand labels, or qrels for TREC runs.")  # fmt: skip
@click.option("--title", help="The page's title.")
@click.option("--max-debates", type=click.IntRange(1), metavar="N",
              help="Show at most this many debates; the scores are of all.")  # fmt: skip
@click.option("--graphs", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Write the graphs of outcomes here too: JSON, GraphML, Graphviz.")  # fmt: skip
@shared.seed
@shared.skip_bad
@shared.quiet
@shared.show_config
@click.pass_context
def command(
    ctx: click.Context,
    runs: tuple[Path, ...],
    output: str | None,
    option: tuple[str, ...],
    labels: Path | None,
    title: str | None,
    max_debates: int | None,
    graphs: Path | None,
    seed: int,
    skip_bad: bool,
    quiet: bool,
) -> None:
    """Make one self-contained HTML page of the RUNs: scores, plots, and each debate.

    A RUN is any official file: evaluations, simulations, responses, or a TREC run; or a
    tournament's folder or its ratings.json.
    """
    from touche_rad import files
    from touche_rad.report import write_exports, write_report

    out = shared.choose(ctx, "report", output, option).path or Path("report.html")
    bad = files.BadLines(skip=skip_bad)
    write_report(runs, out, labels=labels, title=title, max_debates=max_debates, seed=seed, bad=bad)
    say(f"report: {out.resolve()}", quiet=quiet)
    if graphs is not None:
        count = len(write_exports(runs, graphs, bad=bad))
        say(f"graphs: {count} files in {graphs.resolve()}", quiet=quiet)
