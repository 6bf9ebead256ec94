"""The command `tournament`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from touche_rad.cli import old_options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import next_step, say, terminal_width
from touche_rad.cli.prepare import Selected
from touche_rad.cli.tournament_run import (
    JUDGE_PANEL,
    Judging,
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
@opt.path_argument("claims", "CLAIMS")
@opt.options(
    opt.output("Folder for contests, outcomes and ratings.", "DIR"),
    opt.plugin(
        "-d",
        "--debater",
        "debaters",
        multiple=True,
        help="A debater that takes part; give two or more.",
    ),
    opt.plugin(
        "-j",
        "--judge",
        default=JUDGE_PANEL,
        show_default=True,
        help="Panel, or a judge of responses, whose mean scores decide.",
    ),
    opt.plugin_options("judge", "debater"),
    opt.integer("--rounds", "Speeches per side in a debate.", 3),
    opt.integer("--words", "Maximum words per speech; 0 = no limit.", 60, 0),
    opt.INDEX,
    opt.SPARE_INDEX,
    opt.MODEL,
    click.option(
        "--judge-model", metavar="MODEL", help="Language model of the judge. [default: --model]"
    ),
    opt.CACHE,
    opt.integer(
        "--max-calls", "Maximum model calls per debater and debate. [default: no limit]", least=0
    ),
    opt.integer("--max-tokens", "Maximum tokens per debater and debate. [default: no limit]"),
    opt.RUN_DEADLINE,
    opt.WAIT,
    opt.WITH_TRACE,
    click.option(
        "--prior",
        type=opt.Number(0, min_open=True),
        metavar="N",
        default=1.0,
        show_default=True,
        help="Prior: number of virtual draws per debater.",
    ),
    opt.integer("--samples", "Bootstrap samples of the claims for confidence intervals.", 1000, 0),
    opt.DEADLINE,
    opt.WORKERS,
    opt.SEED,
    opt.SKIP_BAD,
    opt.STRICT,
    opt.REPLACE,
    opt.RESTART,
    opt.JSON,
    opt.QUIET,
)
def tournament_command(claims: Path, **given: Any) -> int:
    """Let each pair of debaters debate each claim in CLAIMS twice, with sides exchanged.

    A panel judges each debate. The command prints Bradley-Terry ratings with confidence intervals
    and writes them to DIR/ratings.json; touche-rad report DIR draws them. A stopped tournament is
    resumed by the same command. With one more -d or more claims, only the new debates are played.
    """
    from touche_rad.contests.tournament.budget import Budgets
    from touche_rad.contests.tournament.folder import RATINGS, Folder
    from touche_rad.contests.tournament.result import result_of

    if "debater" in given["options"]:
        raise OptionError("give the options of a debater as -d 'NAME(KEY=VALUE)'")
    debaters = _select_debaters(given["debaters"])
    if given["output"] is None:
        raise UserError("tournament: give the output folder: -o DIR")
    if not claims.is_file():
        raise UserError(f"{claims} does not exist")
    folder = Folder(given["output"])
    budgets = Budgets(given["max_calls"], given["max_tokens"])
    unlimited = {**given, "max_calls": None, "max_tokens": None}
    plugins = [one.plugin for one in debaters]
    services = prepare.open_services(
        opt.common(unlimited), *plugins, out=folder.contests, index=True
    )
    entrants = make_entrants(
        debaters, unlimited, services, max_words=given["words"], limit=budgets.model_of
    )
    identity = prepare.identify(unlimited, services, *plugins, words=given["words"])
    judging = Judging(given, folder)
    settings_of = {
        one.tag: prepare.identify(unlimited, services, one.plugin, words=given["words"])
        for one in debaters
    }
    model = services.model
    settings = {
        "judge": judging.identity["judge"],
        "model": model.name if model else None,
        "judge_model": judging.model_name,
        **{key: given[key] for key in ("rounds", "words", "max_calls", "max_tokens")},
    }
    with folder.alone():
        code = play_debates(
            claims, given, folder, entrants, services, identity, budgets, settings_of
        )
        code = max(code, judging.run())
        names = [one.name for one in entrants]
        result = result_of(
            folder.results(names),
            names,
            folder.costs(names),
            settings,
            prior=given["prior"],
            samples=given["samples"],
            seed=given["seed"],
        )
        folder.write(result)
    click.echo(
        result.model_dump_json() if given["as_json"] else "\n".join(result.lines(terminal_width()))
    )
    say(f"written: {folder.path / RATINGS}", quiet=given["quiet"])
    page = folder.path.with_name(f"{folder.path.name}.html")
    next_step(["report", folder.path, "-o", page], quiet=given["quiet"])
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
