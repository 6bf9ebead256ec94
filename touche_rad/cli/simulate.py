"""The command `simulate`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from touche_rad.cli import options as opt
from touche_rad.cli import prepare, run_files
from touche_rad.cli.program import command
from touche_rad.errors import OptionError

if TYPE_CHECKING:
    from touche_rad.plugins import Services
    from touche_rad.runs.work import Work

ROUNDS: Final = 3
TURNS: Final = 5


@opt.options
class SimulateOptions(opt.ModelOptions, opt.FileOptions):
    """The options of `simulate`."""

    claims: Path | None = opt.argument(Path, "[CLAIMS]", required=False)
    output: Path | None = opt.output("Simulations to write.")
    debater: opt.PluginSpec = opt.DEBATER
    plugin_options: opt.PluginOptions = opt.plugin_options("debater", "user")
    user: str = opt.option(
        str,
        "Simulated user: rules, model(persona=NAME|FILE.toml), or the URL of a "
        "user-simulation endpoint.",
        metavar="NAME|URL",
        default="rules",
    )
    turns: int | None = opt.option(
        int,
        f"User turns per debate. [default: {TURNS}; under TIRA, maxTurns of the configuration]",
        env=True,
    )
    both_sides: bool = opt.flag("Let two debaters play both sides of each claim; writes contests.")
    against: opt.PluginSpec | None = opt.option(
        opt.PluginSpec, "With --both-sides: the other debater. [default: the same one]"
    )
    rounds: int | None = opt.option(
        int, f"With --both-sides: speeches per side. [default: {ROUNDS}]"
    )
    words: int | None = opt.option(
        int,
        "With --both-sides: maximum words per speech; 0 = no limit. [default: --max-words]",
        least=0,
    )
    max_words: int = opt.MAX_WORDS
    index: str | None = opt.INDEX
    fallback_index: str | None = opt.FALLBACK_INDEX
    trace: bool = opt.TRACE


@command(
    "simulate",
    "simulate touche_rad/demo/claims.tsv -i demo -o simulations.jsonl",
    "simulate touche_rad/demo/claims.tsv -i demo -d verbatim --turns 3 -o verbatim.jsonl",
    "simulate touche_rad/demo/claims.tsv -i demo --both-sides --against verbatim -o contests.jsonl",
)
def simulate_command(options: SimulateOptions) -> int:
    """Play a debate about each claim in CLAIMS with a simulated user.

    CLAIMS is a TSV file with the columns TOPIC_DESCRIPTION and USER, or a file of debates, whose
    claims are used. If the simulated user fails, the user "rules" takes its turn. A stopped run is
    resumed by the same command. Under TIRA, CLAIMS and -o are optional.

    With --both-sides there is no user: two debaters speak in turns, once for and once against each
    claim (docs/panels.md).
    """
    if options.both_sides:
        context = click.get_current_context()
        for key, instead in (("turns", "rounds"), ("user", "against")):
            if context.get_parameter_source(key) is ParameterSource.COMMANDLINE:
                raise OptionError(f"--{key} is for debates with a user; use --{instead}")
        return _simulate_both_sides(options)
    for flag in ("against", "rounds", "words"):
        if getattr(options, flag) is not None:
            raise OptionError(f"--{flag} is for --both-sides")
    return _simulate_with_user(options)


def _simulate_with_user(options: SimulateOptions) -> int:
    from touche_rad import files
    from touche_rad.plugins import find
    from touche_rad.runs.play import simulate
    from touche_rad.runs.runner import identity_of
    from touche_rad.tira.input import configured_turns
    from touche_rad.users import Speaker, parse_user

    turns = options.turns or configured_turns() or TURNS
    kinds, written = {files.Kind.CLAIMS}, files.Kind.SIMULATIONS
    places = run_files.find_places("simulate", options, options.claims, kinds, written)
    user = parse_user(options.user, options.plugin_options.of("user"))
    debater = find("debater", options.debater.name).configure(
        options.debater.with_options(options.plugin_options.of("debater"))
    )
    plugins = (debater, user.configured)

    def work(services: Services, *, estimate: bool = False) -> Work[Any]:
        # A user with an endpoint of its own is not called for an estimate.
        speaker = (
            Speaker(user.fallback(services))
            if estimate and user.endpoint is not None
            else user.speaker(services, options.deadline)
        )
        return simulate(
            places.source,
            prepare.make_answerer(debater, services, options),
            speaker,
            identity=identity_of(
                services,
                *plugins,
                deadline=options.deadline,
                debater=debater.tag,
                max_words=options.max_words,
            )
            | user.identity,
            turns=turns,
        )

    if user.endpoint is not None and not options.dry_run:
        prepare.check_user(user.endpoint, options, must_answer=not prepare.is_tira(places.out))
    return run_files.run_on_files(
        "simulating",
        options,
        places,
        plugins,
        work,
        index=prepare.opens_index(debater, options),
        estimate=partial(work, estimate=True),
    )


def _simulate_both_sides(options: SimulateOptions) -> int:
    from touche_rad import files
    from touche_rad.cli.tournament import make_answerers
    from touche_rad.contests import two_sides
    from touche_rad.runs.runner import identity_of

    debater = prepare.find_debater(options.debater, options.plugin_options.of("debater"))
    other = prepare.find_debater(options.against) if options.against else debater
    words = options.max_words if options.words is None else options.words
    deadline = options.deadline
    kinds, written = {files.Kind.CLAIMS, *files.DEBATES}, files.Kind.CONTESTS
    places = run_files.find_places("simulate", options, options.claims, kinds, written)
    several = [debater, other] if other.tag != debater.tag else [debater]
    for one in several:
        if not one.shares_server:
            raise OptionError(
                f"{one.name}: here only a model of the server of -m can be named, as model=#NAME; "
                "touche-rad tournament takes models of several servers"
            )

    def work(services: Services) -> Work[Any]:
        shared = services.model
        models = {
            one.tag: shared.copy(name=one.model[1:]) for one in several if shared and one.model
        }
        settings = replace(options, max_words=words)
        players = make_answerers(settings, several, services, models=models)
        stage = two_sides.Stage(players, options.rounds or ROUNDS, services.index)
        identity = identity_of(services, *several, deadline=deadline, words=words)
        return two_sides.work(places.source, stage, identity=identity)

    index = any(prepare.opens_index(one, options) for one in several)
    return run_files.run_on_files("debating", options, places, several, work, index=index)
