"""The command `try`: a debater or a judge beside the baselines, again after each edit."""

from __future__ import annotations

import inspect
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from touche_rad.bench.new import named
from touche_rad.bench.plan import BenchPlan, PlanFile
from touche_rad.bench.record import is_ours
from touche_rad.cli import options as opt
from touche_rad.cli.bench import run_plan, show_end
from touche_rad.cli.console import Label, print_parts, say
from touche_rad.cli.prepare import NO_INDEX, need_file
from touche_rad.cli.program import command
from touche_rad.cli.settings import TYPED
from touche_rad.cli.steps import call_step
from touche_rad.demo import DEMO, demo_file
from touche_rad.errors import OptionError, UserError
from touche_rad.files import check_output, read_labelled
from touche_rad.lists import unique
from touche_rad.plugins import Plugin, find, registered
from touche_rad.plugins.registry import import_plugins, plugins_of
from touche_rad.runs.work import RunOptions

if TYPE_CHECKING:
    from touche_rad.bench.figures import Figures
    from touche_rad.score.tables import Part

_DEBATERS: Final = ("verbatim", "grounded")
_JUDGES: Final = ("grounded", "length")
"""What a plugin is compared with."""
_WATCHED: Final = (".py", ".jinja", ".toml")
_WATCH_FLAG: Final = "--watch"
_SECONDS: Final = 0.3


@opt.offering("index", "workers", "quiet")
class TryOptions(opt.ModelOptions):
    """The options of `try`."""

    plugin: opt.PluginSpec = opt.argument("FILE.py|NAME")
    on: Path | None = opt.option(
        "Claims or debates whose claims are debated; for a judge: debates with --labels. "
        "[default: the demo's]",
        "--on",
    )
    labels: Path | None = opt.option("For a judge: the labels of the debates of --on.")
    turns: int = opt.TURNS
    output: Path = opt.output("Folder for debates, verdicts and page.", "DIR", default=Path("try"))
    watch: bool = opt.flag("Try again each time a file of the plugin is saved.", _WATCH_FLAG)
    plugin_options: opt.PluginOptions = opt.plugin_options("plugin")
    replace: bool


@command(
    "try verbatim",
    "try brief.py --watch",
    "try length -O longest=50",
)
def try_command(options: TryOptions) -> int:
    """Compare a debater or a judge with the baselines, in one table.

    FILE.py registers one debater or judge. A debater plays claims like verbatim and grounded, and
    the judge grounded judges all of them. A judge judges labelled debates like grounded,
    always-yes and length. The differences are those of the plugin minus the row.

    It is a bench in a folder of its own: after an edit, only the runs of the plugin are made again.
    """
    spec = options.plugin
    if options.watch:
        with suppress(KeyboardInterrupt):
            _watch(spec)
        return 0
    plugin = _find(spec)
    text = str(opt.PluginSpec(plugin.name, spec.options))
    plan = _plan_of(options, plugin, text)
    if not is_ours(options.output):
        check_output(options.output, replace=options.replace)
    # The folder has nothing but files of earlier trials.
    settings = RunOptions(replace=True)
    plan_file = PlanFile(plan, options.output / "plan")
    bench, figures = run_plan(plan_file, options.output, options, settings)
    (name,) = named([text])
    failures = [f"{line} are of a fallback: the values are its." for line in bench.all_replaced()]
    print_parts([failures, *_parts(figures, name)])
    return show_end(bench)


def _find(spec: opt.PluginSpec) -> Plugin[Any]:
    """Return the debater or judge of a file or of this name."""
    if not spec.name.endswith(".py"):
        is_judge = spec.name in registered("judge") and spec.name not in registered("debater")
        return find("judge" if is_judge else "debater", spec.name)
    import_plugins([spec.name])
    plugins = [plugin for plugin in plugins_of(spec.name) if plugin.kind in ("debater", "judge")]
    if len(plugins) != 1:
        names = ", ".join(plugin.name for plugin in plugins) or "none"
        raise UserError(
            f"{spec.name}: expected one debater or judge, got {names}: write @debater(NAME) above "
            f"its class, or choose: touche-rad try NAME --plugin {spec.name}"
        )
    return plugins[0]


