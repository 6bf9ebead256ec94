"""`touche-rad judge`: debates in, verdicts out, in the official client's shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from touche_rad.cli import options as shared
from touche_rad.cli import runs
from touche_rad.cli.console import progress
from touche_rad.errors import UserError
from touche_rad.tira import places as tira


@click.command("judge", cls=shared.Verb)
@click.argument("source", required=False, type=click.Path(path_type=Path), metavar="[DEBATES]")
@shared.output("The evaluations to write.")
@shared.judge
@click.option("--swap", is_flag=True,
              help="With a panel: judge each debate with its sides swapped too.")  # fmt: skip
@shared.index
@shared.options
@shared.as_json
@shared.of_a_run
@click.pass_context
def command(ctx: click.Context, /, source: Path | None, **given: Any) -> int:
    """Judge each response in DEBATES on quantity, quality, relation and manner.

    DEBATES is any file of debates with responses: simulations, annotated debates, or what
    `touche-rad respond` wrote. Under TIRA neither DEBATES nor -o is needed. With --json and no -o
    the evaluations are printed. A panel (-j debatrix ...) judges each debate as a whole: DEBATES
    may be contests then (touche-rad contests), and outcomes are written.
    """
    import tempfile

    chosen = shared.choose(ctx, "judge", given["output"], given["option"])
    if given["as_json"] and chosen.path is None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "evaluations.jsonl"
            code = _judge(source, shared.Chosen(out, chosen.options), {**given, "quiet": True})
            click.echo(out.read_text("utf-8"), nl=False)
            return code
    return _judge(source, chosen, given)


def _judge(source: Path | None, chosen: shared.Chosen, given: dict[str, Any]) -> int:
    from touche_rad import files
    from touche_rad.runs.judging import judge
    from touche_rad.runs.runner import run

    if runs.is_panel(given["judge"]):
        return _judge_contests(source, chosen, given)
    if given["swap"]:
        raise UserError(f"--swap is for panels, and {given['judge']} judges responses")
    places = tira.places("judge", source, chosen.path, files.DEBATES, "evaluations.jsonl")
    plugin, identity, model = runs.judge(given, chosen, out=places.out)
    told = shared.counted(model)
    method = runs.method("judge", given["judge"], chosen, identity)
    with (
        runs.tracked("judge", places, given, method),
        progress("judging", quiet=given["quiet"], besides=told) as report,
    ):
        status = run(
            lambda: judge(
                places.source, places.out, plugin, identity=identity, deadline=given["deadline"],
                options=runs.run_options(given, places, model, report),
            ),
            places.out,
        )  # fmt: skip
    return runs.close(status, places, quiet=given["quiet"])


def _judge_contests(source: Path | None, chosen: shared.Chosen, given: dict[str, Any]) -> int:
    from touche_rad import files
    from touche_rad.runs.panels import judge_contests
    from touche_rad.runs.runner import run

    kinds = {files.Kind.CONTESTS, *files.DEBATES}
    places = tira.places("judge", source, chosen.path, kinds, "outcomes.jsonl")
    panel, identity, model = runs.panel(given, chosen, out=places.out)
    told = shared.counted(model)
    method = runs.method("panel", given["judge"], chosen, identity)
    with (
        runs.tracked("judge", places, given, method),
        progress("judging", quiet=given["quiet"], besides=told) as report,
    ):
        status = run(
            lambda: judge_contests(
                places.source, places.out, panel, identity=identity, swap=given["swap"],
                deadline=given["deadline"], options=runs.run_options(given, places, model, report),
            ),
            places.out,
        )  # fmt: skip
    return runs.close(status, places, quiet=given["quiet"])
