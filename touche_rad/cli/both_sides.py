"""`touche-rad simulate --both-sides`: two debaters instead of one and a simulated user."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from touche_rad.cli import asking, entrants, runs, shared, tira
from touche_rad.cli.console import progress
from touche_rad.errors import OptionError

ROUNDS: Final = 3


def play(claims: Path | None, chosen: shared.Chosen, given: dict[str, Any]) -> int:
    """Play both sides of each claim, and write contests."""
    from touche_rad import files
    from touche_rad.both_sides import Stage, play_both_sides
    from touche_rad.runner import run
    from touche_rad.spelling import spelled

    name, options = spelled(given["debater"])
    options |= chosen.of("debater")
    other = spelled(given["against"]) if given["against"] else (name, options)
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
        progress("debating", quiet=given["quiet"], besides=asking.counted(model)) as report,
    ):
        status = run(
            lambda: play_both_sides(
                places.source, places.out, players, stage, identity=field.identity,
                manner=runs.manner(given, places, model, report),
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
