"""A tournament: its debaters, panel, debates and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from touche_rad import files
from touche_rad.cli import old_options as opt
from touche_rad.cli import prepare, run_files
from touche_rad.cli.console import progress, say
from touche_rad.cli.prepare import Selected
from touche_rad.errors import OptionError
from touche_rad.files.outputs import status_beside
from touche_rad.runs.fallbacks import ERRORS
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
    claims: Path,
    given: Mapping[str, Any],
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

    stage = Stage(entrants, given["rounds"], services.index, budgets.costs)
    limits = {"max_calls": given["max_calls"], "max_tokens": given["max_tokens"]}

    async def play(game: Game) -> Done:
        """Play a debate, or return the recorded one with the same settings."""
        key = {
            "id": game.id,
            "claim": game.claim.claim,
            "description": game.claim.description,
            "debaters": [[name, settings_of[name]] for name in (game.pro, game.con)],
            "rounds": given["rounds"],
            **limits,
        }
        return await folder.recorded(key, stage.play, game)

    work = two_sides.work(
        claims,
        stage,
        identity={**identity, **limits},
        verb="tournament",
        play=play,
    )
    is_done = folder.is_done(work, folder.contests, replace=given["replace"])
    if given["restart"]:
        folder.restart()
    elif is_done:
        return 0
    demo, warnings = prepare.check_demo(opt.common(given), services.index)
    made = RunOptions(
        bad=files.BadLines(skip=given["skip_bad"]),
        model=services.model,
        warnings=warnings,
        demo=demo,
    )
    return _run(given, folder, work, folder.contests, made, "debating")


def _run(
    given: Mapping[str, Any],
    folder: Folder,
    work: Work[Any],
    out: Path,
    options: RunOptions,
    what: str,
) -> int:
    """Run one part of a tournament; return the exit code."""
    from touche_rad.runs.runner import run

    folder.begin(out)
    describe = prepare.count_calls(options.model)
    with progress(what, quiet=given["quiet"], describe=describe) as report:
        settings = replace(
            options,
            workers=prepare.parallel(opt.common(given), model=options.model is not None),
            progress=report,
            replace=given["replace"] or bool(folder.settings_of(out)),
            status_path=status_beside(out),
            strict=given["strict"],
            errors=out.with_name(f"{out.name}{ERRORS}"),
        )
        status = run(work, out, settings)
    for line in status.warnings:
        say(f"warning: {line}")
    return run_files.end_of_run(status, out)


class Judging:
    """The panel of a tournament. It is made before the debates, so that errors come early."""

    def __init__(self, given: Mapping[str, Any], folder: Folder) -> None:
        self.given, self.folder = given, folder
        spec: opt.PluginSpec = given["judge"]
        if not prepare.is_panel(spec.name):
            prepare.select("judge", spec)
            spec = opt.PluginSpec(JUDGE_PANEL, {"judge": str(spec)})
        panel = prepare.select("panel", spec, given["options"].get("judge"))
        unlimited = dict.fromkeys(("max_calls", "max_tokens", "deadline"))
        settings = {**given, **unlimited, "model": given["judge_model"] or given["model"]}
        services = prepare.open_services(opt.common(settings), panel.plugin, out=folder.outcomes)
        self.model = services.model
        self.panel = panel.make(services)
        self.identity = prepare.identify(settings, services, panel.plugin, judge=panel.tag)
        used = self.model is not None and model_user(panel).uses_model
        self.model_name = self.model.name if self.model is not None and used else None

    def run(self) -> int:
        """Judge the debates that no earlier call judged; return the exit code."""
        from touche_rad.runs import panels

        folder = self.folder
        work = panels.work(
            folder.contests, self.panel, identity=self.identity, recorded=folder.recorded
        )
        if folder.is_done(work, folder.outcomes, replace=self.given["replace"]):
            return 0
        made = RunOptions(model=self.model)
        return _run(self.given, folder, work, folder.outcomes, made, "judging")


def model_user(panel: Selected) -> Plugin:
    """Return the plugin that calls the model: the panel, or the judge by which it decides."""
    from touche_rad.plugins import find, parse_plugin

    if panel.name != JUDGE_PANEL:
        return panel.plugin
    judge: str = getattr(panel.plugin.parse(panel.options), "judge")  # noqa: B009
    return find("judge", parse_plugin(judge)[0])
