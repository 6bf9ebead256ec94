"""`touche-rad check`: whether runs can be handed in."""

from __future__ import annotations

import json
from pathlib import Path

import click

from touche_rad.cli import options as shared
from touche_rad.cli.console import say


@click.command("check", cls=shared.Verb)
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--input", "source", type=click.Path(path_type=Path), metavar="FILE",
              help="What the runs were made of: missing debates are told.")  # fmt: skip
@click.option("-i", "--index", metavar="DIR", help="Where every cited argument must stand.")
@shared.max_words
@shared.as_json
@shared.quiet
@shared.show_config
def command(
    runs: tuple[Path, ...], source: Path | None, index: str | None, max_words: int,
    as_json: bool, quiet: bool,
) -> int:  # fmt: skip
    """Check that each RUN is whole and valid, as the platform will and more.

    A RUN may be a folder to hand in: then it must hold exactly one *.jsonl, which is checked.

    Simulations and responses: every debate and turn is answered, in at most 60 words, and cites
    arguments that are in the index. Evaluations: every answered turn has a score of 0 to 1 for each
    maxim. One line for each fault, with its file and line; the exit code is 1 where there is one.
    """
    from touche_rad.plugins import open_index
    from touche_rad.score.validation import check

    opened = open_index(index) if index else None
    checked = [check(run, source=source, index=opened, words=max_words) for run in runs]
    if as_json:
        click.echo(json.dumps([one.record() for one in checked], indent=2))
    else:
        for one in checked:
            for finding in one.findings:
                click.echo(str(finding))
            told = "can be handed in" if one.good else "cannot be handed in"
            say(f"{one.path}: {one.kind or 'unknown'}, {one.debates} lines, {told}", quiet=quiet)
    return 0 if all(one.good for one in checked) else 1
