"""A tournament: its debaters, panel, debates and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from touche_rad import files
from touche_rad.cli import options as opt
from touche_rad.cli import prepare, run_files
from touche_rad.cli.console import progress, say
from touche_rad.cli.prepare import Selected
from touche_rad.errors import OptionError
from touche_rad.files.outputs import status_beside
from touche_rad.runs.fallbacks import ERRORS
from touche_rad.runs.runner import identity_of
from touche_rad.runs.work import RunOptions

if TYPE_CHECKING:
    from touche_rad.contests.tournament.budget import Budgets
    from touche_rad.contests.tournament.folder import Folder
    from touche_rad.contests.two_sides import Entrant, Game
    from touche_rad.models import Model
    from touche_rad.plugins import Plugin, Services
    from touche_rad.runs.journal import Done
    from touche_rad.runs.work import Work

JUDGE_PANEL: Final = "grice"
"""The panel that decides debates by a judge of responses."""
_PANEL: Final = opt.PluginSpec(JUDGE_PANEL)


@dataclass(frozen=True, kw_only=True)
class TournamentOptions(opt.ModelOptions):
    """The options of `tournament`."""

    claims: Annotated[Path, opt.argument("CLAIMS")]
    output: Annotated[
        Path | None, opt.output("Folder for contests, outcomes and ratings.", "DIR")
    ] = None
    debaters: Annotated[
        tuple[opt.PluginSpec, ...],
        opt.plugin(
            "A debater that takes part; give two or more.", "-d", "--debater", kinds=("debater",)
        ),
    ] = ()
    judge: Annotated[
        opt.PluginSpec,
        opt.plugin(
            "Panel, or a judge of responses, whose mean scores decide.",
            "-j",
            "--judge",
            kinds=("judge", "panel"),
        ),
    ] = _PANEL
    plugin_options: Annotated[opt.PluginOptions, opt.plugin_options("judge", "debater")] = opt.NONE
    rounds: Annotated[int, opt.option("Speeches per side in a debate.")] = 3
    words: Annotated[int, opt.option("Maximum words per speech; 0 = no limit.", least=0)] = 60
    index: opt.Index = None
    fallback_index: opt.FallbackIndex = None
    judge_model: Annotated[
        str | None, opt.option("Language model of the judge. [default: --model]", metavar="MODEL")
    ] = None
    max_calls: Annotated[
        int | None,
        opt.option("Maximum model calls per debater and debate. [default: no limit]", least=0),
    ] = None
    max_tokens: Annotated[
        int | None, opt.option("Maximum tokens per debater and debate. [default: no limit]")
    ] = None
    trace: opt.Trace = True
    prior: Annotated[float, opt.option("Prior: number of virtual draws per debater.")] = 1.0
    samples: Annotated[
        int, opt.option("Bootstrap samples of the claims for confidence intervals.", least=0)
    ] = 1000
    deadline: opt.Deadline = None
    workers: opt.Workers = None
    seed: opt.Seed = 0
    skip_bad: opt.SkipBad = False
    strict: opt.Strict = False
    replace: opt.Replace = False
    restart: opt.Restart = False
    as_json: opt.Json = False
    quiet: opt.Quiet = False


def make_entrants(
    debaters: Sequence[Selected],
    services: Services,
    *,
    max_words: int,
    deadline: float | None,
    limit: Callable[[Model, str], Model] = lambda model, name: model,
) -> tuple[Entrant, ...]:
    """Make debaters that play against each other.

    Args:
        debaters: The debaters.
        services: The index and the model.
        max_words: Maximum words of a speech; 0 = no limit.
        deadline: Time limit of a speech in seconds.
        limit: Returns the model that a debater uses, such as one with a budget.
    """
    from touche_rad.contests.two_sides import Entrant

    entrants: list[Entrant] = []
    for debater in debaters:
        model = services.model
        own = replace(services, model=limit(model, debater.tag)) if model else services
        options = _with_max_words(debater.plugin, debater.options, max_words)
        answerer = prepare.make_answerer(
            replace(debater, options=options), own, max_words=max_words, deadline=deadline
        )
        entrants.append(Entrant(debater.tag, answerer))
    return tuple(entrants)


def _with_max_words(plugin: Plugin, options: Mapping[str, str], words: int) -> Mapping[str, str]:
    """Set the debater's own `max_words` to the length of a speech, if it has this option."""
    if words and "max_words" in plugin.options.model_fields and "max_words" not in options:
        longer = {**options, "max_words": str(words)}
        with suppress(OptionError):
            plugin.parse(longer)
            return longer
    return options


