"""`touche-rad judge`: debates in, verdicts out, in the official client's shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from touche_rad.cli import asking, runs, shared, tira
from touche_rad.cli.console import progress


@click.command("judge", cls=shared.Verb)
@click.argument("source", required=False, type=click.Path(path_type=Path), metavar="[DEBATES]")
@shared.output("The evaluations to write.")
@shared.judge
@shared.index
@asking.options
@shared.as_json
@shared.deadline
@shared.workers
@shared.seed
@shared.skip_bad
@shared.restart
@shared.metadata
@shared.quiet
@shared.show_config
@click.pass_context
def command(ctx: click.Context, /, source: Path | None, **given: Any) -> int:
    """Judge each response in DEBATES on quantity, quality, relation and manner.

    DEBATES is any file of debates with responses: simulations, annotated debates, or what
    `touche-rad respond` wrote. Under TIRA neither DEBATES nor -o is needed. With --json and no -o
    the evaluations are printed.
    """
    import tempfile

    chosen = shared.choose(ctx, "judge", given["short"], given["output"], given["option"])
    if given["as_json"] and chosen.path is None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "evaluations.jsonl"
            code = _judge(source, shared.Chosen(out, chosen.options), {**given, "quiet": True})
            click.echo(out.read_text("utf-8"), nl=False)
            return code
    return _judge(source, chosen, given)


def _judge(source: Path | None, chosen: shared.Chosen, given: dict[str, Any]) -> int:
    from touche_rad import files
    from touche_rad.judging import judge
    from touche_rad.runner import run

    places = tira.places("judge", source, chosen.path, files.DEBATES, "evaluations.jsonl")
    plugin, identity, model = runs.judge(given, chosen, out=places.out)
    bad = files.BadLines(skip=given["skip_bad"])
    method = runs.method("judge", given["judge"], chosen, identity)
    with (
        runs.tracked("judge", places, given, method),
        progress("judging", quiet=given["quiet"]) as report,
    ):
        status = run(
            lambda: judge(
                places.source, places.out, plugin, identity=identity, deadline=given["deadline"],
                workers=given["workers"], bad=bad, progress=report, restart=given["restart"],
                status_path=places.status_of(model), model=model,
            ),
            places.out,
        )  # fmt: skip
    return runs.close(status, places, quiet=given["quiet"])
