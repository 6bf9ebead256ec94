"""The commands `judge`, `audit` and `report`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.cli import options as opt
from touche_rad.cli import prepare, run_files
from touche_rad.cli.console import next_step, open_page, progress, say, terminal_width
from touche_rad.errors import InputError, OptionError, UserError

if TYPE_CHECKING:
    from touche_rad.plugins import Services
    from touche_rad.runs.work import Work


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(opt.ModelOptions, opt.FileOptions):
    """The options of `judge`."""

    source: Path | None = opt.argument("[DEBATES]", required=False)
    output: Path | None = opt.output("Evaluations to write, or outcomes with a panel.")
    judge: opt.PluginSpec = opt.JUDGE
    plugin_options: opt.PluginOptions = opt.plugin_options("judge")
    swap: bool = opt.flag("With a panel: judge each debate a second time with its sides swapped.")
    explain: bool = opt.flag("Print the verdicts with the features that decide them; no -o.")
    debate: str | None = opt.option(
        "With --explain: only this debate, by its id or its number from 1.", metavar="ID"
    )
    turn: int | None = opt.option("With --explain: only this turn, from 0.", least=0)
    as_json: bool = opt.JSON
    index: str | None = opt.INDEX
    trace: bool = opt.TRACE


@opt.command(
    "judge",
    "judge simulations.jsonl -o evaluations.jsonl",
    "judge contests.jsonl -j grice -o outcomes.jsonl",
    "judge run.jsonl -j fsl1 -m http://localhost:8000/v1#llama -o fsl1.jsonl",
    "judge simulations.jsonl --explain --debate 2 --turn 0",
)
def judge_command(options: JudgeOptions) -> int:
    """Judge each response in DEBATES on quantity, quality, relation and manner.

    DEBATES is a file of debates with responses: simulations, annotated debates, or the output of
    touche-rad respond. Under TIRA, DEBATES and -o are optional.

    A panel (such as -j debatrix) judges each debate as a whole. Its DEBATES may also be contests
    (touche-rad contests), and it writes outcomes.
    """
    if options.explain:
        return _explain(options)
    for flag in ("debate", "turn"):
        if getattr(options, flag) is not None:
            raise OptionError(f"--{flag} is for --explain")
    if not options.as_json or options.output or options.shard or options.dry_run:
        return _judge(options)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "evaluations.jsonl"
        code = _judge(replace(options, output=out, quiet=True))
        click.echo(out.read_text("utf-8"), nl=False)
        return code


def _explain(options: JudgeOptions) -> int:
    """Print what decides the verdicts on the selected responses."""
    from touche_rad.cli.explain import explain_verdicts

    if prepare.is_panel(options.judge.name):
        raise OptionError(
            "--explain is for judges of responses; the outcomes of a panel have its reasons"
        )
    if options.output is not None or options.dry_run:
        raise OptionError("--explain writes nothing: leave out -o and --dry-run")
    if options.source is None:
        raise UserError("judge --explain: give a file of debates with responses")
    judge = prepare.select("judge", options.judge, options.plugin_options.of("judge"))
    debate, turn, as_json = options.debate, options.turn, options.as_json
    return explain_verdicts(
        options.source, judge, options, debate=debate, turn=turn, as_json=as_json
    )


def _judge(options: JudgeOptions) -> int:
    from touche_rad import files
    from touche_rad.runs import judging, panels
    from touche_rad.runs.runner import identity_of

    panel = prepare.is_panel(options.judge.name)
    if options.swap and not panel:
        raise UserError(f"--swap is for panels, and {options.judge.name} judges responses")
    kinds = {files.Kind.CONTESTS, *files.DEBATES} if panel else files.DEBATES
    written = files.Kind.OUTCOMES if panel else files.Kind.EVALUATIONS
    own = options.plugin_options.of("judge")
    judge = prepare.select("panel" if panel else "judge", options.judge, own)
    places = run_files.find_places("judge", options, options.source, kinds, written)

    def work(services: Services) -> Work[Any]:
        plugin, deadline = judge.make(services), options.deadline
        identity = identity_of(services, judge.plugin, deadline=deadline, judge=judge.tag)
        if panel:
            return panels.work(
                places.source, plugin, swap=options.swap, identity=identity, deadline=deadline
            )
        return judging.work(places.source, plugin, identity=identity, deadline=deadline)

    try:
        return run_files.run_on_files("judging", options, places, [judge.plugin], work)
    except InputError:
        if panel or files.detect_kind(places.source) is not files.Kind.CONTESTS:
            raise
        fix = "whole debates need a panel, such as -j grice (see: touche-rad list panels)"
        message = f"expected debates with responses, got contests: {fix}"
        raise InputError(places.source, message) from None


@dataclass(frozen=True, kw_only=True)
class AuditOptions(opt.ModelOptions):
    """The options of `audit`."""

    runs: tuple[Path, ...] = opt.argument("RUN...")
    output: Path | None = opt.output("Folder for audit.json.", "DIR", checked=True)
    replace: bool = opt.REPLACE
    judges: tuple[opt.PluginSpec, ...] = opt.plugin(
        "Judge to audit; repeatable.", "-j --judge", default=(opt.DEFAULT,)
    )
    plugin_options: opt.PluginOptions = opt.plugin_options("judge")
    turns: int | None = opt.option("Audit a random sample of N turns. [default: all]")
    as_json: bool = opt.JSON
    index: str | None = opt.INDEX
    seed: int = opt.SEED
    skip_bad: bool = opt.SKIP_BAD
    quiet: bool = opt.QUIET


@opt.command(
    "audit",
    "audit simulations.jsonl",
    "audit run.jsonl -j grounded -j length --turns 50",
    "audit run.jsonl -o audit",
)
def audit_command(options: AuditOptions) -> int:
    """Judge the responses of each RUN, and judge them again after changes.

    The changes: none (the same again), another order, padding, no words, another topic, no sources,
    and an instruction to say yes. The command prints flip rates and the agreement of the judges.
    """
    from touche_rad import files
    from touche_rad.score.audit import audit

    quiet, out = options.quiet, options.output and options.output / "audit.json"
    bad = files.BadLines(skip=options.skip_bad)
    own = options.plugin_options.of("judge")
    judges = {spec.name: prepare.select("judge", spec, own) for spec in options.judges}
    plugins = [one.plugin for one in judges.values()]
    services = prepare.open_services(options, *plugins, out=out)
    model = services.model
    if model is not None:
        model.begin_trace()

    with progress("auditing", quiet=quiet, describe=partial(prepare.calls_so_far, model)) as report:
        work = audit(
            options.runs,
            {name: one.make(services) for name, one in judges.items()},
            most=options.turns,
            seed=options.seed,
            bad=bad,
            progress=report,
            repeat=options.cache is None,
        )
        result = prepare.run_and_close(work, model)
    if bad.count:
        say(f"warning: invalid lines of runs skipped: {bad.count}; the first: {bad.first}")
    prepare.warn_of_copies(*options.runs)
    as_json = result.model_dump_json(indent=2)
    if out is not None:
        with files.atomic_write(out) as stream:
            stream.write(as_json + "\n")
        say(f"written: {out}", quiet=quiet)
    click.echo(as_json if options.as_json else "\n".join(result.lines(terminal_width())))
    name = next(iter(judges))
    next_step(["judge", options.runs[0], "-j", name, "-o", "evaluations.jsonl"], quiet=quiet)
    for error in result.refused.values():
        say(f"error: not audited: {error}")
    return 1 if result.refused else 0


LARGE_REPORT: Final = 8_000_000
"""Bytes of input from which a report is a folder, if no output is given."""


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of `report`."""

    runs: tuple[Path, ...] = opt.argument("RUN...")
    output: Path | None = opt.output(
        "HTML file, or a folder for large runs. [default: report.html or report/]"
    )
    replace: bool = opt.REPLACE
    labels: Path | None = opt.option(
        "Labels by hand, qrels for TREC runs, or contests or debates for outcomes."
    )
    title: str | None = opt.option("Title of the page.")
    queries: Path | None = opt.option("Queries of TREC runs, for their texts.", metavar="FILE")
    index: str | None = opt.option("Index with the arguments of TREC runs.", "-i --index")
    seed: int = opt.SEED
    skip_bad: bool = opt.SKIP_BAD
    quiet: bool = opt.QUIET


