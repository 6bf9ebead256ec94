"""The command `tournament`: its debaters, panel, debates and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad import files
from touche_rad.cli import options as opt
from touche_rad.cli import prepare, run_files
from touche_rad.cli.console import Label, next_step, print_parts, progress, say
from touche_rad.cli.program import command
from touche_rad.errors import OptionError, UserError
from touche_rad.files.outputs import STATUS, alone_in
from touche_rad.files.records import JOURNAL, path_beside, write_text
from touche_rad.plugins import (
    Configured,
    LoadedDebater,
    LoadedPanel,
    Services,
    find,
    parse_plugin,
)
from touche_rad.runs import panels
from touche_rad.runs.fallbacks import ERRORS, FailureLog
from touche_rad.runs.jobs import index_in_words
from touche_rad.runs.runner import run
from touche_rad.runs.work import RunOptions

if TYPE_CHECKING:
    from touche_rad.contests.tournament.folder import TournamentFolder
    from touche_rad.contests.two_sides import Game
    from touche_rad.events import Event
    from touche_rad.files.outputs import Setup
    from touche_rad.models import Model
    from touche_rad.runs.work import Done, Work
    from touche_rad.session import Session

JUDGE_PANEL: Final = "grice"
"""The panel that decides debates by a judge of responses."""


@opt.offering(
    "index",
    "fallback_index",
    "trace",
    "deadline",
    "workers",
    "seed",
    "skip_bad",
    "strict",
    "quiet",
    "replace",
    "restart",
    "as_json",
)
class TournamentOptions(opt.ModelOptions):
    """The options of `tournament`."""

    claims: Path = opt.argument("CLAIMS")
    output: Path = opt.output("Folder for contests, outcomes and ratings.", "DIR", required=True)
    debaters: tuple[opt.PluginSpec, ...] = opt.repeatable(
        "A debater that takes part; give two or more.",
        "-d --debater",
    )
    panel: opt.PluginSpec = opt.option(
        "Panel, or a judge of responses, whose mean scores decide.",
        "-j --judge judge",
        default=opt.PluginSpec(JUDGE_PANEL),
    )
    plugin_options: opt.PluginOptions = opt.plugin_options("judge", "debater")
    rounds: int = opt.option("Speeches per side in a debate.", default=3)
    words: int = opt.option("Maximum words per speech; 0 = no limit.", least=0, default=60)
    judge_model: str | None
    prior: float = opt.option("Prior: number of virtual draws per debater.", default=1.0)
    samples: int = opt.option(
        "Bootstrap samples of the claims for confidence intervals.", least=0, default=1000
    )


def _run(
    options: TournamentOptions,
    folder: TournamentFolder,
    work: Work[Any],
    out: Path,
    title: str,
    *,
    model: Model | None,
    warnings: tuple[Event, ...] = (),
    setup: Setup | None = None,
) -> int:
    """Run one part of a tournament, unless it is done; return the exit code."""
    if folder.is_done(work, out, replace=options.replace):
        return 0
    # Also the output of a run that was killed before it wrote its status may be replaced.
    is_ours = bool(folder.settings_of(out)) or path_beside(out, JOURNAL).exists()
    with progress(title, describe=partial(prepare.calls_so_far, model)) as report:
        settings = RunOptions(
            workers=prepare.parallel(options, model=model is not None),
            restart=True,  # what is finished is in the folder's record
            replace=options.replace or is_ours,
            bad=files.BadLines(skip=options.skip_bad),
            progress=report,
            status_path=path_beside(out, STATUS),
            model=model,
            warnings=warnings,
            setup=setup or {},
            strict=options.strict,
            errors=path_beside(out, ERRORS),
            keep_trace=True,
        )
        status = run(work, out, settings)
    for warning in status.warnings:
        say(warning.detail, Label.WARNING)
    return run_files.end_of_run(status, out)


@command(
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
    from touche_rad.contests.tournament.folder import TournamentFolder
    from touche_rad.contests.tournament.result import result_of

    debaters = _select_debaters(options)
    prepare.need_file(options.claims)
    folder = TournamentFolder(options.output)
    job = two_sides.ContestsJob(
        source=options.claims,
        debaters=tuple(debaters),
        rounds=options.rounds,
        words=options.words,
        deadline=options.deadline,
    )
    panel, panel_uses_model = _select_panel(options)
    panel_job = panels.PanelJob(source=folder.contests, judge=panel)

    panel_options = replace(options, deadline=None, model=options.judge_model or options.model)
    with ExitStack() as judging, ExitStack() as debating:
        session = debating.enter_context(
            prepare.open_session(
                options,
                *(debater for debater in debaters if debater.shares_server),
                out=folder.contests,
                needs_index=job.needs_index,
            )
        )
        services = session.services
        services_of, first_model = _open_models(session, debaters, options, folder)
        answerers = job.answerers(lambda debater: services_of[debater.tag])
        names = list(answerers)
        # The panel is made before the debates, so that its errors come early.
        panel_session = judging.enter_context(
            prepare.open_session(panel_options, panel, out=folder.outcomes)
        )
        judge_model = panel_session.model
        loaded_panel = panel.make(panel_session.services)
        panel_identity = panel_job.identity(panel_session.services)
        identities = {
            debater.tag: replace(job, debaters=(debater,)).identity(services_of[debater.tag])
            for debater in debaters
        }
        stage = two_sides.Stage(answerers, options.rounds, services.index)

        async def play(game: Game, failures: FailureLog) -> Done:
            """Play a debate, or return the recorded one with the same settings."""
            key = {
                "id": game.id,
                "claim": game.claim.claim,
                "description": game.claim.description,
                "debaters": [[name, identities[name]] for name in (game.pro, game.con)],
                "rounds": options.rounds,
            }
            return await recorded(key, partial(stage.play, failures=failures), game)

        with alone_in(folder.path):
            debates = two_sides.work(
                options.claims,
                stage,
                identity=job.identity(services),
                verb="tournament",
                play=play,
            )
            if options.restart:
                folder.is_done(debates, folder.contests, replace=options.replace)  # or is refused
                folder.restart()
            recorded = judging.enter_context(closing(panels.Recorded(folder.games)))
            demo, warnings = prepare.check_demo(options, services.index)
            code = _run(
                options,
                folder,
                debates,
                folder.contests,
                "debating",
                model=first_model,
                warnings=warnings,
                setup={"demo": demo},
            )
            debating.close()  # their servers end before that of the panel begins
            verdicts = panels.work(
                folder.contests, loaded_panel, identity=panel_identity, recorded=recorded
            )
            code = max(
                code,
                _run(options, folder, verdicts, folder.outcomes, "judging", model=judge_model),
            )
            result = result_of(
                folder.results(names),
                names,
                {
                    "judge": panel.tag,
                    "judge_index": index_in_words(panel_identity),
                    "model": session.model.name if session.model else None,
                    "judge_model": judge_model.name if judge_model and panel_uses_model else None,
                    "rounds": options.rounds,
                    "words": options.words,
                },
                prior=options.prior,
                samples=options.samples,
                seed=options.seed,
            )
            write_text(folder.ratings, result.model_dump_json(indent=2) + "\n")
    if options.as_json:
        click.echo(result.model_dump_json())
    else:
        print_parts(result.parts())
    say(folder.ratings, Label.WRITTEN)
    next_step(["report", folder.path, "-o", path_beside(folder.path, ".html")])
    return code


def _select_debaters(options: TournamentOptions) -> list[Configured[LoadedDebater]]:
    if options.plugin_options["debater"]:
        raise OptionError("give the options of a debater as -d 'NAME(KEY=VALUE)'")
    if len(options.debaters) < 2:
        raise UserError("tournament: give two debaters or more: -d A -d B")
    debaters = [prepare.find_debater(spec) for spec in options.debaters]
    for tag, following in pairwise(sorted(debater.tag for debater in debaters)):
        if tag == following:
            raise UserError(f"tournament: {tag} is named twice")
    return debaters


def _select_panel(options: TournamentOptions) -> tuple[Configured[LoadedPanel], bool]:
    """Return the panel, and whether it, or the judge by which it decides, calls the model."""
    spec = options.panel
    if not prepare.is_panel(spec.name):
        spec.configure("judge")
        spec = opt.PluginSpec(JUDGE_PANEL, {"judge": str(spec)})
    spec = spec.with_options(options.plugin_options["judge"])
    panel = spec.configure("panel")
    if panel.plugin.name != JUDGE_PANEL:
        return panel, panel.plugin.uses_model
    judge = dict(panel.options)["judge"]
    return panel, find("judge", parse_plugin(judge)[0]).uses_model


def _open_models(
    session: Session,
    debaters: Sequence[Configured],
    options: TournamentOptions,
    folder: TournamentFolder,
) -> tuple[dict[str, Services], Model | None]:
    """Return what each debater gets, with its model, and the first model.

    A debater may have its own model; all calls count for the first one.
    """
    services_of = {}
    first = session.model
    for debater in debaters:
        model = session.model
        if debater.model:
            if first and debater.shares_server:
                model = first.copy(name=debater.model[1:])
            else:
                model = prepare.open_model(
                    session, replace(options, model=debater.model), folder.contests
                )
            first = first or model
            model = model.copy(usage=first.usage)
        services_of[debater.tag] = replace(session.services, model=model)
    return services_of, first
