"""The commands `respond` and `simulate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from touche_rad.cli import complete, prepare, run_files
from touche_rad.cli import options as opt
from touche_rad.cli.console import fitted, say
from touche_rad.errors import OptionError, UserError
from touche_rad.text import printable

if TYPE_CHECKING:
    from touche_rad.debate import Debate
    from touche_rad.models import Model
    from touche_rad.plugins import Plugin, Services
    from touche_rad.runs.answering import Answer, Answerer
    from touche_rad.runs.work import Work

ROUNDS: Final = 3


@opt.command(
    "respond",
    'respond --say "Zoos should be closed."',
    'respond --say "Zoos should be closed." --explain',
    "respond touche_rad/demo/debates.jsonl -i demo -o run.jsonl",
    'respond --say "Zoos are cruel." -i demo -d sinai -m vllm:MODEL',
)
@opt.path_argument("source", "[INPUT]", required=False)
@opt.options(
    opt.output("Run to write."),
    opt.DEBATER,
    opt.plugin_options("debater"),
    click.option("--say", "utterance", metavar="TEXT", help="Answer this message instead."),
    opt.flag("--explain", "Print the best candidates with their features, and the reason."),
    opt.flag("--all", "With --explain: print all candidates with all features.", "every"),
    opt.flag("--last-only", "Answer only the last turn of each debate."),
    click.option(
        "--as",
        "shape",
        type=click.Choice(["responses", "simulations"]),
        default="responses",
        show_default=True,
        help="Output format: one response per line, or whole debates.",
    ),
    opt.JSON,
    opt.MAX_WORDS,
    opt.INDEX,
    opt.SPARE_INDEX,
    *opt.MODEL_OPTIONS,
    opt.WITH_TRACE,
    *opt.RUN,
    *opt.DRY_RUN,
)
def respond_command(source: Path | None, utterance: str | None, **given: Any) -> int:
    """Answer each user turn of the debates in INPUT.

    INPUT is a file of simulations, annotated debates or chat messages. A response depends only on
    the turns before it. Under TIRA (inputDataset and outputDir are set), INPUT and -o are optional.
    """
    if given["every"] and not given["explain"]:
        raise OptionError("--all is for --explain")
    if utterance is not None or given["explain"]:
        if given["dry_run"]:
            raise OptionError("--dry-run is for runs over a file, without --say and --explain")
        return _respond_on_screen(source, utterance, given)
    from touche_rad import files
    from touche_rad.cli import dry_run
    from touche_rad.runs import respond

    debater = prepare.select_main("debater", given)
    name = f"{given['shape']}.jsonl"
    output = run_files.output_of(given)
    places = run_files.find_places("respond", source, output, files.DEBATES, name)

    def make(services: Services) -> Work[Any]:
        return respond.work(
            places.source,
            prepare.make_answerer(given, debater, services),
            identity=_identity(given, debater, services, debater.plugin),
            last_only=given["last_only"],
            shape=given["shape"],
        )

    if given["dry_run"]:
        return dry_run.run("respond", given, [debater.plugin], make, index=True)
    services = prepare.open_services(given, debater.plugin, out=places.out, index=True)
    work = make(services)
    return run_files.run_on_files(
        "responding",
        given,
        places,
        debater.method(work.identity),
        work,
        services,
        index=services.index,
        make=make,
    )


def _identity(
    given: dict[str, Any], debater: prepare.Selected, services: Services, *plugins: Plugin
) -> dict[str, Any]:
    """Return what determines the answers of a debater."""
    return prepare.identify(
        given, services, *plugins, debater=debater.tag, max_words=given["max_words"]
    )


def _respond_on_screen(source: Path | None, utterance: str | None, given: dict[str, Any]) -> int:
    """Print one answer, or the candidates of every turn."""
    from touche_rad.debate import Debate

    debater = prepare.select_main("debater", given)
    services = prepare.open_services(
        given, debater.plugin, index=True, or_demo=utterance is not None
    )
    answerer = prepare.make_answerer(given, debater, services)
    if given["explain"]:
        return _explain(source, utterance, answerer, services.model, given)
    import anyio

    from touche_rad.cli.console import say
    from touche_rad.files.outputs import WARNING
    from touche_rad.runs.fallbacks import FailureLog

    async def answer(debate: Debate) -> Answer:
        try:
            return await answerer.answer(debate)
        finally:
            if services.model is not None:
                await services.model.close()

    answerer.failures = FailureLog(shows=False)  # the notices say it
    answered = anyio.run(answer, Debate().with_utterance(utterance or ""))
    for notice in answered.notices:
        say(f"{WARNING}{notice}")
    if answered.fallback is not None and given["strict"]:
        return 1
    _print_answer(answered, as_json=given["as_json"])
    return 1 if answered.fallback is not None else 0


def _explain(
    source: Path | None,
    utterance: str | None,
    answerer: Answerer,
    model: Model | None,
    given: dict[str, Any],
) -> int:
    """Print why an answer, or each answer to a turn of a file, cites what it cites."""
    import anyio

    from touche_rad.cli.explain import print_explanations
    from touche_rad.debate import Debate

    debates = [Debate().with_utterance(utterance)] if utterance is not None else _each_turn(source)

    async def explain() -> bool:
        try:
            return await print_explanations(
                answerer,
                debates,
                of_file=utterance is None,
                as_json=given["as_json"],
                every=given["every"],
                strict=given["strict"],
            )
        finally:
            if model is not None:
                await model.close()

    return 0 if anyio.run(explain) else 1


def _print_answer(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        record = answer.response.model_dump(mode="json")
        click.echo(json.dumps(record | record.pop("extra"), ensure_ascii=False))
        return
    sources = (f"  [{argument.id}] {argument.text}" for argument in answer.response.arguments)
    for indent, line in ((0, answer.response.content), *((4, one) for one in sources)):
        text = printable(line)
        click.echo(fitted(text, sys.stdout, indent) if sys.stdout.isatty() else text)
    for note in answer.notes if answer.fallback is None else ():
        say(f"note: {note}")


def _each_turn(source: Path | None) -> Iterator[Debate]:
    from touche_rad import files

    if source is None:
        raise UserError("respond --explain: give an input file, or --say TEXT")
    for debate in files.read_debates(source):
        for turn in range(len(debate.turns)):
            yield debate.before_response(turn)


@opt.command(
    "simulate",
    "simulate touche_rad/demo/claims.tsv -i demo -o simulations.jsonl",
    "simulate touche_rad/demo/claims.tsv -i demo -d verbatim --turns 3 -o verbatim.jsonl",
    "simulate touche_rad/demo/claims.tsv -i demo --both-sides --against verbatim -o contests.jsonl",
)
@opt.path_argument("claims", "[CLAIMS]", required=False)
@opt.options(
    opt.output("Simulations to write."),
    opt.DEBATER,
    opt.plugin_options("debater", "user"),
    click.option(
        "--user",
        default="rules",
        show_default=True,
        metavar="NAME|URL",
        shell_complete=complete.users,
        help="Simulated user: rules, model(persona=NAME|FILE.toml), or the URL of a "
        "user-simulation endpoint.",
    ),
    click.option(
        "--turns",
        type=click.IntRange(1),
        metavar="N",
        default=5,
        show_default=True,
        envvar="TOUCHE_RAD_TURNS",
        help="User turns per debate; under TIRA, maxTurns of the configuration.",
    ),
    opt.flag("--both-sides", "Let two debaters play both sides of each claim; writes contests."),
    opt.plugin("--against", help="With --both-sides: the other debater. [default: the same one]"),
    opt.integer("--rounds", "With --both-sides: speeches per side. [default: 3]"),
    opt.integer(
        "--words",
        "With --both-sides: maximum words per speech; 0 = no limit. [default: --max-words]",
        least=0,
    ),
    opt.MAX_WORDS,
    opt.INDEX,
    opt.SPARE_INDEX,
    *opt.MODEL_OPTIONS,
    opt.WITH_TRACE,
    *opt.RUN,
    *opt.DRY_RUN,
)
@click.pass_context
def simulate_command(ctx: click.Context, /, claims: Path | None, **given: Any) -> int:
    """Play a debate about each claim in CLAIMS with a simulated user.

    CLAIMS is a TSV file with the columns TOPIC_DESCRIPTION and USER, or a file of debates, whose
    claims are used. If the simulated user fails, the user "rules" takes its turn. A stopped run is
    resumed by the same command. Under TIRA, CLAIMS and -o are optional.

    With --both-sides there is no user: two debaters speak in turns, once for and once against each
    claim (docs/tournament.md).
    """
    if given["both_sides"]:
        for key, instead in (("turns", "rounds"), ("user", "against")):
            if ctx.get_parameter_source(key) == ParameterSource.COMMANDLINE:
                raise OptionError(f"--{key} is for debates with a user; use --{instead}")
        return _simulate_both_sides(claims, given)
    for key in ("against", "rounds", "words"):
        if given[key] is not None:
            raise OptionError(f"--{key} is for --both-sides")
    from touche_rad.tira.input import configured_turns

    turns = given["turns"]
    if ctx.get_parameter_source("turns") == ParameterSource.DEFAULT:
        turns = configured_turns() or turns
    return _simulate_with_user(claims, turns, given)


def _simulate_with_user(claims: Path | None, turns: int, given: dict[str, Any]) -> int:
    from touche_rad import files
    from touche_rad.cli import dry_run
    from touche_rad.runs import simulate
    from touche_rad.users import EndpointChoice, Speaker, parse_user

    places = run_files.find_places(
        "simulate", claims, run_files.output_of(given), {files.Kind.CLAIMS}, "simulations.jsonl"
    )
    user = parse_user(given["user"], given["options"].get("user", {}))
    debater = prepare.select_main("debater", given)
    plugins = (debater.plugin, user.plugin)

    def make(services: Services, *, sample: bool = False) -> Work[Any]:
        # A user with an endpoint of its own is not called for an estimate.
        external = sample and user.is_external
        return simulate.work(
            places.source,
            prepare.make_answerer(given, debater, services),
            Speaker(user.fallback(services))
            if external
            else user.speaker(services, given["deadline"]),
            identity=_identity(given, debater, services, *plugins) | user.identity,
            turns=turns,
        )

    if given["dry_run"]:
        return dry_run.run("simulate", given, plugins, partial(make, sample=True), index=True)
    if isinstance(user, EndpointChoice):
        from touche_rad.cli.dead_endpoint import check_user

        check_user(user.endpoint(), given, must_answer=not prepare.is_tira(places.out))
    services = prepare.open_services(given, *plugins, out=places.out, index=True)
    work = make(services)
    return run_files.run_on_files(
        "simulating",
        given,
        places,
        debater.method(work.identity),
        work,
        services,
        index=services.index,
        make=make,
    )


def _simulate_both_sides(claims: Path | None, given: dict[str, Any]) -> int:
    from touche_rad import files
    from touche_rad.cli import dry_run
    from touche_rad.cli.tournament_run import make_entrants
    from touche_rad.contests import two_sides

    debater = prepare.select_main("debater", given)
    other = prepare.select("debater", given["against"]) if given["against"] else debater
    words = given["max_words"] if given["words"] is None else given["words"]
    kinds = {files.Kind.CLAIMS, *files.DEBATES}
    output = run_files.output_of(given)
    places = run_files.find_places("simulate", claims, output, kinds, "contests.jsonl")
    several = [debater, other] if other.tag != debater.tag else [debater]
    plugins = [one.plugin for one in several]
    rounds = given["rounds"] or ROUNDS

    def make(services: Services) -> Work[Any]:
        players = make_entrants(several, given, services, max_words=words)
        stage = two_sides.Stage(players, rounds, services.index)
        identity = prepare.identify(given, services, *plugins, words=words)
        return two_sides.work(places.source, stage, identity=identity)

    if given["dry_run"]:
        return dry_run.run("simulate", given, plugins, make, index=True)
    services = prepare.open_services(given, *plugins, out=places.out, index=True)
    work = make(services)
    method = {
        "name": debater.tag,
        "kind": "debater",
        "against": several[-1].tag,
        "run": work.identity,
    }
    return run_files.run_on_files(
        "debating",
        given,
        places,
        method,
        work,
        services,
        index=services.index,
        make=make,
    )
