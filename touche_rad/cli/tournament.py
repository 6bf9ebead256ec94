"""The command `tournament`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import next_step, say, terminal_width
from touche_rad.cli.prepare import Selected
from touche_rad.cli.tournament_run import (
    JUDGE_PANEL,
    Games,
    Judging,
    make_entrants,
    model_user,
    panel_of,
    play_debates,
)
from touche_rad.errors import OptionError, UserError

if TYPE_CHECKING:
    from touche_rad.plugins import Services
    from touche_rad.runs.work import Work


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
    click.option("--engine", hidden=True),
    *opt.DRY_RUN,
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

    if given["engine"] not in (None, "local"):
        raise OptionError(
            "a tournament runs on one machine; for two debaters, simulate --both-sides and judge "
            "have --engine ray"
        )
    if "debater" in given["options"]:
        raise OptionError("give the options of a debater as -d 'NAME(KEY=VALUE)'")
    debaters = _select_debaters(given["debaters"])
    if given["dry_run"]:
        return _dry_run(claims, given, debaters)
    if given["output"] is None:
        raise UserError("tournament: give the output folder: -o DIR")
    if not claims.is_file():
        raise UserError(f"{claims} does not exist")
    folder = Folder(given["output"], restart=given["restart"])
    budgets = Budgets(given["max_calls"], given["max_tokens"])
    unlimited = {**given, "max_calls": None, "max_tokens": None}
    plugins = [one.plugin for one in debaters]
    services = prepare.open_services(unlimited, *plugins, out=folder.contests, index=True)
    entrants = make_entrants(
        debaters, unlimited, services, max_words=given["words"], limit=budgets.model_of
    )
    identity = prepare.identify(unlimited, services, *plugins, words=given["words"])
    judging = Judging(given, folder)
    settings_of = {
        one.tag: prepare.identify(unlimited, services, one.plugin, words=given["words"])
        for one in debaters
    }
    game = Games(given, folder, settings_of)
    model = services.model
    settings = {
        "judge": judging.identity["judge"],
        "model": model.name if model else None,
        "judge_model": judging.model_name,
        **{key: given[key] for key in ("rounds", "words", "max_calls", "max_tokens")},
    }
    with folder.alone():
        code = play_debates(claims, given, folder, entrants, services, identity, budgets, game)
        code = max(code, judging.run())
        names = [one.name for one in entrants]
        result = result_of(
            folder.results(names),
            names,
            folder.costs,
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


def _dry_run(claims: Path, given: prepare.Given, debaters: Sequence[Selected]) -> int:
    """Estimate the debates and their judging."""
    import tempfile

    from touche_rad.cli import dry_run
    from touche_rad.contests import two_sides
    from touche_rad.contests.tournament.budget import Budgets
    from touche_rad.runs import panels

    panel, settings = panel_of(given)
    plugins = [one.plugin for one in debaters]

    def make_debates(services: Services) -> Work[Any]:
        budgets = Budgets(given["max_calls"], given["max_tokens"])
        entrants = make_entrants(
            debaters, given, services, max_words=given["words"], limit=budgets.model_of
        )
        stage = two_sides.Stage(entrants, given["rounds"], services.index, budgets.costs)
        return two_sides.work(claims, stage, identity={})

    index = prepare.open_index_of(given)
    choose = partial(_each_debater, len(debaters))
    played = dry_run.play(given, plugins, make_debates, index=index, choose=choose)
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder) / "contests.jsonl"
        sample.write_text("".join(f"{line}\n" for line in played.lines), "utf-8")

        def make_verdicts(services: Services) -> Work[Any]:
            return panels.work(sample, panel.make(services), identity={"judge": panel.tag})

        judged = dry_run.play(
            settings,
            [panel.plugin, model_user(panel)],
            make_verdicts,
            index=index,
            choose=range,
            scale=played.units / played.sampled,
        )
    return dry_run.show("tournament", given, played, judged)


def _each_debater(debaters: int, units: int) -> list[int]:
    """Return debates in which each debater speaks on both sides."""
    pairs = list(permutations(range(debaters), 2))
    chosen = [pairs.index((one, (one + 1) % debaters)) for one in range(debaters)]
    claims = units // len(pairs)
    return [at * claims // debaters * len(pairs) + pair for at, pair in enumerate(chosen)]
