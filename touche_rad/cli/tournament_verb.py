"""`touche-rad tournament`: every pair of debaters on both sides of each claim, and ratings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touche_rad.cli import options as shared
from touche_rad.cli import runs
from touche_rad.cli import runs as entrants
from touche_rad.cli.console import progress, say
from touche_rad.errors import OptionError, UserError

if TYPE_CHECKING:
    from touche_rad.cli.runs import Field
    from touche_rad.contests.tournament.budget import Budgets
    from touche_rad.contests.tournament.folder import Folder


@click.command("tournament", cls=shared.Verb)
@click.argument("claims", type=click.Path(path_type=Path), metavar="CLAIMS")
@shared.output("The folder for contests, outcomes and ratings.", metavar="FOLDER")
@click.option("-d", "--debater", "debaters", multiple=True, metavar="NAME[(KEY=VALUE,...)]",
              help="Who takes part; to be named twice or more.")  # fmt: skip
@click.option("-j", "--judge", default="grice", show_default=True,
              metavar="NAME[(KEY=VALUE,...)]",
              help="A panel, or a judge of responses, whose means decide then.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True,
              help="Speeches of each side in a debate.")  # fmt: skip
@click.option("--words", type=click.IntRange(0), default=60, show_default=True,
              help="The most words of a speech; 0 cuts none.")  # fmt: skip
@shared.index
@shared.spare_index
@shared.options_but_budgets
@click.option("--judge-model", metavar="URL#MODEL|vllm:MODEL",
              help="The model that the judge asks. [default: --model]")  # fmt: skip
@click.option("--max-calls", type=click.IntRange(0), metavar="N",
              help="Each debater may ask the model so often in each debate.")  # fmt: skip
@click.option("--max-tokens", type=click.IntRange(1), metavar="N",
              help="Each debater may spend so many tokens in each debate.")  # fmt: skip
@click.option("--prior", type=click.FloatRange(0, min_open=True), default=1.0, show_default=True,
              help="Games that each is held to have tied with an average one.")  # fmt: skip
@click.option("--samples", type=click.IntRange(0), default=1000, show_default=True,
              help="How often the claims are drawn anew for the intervals.")  # fmt: skip
@shared.deadline
@shared.workers
@shared.seed
@shared.skip_bad
@shared.restart
@shared.as_json
@shared.quiet
@shared.show_config
@click.pass_context
def command(ctx: click.Context, /, claims: Path, **given: Any) -> int:
    """Let debaters play each other on CLAIMS, twice on each claim with the sides exchanged.

    A panel decides each debate. Bradley-Terry ratings with intervals by claim are printed and
    stand in FOLDER/ratings.json; touche-rad report FOLDER draws them. A tournament that was killed
    goes on where it was. -O KEY=VALUE is an option of the judge, model.KEY=VALUE of the model.
    """
    from touche_rad.contests.tournament.folder import Folder

    chosen = shared.choose(ctx, "judge", given["output"], given["option"])
    if chosen.path is None:
        raise UserError("tournament: say where it goes: -o FOLDER")
    if chosen.of("debater"):
        raise OptionError("there are several debaters: give options as -d 'NAME(KEY=VALUE)'")
    folder = Folder(chosen.path)
    budgets, field = _field(given, chosen, folder)
    bench = _Bench(given, chosen, folder)
    if given["restart"]:
        folder.restart()
    _play(claims, given, folder, field, budgets)
    bench.sit()
    return _told(given, folder, field, bench)


def _field(given: dict[str, Any], chosen: shared.Chosen, folder: Folder) -> tuple[Budgets, Field]:
    from touche_rad.contests.tournament.budget import Budgets
    from touche_rad.plugins.registry import parse_plugin

    specs = [parse_plugin(one) for one in given["debaters"]]
    if len(specs) < 2:
        raise UserError("tournament: name two debaters or more: -d A -d B")
    budgets = Budgets(given["max_calls"], given["max_tokens"])
    unlimited = {**given, "max_calls": None, "max_tokens": None}
    field = entrants.field(
        specs, unlimited, chosen, folder.contests, words=given["words"], own=budgets.model_of
    )
    names = [one.name for one in field.entrants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UserError(f"tournament: {twice[0]} is named twice")
    return budgets, field


def _play(
    claims: Path, given: dict[str, Any], folder: Folder, field: Field, budgets: Budgets
) -> None:
    """Play the debates, unless they are played."""
    from touche_rad import files
    from touche_rad.contests.tournament.budget import costs_in
    from touche_rad.contests.two_sides import Stage, play_both_sides
    from touche_rad.runs.runner import RunOptions, run
    from touche_rad.runs.status import sha256_of

    if not claims.is_file():
        raise UserError(f"{claims} does not exist")
    budget = {"max_calls": given["max_calls"], "max_tokens": given["max_tokens"]}
    names = [one.name for one in field.entrants]
    identity = {**field.identity, **budget}
    whole = {**identity, "debaters": names, "rounds": given["rounds"], "input": sha256_of(claims)}
    if folder.played(whole):
        return
    bad = files.BadLines(skip=given["skip_bad"])
    stage = Stage(given["rounds"], field.services.index, budgets.costs)
    model = field.services.model
    told = shared.counted(model)
    with progress("debating", quiet=given["quiet"], besides=told) as report:
        status = run(
            lambda: play_both_sides(
                claims, folder.contests, field.entrants, stage, identity=identity,
                verb="tournament", options=RunOptions(
                    workers=given["workers"], bad=bad, progress=report, model=model,
                    status_path=folder.path / "contests.jsonl.status.json",
                ),
            ),
            folder.contests,
        )  # fmt: skip
    folder.set_played(whole, costs_in(status.counts, names))
    for line in status.warnings:
        say(f"warning: {line}", quiet=given["quiet"])


class _Bench:
    """The panel, made before anything is played, so that a wrong one is told at once."""

    def __init__(self, given: dict[str, Any], chosen: shared.Chosen, folder: Folder) -> None:
        from touche_rad.plugins.registry import parse_plugin

        self.given, self.folder = given, folder
        name, options = parse_plugin(given["judge"])
        options |= chosen.of("judge")
        if not runs.is_panel(name):
            name, options = "grice", _by_means(given["judge"], chosen.of("judge"))
        settings = {
            **given, "judge": name, "model": given["judge_model"] or given["model"],
            "deadline": None, "max_calls": None, "max_tokens": None,
        }  # fmt: skip
        given_options = {**chosen.options, "judge": options}
        self.panel, self.identity, self.model = runs.panel(
            settings, shared.Chosen(chosen.path, given_options), folder.outcomes
        )

        self.asked = self.model.name if self.model and _asks(name, options) else None

    def sit(self) -> None:
        """Judge the debates, unless they are judged."""
        from touche_rad.runs.panels import judge_contests
        from touche_rad.runs.runner import RunOptions, run

        folder, given = self.folder, self.given
        if folder.judged(self.identity):
            return
        folder.begin_judging(self.identity)
        told = shared.counted(self.model)
        with progress("judging", quiet=given["quiet"], besides=told) as report:
            run(
                lambda: judge_contests(
                    folder.contests, folder.outcomes, self.panel, identity=self.identity,
                    options=RunOptions(
                        workers=given["workers"], progress=report, model=self.model,
                        status_path=folder.path / "outcomes.jsonl.status.json",
                    ),
                ),
                folder.outcomes,
            )  # fmt: skip
        folder.set_judged(self.identity)


def _by_means(judge: str, options: dict[str, str]) -> dict[str, str]:
    """Let the panel `grice` decide by a judge of responses; the options are the panel's."""
    from touche_rad.plugins import find
    from touche_rad.plugins.registry import parse_plugin

    find("judge", parse_plugin(judge)[0])
    return {"judge": judge, **options}


