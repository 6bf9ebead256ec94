"""The command `simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from touche_rad.cli import options as opt
from touche_rad.cli import prepare, run_files
from touche_rad.cli.program import command
from touche_rad.errors import OptionError
from touche_rad.samples import TURNS

ROUNDS: Final = 3


@opt.offering("max_words", "index", "fallback_index", "trace")
class SimulateOptions(opt.ModelOptions, opt.FileOptions):
    """The options of `simulate`."""

    claims: Path | None = opt.argument("[CLAIMS]", required=False)
    output: Path | None = opt.output("Simulations to write.")
    debater: opt.PluginSpec = opt.DEBATER
    plugin_options: opt.PluginOptions = opt.plugin_options("debater", "user")
    user: str = opt.option(
        "Simulated user: rules, model(persona=NAME|FILE.toml), or the URL of a "
        "user-simulation endpoint.",
        metavar="NAME|URL",
        default="rules",
    )
    turns: int | None = opt.option(
        f"User turns per debate. [default: {TURNS}; under TIRA, maxTurns of the configuration]",
        env=True,
    )
    both_sides: bool = opt.flag("Let two debaters play both sides of each claim; writes contests.")
    against: opt.PluginSpec | None = opt.option(
        "With --both-sides: the other debater. [default: the same one]"
    )
    rounds: int | None = opt.option(f"With --both-sides: speeches per side. [default: {ROUNDS}]")
    words: int | None = opt.option(
        "With --both-sides: maximum words per speech; 0 = no limit. [default: --max-words]",
        least=0,
    )
    samples: int = opt.option(
        "With --both-sides: answers per speech, each in a contest of its own.", default=1
    )


@command(
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
        for name, name_here in (("turns", "rounds"), ("user", "against")):
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise OptionError(f"--{name} is for debates with a user; use --{name_here}")
        return _simulate_both_sides(options)
    for flag in ("against", "rounds", "words", "samples"):
        if getattr(options, flag) not in (None, 1):
            raise OptionError(f"--{flag} is for --both-sides")
    from touche_rad import files
    from touche_rad.runs.play import SimulateJob
    from touche_rad.tira.input import configured_turns
    from touche_rad.users import parse_user

    turns = options.turns or configured_turns() or TURNS
    places = run_files.find_places(
        "simulate", options, options.claims, {files.Kind.CLAIMS}, files.Kind.SIMULATIONS
    )
    user = parse_user(options.user, options.plugin_options["user"])
    job = SimulateJob(
        source=places.source,
        debater=options.debater.configure("debater"),
        user=user,
        max_words=options.max_words,
        deadline=options.deadline,
        turns=turns,
    )
    # Before the run, which may take hours.
    if user.endpoint and not options.dry_run:
        prepare.check_user(user.endpoint, options, must_answer=not prepare.tira_takes(places.out))
    return run_files.run_on_files(job, options, places)


def _simulate_both_sides(options: SimulateOptions) -> int:
    from touche_rad import files
    from touche_rad.contests.two_sides import ContestsJob

    debaters = [prepare.find_debater(options.debater)]
    if options.against:
        opponent = prepare.find_debater(options.against)
        if opponent.tag != debaters[0].tag:
            debaters.append(opponent)
    kinds = {files.Kind.CLAIMS, *files.DEBATES}
    places = run_files.find_places("simulate", options, options.claims, kinds, files.Kind.CONTESTS)
    for debater in debaters:
        if not debater.shares_server:
            raise OptionError(
                f"{debater.plugin.name}: here only a model of the server of -m can be named, as "
                "model=#NAME; touche-rad tournament takes models of several servers"
            )
    job = ContestsJob(
        source=places.source,
        debaters=tuple(debaters),
        rounds=options.rounds or ROUNDS,
        words=options.max_words if options.words is None else options.words,
        samples=options.samples,
        deadline=options.deadline,
    )
    return run_files.run_on_files(job, options, places)
