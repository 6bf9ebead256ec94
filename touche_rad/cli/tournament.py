"""The command `tournament`: its debaters, panel, debates and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad import files
from touche_rad.cli import options as opt
from touche_rad.cli import prepare, run_files
from touche_rad.cli.console import Label, next_step, progress, say, terminal_width
from touche_rad.cli.help_text import Section
from touche_rad.cli.program import command
from touche_rad.errors import OptionError, UserError
from touche_rad.files.outputs import alone_in, read_status, status_beside
from touche_rad.plugins import (
    Configured,
    LoadedDebater,
    LoadedPanel,
    Plugin,
    Services,
    find,
    parse_plugin,
)
from touche_rad.runs import panels
from touche_rad.runs.fallbacks import ERRORS, FailureLog
from touche_rad.runs.runner import run
from touche_rad.runs.work import RunOptions

if TYPE_CHECKING:
    from touche_rad.contests.tournament.folder import Folder
    from touche_rad.contests.two_sides import Game
    from touche_rad.models import Model
    from touche_rad.runs.work import Done, Work
    from touche_rad.session import Session

JUDGE_PANEL: Final = "grice"
"""The panel that decides debates by a judge of responses."""


@opt.options
class TournamentOptions(opt.ModelOptions):
    """The options of `tournament`."""

    claims: Path = opt.argument(Path, "CLAIMS")
    output: Path = opt.output("Folder for contests, outcomes and ratings.", "DIR", required=True)
    debaters: tuple[opt.PluginSpec, ...] = opt.repeatable(
        opt.PluginSpec,
        "A debater that takes part; give two or more.",
        "-d --debater",
    )
    panel: opt.PluginSpec = opt.option(
        opt.PluginSpec,
        "Panel, or a judge of responses, whose mean scores decide.",
        "-j --judge judge",
        default=opt.PluginSpec(JUDGE_PANEL),
    )
    plugin_options: opt.PluginOptions = opt.plugin_options("judge", "debater")
    rounds: int = opt.option(int, "Speeches per side in a debate.", default=3)
    words: int = opt.option(int, "Maximum words per speech; 0 = no limit.", least=0, default=60)
    index: str | None = opt.INDEX
    fallback_index: str | None = opt.FALLBACK_INDEX
    judge_model: str | None = opt.JUDGE_MODEL
    max_calls: int | None = opt.option(
        int,
        "Maximum model calls per debater and debate. [default: no limit]",
        least=0,
        section=Section.MODEL,
        is_rare=True,
    )
    max_tokens: int | None = opt.option(
        int,
        "Maximum tokens per debater and debate. [default: no limit]",
        section=Section.MODEL,
        is_rare=True,
    )
    trace: bool = opt.TRACE
    prior: float = opt.option(float, "Prior: number of virtual draws per debater.", default=1.0)
    samples: int = opt.option(
        int, "Bootstrap samples of the claims for confidence intervals.", least=0, default=1000
    )
    deadline: float | None = opt.DEADLINE
    workers: int | None = opt.WORKERS
    seed: int = opt.SEED
    skip_bad: bool = opt.SKIP_BAD
    strict: bool = opt.STRICT
    replace: bool = opt.REPLACE
    restart: bool = opt.RESTART
    as_json: bool = opt.JSON
    quiet: bool = opt.QUIET


def _run(
    options: TournamentOptions,
    folder: Folder,
    work: Work[Any],
    out: Path,
    settings: RunOptions,
    what: str,
) -> int:
    """Run one part of a tournament, unless it is done; return the exit code."""
    if folder.is_done(work, out, replace=options.replace):
        return 0
    describe = partial(prepare.calls_so_far, settings.model)
    with progress(what, describe=describe) as report:
        settings = replace(
            settings,
            workers=prepare.parallel(options, model=settings.model is not None),
            progress=report,
            replace=options.replace or folder.may_replace(out),
            restart=True,  # what is finished is in the folder's record
            keep_trace=True,
            status_path=status_beside(out),
            bad=files.BadLines(skip=options.skip_bad),
            strict=options.strict,
            errors=out.with_name(f"{out.name}{ERRORS}"),
        )
        status = run(work, out, settings)
    for warning in status.warnings:
        say(warning.detail, Label.WARNING)
    return run_files.end_of_run(status, out)


def _select_panel(options: TournamentOptions) -> Configured[LoadedPanel]:
    spec = options.panel
    if not prepare.is_panel(spec.name):
        find("judge", spec.name).configure(spec.options)
        spec = opt.PluginSpec(JUDGE_PANEL, {"judge": str(spec)})
    spec = spec.with_options(options.plugin_options.get("judge", {}))
    return find("panel", spec.name).configure(spec.options)


def _model_user(panel: Configured[LoadedPanel]) -> Plugin:
    """Return the plugin that calls the model: the panel, or the judge by which it decides."""
    if panel.name != JUDGE_PANEL:
        return panel.plugin
    judge = dict(panel.options)["judge"]
    return find("judge", parse_plugin(judge)[0])


@command(
    "tournament",
    "tournament touche_rad/demo/claims.tsv -i demo -d grounded -d verbatim -o tournament",
    "tournament touche_rad/demo/claims.tsv -i demo -d grounded -d 'grounded(k=3)' --rounds 2 -o k",
    "tournament touche_rad/demo/claims.tsv -i demo -d grounded -d sinai -m URL#MODEL -o models",
)
def tournament_command(options: TournamentOptions) -> int:
    """Let each pair of debaters debate each claim in CLAIMS twice, with sides exchanged.

    A panel judges each debate. The command prints Bradley-Terry ratings with confidence intervals
    and writes them to DIR/ratings.json; touche-rad report DIR draws them. A stopped tournament is
    resumed by the same command. With one more -d or more claims, only the new debates are played.
    """
    from touche_rad.contests import two_sides
    from touche_rad.contests.tournament.budget import Budgets, costs_in
    from touche_rad.contests.tournament.folder import RATINGS, Folder
    from touche_rad.contests.tournament.result import result_of

    if options.plugin_options.get("debater", {}):
        raise OptionError("give the options of a debater as -d 'NAME(KEY=VALUE)'")
    debaters = _select_debaters(options.debaters)
    if not options.claims.is_file():
        raise UserError(f"{options.claims} does not exist")
    folder = Folder(options.output)
    limits = {"max_calls": options.max_calls, "max_tokens": options.max_tokens}
    budgets = Budgets(**limits)
    unlimited = replace(options, max_calls=None, max_tokens=None)
    shared = [one for one in debaters if one.shares_server]
    job = two_sides.ContestsJob(
        source=options.claims,
        debaters=tuple(debaters),
        rounds=options.rounds,
        words=options.words,
        deadline=options.deadline,
    )
    index = bool(options.index) or job.needs_index
    judging_job = panels.PanelJob(source=folder.contests, panel=_select_panel(options))
    panel = judging_job.panel
    judge_options = replace(unlimited, deadline=None, model=options.judge_model or options.model)
    with ExitStack() as judging, ExitStack() as debating:
        session = debating.enter_context(
            prepare.open_session(unlimited, *shared, out=folder.contests, index=index)
        )
        services, model = session.services, session.model
        models = _own_models(session, debaters, unlimited, folder)

        def services_of(debater: Configured) -> Services:
            return replace(services, model=models.get(debater.tag, model))

        def limited_services_of(debater: Configured) -> Services:
            unlimited_services = services_of(debater)
            if unlimited_services.model is None:
                return unlimited_services
            limited = budgets.model_of(unlimited_services.model, debater.tag)
            return replace(unlimited_services, model=limited)

        answerers = job.answerers(limited_services_of)
        # The panel is made before the debates, so that its errors come early.
        of_panel = judging.enter_context(
            prepare.open_session(judge_options, panel, out=folder.outcomes)
        )
        made, judge_model = panel.make(of_panel.services), of_panel.model
        of_judge = judging_job.identity(of_panel.services)
        decides = {
            debater.tag: replace(job, debaters=(debater,)).identity(services_of(debater))
            for debater in debaters
        }
        stage = two_sides.Stage(answerers, options.rounds, services.index, budgets.costs)

        async def play(game: Game, failures: FailureLog) -> Done:
            """Play a debate, or return the recorded one with the same settings."""
            key = {
                "id": game.id,
                "claim": game.claim.claim,
                "description": game.claim.description,
                "debaters": [[name, decides[name]] for name in (game.pro, game.con)],
                "rounds": options.rounds,
                **limits,
            }
            return await recorded(key, partial(stage.play, failures=failures), game)

        with alone_in(folder.path):
            identity = {**job.identity(services), **limits}
            debates = two_sides.work(
                options.claims, stage, identity=identity, verb="tournament", play=play
            )
            if options.restart:
                folder.is_done(debates, folder.contests, replace=options.replace)  # or is refused
                folder.restart()
            recorded = judging.enter_context(closing(panels.Recorded(folder.games)))
            demo, warnings = prepare.check_demo(options, services.index)
            first_model = model or next(iter(models.values()), None)
            playing = RunOptions(model=first_model, warnings=warnings, setup={"demo": demo})
            code = _run(options, folder, debates, folder.contests, playing, "debating")
            debating.close()  # their servers end before that of the panel begins
            verdicts = panels.work(folder.contests, made, identity=of_judge, recorded=recorded)
            settings = RunOptions(model=judge_model)
            code = max(code, _run(options, folder, verdicts, folder.outcomes, settings, "judging"))
            names = list(answerers)
            uses_model = judge_model is not None and _model_user(panel).uses_model
            result = result_of(
                folder.results(names),
                names,
                costs_in(read_status(folder.contests).get("counts") or {}, names),
                {
                    "judge": panel.tag,
                    "model": model.name if model else None,
                    "judge_model": judge_model.name if judge_model and uses_model else None,
                    "rounds": options.rounds,
                    "words": options.words,
                    **limits,
                },
                prior=options.prior,
                samples=options.samples,
                seed=options.seed,
            )
            folder.write(result)
    as_text = "\n".join(result.lines(terminal_width()))
    click.echo(result.model_dump_json() if options.as_json else as_text)
    say(folder.path / RATINGS, Label.WRITTEN)
    page = folder.path.with_name(f"{folder.path.name}.html")
    next_step(["report", folder.path, "-o", page])
    return code


def _select_debaters(specs: Sequence[opt.PluginSpec]) -> list[Configured[LoadedDebater]]:
    if len(specs) < 2:
        raise UserError("tournament: give two debaters or more: -d A -d B")
    debaters = [prepare.find_debater(spec) for spec in specs]
    tags = [one.tag for one in debaters]
    twice = sorted({tag for tag in tags if tags.count(tag) > 1})
    if twice:
        raise UserError(f"tournament: {twice[0]} is named twice")
    return debaters


def _own_models(
    session: Session, debaters: Sequence[Configured], options: TournamentOptions, folder: Folder
) -> dict[str, Model]:
    """Open the models of debaters that have their own; all calls count for the first model."""
    models: dict[str, Model] = {}
    shared = session.model
    for one in debaters:
        if one.model:
            if shared and one.shares_server:
                model = shared.copy(name=one.model[1:])
            else:
                own = replace(options, model=one.model)
                model = prepare.open_model(session, own, folder.contests)
            shared = shared or model
            models[one.tag] = model.copy(usage=shared.usage)
    return models
