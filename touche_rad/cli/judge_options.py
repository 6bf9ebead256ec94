"""The options of the command `judge`, with and without `--explain`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from touche_rad.cli import options as opt


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(opt.ModelOptions, opt.FileOptions):
    """The options of `judge`."""

    source: Path | None = opt.argument("[DEBATES]", required=False)
    output: Path | None = opt.output("Evaluations to write, or outcomes with a panel.")
    judge: opt.PluginSpec = opt.JUDGE
    plugin_options: opt.PluginOptions = opt.plugin_options("judge")
    swap: bool = opt.flag("With a panel: judge each debate a second time with its sides swapped.")
    explain: bool = opt.flag("Print the verdicts with the features that decide them; no -o.")
    debate: str | None = opt.option(
        "With --explain: only this debate, by its id or its number from 1.", metavar="ID"
    )
    turn: int | None = opt.option("With --explain: only this turn, from 0.", least=0)
    as_json: bool = opt.JSON
    index: str | None = opt.INDEX
    trace: bool = opt.TRACE