def _asks(panel: str, options: Mapping[str, str]) -> bool:
    """Whether a panel asks a model; `grice` does where its judge does."""
    from touche_rad.plugins import find
    from touche_rad.plugins.registry import parse_plugin

    plugin = find("panel", panel)
    if panel == "grice":
        plugin = find("judge", parse_plugin(options.get("judge", "grounded"))[0])
    return "model" in (*plugin.needs, *plugin.uses)


def _told(given: dict[str, Any], folder: Folder, field: Field, bench: _Bench) -> int:
    from touche_rad.contests.tournament.folder import RATINGS
    from touche_rad.contests.tournament.result import lines, result_of

    names = [one.name for one in field.entrants]
    model = field.services.model
    told = {
        "judge": str(bench.identity["judge"]), "model": model.name if model else None,
        "judge_model": bench.asked,
        **{key: given[key] for key in ("rounds", "words", "max_calls", "max_tokens")},
    }  # fmt: skip
    result = result_of(
        folder.results(), names, folder.costs, told,
        prior=given["prior"], samples=given["samples"], seed=given["seed"],
    )  # fmt: skip
    folder.write(result)
    click.echo(result.model_dump_json() if given["as_json"] else "\n".join(lines(result)))
    say(f"written: {folder.path / RATINGS}", quiet=given["quiet"])
    return 0
