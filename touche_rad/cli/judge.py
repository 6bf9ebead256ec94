"""The commands `judge`, `audit` and `report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touche_rad.cli import options as opt
from touche_rad.cli import prepare, run_files
from touche_rad.cli.console import next_page, next_step, progress, say, terminal_width
from touche_rad.errors import OptionError, UserError

if TYPE_CHECKING:
    from touche_rad.plugins import Services
    from touche_rad.runs.work import Work


@opt.command(
    "judge",
    "judge simulations.jsonl -o evaluations.jsonl",
    "judge contests.jsonl -j grice -o outcomes.jsonl",
    "judge run.jsonl -j fsl1 -m http://localhost:8000/v1#llama -o fsl1.jsonl",
    "judge simulations.jsonl --explain --debate 2 --turn 0",
)
@opt.path_argument("source", "[DEBATES]", required=False)
@opt.options(
    opt.output("Evaluations to write, or outcomes with a panel."),
    opt.JUDGE,
    opt.plugin_options("judge"),
    opt.flag("--swap", "With a panel: judge each debate a second time with its sides swapped."),
    opt.flag("--explain", "Print the verdicts with the features that decide them; no -o."),
    opt.flag("--all", "With --explain: print all features and whole model answers.", "every"),
    click.option(
        "--debate",
        metavar="ID",
        help="With --explain: only this debate, by its id or its number from 1.",
    ),
    opt.integer("--turn", "With --explain: only this turn, from 0.", least=0),
    opt.JSON,
    opt.INDEX,
    *opt.MODEL_OPTIONS,
    opt.WITH_TRACE,
    *opt.RUN,
    *opt.DRY_RUN,
)
def judge_command(source: Path | None, **given: Any) -> int:
    """Judge each response in DEBATES on quantity, quality, relation and manner.

    DEBATES is a file of debates with responses: simulations, annotated debates, or the output of
    touche-rad respond. Under TIRA, DEBATES and -o are optional.

    A panel (such as -j debatrix) judges each debate as a whole. Its DEBATES may also be contests
    (touche-rad contests), and it writes outcomes.
    """
    if given["explain"]:
        return _explain(source, given)
    for key, flag in (("every", "all"), ("debate", "debate"), ("turn", "turn")):
        if given[key] is not None and given[key] is not False:
            raise OptionError(f"--{flag} is for --explain")
    whole = given["output"] is None and given["shard"] is None
    if not given["as_json"] or not whole or given["dry_run"]:
        return _judge(source, given)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "evaluations.jsonl"
        code = _judge(source, {**given, "output": out, "quiet": True})
        click.echo(out.read_text("utf-8"), nl=False)
        return code


def _explain(source: Path | None, given: dict[str, Any]) -> int:
    """Print what decides the verdicts on the selected responses."""
    if prepare.is_panel(given["judge"].name):
        raise OptionError(
            "--explain is for judges of responses; the outcomes of a panel have its reasons"
        )
    if given["output"] is not None or given["dry_run"]:
        raise OptionError("--explain writes nothing: leave out -o and --dry-run")
    if source is None:
        raise UserError("judge --explain: give a file of debates with responses")
    from touche_rad.cli.explain_verdicts import explain_file

    return explain_file(source, given)


def _judge(source: Path | None, given: dict[str, Any]) -> int:
    from touche_rad import files
    from touche_rad.cli import dry_run
    from touche_rad.runs import judging, panels

    panel = prepare.is_panel(given["judge"].name)
    if given["swap"] and not panel:
        raise UserError(f"--swap is for panels, and {given['judge'].name} judges responses")
    kinds = {files.Kind.CONTESTS, *files.DEBATES} if panel else files.DEBATES
    name = "outcomes.jsonl" if panel else "evaluations.jsonl"
    judge = prepare.select_main("panel" if panel else "judge", given)
    places = run_files.find_places("judge", source, run_files.output_of(given), kinds, name)

    def make(services: Services) -> Work[Any]:
        plugin = judge.make(services)
        identity = prepare.identify(given, services, judge.plugin, judge=judge.tag)
        more = {"identity": identity, "deadline": given["deadline"]}
        if panel:
            return panels.work(places.source, plugin, swap=given["swap"], **more)
        return judging.work(places.source, plugin, **more)

    if given["dry_run"]:
        return dry_run.run("judge", given, [judge.plugin], make)
    services = prepare.open_services(given, judge.plugin, out=places.out)
    work = make(services)
    return run_files.run_on_files(
        "judging",
        given,
        places,
        judge.method(work.identity),
        work,
        services,
        index=services.index if "index" in judge.plugin.needs else None,
        make=make,
    )


@opt.command(
    "audit",
    "audit simulations.jsonl",
    "audit run.jsonl -j grounded -j length --turns 50",
    "audit run.jsonl -o audit",
)
@opt.path_argument("runs", "RUN...", nargs=-1, required=True)
@opt.options(
    opt.output("Folder for audit.json.", "DIR"),
    opt.REPLACE,
    opt.plugin(
        "-j",
        "--judge",
        "judges",
        multiple=True,
        default=["grounded"],
        show_default=True,
        help="Judge to audit; repeatable.",
    ),
    opt.plugin_options("judge"),
    opt.integer("--turns", "Audit a random sample of N turns. [default: all]"),
    opt.JSON,
    opt.INDEX,
    *opt.MODEL_OPTIONS,
    opt.SEED,
    opt.SKIP_BAD,
    opt.QUIET,
)
def audit_command(runs: tuple[Path, ...], **given: Any) -> None:
    """Judge the responses of each RUN, and judge them again after changes.

    The changes: another order, padding, other words, no words, another topic, no sources, and an
    instruction to say yes. The command prints flip rates and the agreement of the judges.
    """
    from contextlib import ExitStack

    import anyio

    from touche_rad import files
    from touche_rad.cli.own_output import own_output
    from touche_rad.score.audit import audit

    out = given["output"] / "audit.json" if given["output"] else None
    if out is not None:
        if not out.is_file():
            files.check_output(given["output"], replace=given["replace"])
        out.parent.mkdir(parents=True, exist_ok=True)
    options = given["options"].get("judge")
    judges = {spec.name: prepare.select("judge", spec, options) for spec in given["judges"]}
    plugins = [one.plugin for one in judges.values()]
    services = prepare.open_services(given, *plugins, out=out)
    model = services.model

    async def run() -> Any:
        try:
            with progress(
                "auditing", quiet=given["quiet"], describe=prepare.count_calls(model)
            ) as report:
                return await audit(
                    runs,
                    {name: one.make(services) for name, one in judges.items()},
                    most=given["turns"],
                    seed=given["seed"],
                    bad=files.BadLines(skip=given["skip_bad"]),
                    progress=report,
                )
        finally:
            if model is not None:
                await model.close()

    with ExitStack() as stack:
        if out is not None:
            tags = [one.tag for one in judges.values()]
            of = prepare.identify(given, services, *plugins, judges=tags, turns=given["turns"])
            stack.enter_context(
                own_output("audit", out, runs, of, replace=given["replace"], model=model)
            )
        result = anyio.run(run)
        as_json = result.model_dump_json(indent=2)
        if out is not None:
            with files.atomic_write(out) as stream:
                stream.write(as_json + "\n")
    if out is not None:
        say(f"written: {out}", quiet=given["quiet"])
    click.echo(as_json if given["as_json"] else "\n".join(result.lines(terminal_width())))
    steps = [["judge", runs[0], "-j", name, "-o", "evaluations.jsonl"] for name in judges]
    next_step(*steps[:1], quiet=given["quiet"])


@opt.command(
    "report",
    "report evaluations.jsonl -o report.html",
    "report rj.jsonl --labels touche_rad/demo/labels.jsonl -o judge.html",
    "report tournament -o tournament.html",
    "report runs/*.jsonl --labels labels.jsonl -o report/",
)
@opt.path_argument("runs", "RUN...", nargs=-1, required=True)
@opt.options(
    opt.output("HTML file, or a folder for large runs. [default: report.html or report/]"),
    opt.REPLACE,
    opt.file("--labels", "Labels by hand, qrels for TREC runs, or contests for outcomes."),
    click.option("--title", help="Title of the page."),
    click.option(
        "--graphs",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Also write the graphs of outcomes: JSON, GraphML.",
    ),
    opt.SEED,
    opt.SKIP_BAD,
    opt.QUIET,
)
def report_command(runs: tuple[Path, ...], **given: Any) -> None:
    """Write a report on any number of RUNs: leaderboard, plots, and all debates to filter.

    A RUN is an official file (evaluations, simulations, responses, outcomes or a TREC run), or a
    tournament's folder or ratings.json. The page needs no server and no network. One HTML file
    holds small runs; a folder, with index.html and its data beside it, opens fast at any size.
    """
    from touche_rad import files
    from touche_rad.files.outputs import keeping
    from touche_rad.report import default_output, write_exports, write_report

    out = given["output"] or default_output(runs)
    bad = files.BadLines(skip=given["skip_bad"])
    chosen = {key: given[key] for key in ("labels", "title", "seed")}
    with keeping(out, replace=given["replace"]):
        summary = write_report(runs, out, bad=bad, **chosen)
    say(f"written: {summary.page}", quiet=given["quiet"])
    if given["graphs"] is not None:
        with keeping(given["graphs"], replace=given["replace"]):
            count = len(write_exports(runs, given["graphs"], bad=bad))
        if count:
            say(f"graphs: {count} files in {given['graphs'].resolve()}", quiet=given["quiet"])
        else:
            say(f"graphs: none written: only these panels export graphs: {_exporting()}")
    next_page(summary.page, quiet=given["quiet"])


def _exporting() -> str:
    """Return the names of the panels whose outcomes can be exported as graphs."""
    from touche_rad.plugins import registered

    plugins = registered("panel").values()
    return ", ".join(one.name for one in plugins if hasattr(one.factory, "exports"))
