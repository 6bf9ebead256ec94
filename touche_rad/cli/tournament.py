"""The command `tournament`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import click

from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import next_step, say, terminal_width
from touche_rad.cli.prepare import Selected
from touche_rad.cli.tournament_run import (
    Judging,
    TournamentOptions,
    make_entrants,
    play_debates,
)
from touche_rad.errors import OptionError, UserError


@opt.command(
    "tournament",
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
    from touche_rad.contests.tournament.budget import Budgets
    from touche_rad.contests.tournament.folder import RATINGS, Folder
    from touche_rad.contests.tournament.result import result_of
    from touche_rad.runs.runner import identity_of

    claims, words, quiet = options.claims, options.words, options.quiet
    if options.plugin_options.of("debater"):
        raise OptionError("give the options of a debater as -d 'NAME(KEY=VALUE)'")
    debaters = _select_debaters(options.debaters)
    if options.output is None:
        raise UserError("tournament: give the output folder: -o DIR")
    if not claims.is_file():
        raise UserError(f"{claims} does not exist")
    folder = Folder(options.output)
    budgets = Budgets(options.max_calls, options.max_tokens)
    unlimited = replace(options, max_calls=None, max_tokens=None)
    plugins = [one.plugin for one in debaters]
    services = prepare.open_services(unlimited, *plugins, out=folder.contests, index=True)
    deadline = options.deadline
    entrants = make_entrants(
        debaters, services, max_words=words, deadline=deadline, limit=budgets.model_of
    )
    identity = identity_of(services, *plugins, deadline=deadline, words=words)
    judging = Judging(options, folder)
    settings_of = {
        one.tag: identity_of(services, one.plugin, deadline=deadline, words=words)
        for one in debaters
    }
    model = services.model
    settings = {
        "judge": judging.identity["judge"],
        "model": model.name if model else None,
        "judge_model": judging.model_name,
        "rounds": options.rounds,
        "words": words,
        "max_calls": options.max_calls,
        "max_tokens": options.max_tokens,
    }
    with folder.alone():
        code = play_debates(options, folder, entrants, services, identity, budgets, settings_of)
        code = max(code, judging.run())
        names = [one.name for one in entrants]
        result = result_of(
            folder.results(names),
            names,
            folder.costs(names),
            settings,
            prior=options.prior,
            samples=options.samples,
            seed=options.seed,
        )
        folder.write(result)
    click.echo(
        result.model_dump_json() if options.as_json else "\n".join(result.lines(terminal_width()))
    )
    say(f"written: {folder.path / RATINGS}", quiet=quiet)
    page = folder.path.with_name(f"{folder.path.name}.html")
    next_step(["report", folder.path, "-o", page], quiet=quiet)
    return code


def _select_debaters(specs: Sequence[opt.PluginSpec]) -> list[Selected]:
    if len(specs) < 2:
        raise UserError("tournament: give two debaters or more: -d A -d B")
    debaters = [prepare.select("debater", spec) for spec in specs]
    tags = [one.tag for one in debaters]
    twice = sorted({tag for tag in tags if tags.count(tag) > 1})
    if twice:
        raise UserError(f"tournament: {twice[0]} is named twice")
    return debaters
