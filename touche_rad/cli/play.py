"""The commands `respond` and `simulate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click
from click.core import ParameterSource

from touche_rad.cli import options as opt
from touche_rad.cli import prepare, run_files
from touche_rad.cli.console import fitted, say
from touche_rad.errors import OptionError, UserError
from touche_rad.text import is_blank, printable

if TYPE_CHECKING:
    from touche_rad.debate import Debate
    from touche_rad.plugins import Plugin, Services
    from touche_rad.runs.answering import Answer
    from touche_rad.runs.work import Work

ROUNDS: Final = 3
TURNS: Final = 5


Shape = Literal["responses", "simulations"]


@dataclass(frozen=True, kw_only=True)
class RespondOptions(opt.ModelOptions, opt.FileOptions):
    """The options of `respond`."""

    source: Path | None = opt.argument("[INPUT]", required=False)
    output: Path | None = opt.output("Run to write.")
    debater: opt.PluginSpec = opt.DEBATER
    plugin_options: opt.PluginOptions = opt.plugin_options("debater")
    utterance: str | None = opt.say("Answer this message instead.")
    explain: bool = opt.flag("Print the best candidates with their features, and the reason.")
    last_only: bool = opt.flag("Answer only the last turn of each debate.")
    shape: Shape = opt.option(
        "Output format: one response per line, or whole debates.", "--as", default="responses"
    )
    as_json: bool = opt.JSON
    max_words: int = opt.MAX_WORDS
    index: str | None = opt.INDEX
    fallback_index: str | None = opt.FALLBACK_INDEX
    trace: bool = opt.TRACE


@opt.command(
    "respond",
    'respond --say "Zoos should be closed."',
    'respond --say "Zoos should be closed." --explain',
    "respond touche_rad/demo/debates.jsonl -i demo -o run.jsonl",
    'respond --say "Zoos are cruel." -i demo -d sinai -m vllm:MODEL',
)
def respond_command(options: RespondOptions) -> int:
    """Answer each user turn of the debates in INPUT.

    INPUT is a file of simulations, annotated debates or chat messages. A response depends only on
    the turns before it. Under TIRA (inputDataset and outputDir are set), INPUT and -o are optional.
    """
    if options.utterance is not None and is_blank(options.utterance):
        raise UserError("respond --say: expected a text, got only blanks")
    if options.utterance is not None or options.explain:
        if options.dry_run:
            raise OptionError("--dry-run is for runs over a file, without --say and --explain")
        return _respond_on_screen(options)
    from touche_rad import files
    from touche_rad.runs.play import respond

    debater = prepare.select("debater", options.debater, options.plugin_options.of("debater"))
    written = files.Kind(options.shape)
    places = run_files.find_places("respond", options, options.source, files.DEBATES, written)

    def work(services: Services) -> Work[Any]:
        return respond(
            places.source,
            prepare.make_answerer(debater, services, options),
            identity=_identity(options, debater, services, debater.plugin),
            last_only=options.last_only,
            shape=options.shape,
        )

    plugins = [debater.plugin]
    return run_files.run_on_files(
        "responding",
        options,
        places,
        plugins,
        work,
        index=debater.opens_index(options),
    )


def _identity(
    options: RespondOptions | SimulateOptions,
    debater: prepare.Selected,
    services: Services,
    *plugins: Plugin,
) -> dict[str, Any]:
    from touche_rad.runs.runner import identity_of

    deadline, words = options.deadline, options.max_words
    return identity_of(services, *plugins, deadline=deadline, debater=debater.tag, max_words=words)


def _respond_on_screen(options: RespondOptions) -> int:
    """Print one answer, or the candidates of every turn."""
    from touche_rad.cli.explain import print_explanations
    from touche_rad.debate import Debate
    from touche_rad.files.outputs import WARNING
    from touche_rad.runs.fallbacks import FailureLog

    utterance = options.utterance
    debater = prepare.select("debater", options.debater, options.plugin_options.of("debater"))
    services = prepare.open_services(
        options,
        debater.plugin,
        index=debater.opens_index(options),
        or_demo=utterance is not None,
    )
    answerer, model = prepare.make_answerer(debater, services, options), services.model
    debate = Debate().with_utterance(utterance or "")
    if options.explain:
        work = print_explanations(
            answerer,
            _each_turn(options.source) if utterance is None else [debate],
            of_file=utterance is None,
            as_json=options.as_json,
            strict=options.strict,
        )
        return 0 if prepare.run_and_close(work, model) else 1
    answerer.failures = FailureLog(shows=False)  # the notices say it
    result = prepare.run_and_close(answerer.answer(debate), model)
    for notice in result.notices:
        say(f"{WARNING}{notice}")
    if result.fallback is None or not options.strict:
        _print_answer(result, as_json=options.as_json)
        if model is None and debater.plugin.uses_model and sys.stdout.isatty():
            say(f"note: {prepare.SIDE_UNKNOWN}", quiet=options.quiet)
    return 1 if result.fallback is not None else 0


def _print_answer(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        record = answer.response.model_dump(mode="json")
        click.echo(json.dumps(record | record.pop("extra"), ensure_ascii=False))
        return
    sources = (f"  [{argument.id}] {argument.text}" for argument in answer.response.arguments)
    for indent, line in ((0, answer.response.content), *((4, one) for one in sources)):
        text = printable(line)
        click.echo(fitted(text, indent) if sys.stdout.isatty() else text)
    for note in answer.notes if answer.fallback is None else ():
        say(f"note: {note}")


def _each_turn(source: Path | None) -> Iterator[Debate]:
    from touche_rad import files

    if source is None:
        raise UserError("respond --explain: give an input file, or --say TEXT")
    for debate in files.read_debates(source):
        for turn in range(len(debate.turns)):
            yield debate.before_response(turn)


@dataclass(frozen=True, kw_only=True)
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
    against: opt.PluginSpec | None = opt.plugin(
        "With --both-sides: the other debater. [default: the same one]"
    )
    rounds: int | None = opt.option(f"With --both-sides: speeches per side. [default: {ROUNDS}]")
    words: int | None = opt.option(
        "With --both-sides: maximum words per speech; 0 = no limit. [default: --max-words]", least=0
    )
    max_words: int = opt.MAX_WORDS
    index: str | None = opt.INDEX
    fallback_index: str | None = opt.FALLBACK_INDEX
    trace: bool = opt.TRACE


@opt.command(
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
    from touche_rad.runs.play import simulate
    from touche_rad.tira.input import configured_turns
    from touche_rad.users import Speaker, parse_user

    turns = options.turns or configured_turns() or TURNS
    kinds, written = {files.Kind.CLAIMS}, files.Kind.SIMULATIONS
    places = run_files.find_places("simulate", options, options.claims, kinds, written)
    user = parse_user(options.user, options.plugin_options.of("user"))
    debater = prepare.select("debater", options.debater, options.plugin_options.of("debater"))
    plugins = (debater.plugin, user.plugin)

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
            identity=_identity(options, debater, services, *plugins) | user.identity,
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
        index=debater.opens_index(options),
        estimate=partial(work, estimate=True),
    )


def _simulate_both_sides(options: SimulateOptions) -> int:
    from touche_rad import files
    from touche_rad.cli.tournament import make_answerers
    from touche_rad.contests import two_sides
    from touche_rad.runs.runner import identity_of

    debater = prepare.select_with_model(options.debater, options.plugin_options.of("debater"))
    other = prepare.select_with_model(options.against) if options.against else debater
    words = options.max_words if options.words is None else options.words
    deadline = options.deadline
    kinds, written = {files.Kind.CLAIMS, *files.DEBATES}, files.Kind.CONTESTS
    places = run_files.find_places("simulate", options, options.claims, kinds, written)
    several = [debater, other] if other.tag != debater.tag else [debater]
    plugins = [one.plugin for one in several]
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
        identity = identity_of(services, *plugins, deadline=deadline, words=words)
        return two_sides.work(places.source, stage, identity=identity)

    index = any(one.opens_index(options) for one in several)
    return run_files.run_on_files("debating", options, places, plugins, work, index=index)