@opt.command(
    "report",
    "report evaluations.jsonl -o report.html",
    "report rj.jsonl --labels touche_rad/demo/labels.jsonl -o judge.html",
    "report tournament -o tournament.html",
    "report attack.run --labels qrels.txt --queries claims.tsv -i demo -o attack.html",
    "report runs/*.jsonl --labels labels.jsonl -o report/",
)
def report_command(options: ReportOptions) -> int:
    """Write a report on any number of RUNs: leaderboard, plots, and all debates to filter.

    A RUN is an official file (evaluations, simulations, responses, outcomes or a TREC run), or a
    tournament's folder or ratings.json; of a folder of RUNs, the page begins with a table of them,
    to sort by date or score. The page needs no server and no network. One HTML file
    holds small runs; a folder, with index.html and its data beside it, opens fast at any size.
    """
    from touche_rad import files

    runs, quiet = options.runs, options.quiet
    size = sum(path.stat().st_size for path in runs if path.is_file())
    out = options.output or Path("report" if size > LARGE_REPORT else "report.html")
    files.check_output(out, replace=options.replace)  # before the slow imports
    from touche_rad.cli.retrieve import read_queries
    from touche_rad.report import write_report

    bad = files.BadLines(skip=options.skip_bad)
    summary = write_report(
        runs,
        out,
        bad=bad,
        labels=options.labels,
        title=options.title,
        seed=options.seed,
        queries=dict(read_queries(options.queries)) if options.queries else None,
        index=options.index,
    )
    for warning in summary.warnings:
        say(f"warning: {warning}")
    for error in summary.refused.values():
        say(f"error: {error}")
    say(f"written: {summary.page}", quiet=quiet)
    next_step(open_page(summary.page), quiet=quiet)
    return 1 if summary.refused else 0
