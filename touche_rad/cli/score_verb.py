"""`touche-rad score`: score runs against labels, qrels or human decisions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from touche_rad.cli import options as shared
from touche_rad.cli.console import progress, say
from touche_rad.errors import OptionError, UserError


def run_audit(
    runs: tuple[Path, ...], names: tuple[str, ...], chosen: shared.Chosen, given: dict[str, Any]
) -> None:
    """Audit the judges and tell what was found; a folder gets audit.json."""
    import anyio

    from touche_rad import files
    from touche_rad.plugins import Services, find
    from touche_rad.score.audit import audit
    from touche_rad.score.audit.family import family_of

    folder = chosen.path
    out = folder / "audit.json" if folder is not None else None
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
    plugins = {name: find("judge", name) for name in names}
    model = shared.model_for(plugins, given, chosen, out)
    indexed = given["index"] or any("index" in plugin.needs for plugin in plugins.values())
    services = (
        shared.services(given["index"], given["seed"], model=model)
        if indexed
        else Services(seed=given["seed"], model=model)
    )
    judges = {name: plugin.make(services, chosen.of("judge")) for name, plugin in plugins.items()}
    asking_one = [
        name for name, plugin in plugins.items() if "model" in (*plugin.needs, *plugin.uses)
    ]
    families = {name: family_of(model.name) for name in asking_one} if model else {}
    bad = files.BadLines(skip=given["skip_bad"])

    async def run() -> Any:
        told = shared.counted(model)
        try:
            with progress("auditing", quiet=given["quiet"], besides=told) as report:
                return await audit(
                    runs, judges, families=families, most=given["turns"], seed=given["seed"],
                    bad=bad, progress=report,
                )  # fmt: skip
        finally:
            if model is not None:
                await model.close()

    found = anyio.run(run)
    if out is not None:
        with files.atomic_write(out) as written:
            written.write(found.model_dump_json(indent=2) + "\n")
        say(f"written: {out}", quiet=given["quiet"])
    if given["as_json"]:
        click.echo(found.model_dump_json(indent=2))
    else:
        for line in found.lines():
            click.echo(line)


@click.command("score", cls=shared.Verb)
@click.argument("files_", nargs=-1, required=True, type=click.Path(path_type=Path),
                metavar="RUN... TRUTH")  # fmt: skip
@shared.output("A folder for evaluation.prototext and what ir_measures reads.", metavar="DIR")
@click.option("--strict", is_flag=True,
              help="The official policy: anything missing, and there is no score.")  # fmt: skip
@click.option("--debates", type=click.Path(path_type=Path), metavar="FILE",
              help="The debates that the labels belong to, to find reordered ones.")  # fmt: skip
@click.option(
    "--baseline", type=click.Path(path_type=Path), metavar="RUN",
    help="Compare each run with this one, instead of all with all.",
)  # fmt: skip
@click.option("--votes", is_flag=True,
              help="Whole debates: errors against each vote, not against the winner.")  # fmt: skip
@click.option("--samples", type=click.IntRange(100), default=10_000, show_default=True,
              help="Bootstrap samples for intervals and comparisons.")  # fmt: skip
@click.option("--audit", is_flag=True,
              help="Audit judges on RUN... instead: what their verdicts go by.")  # fmt: skip
@click.option("-j", "--judge", "judges", multiple=True, metavar="NAME",
              help="With --audit: who is audited, also several. [default: grounded]")  # fmt: skip
@click.option("--turns", type=click.IntRange(1), metavar="N",
              help="With --audit: probe so many turns of the first. [default: all]")  # fmt: skip
@shared.index
@shared.options
@shared.quiet
@shared.seed
@shared.as_json
@shared.skip_bad
@shared.show_config
@click.pass_context
def command(
    ctx: click.Context,
    /,
    files_: tuple[Path, ...],
    output: str | None,
    option: tuple[str, ...],
    strict: bool,
    debates: Path | None,
    baseline: Path | None,
    votes: bool,
    samples: int,
    seed: int,
    as_json: bool,
    skip_bad: bool,
    audit: bool,
    judges: tuple[str, ...],
    turns: int | None,
    **given: Any,
) -> None:
    """Score each RUN against TRUTH, and compare several runs.

    Evaluations against labels give the official precision, recall and F1 for each maxim, with
    accuracy, kappa, MCC and the always-yes line. TREC runs against qrels give nDCG@10, RR and R.
    Outcomes against contests give accuracy, RMSE and correlations by dimension, and biases.

    With --audit there is no TRUTH: judges are asked about the responses of RUN, and about each as
    probes change it (other order, padding, other words, no words, off the topic, without sources, a
    demand for yes). Told are flip rates, agreement, which turns to label next, and, where several
    runs were written by several models, whether a judge likes its own family best.
    """
    if audit:
        idle = [name for name in _OF_SCORES if _said(ctx, name)]
        if idle:
            raise UserError(f"{', '.join(idle)}: not for --audit")
        chosen = shared.choose(ctx, "score", output, option)
        more = {"as_json": as_json, "seed": seed, "skip_bad": skip_bad, "turns": turns, **given}
        run_audit(files_, judges or ("grounded",), chosen, more)
        return
    idle = [name for name in _OF_AUDITS if _said(ctx, name)]
    if idle:
        raise UserError(f"{', '.join(idle)}: for --audit only")
    from touche_rad import files
    from touche_rad.contests.score_report import Against, ContestReport
    from touche_rad.contests.scoring import score_contests
    from touche_rad.score import Report, export, score

    if len(files_) < 2:
        raise UserError(
            "score: give at least one RUN and, last, the TRUTH (labels, qrels or contests)"
        )
    *runs, truth = files_
    bad = files.BadLines(skip=skip_bad)
    report: Report | ContestReport
    if files.detect_kind(truth) is files.Kind.CONTESTS:
        if strict or debates is not None or baseline is not None:
            raise OptionError("--strict, --debates and --baseline are not for whole debates")
        against: Against = "votes" if votes else "winner"
        report = score_contests(runs, truth, samples=samples, seed=seed, against=against, bad=bad)
    elif votes:
        raise OptionError("--votes is for whole debates")
    else:
        report = score(
            runs, truth, strict=strict, debates=debates, samples=samples, seed=seed,
            baseline=baseline, bad=bad,
        )  # fmt: skip
    folder = shared.choose(ctx, "score", output, option).path
    if folder is not None and isinstance(report, ContestReport):
        raise UserError("score: -o is for evaluations; --json prints the figures of whole debates")
    if folder is not None and not isinstance(report, ContestReport):
        for path in export(report, folder):
            say(f"written: {path}")
    if as_json:
        click.echo(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        for line in report.lines():
            click.echo(line)


_OF_SCORES = ("strict", "debates", "baseline", "votes", "samples")
_OF_AUDITS = ("judges", "turns", "index", "model", "cache", "max_calls", "max_tokens")


def _said(ctx: click.Context, name: str) -> bool:
    """Whether an option stands on the command line; variables are for all verbs."""
    return ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE
