"""`touche-rad simulate`: debates with a simulated user or between two debaters."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from touche_rad.cli import options as shared
from touche_rad.cli import runs
from touche_rad.cli import runs as entrants
from touche_rad.cli.console import progress
from touche_rad.errors import OptionError
from touche_rad.tira import places as tira

ROUNDS: Final = 3


def play(claims: Path | None, chosen: shared.Chosen, given: dict[str, Any]) -> int:
    """Play both sides of each claim, and write contests."""
    from touche_rad import files
    from touche_rad.contests.two_sides import Stage, play_both_sides
    from touche_rad.plugins.registry import parse_plugin
    from touche_rad.runs.runner import run

    name, options = parse_plugin(given["debater"])
    options |= chosen.of("debater")
    other = parse_plugin(given["against"]) if given["against"] else (name, options)
    words = given["max_words"] if given["words"] is None else given["words"]
    kinds = {files.Kind.CLAIMS, *files.DEBATES}
    places = tira.places("simulate", claims, chosen.path, kinds, "contests.jsonl")
    field = entrants.field([(name, options), other], given, chosen, places.out, words=words)
    players = field.entrants
    if players[0].name == players[1].name:
        players = players[:1]
    rounds = given["rounds"] or ROUNDS
    stage = Stage(rounds, field.services.index)
    model = field.services.model
    method = {"name": players[0].name, "kind": "debater", "against": players[-1].name,
              "run": {**field.identity, "rounds": rounds}}  # fmt: skip
    with (
        runs.tracked("simulate", places, given, method),
        progress("debating", quiet=given["quiet"], besides=shared.counted(model)) as report,
    ):
        status = run(
            lambda: play_both_sides(
                places.source, places.out, players, stage, identity=field.identity,
                options=runs.run_options(given, places, model, report),
            ),
            places.out,
        )  # fmt: skip
    return runs.close(status, places, quiet=given["quiet"])


def refuse_user(ctx: click.Context) -> None:
    """Refuse what says nothing with `--both-sides`, where there is no user."""
    for key, instead in (("turns", "; say --rounds"), ("user", "; say --against")):
        if ctx.get_parameter_source(key) == ParameterSource.COMMANDLINE:
            raise OptionError(f"--{key} is for debates with a user{instead}")


def refuse_alone(given: dict[str, Any]) -> None:
    """Refuse what says nothing without `--both-sides`."""
    for key in ("against", "rounds", "words"):
        if given[key] is not None:
            raise OptionError(f"--{key} is for --both-sides")


@click.command("simulate", cls=shared.Verb)
@click.argument("claims", required=False, type=click.Path(path_type=Path), metavar="[CLAIMS]")
@shared.output("The simulations to write.")
@shared.debater
@shared.index
@shared.spare_index
@shared.options
@click.option(
    "--user",
    default="rules",
    show_default=True,
    metavar="rules|model[:PERSONA]|URL",
    help="Who plays the user: rules, the model of -m as a persona (ours by name, or a "
    "file), or a user-simulation endpoint.",
)
@click.option("--turns", type=click.IntRange(1), default=5, show_default=True,
              envvar="TOUCHE_RAD_TURNS",
              help="User turns a debate; under TIRA, the configuration's maxTurns.")  # fmt: skip
@click.option("--both-sides", is_flag=True,
              help="Let two debaters play both sides of each claim; writes contests.")  # fmt: skip
@click.option("--against", metavar="NAME[(KEY=VALUE,...)]",
              help="With --both-sides: the other debater. [default: the same one]")  # fmt: skip
@click.option("--rounds", type=click.IntRange(1), metavar="N",
              help="With --both-sides: speeches of each side. [default: 3]")  # fmt: skip
@click.option("--words", type=click.IntRange(0), metavar="N",
              help="With --both-sides: the most words of a speech; 0 cuts none. "
              "[default: --max-words]")  # fmt: skip
@shared.max_words
@shared.of_a_run
@click.pass_context
def command(ctx: click.Context, /, claims: Path | None, **given: Any) -> int:
    """Play each claim of CLAIMS against the debater, with a simulated user.

    CLAIMS is a TSV with the columns TOPIC_DESCRIPTION and USER, or a file of debates, whose claims
    are taken. The user by rules insists, asks, and counters with arguments of its own side from
    the index; it stands in where another user fails. -O user.KEY=VALUE is an option of the user's.
    A run that was killed goes on where it was. Under TIRA neither CLAIMS nor -o is needed.

    With --both-sides there is no user: --debater and --against speak in turn, each once for the
    claim and once against it (docs/tournament.md).
    """
    from touche_rad import files
    from touche_rad.runs.runner import run
    from touche_rad.runs.simulate import simulate
    from touche_rad.users import parse_user

    chosen = shared.choose(ctx, "debater", given["output"], given["option"])
    if given["both_sides"]:
        refuse_user(ctx)
        return play(claims, chosen, given)
    refuse_alone(given)
    places = tira.places("simulate", claims, chosen.path, {files.Kind.CLAIMS}, "simulations.jsonl")
    user = parse_user(given["user"], chosen.of("user"))
    debater = runs.Debater.choose(given, chosen, places.out, user=user)
    speaker = user.speaker(debater.services, given["deadline"])
    turns = given["turns"]
    if ctx.get_parameter_source("turns") == ParameterSource.DEFAULT:
        turns = tira.configured_turns() or turns
    identity = {**debater.identity, **user.identity}
    told = shared.counted(debater.services.model)
    method = runs.method("debater", given["debater"], chosen, identity | {"turns": turns})
    with (
        runs.tracked("simulate", places, given, method),
        progress("simulating", quiet=given["quiet"], besides=told) as report,
    ):
        status = run(
            lambda: simulate(
                places.source, places.out, debater.answerer, speaker, identity=identity,
                turns=turns,
                options=runs.run_options(
                    given, places, debater.model, report, elsewhere=user.asks_elsewhere
                ),
            ),
            places.out,
        )  # fmt: skip
    return runs.close(status, places, quiet=given["quiet"])
