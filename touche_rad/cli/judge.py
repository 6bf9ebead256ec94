"""The command `judge`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
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

    name = options.judge.name
    texts = options.judge.options
    is_panel = prepare.is_panel(name)
    if options.explain:
        if is_panel:
            raise OptionError(
                "--explain is for judges of responses; the outcomes of a panel have its reasons"
            )
        if options.output is not None or options.dry_run:
            raise OptionError("--explain writes nothing: leave out -o and --dry-run")
        if options.source is None:
            raise UserError("judge --explain: give a file of debates with responses")
        from touche_rad.cli.explain import explain_verdicts

        return explain_verdicts(
            options.source,
            find("judge", name).configure(texts),
            options,
            debate=options.debate,
            turn=options.turn,
            as_json=options.as_json,
        )
    for flag in ("debate", "turn"):
        if getattr(options, flag) is not None:
            raise OptionError(f"--{flag} is for --explain")
    if options.swap and not is_panel:
        raise UserError(f"--swap is for panels, and {name} judges responses")

    make_job: Callable[..., JobSpec]
    if is_panel:
        from touche_rad.runs.panels import PanelJob

        kinds = files.DEBATES | {files.Kind.CONTESTS}
        written = files.Kind.OUTCOMES
        panel = find("panel", name).configure(texts)
        make_job = partial(PanelJob, panel=panel, swap=options.swap)
    else:
        kinds = files.DEBATES
        written = files.Kind.EVALUATIONS
        make_job = partial(JudgeJob, judge=find("judge", name).configure(texts))
    places = run_files.find_places(
        "judge", options, options.source, kinds, written, may_print=options.as_json
    )
    if places.out is None:  # after the lines, the warnings of the status are printed
        options = replace(options, quiet=True)
    job = make_job(source=places.source, deadline=options.deadline)
    try:
        return run_files.run_on_files(job, options, places)
    except InputError:
        if is_panel or files.detect_kind(places.source) is not files.Kind.CONTESTS:
            raise
        fix = "whole debates need a panel, such as -j grice (see: touche-rad list panels)"
        message = f"expected debates with responses, got contests: {fix}"
        raise InputError(places.source, message) from None
