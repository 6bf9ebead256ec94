"""The command `judge`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from touche_rad.cli import options as opt
from touche_rad.cli import prepare, run_files
from touche_rad.cli.program import command
from touche_rad.errors import InputError, OptionError, UserError

if TYPE_CHECKING:
    from touche_rad.runs.jobs import JobSpec


@opt.options
class JudgeOptions(opt.ModelOptions, opt.FileOptions):
    """The options of `judge`."""

    source: Path | None = opt.argument(Path, "[DEBATES]", required=False)
    output: Path | None = opt.output("Evaluations to write, or outcomes with a panel.")
    judge: opt.PluginSpec = opt.JUDGE
    plugin_options: opt.PluginOptions = opt.plugin_options("judge")
    swap: bool = opt.flag("With a panel: judge each debate a second time with its sides swapped.")
    explain: bool = opt.flag("Print the verdicts with the features that decide them; no -o.")
    debate: str | None = opt.option(
        str, "With --explain: only this debate, by its id or its number from 1.", metavar="ID"
    )
    turn: int | None = opt.option(int, "With --explain: only this turn, from 0.", least=0)
    as_json: bool = opt.JSON
    index: str | None = opt.INDEX
    trace: bool = opt.TRACE


@command(
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
    from touche_rad import files
    from touche_rad.plugins import find
    from touche_rad.runs.judging import JudgeJob

    source, texts = options.source, options.judge.options
    panel = prepare.is_panel(options.judge.name)
    if options.explain:
        if panel:
            raise OptionError(
                "--explain is for judges of responses; the outcomes of a panel have its reasons"
            )
        if options.output is not None or options.dry_run:
            raise OptionError("--explain writes nothing: leave out -o and --dry-run")
        if source is None:
            raise UserError("judge --explain: give a file of debates with responses")
        from touche_rad.cli.explain import explain_verdicts

        judge = find("judge", options.judge.name).configure(texts)
        debate, turn, as_json = options.debate, options.turn, options.as_json
        return explain_verdicts(source, judge, options, debate=debate, turn=turn, as_json=as_json)
    for flag in ("debate", "turn"):
        if getattr(options, flag) is not None:
            raise OptionError(f"--{flag} is for --explain")
    if options.swap and not panel:
        raise UserError(f"--swap is for panels, and {options.judge.name} judges responses")
    kinds = {files.Kind.CONTESTS, *files.DEBATES} if panel else files.DEBATES
    written = files.Kind.OUTCOMES if panel else files.Kind.EVALUATIONS
    source = run_files.find_source("judge", source, kinds)
    job: JobSpec
    if panel:
        from touche_rad.runs.panels import PanelJob

        configured_panel = find("panel", options.judge.name).configure(texts)
        job = PanelJob(
            source=source, panel=configured_panel, swap=options.swap, deadline=options.deadline
        )
    else:
        judge = find("judge", options.judge.name).configure(texts)
        job = JudgeJob(source=source, judge=judge, deadline=options.deadline)
    places = None
    if options.as_json and not (options.output or options.shard or options.dry_run):
        options = replace(options, quiet=True)
    else:
        places = run_files.find_places("judge", options, source, kinds, written)
    try:
        return run_files.run_on_files(job, options, places)
    except InputError:
        if panel or files.detect_kind(source) is not files.Kind.CONTESTS:
            raise
        fix = "whole debates need a panel, such as -j grice (see: touche-rad list panels)"
        message = f"expected debates with responses, got contests: {fix}"
        raise InputError(source, message) from None
