"""The options of `bench run`, which plans and tables of papers share."""

from __future__ import annotations

from pathlib import Path

from touche_rad.cli import options as opt


@opt.offering(
    "model", "cache", "wait", "trace", "workers", "strict", "quiet", "replace", "restart", "as_json"
)
class BenchRunOptions(opt.Common):
    """The options of `bench run`."""

    plan: Path = opt.argument("DIR|FILE.toml|paper:TABLE")
    output: Path | None = opt.output(
        "Folder for the results. [default: DIR/results; the table's name]", "DIR"
    )
    data: Path | None = opt.option("Folder with the data of a paper's table.", metavar="DIR")
    model_of: tuple[str, ...] = opt.repeatable(
        "The model of a row of a paper's table; repeatable.", metavar="NAME=MODEL"
    )
    votes: bool = opt.flag("Tables of papers: RMSE to each vote instead of the winner.")
    index: str | None = opt.option(
        "Argument index, instead of the plan's.", "-i --index", metavar="DIR", env=True
    )
    plugin_options: opt.PluginOptions = opt.plugin_options(None)
    trust: bool = opt.flag(
        "Send keys to the addresses that the plan names, and read the files that its options name."
    )
