"""The command `bench`: new, run and verify."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from pydantic import ValidationError

from touche_rad.bench.new import PLAN, new_bench
from touche_rad.bench.plan import BenchPlan, PlanFile, load_plan, read_plan
from touche_rad.bench.record import PAGE, RECORD, differing_files, plan_record, read_record
from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.bench_options import BenchRunOptions
from touche_rad.cli.console import (
    Label,
    line_of,
    next_step,
    open_page,
    print_json,
    progress,
    say,
    terminal_width,
)
from touche_rad.cli.program import Group, command
from touche_rad.credentials import trust_all
from touche_rad.demo import DEMO, demo_file
from touche_rad.errors import InputError, OptionError, UserError, WorkError
from touche_rad.files import check_output
from touche_rad.files.records import copy_file
from touche_rad.papers.tables import PREFIX
from touche_rad.plugins.registry import IMPORTED, import_plugins
from touche_rad.runs.work import RunOptions

if TYPE_CHECKING:
    from touche_rad.bench.figures import Figures
    from touche_rad.bench.run import Bench
    from touche_rad.models import Model
    from touche_rad.models.endpoint import Backend
    from touche_rad.session import Session

_DEBATERS: Final = ("grounded", "verbatim")
_JUDGES: Final = ("grounded", "length")
_BASELINES: Final = ("verbatim", "always-yes", "length", "random")
"""Plugins without a rank."""
_RESULTS: Final = "results"


@click.group("bench", cls=Group)
def bench_command() -> None:
    """Make, run and verify a bench: debaters x users x judges x seeds from one file."""


@opt.offering("replace", "quiet")
class BenchNewOptions(opt.Common):
    """The options of `bench new`."""

    folder: Path = opt.argument("DIR")
    claims: Path | None = opt.option("Claims to debate. [default: the demo's]")
    debates: Path | None = opt.option("Labelled debates, on which the judges are scored.")
    labels: Path | None = opt.option(
        "Labels of these debates. [default: the demo's debates and labels]"
    )
    index: str | None
    debaters: tuple[opt.PluginSpec, ...] = opt.repeatable(
        f"A debater; repeatable. [default: {', '.join(_DEBATERS)}]",
        "-d --debater",
    )
    judges: tuple[opt.PluginSpec, ...] = opt.repeatable(
        f"A judge; repeatable. [default: {', '.join(_JUDGES)}]",
        "-j --judge",
    )
    users: tuple[str, ...] = opt.repeatable(
        "A simulated user; repeatable. [default: rules]",
        "--user",
        metavar="NAME|URL",
    )
    turns: int = opt.TURNS


@command(
    "bench new rad-demo",
    "bench new rad-2026 --claims claims.tsv -i index -d grounded -d verbatim -j grounded",
    group=bench_command,
)
def new(options: BenchNewOptions) -> None:
    """Write the folder of a new bench: bench.toml, copies of the data, and their hashes.

    Without options it is a bench of the demo's claims. Change bench.toml as you like before the
    first run: entries, options, models, seeds and pages.
    """
    folder = options.folder
    check_output(folder, replace=options.replace)
    if (options.labels is None) != (options.debates is None):
        raise OptionError("give --debates and --labels together")
    if options.claims and options.index is None:
        raise UserError(prepare.NO_INDEX)
    # Files that are not named are the demo's, but its labels do not belong to other claims.
    data = {"claims": options.claims or demo_file("claims.tsv")}
    if options.labels and options.debates:
        data |= {"debates": options.debates, "labels": options.labels}
    elif not options.claims:
        data |= {"debates": demo_file("debates.jsonl"), "labels": demo_file("labels.jsonl")}
    index = options.index or DEMO
    settings: dict[str, Any] = {
        "index": index,
        "index_fingerprint": prepare.open_index_of(opt.Common(index=index)).fingerprint,
        "turns": options.turns,
        "max_words": 60,
        "seeds": [0],
    }
    entries = {
        "users": options.users or ("rules",),
        "debaters": [str(spec) for spec in options.debaters] or _DEBATERS,
        "judges": [str(spec) for spec in options.judges] or _JUDGES,
    }
    for path in data.values():
        prepare.need_file(path)
    plugins = [Path(place) for place in IMPORTED if place.endswith(".py")]
    if plugins:
        settings["plugins"] = [file.name for file in plugins]
    plan = new_bench(folder, data, plugins, entries, settings, _BASELINES)
    say(plan.path, Label.WRITTEN)
    words: list[str | Path] = ["bench", "run", folder]
    for file in plugins:
        words += ["--plugin", folder / file.name]
    if any("model" in entry.configured.plugin.needs for entry in plan.entries):
        words += ["-m", "MODEL"]
    next_step(words)


@command(
    "bench run rad-demo",
    "bench run bench.toml -m http://localhost:8000/v1#llama --cache cache -o results",
    "bench run paper:sinai/table2 --data rad2025 -m http://localhost:8000/v1#llama",
    group=bench_command,
)
def run(options: BenchRunOptions) -> int:
    """Play all debaters against all users, judge and score them, and write the leaderboard page.

    The results are the debates, the verdicts, figures.json, a page, and record.json, which bench
    verify reads. A stopped run is resumed by the same command. After an edit of
    a plugin, its runs are played again; with a further entry in the plan, only the new ones are
    played. docs/organise.md describes the plan.

    paper:TABLE (see: list papers) runs the commands of a paper's table, and prints the paper's
    values beside yours.
    """
    if str(options.plan).startswith(PREFIX):
        from touche_rad.cli.paper_table import run_table

        return run_table(options)
    if options.data or options.model_of or options.votes:
        raise OptionError("--data, --model-of and --votes are for tables of papers")
    path = options.plan
    results = options.output
    if path.is_dir():
        results = results or path / _RESULTS
        path /= PLAN
    if not path.exists():
        raise UserError(f"there is no {path}: make a bench with: touche-rad bench new DIR")
    if not results:
        raise UserError("bench run: give the output folder: -o DIR")
    # What --plugin imported of the plan's plugins is copied to its folder, or imported from there.
    for name in read_plan(path).plugins:
        copy = path.parent / name
        for place in map(Path, IMPORTED):
            if place.name != name or (copy.is_file() and filecmp.cmp(place, copy, shallow=False)):
                continue
            if copy.is_file() and copy.stat().st_mtime > place.stat().st_mtime:
                raise UserError(f"{copy} is newer than {place}: use --plugin {copy}")
            copy_file(place, copy)
            say(f"copied {place} to {copy}")
        if options.trust:
            import_plugins([str(copy)])
    plan_file = replace(load_plan(path), model=options.model or "")
    if options.trust:
        trust_all()
    else:
        plan_file.refuse_files_outside(options.index)
        texts = [f"{plugin.model} {plugin.text}" for plugin in plan_file.entries]
        configured = [plugin.configured for plugin in plan_file.entries]
        prepare.tell_servers(path, [plan_file.plan.index, *texts], configured)
    settings = RunOptions(strict=options.strict, replace=options.replace, restart=options.restart)
    bench, figures = run_plan(plan_file, results, options, settings)
    if options.as_json:
        print_json(figures.to_json())
    else:
        tables = [figures.lines(terminal_width())]
        if figures.judges:
            tables.append([*figures.judges.lines(terminal_width()), *figures.not_scored])
        click.echo("\n\n".join("\n".join(lines) for lines in tables if lines))
    return show_end(bench, ["bench", "verify", options.output or options.plan])


@opt.offering("quiet")
class VerifyOptions(opt.Common):
    """The options of `bench verify`."""

    folder: Path = opt.argument("DIR")


@command("bench verify rad-demo", group=bench_command)
def verify(options: VerifyOptions) -> None:
    """Compare the hashes of a bench's data, debates, verdicts, figures and pages with its record.

    The first difference is printed, with exit code 1. To repeat a bench, run its plan again with
    another -o: equal outputs have equal hashes in both record.json.
    """
    inner = options.folder / _RESULTS
    folder = inner if (inner / RECORD).is_file() else options.folder
    record = read_record(folder)
    plan = Path(os.path.normpath(folder / record.plan_file))
    again = ["bench", "run", plan, "-o", folder, "--replace"]
    is_plan = False
    with suppress(ValidationError, UserError):  # a stranger's record may name any file
        then = BenchPlan.model_validate(record.plan)
        is_plan = plan_record(read_plan(plan)) == plan_record(then)
        for name in then.plugins:
            again += ["--plugin", plan.parent / name]
    if not is_plan:
        raise WorkError(f"{plan}: it is not the plan of the record")
    for difference in differing_files(folder, line_of(again)):
        raise WorkError(difference)
    say("verified: all files are those of the record")


@dataclass
class _Models:
    """Opens the models that a plan names; all cells share the server of a model."""

    session: Session
    options: opt.Common
    _backends: dict[str, Backend | None] = field(default_factory=dict)

    def open(self, model: str, out: Path | None, seed: int) -> Model | None:
        """Return a model whose usage is that of one cell; None if no model is named."""
        if not prepare.names_model(opt.Common(model=model)):
            return None
        options = replace(self.options, model=model or None, seed=seed)
        if model not in self._backends:
            self._backends[model] = self.session.close_later(prepare.make_model(options)).backend
        return prepare.make_model(options, out, self._backends[model])

    def check(self, models: Iterable[str]) -> None:
        """Check the endpoint of each model before anything is played."""
        for name in dict.fromkeys(models):
            model = self.open(name, None, 0)
            if model:
                prepare.check_model(model, self.options)


def open_index(plan_file: PlanFile, options: opt.Common) -> tuple[str, Any]:
    """Open the index of a plan, if an entry uses it, and return its place, too.

    A folder is relative to the plan's file.
    """
    plugins = [entry.configured.plugin for entry in plan_file.entries]
    is_needed = plan_file.debaters or any(
        "index" in (*plugin.needs, *plugin.uses) for plugin in plugins
    )
    place = options.index or plan_file.plan.index
    if not place or not is_needed:
        return "", None
    if options.index:
        return place, prepare.open_index_of(options)
    folder = Path(os.path.normpath(plan_file.folder / place))
    if place != DEMO and (folder.is_dir() or Path(place).is_dir()):
        place = os.path.relpath(folder)
    try:
        return place, prepare.open_index_of(replace(options, index=place))
    except UserError as error:
        raise InputError(plan_file.path, str(error), field="index") from None


def run_plan(
    plan_file: PlanFile, results: Path, options: opt.Common, settings: RunOptions
) -> tuple[Bench, Figures]:
    """Run a plan to its end: debates, verdicts, figures, pages and record."""
    from touche_rad.bench.run import Bench
    from touche_rad.files.outputs import alone_in
    from touche_rad.runs.runner import Interrupted
    from touche_rad.session import Session

    used = [entry.model for entry in plan_file.entries if entry.configured.plugin.uses_model]
    with Session() as session, ExitStack() as locked:
        models = _Models(session, options)
        place, index = open_index(plan_file, options)
        if index is not None:
            session.close_index_later(index)
        say_again = partial(say, quiet=options.quiet)
        bench = Bench(plan_file, results, index, place, models.open, say_again)
        models.check(used)
        for user in plan_file.users:
            if user.choice.endpoint:
                prepare.check_user(user.choice.endpoint, options, must_answer=True)
        locked.enter_context(alone_in(results))
        with progress("playing and judging") as report:
            workers = prepare.parallel(options, model=bool(used))
            try:
                session.run(bench.run, replace(settings, workers=workers, progress=report))
            except KeyboardInterrupt:
                raise Interrupted(
                    f"stopped; finished debates are kept in {results}: run the same command to "
                    "continue"
                ) from None
        for path, error in bench.failed.items():
            say(f"{path}: {error}", Label.ERROR)
        if bench.failed:
            raise WorkError(
                f"{len(bench.failed)} of {len(bench.cells)} runs failed, so there are no figures; "
                "mend what the errors say and run it again, or take their entries out of the plan"
            )
        return bench, bench.finish()


def show_end(bench: Bench, *steps: Sequence[object]) -> int:
    """Print the warnings of a bench and the next steps; return the exit code."""
    from touche_rad.report.page import INDEX

    for line in bench.warnings():
        say(line, Label.WARNING)
    results = Path(os.path.relpath(bench.results))
    say(results, Label.WRITTEN)
    next_step(*steps, open_page(results / PAGE / INDEX))
    lines = list(bench.all_replaced())
    for line in lines:
        say(f"{line} are of a fallback: see the warnings above", Label.ERROR)
    return 1 if lines else 0
