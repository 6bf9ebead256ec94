"""The command `judge`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from touche_rad.cli import options as opt
from touche_rad.cli import prepare, run_files
from touche_rad.cli.advice import with_repair
from touche_rad.cli.console import Label, next_step, print_json, print_parts, say
from touche_rad.cli.program import command
from touche_rad.errors import InputError, UserError

if TYPE_CHECKING:
    from touche_rad.runs.jobs import JobSpec


@opt.offering("criteria", "index", "trace", "as_json")
class JudgeOptions(opt.ModelOptions, opt.FileOptions):
    """The options of `judge`."""

    sources: tuple[Path, ...] = opt.arguments("[DEBATES]...", required=False)
    output: Path | None = opt.output(
        "Evaluations to write, or outcomes with a panel; a folder for several DEBATES."
    )
    judge: opt.PluginSpec = opt.JUDGE
    plugin_options: opt.PluginOptions = opt.plugin_options("judge")
    swap: bool = opt.flag("With a panel: judge each debate a second time with its sides swapped.")


@command(
    "judge simulations.jsonl -o evaluations.jsonl",
    "judge touche_rad/demo/debates.jsonl touche_rad/demo/adversarial.jsonl -o judged",
    "judge contests.jsonl -j grice -o outcomes.jsonl",
    "judge run.jsonl -j fsl1 -m http://localhost:8000/v1#llama -o fsl1.jsonl",
)
def judge_command(options: JudgeOptions) -> int:
    """Judge each response in DEBATES by --criteria: by default those of the task.

    DEBATES is a file of debates with responses: simulations, annotated debates, or the output of
    touche-rad respond. Several files are judged into the folder -o. At the end come the shares or
    means of the answers, with --json as JSON. Under TIRA, DEBATES and -o are optional.

    A panel (such as -j debatrix) judges each debate as a whole. Its DEBATES may also be contests
    (touche-rad contests), and it writes outcomes. At the end it says who won, as score does; with
    --json, each file has a line of JSON.

    grounded, and the panel grice, look up citations in the index of -i; without it they may give
    other verdicts and name other winners. Compare only runs that are judged with the same -i.
    """
    from touche_rad import files
    from touche_rad.plugins import find
    from touche_rad.runs.judging import JudgeJob
    from touche_rad.session import Session

    name = options.judge.name
    is_panel = prepare.is_panel(name)
    if options.criteria and is_panel:
        raise UserError(f"panel {name} judges by its own criteria: leave out --criteria")
    if options.swap and not is_panel:
        raise UserError(f"--swap is for panels, and {name} judges responses")

    judge = find("panel" if is_panel else "judge", name).configure(options.judge.options)
    make_job: Callable[..., JobSpec]
    if is_panel:
        from touche_rad.runs.panels import PanelJob

        kinds = files.DEBATES | {files.Kind.CONTESTS}
        written = files.Kind.OUTCOMES
        make_job = partial(PanelJob, judge=judge, swap=options.swap)
    else:
        kinds = files.DEBATES
        written = files.Kind.EVALUATIONS
        make_job = partial(JudgeJob, judge=judge)

    options = replace(options, sources=run_files.expand_folders(options.sources))
    is_several = len(options.sources) > 1
    each_options = list(_into_folder(options)) if is_several else [options]
    worst = 0
    sources: dict[Path, Path] = {}
    """The debates of each output."""
    refused: list[str] = []
    print_result = partial(_print_winners if is_panel else _print_shares, options)
    shows_result = options.as_json or not options.quiet
    with Session(options.seed) as session:
        backend = None
        asks_model = prepare.names_model(options) and judge.plugin.uses_model
        if is_several and asks_model and not options.dry_run:
            backend = session.close_later(prepare.make_model(options)).backend
        for of_file in each_options:
            source = next(iter(of_file.sources), None)
            places = run_files.find_places(
                "judge", of_file, source, kinds, written, may_print=options.as_json
            )
            # After the lines, the warnings of the status are printed.
            of_run = of_file if places.out else replace(of_file, quiet=True)
            job = make_job(source=places.source, deadline=options.deadline)
            try:
                code = run_files.run_on_files(
                    job,
                    of_run,
                    places,
                    backend=backend,
                    is_one_of_several=is_several,
                    print_finding=print_result if shows_result and not is_several else None,
                )
            except UserError as error:
                if isinstance(error, InputError) and not is_panel:
                    error = with_repair(error, " (--skip-bad skips invalid lines)")
                if not is_several:
                    raise error from None
                refused.append(f"not judged: {error}")  # it is said at the end
                code = error.exit_code
            else:
                if places.out:
                    sources[places.out] = places.source
            worst = max(worst, code)

    if is_several and sources and options.output and not options.dry_run:
        if shows_result:
            print_result(sources)
        next_step(["report", options.output, "-o", options.output / "report.html"])
    for text in refused:
        say(text, Label.ERROR)
    return worst


def _into_folder(options: JudgeOptions) -> Iterator[JudgeOptions]:
    """Yield the options of each file: its output is in the folder of all."""
    from touche_rad.files.records import refuse_links
    from touche_rad.score.naming import named

    folder = options.output
    if not folder or folder.is_file() or options.shard:
        raise UserError("judge: several DEBATES need a folder, and no --shard: -o FOLDER")
    refuse_links(folder)
    sources = [Path(os.path.abspath(source)) for source in options.sources]
    for name, source in zip(named(sources), options.sources, strict=True):
        place = Path(f"{name}.jsonl".lstrip("/"))  # a name may have folders, which strangers name
        if ".." in place.parts:
            raise UserError(f"{source}: expected another name of its folder than '..'")
        yield replace(options, sources=(source,), output=folder / place)


def _print_winners(options: JudgeOptions, sources: Mapping[Path, Path]) -> None:
    """Print who won by each file of outcomes, as `score` does."""
    from touche_rad.contests.scoring import score_contests

    for outcomes, contests in sources.items():
        try:
            report = score_contests([outcomes], contests, seed=options.seed)
        except UserError as error:
            say(f"the winners are not counted: {error}", Label.WARNING)
            continue
        if options.as_json:
            print_json(report.to_json(), None)
        else:
            print_parts([report.findings()])


def _print_shares(options: JudgeOptions, outputs: Collection[Path]) -> None:
    """Print the shares or means of the answers of the evaluations."""
    from touche_rad.cli.score import warn_of_answers
    from touche_rad.score.naming import named
    from touche_rad.score.shares import score_shares

    if not outputs:
        return
    try:
        report = score_shares([*outputs], seed=options.seed)
    except UserError:
        return  # there is no verdict at all, as a warning says
    warn_of_answers(named([*outputs]), are_ranked=True)
    if options.as_json:
        print_json(report.to_json())
    else:
        # The shares come last, below what the judge printed of each file.
        print_parts([*report.parts()][::-1])
