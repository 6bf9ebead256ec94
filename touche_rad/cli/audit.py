"""The command `audit`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touche_rad.cli import options as opt
from touche_rad.cli import prepare
from touche_rad.cli.console import Label, print_parts, progress, say
from touche_rad.cli.program import command
from touche_rad.text import json_text

if TYPE_CHECKING:
    from touche_rad.plugins import Configured, LoadedJudge


@opt.offering("criteria", "index", "seed", "skip_bad", "quiet", "as_json")
class AuditOptions(opt.ModelOptions):
    """The options of `audit`."""

    runs: tuple[Path, ...] = opt.arguments("RUN...")
    output: Path | None = opt.output("Folder for audit.json.", "DIR", checked=True)
    replace: bool
    judges: tuple[opt.PluginSpec, ...] = opt.repeatable(
        "Judge to audit; repeatable.", "-j --judge", default=(opt.DEFAULT,)
    )
    plugin_options: opt.PluginOptions = opt.plugin_options("judge")
    turns: int | None = opt.option("Audit a random sample of N turns. [default: all]")


@command(
    "audit simulations.jsonl",
    "audit run.jsonl -j grounded -j length --turns 50",
    "audit run.jsonl -o audit",
)
def audit_command(options: AuditOptions) -> int:
    """Judge the responses of each RUN, and judge them again after changes.

    The changes: none (the same again), another order, padding, no words, another topic, no sources,
    and an instruction to the judge. The command prints how often each judge is wrong then.
    """
    from touche_rad import files
    from touche_rad.files.records import write_text
    from touche_rad.runs.jobs import index_in_words
    from touche_rad.score.audit import audit

    out = options.output / "audit.json" if options.output else None
    bad = files.BadLines(skip=options.skip_bad)
    texts = options.plugin_options["judge"]
    judges: dict[str, Configured[LoadedJudge]] = {}
    for spec in options.judges:  # of one judge may be several settings, equal ones of two files
        judge = spec.with_options(texts).configure("judge")
        judges[str(spec) if judge.tag in judges else judge.tag] = judge
    with prepare.open_session(options, *judges.values(), out=out) as session:
        if session.model:
            session.model.begin_trace()
        with progress("auditing", describe=partial(prepare.calls_so_far, session.model)) as report:
            work = partial(
                audit,
                options.runs,
                criteria=session.criteria,
                judges={name: judge.make(session.services) for name, judge in judges.items()},
                most=options.turns,
                seed=options.seed,
                bad=bad,
                progress=report,
                repeat=options.cache is None,
            )
            result = session.run(work)
        result = result.replace(index=index_in_words({"index": session.index}))
    as_json = json_text(result.to_json())
    if options.as_json:
        click.echo(as_json)
    else:
        print_parts(result.parts())
    if out:
        write_text(out, as_json + "\n")
        say(out, Label.WRITTEN)
    if bad.count:
        say(f"invalid lines of runs skipped: {bad}", Label.WARNING)
    prepare.warn_of_copies(*options.runs)
    for error in result.refused.values():
        say(f"not audited: {error}", Label.ERROR)
    return 1 if result.refused else 0
