"""`touche-rad simulate`: claims in, whole debates out, in the official client's shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from touche_rad.cli import asking, runs, shared, tira
from touche_rad.cli.console import progress


@click.command("simulate", cls=shared.Verb)
@click.argument("claims", required=False, type=click.Path(path_type=Path), metavar="[CLAIMS]")
@shared.output("The simulations to write.")
@shared.debater
@shared.index
@shared.spare_index
@asking.options
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
    the index; it stands in where another user fails. -o user.KEY=VALUE is an option of the user's.
    A run that was killed goes on where it was. Under TIRA neither CLAIMS nor -o is needed.

    With --both-sides there is no user: --debater and --against speak in turn, each once for the
    claim and once against it (docs/tournament.md).
    """
    from touche_rad import files
    from touche_rad.cli import both_sides
    from touche_rad.runner import run
    from touche_rad.simulate import simulate
    from touche_rad.users import chosen_user

    chosen = shared.choose(ctx, "debater", given["short"], given["output"], given["option"])
    if given["both_sides"]:
        both_sides.refuse_user(ctx)
        return both_sides.play(claims, chosen, given)
    both_sides.refuse_alone(given)
    places = tira.places("simulate", claims, chosen.path, {files.Kind.CLAIMS}, "simulations.jsonl")
    user = chosen_user(given["user"], chosen.of("user"))
    debater = runs.Debater.choose(given, chosen, places.out, user=user)
    speaker = user.speaker(debater.services, given["deadline"])
    turns = given["turns"]
    if ctx.get_parameter_source("turns") == ParameterSource.DEFAULT:
        turns = tira.configured_turns() or turns
    identity = {**debater.identity, **user.identity}
    told = asking.counted(debater.services.model)
    method = runs.method("debater", given["debater"], chosen, identity | {"turns": turns})
    with (
        runs.tracked("simulate", places, given, method),
        progress("simulating", quiet=given["quiet"], besides=told) as report,
    ):
        status = run(
            lambda: simulate(
                places.source, places.out, debater.answerer, speaker, identity=identity,
                turns=turns,
                manner=runs.manner(
                    given, places, debater.model, report, elsewhere=user.asks_elsewhere
                ),
            ),
            places.out,
        )  # fmt: skip
    return runs.close(status, places, quiet=given["quiet"])
