"""`touche-rad contests`: debates of other collections in, one file of contests out."""

from __future__ import annotations

from pathlib import Path

import click

from touche_rad.cli import options as shared
from touche_rad.cli.console import say


@click.command("contests", cls=shared.Verb)
@click.argument("source", type=click.Path(path_type=Path), metavar="SOURCE")
@shared.output("The contests to write.")
@shared.skip_bad
@shared.quiet
@click.pass_context
def command(
    ctx: click.Context,
    source: Path,
    output: str | None,
    option: tuple[str, ...],
    skip_bad: bool,
    quiet: bool,
) -> None:
    """Bring whole debates into one file that panels judge and `score` knows the winners of.

    SOURCE is JSON or JSONL as of DebateArt or Debate.org (speeches by sides, votes), a folder as of
    PanelBench (motion/, speech/, gold.json), or any file of debates of the shared task. Several
    votes become one winner by their mean.
    """
    from touche_rad import files
    from touche_rad.contests.foreign import contests
    from touche_rad.errors import UserError

    out = shared.choose(ctx, "contests", output, option).path
    if out is None:
        raise UserError("contests: say where they go: -o FILE")
    if not source.exists():
        raise UserError(f"{source} does not exist")
    bad = files.BadLines(skip=skip_bad)
    count = judged = 0
    with files.atomic_write(out) as written:
        for contest in contests(source, bad):
            written.write(files.contest_line(contest) + "\n")
            count += 1
            judged += bool(set(contest.gold) - {"votes"})
    if bad.count:
        say(f"{bad.count} bad records were skipped; the first: {bad.first}", quiet=quiet)
    say(f"written: {out}: {count} contests, {judged} with a known result", quiet=quiet)