def _plan_of(options: TryOptions, plugin: Plugin[Any], text: str) -> BenchPlan:
    """Return the plan of the bench of a plugin, with its options as a text, and the baselines."""
    is_judge = plugin.kind == "judge"
    index = options.index or ("" if is_judge and "index" not in plugin.needs else DEMO)
    # The bench of the plugin and of what it is compared with.
    names = named(unique([text, *(_JUDGES if is_judge else _DEBATERS)]))
    fields = {
        "name": "try",
        "index": index,
        "turns": options.turns,
        "pages": {"baselines": list(names)[1:]},
    }
    if is_judge:
        if (options.on is None) != (options.labels is None):
            raise OptionError("a judge needs both: --on DEBATES --labels LABELS")
        debates = options.on or demo_file("debates.jsonl")
        labels = options.labels or demo_file("labels.jsonl")
        read_labelled(debates, labels)  # refuses labels of others
        data = {"debates": debates, "labels": labels}
        fields["judges"] = names
    else:
        if options.labels:
            raise OptionError("--labels is for a judge")
        if options.on and options.index is None:
            raise UserError(NO_INDEX)
        data = {"claims": options.on or demo_file("claims.tsv")}
        need_file(data["claims"])
        fields |= {
            "debaters": names,
            "users": {"rules": "rules"},
            "judges": {"by-grounded": "grounded"},
        }
    return BenchPlan.model_validate(fields | {key: str(data[key].absolute()) for key in data})


def _parts(figures: Figures, tried: str) -> list[Part]:
    """Return what the differences say, and the table: shares of yes, or agreement with labels."""
    from touche_rad.score.result import MEAN
    from touche_rad.score.tables import NONE, Notes, Table, cell, interval_cell
    from touche_rad.score.words import by_pair, probability

    report = figures.judges or figures.shares
    assert report
    table = report.board()
    if not figures.judges:
        table = replace(figures.board(), optional=0)
    difference = by_pair(report.comparisons, MEAN)
    rows = []
    for rank, name, *values in table.rows:
        compared = difference(tried, name)
        gap = [NONE] * 3  # to itself
        if compared:
            gap = [
                cell("{difference:+.3f}", compared),
                interval_cell("[{low:+.3f}, {high:+.3f}]", compared),
                probability(compared.p_holm),
            ]
        shown = f"* {name}" if rank == "*" else name
        rows.append([shown, *values[:2], *gap, *values[2:]])
    _, head, *heads = table.heads
    *_, method, notes = report.parts()
    columns = [head, *heads[:2], "difference", heads[1], "p (Holm)", *heads[2:]]
    about = Notes([f"difference: {tried} minus the run of the row"])
    return [
        report.sentences(),
        Table(columns, rows, optional=table.optional),
        about,
        method,
        notes,
    ]


def _watch(spec: opt.PluginSpec) -> None:
    """Try the plugin each time one of its files is saved, until Ctrl-C.

    Each trial has a process of its own, which imports all modules anew.
    """
    file = spec.name if spec.name.endswith(".py") else inspect.getfile(_find(spec).factory)
    words = ["try", *click.get_current_context().meta[TYPED]]
    while True:
        before = _times(Path(file).parent)
        code = call_step([word for word in words if word != _WATCH_FLAG])
        say(f"watching {file}; Ctrl-C ends")
        if code:
            say("this trial failed: its cause is above", Label.ERROR)
        while _times(Path(file).parent) == before:
            time.sleep(_SECONDS)


def _times(folder: Path) -> Sequence[float]:
    """Return when the files beside a plugin were saved; none while an editor replaces one."""
    with suppress(OSError):
        files = filter(Path.is_file, folder.iterdir())  # and no broken links
        return [path.stat().st_mtime for path in files if path.suffix in _WATCHED]
    return []