def play_debates(
    options: TournamentOptions,
    folder: Folder,
    entrants: tuple[Entrant, ...],
    services: Services,
    identity: Mapping[str, Any],
    budgets: Budgets,
    settings_of: Mapping[str, Mapping[str, Any]],
) -> int:
    """Play the debates that no earlier call played; return the exit code.

    `settings_of` has what decides the speeches of each debater.
    """
    from touche_rad.contests import two_sides
    from touche_rad.contests.two_sides import Stage

    stage = Stage(entrants, options.rounds, services.index, budgets.costs)
    limits = {"max_calls": options.max_calls, "max_tokens": options.max_tokens}

    async def play(game: Game) -> Done:
        """Play a debate, or return the recorded one with the same settings."""
        key = {
            "id": game.id,
            "claim": game.claim.claim,
            "description": game.claim.description,
            "debaters": [[name, settings_of[name]] for name in (game.pro, game.con)],
            "rounds": options.rounds,
            **limits,
        }
        return await folder.recorded(key, stage.play, game)

    work = two_sides.work(
        options.claims,
        stage,
        identity={**identity, **limits},
        verb="tournament",
        play=play,
    )
    is_done = folder.is_done(work, folder.contests, replace=options.replace)
    if options.restart:
        folder.restart()
    elif is_done:
        return 0
    demo, warnings = prepare.check_demo(options, services.index)
    made = RunOptions(
        bad=files.BadLines(skip=options.skip_bad),
        model=services.model,
        warnings=warnings,
        demo=demo,
    )
    return _run(options, folder, work, folder.contests, made, "debating")


def _run(
    options: TournamentOptions,
    folder: Folder,
    work: Work[Any],
    out: Path,
    settings: RunOptions,
    what: str,
) -> int:
    """Run one part of a tournament; return the exit code."""
    from touche_rad.runs.runner import run

    folder.begin(out)
    describe = prepare.count_calls(settings.model)
    with progress(what, quiet=options.quiet, describe=describe) as report:
        settings = replace(
            settings,
            workers=prepare.parallel(options, model=settings.model is not None),
            progress=report,
            replace=options.replace or bool(folder.settings_of(out)),
            status_path=status_beside(out),
            strict=options.strict,
            errors=out.with_name(f"{out.name}{ERRORS}"),
        )
        status = run(work, out, settings)
    for line in status.warnings:
        say(f"warning: {line}")
    return run_files.end_of_run(status, out)


class Judging:
    """The panel of a tournament. It is made before the debates, so that errors come early."""

    def __init__(self, options: TournamentOptions, folder: Folder) -> None:
        self.options, self.folder = options, folder
        spec = options.judge
        if not prepare.is_panel(spec.name):
            prepare.select("judge", spec)
            spec = opt.PluginSpec(JUDGE_PANEL, {"judge": str(spec)})
        panel = prepare.select("panel", spec, options.plugin_options.of("judge"))
        unlimited = replace(
            options,
            max_calls=None,
            max_tokens=None,
            deadline=None,
            model=options.judge_model or options.model,
        )
        services = prepare.open_services(unlimited, panel.plugin, out=folder.outcomes)
        self.model = services.model
        self.panel = panel.make(services)
        self.identity = identity_of(services, panel.plugin, deadline=None, judge=panel.tag)
        used = self.model is not None and model_user(panel).uses_model
        self.model_name = self.model.name if self.model is not None and used else None

    def run(self) -> int:
        """Judge the debates that no earlier call judged; return the exit code."""
        from touche_rad.runs import panels

        folder = self.folder
        work = panels.work(
            folder.contests, self.panel, identity=self.identity, recorded=folder.recorded
        )
        if folder.is_done(work, folder.outcomes, replace=self.options.replace):
            return 0
        made = RunOptions(model=self.model)
        return _run(self.options, folder, work, folder.outcomes, made, "judging")


def model_user(panel: Selected) -> Plugin:
    """Return the plugin that calls the model: the panel, or the judge by which it decides."""
    from touche_rad.plugins import find, parse_plugin

    if panel.name != JUDGE_PANEL:
        return panel.plugin
    judge: str = getattr(panel.plugin.parse(panel.options), "judge")  # noqa: B009
    return find("judge", parse_plugin(judge)[0])
